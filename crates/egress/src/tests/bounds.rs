//! Every wait ends, every number has a limit, and everything ends with the session.

use super::*;
use crate::Reason;
use std::time::Duration;
use tokio::sync::mpsc;

/// The promise; the code may keep a tighter one.
const MAX_HEAD_BYTES: usize = 64 * 1024;
const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_connection_beyond_the_limit_is_closed_and_on_record_until_another_ends() {
    let site = Site::echoing().await;
    let proxy = Proxy::new(site.address, Options { max_connections: 2, ..Options::default() });
    let first = proxy.tunnel().await;
    let _second = proxy.tunnel().await;

    let mut third = proxy.dial().await.unwrap();
    assert_eq!(rest(&mut third).await, "");
    let last = proxy.entries().pop().unwrap();
    assert_eq!(last.verdict, EgressOutcome::Refused(Reason::TooManyConnections));
    assert_eq!((last.host.as_str(), site.visits()), ("", 2));

    drop(first);
    let connect = "CONNECT shop.test:443 HTTP/1.1\r\n\r\n";
    loop {
        let mut client = proxy.dial().await.unwrap();
        if client.write_all(connect.as_bytes()).await.is_ok() && client.read_u8().await.is_ok() {
            break;
        }
    }
    assert_eq!(site.visits(), 3);
}

#[tokio::test]
async fn a_head_that_never_ends_is_cut_off() {
    let site = Site::echoing().await;
    let proxy = Proxy::new(site.address, Options { head_timeout: SHORT, ..Options::default() });
    for beginning in ["", "GET http://shop.test/ HTTP/1.1\r\nHo"] {
        assert_eq!(proxy.say(beginning).await, "", "{beginning}");
    }
    assert_eq!(site.visits(), 0);
}

#[tokio::test]
async fn a_head_that_is_too_large_is_turned_away() {
    let site = Site::answering("HTTP/1.1 204 Gone home\r\n\r\n").await;
    let proxy = Proxy::new(site.address, Options::default());
    let long_line =
        |length: usize| format!("GET http://shop.test/ HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(length));
    let many_lines = format!("GET http://shop.test/ HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(600));
    for request in [long_line(MAX_HEAD_BYTES), many_lines] {
        let mut client = proxy.dial().await.unwrap();
        // The proxy may stop reading before all of it is written.
        let (mut from, mut to) = client.split();
        let (_written, answer) = tokio::join!(to.write_all(request.as_bytes()), rest(&mut from));
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
    }
    assert_eq!(site.visits(), 0);
    let answer = proxy.say(long_line(MAX_HEAD_BYTES - 100)).await;
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
}

#[tokio::test]
async fn an_answer_whose_head_is_too_large_is_a_bad_one() {
    let site = Site::new(|mut stream| async move {
        head(&mut stream).await;
        let answer = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "a".repeat(MAX_HEAD_BYTES));
        // The proxy may hang up before all of it is written.
        let _written = stream.write_all(answer.as_bytes()).await;
    })
    .await;
    let proxy = Proxy::new(site.address, Options::default());
    assert!(proxy.say(GET).await.is_empty());
    assert_eq!(proxy.problem("shop.test").reason, Reason::BadAnswer);
}

#[tokio::test]
async fn what_leads_nowhere_is_given_up_and_says_how_far_it_came() {
    let closed = || TcpListener::bind("127.0.0.1:0");
    let options = Options { connect_timeout: SHORT, ..Options::default() };

    let mute = Resolver::with(crate::resolve::tests::never, SHORT);
    let proxy = Proxy::asking(mute, closed().await.unwrap().local_addr().unwrap(), options);
    assert_eq!(proxy.say(GET.replace("shop.test", "slow.test")).await, "");
    assert_eq!(proxy.problem("slow.test").reason, Reason::LookupTimeout);

    // Nobody takes the connections that wait, so the kernel answers no more.
    let full = tokio::net::TcpSocket::new_v4().unwrap();
    full.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let full = full.listen(1).unwrap();
    let address = full.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = tokio::time::timeout(SHORT, TcpStream::connect(address)).await {
        waiting.push(stream.unwrap());
    }
    let proxy = Proxy::new(address, options);
    assert_eq!(proxy.say(GET).await, "");
    assert_eq!(proxy.problem("shop.test").reason, Reason::ConnectTimeout);

    // No machine has this address, and no route leads to it.
    let proxy = Proxy::new("255.255.255.255:80".parse().unwrap(), options);
    assert_eq!(proxy.say(GET).await, "");
    assert_eq!(proxy.problem("shop.test").reason, Reason::Unreachable);
}

#[tokio::test]
async fn a_site_that_says_nothing_is_given_up() {
    let site = Site::new(|mut stream| async move { drop(rest(&mut stream).await) }).await;
    let proxy = Proxy::new(site.address, Options { idle_timeout: SHORT, ..Options::default() });
    assert_eq!(proxy.say(GET).await, "");
    assert_eq!(proxy.problem("shop.test").reason, Reason::Idle);
}

#[tokio::test]
async fn a_tunnel_that_has_gone_quiet_is_closed_and_was_no_failure() {
    let site = Site::echoing().await;
    // Not so short that a busy machine is quiet for longer before it says hello.
    let idle_timeout = Duration::from_secs(1);
    let proxy = Proxy::new(site.address, Options { idle_timeout, ..Options::default() });
    let mut client = proxy.tunnel().await;
    client.write_all(b"hello").await.unwrap();
    assert_eq!(rest(&mut client).await, "hello");
    assert_eq!(proxy.entries()[0].verdict, EgressOutcome::Allowed);
}

#[tokio::test]
async fn a_slow_reader_slows_the_site_and_a_reader_who_leaves_stops_it() {
    const ALL: usize = 256;
    let (begins, mut begun) = mpsc::unbounded_channel();
    let (ends, mut ended) = mpsc::unbounded_channel();
    let site = Site::new(move |mut stream| {
        let (begins, ends) = (begins.clone(), ends.clone());
        async move {
            head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            let mebibyte = vec![b'x'; 1024 * 1024];
            let mut taken = 0;
            while taken < ALL && stream.write_all(&mebibyte).await.is_ok() {
                taken += 1;
                begins.send(()).unwrap();
            }
            ends.send(taken).unwrap();
        }
    })
    .await;
    let proxy = Proxy::new(site.address, Options::default());
    let mut client = proxy.dial().await.unwrap();
    client.write_all(GET.as_bytes()).await.unwrap();
    head(&mut client).await;
    begun.recv().await.unwrap();
    drop(client);
    let taken = ended.recv().await.unwrap();
    assert!(taken < ALL / 2, "{taken} MiB went into the proxy with nobody reading");
}

#[tokio::test]
async fn a_browser_that_leaves_while_it_waits_closes_the_connection_to_the_site() {
    let (ends, mut ended) = mpsc::unbounded_channel();
    let (starts, mut started) = mpsc::unbounded_channel();
    let site = Site::new(move |mut stream| {
        let (starts, ends) = (starts.clone(), ends.clone());
        async move {
            head(&mut stream).await;
            starts.send(()).unwrap();
            rest(&mut stream).await;
            ends.send(()).unwrap();
        }
    })
    .await;
    let proxy = Proxy::new(site.address, Options::default());
    let mut client = proxy.dial().await.unwrap();
    client.write_all(GET.as_bytes()).await.unwrap();
    started.recv().await.unwrap();
    drop(client);
    ended.recv().await.unwrap();
}

#[tokio::test]
async fn dropping_the_proxy_closes_its_socket_and_every_connection() {
    let (ends, mut ended) = mpsc::unbounded_channel();
    let site = Site::new(move |mut stream| {
        let ends = ends.clone();
        async move {
            rest(&mut stream).await;
            ends.send(()).unwrap();
        }
    })
    .await;
    let proxy = Proxy::new(site.address, Options::default());
    let mut tunnel = proxy.tunnel().await;
    let mut waiting = proxy.dial().await.unwrap();
    waiting.write_all(GET.as_bytes()).await.unwrap();
    proxy.until(|entries| entries.len() == 2).await;

    let Proxy { egress, folder } = proxy;
    drop(egress);
    assert_eq!((rest(&mut tunnel).await, rest(&mut waiting).await), (String::new(), String::new()));
    ended.recv().await.unwrap();
    ended.recv().await.unwrap();
    assert!(UnixStream::connect(folder.path().join("egress")).await.is_err());
}
