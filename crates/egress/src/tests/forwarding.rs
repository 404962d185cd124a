//! What passes: whole, unchanged, in both directions, and counted.

use super::*;
use tokio::sync::mpsc;

const MEBIBYTE: usize = 1024 * 1024;

#[tokio::test]
async fn a_site_sees_the_browsers_request_and_nothing_of_the_proxy() {
    let (heads, mut seen) = mpsc::unbounded_channel();
    let site = Site::new(move |mut stream| {
        let heads = heads.clone();
        async move {
            heads.send(head(&mut stream).await).unwrap();
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Site-CASE: 1\r\nKeep-Alive: timeout=5\r\n\
                          Proxy-Authenticate: Basic\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\r\nhi";
            stream.write_all(answer.as_bytes()).await.unwrap();
            rest(&mut stream).await;
        }
    })
    .await;
    let proxy = Proxy::new(site.address, Options::default());
    let answer = proxy.say(GET).await;

    let asked = seen.recv().await.unwrap();
    assert_eq!(
        asked,
        "GET /a?b=c HTTP/1.1\r\nHost: shop.test\r\nUser-Agent: Test\r\nX-Odd-CASE: 1\r\nAccept: */*\r\n\r\n"
    );
    assert_eq!(
        answer,
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Site-CASE: 1\r\nConnection: close\r\n\r\nhi"
    );
    let entry = &proxy.entries()[0];
    assert_eq!((entry.method.as_str(), entry.host.as_str(), entry.port), ("GET", "shop.test", 80));
    assert_eq!((entry.address, entry.verdict), (Some(site.address), EgressOutcome::Allowed));
    assert_eq!(entry.bytes_up, asked.len() as u64);
    assert!(entry.bytes_down > 2, "{entry:?}");
    assert_eq!(proxy.egress.last_failure("shop.test"), None);
}

#[tokio::test]
async fn the_site_gets_the_host_that_was_decided_on() {
    let site = Site::new(|mut stream| async move {
        let asked = head(&mut stream).await;
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{asked}", asked.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let proxy = Proxy::new(site.address, Options::default());
    let answer = proxy.say("GET http://shop.test:8080/ HTTP/1.1\r\nHost: other.test\r\n\r\n").await;
    assert!(answer.ends_with("GET / HTTP/1.1\r\nHost: shop.test:8080\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn a_large_body_streams_up_and_another_comes_down() {
    const UP: usize = 8 * MEBIBYTE;
    const DOWN: usize = 12 * MEBIBYTE;
    let site = Site::new(|mut stream| async move {
        assert!(head(&mut stream).await.contains("Content-Length: 8388608\r\n"));
        let mut body = vec![0; UP];
        stream.read_exact(&mut body).await.unwrap();
        assert!(body.iter().all(|byte| *byte == b'u'));
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {DOWN}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&vec![b'd'; DOWN]).await.unwrap();
    })
    .await;
    let proxy = Proxy::new(site.address, Options::default());
    let mut client = proxy.dial().await.unwrap();
    let asked = format!("POST http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nContent-Length: {UP}\r\n\r\n");
    client.write_all(asked.as_bytes()).await.unwrap();
    client.write_all(&vec![b'u'; UP]).await.unwrap();
    assert!(head(&mut client).await.starts_with("HTTP/1.1 200 OK\r\n"));
    let body = rest(&mut client).await;
    assert!(body.len() == DOWN && body.bytes().all(|byte| byte == b'd'), "{}", body.len());

    let entry = &proxy.entries()[0];
    assert!((UP..UP + 200).contains(&(entry.bytes_up as usize)), "{entry:?}");
    assert!((DOWN..DOWN + 200).contains(&(entry.bytes_down as usize)), "{entry:?}");
}

#[tokio::test]
async fn a_chunked_body_arrives_whole_and_with_one_framing() {
    let site = Site::new(|mut stream| async move {
        let asked = head(&mut stream).await.to_lowercase();
        assert!(
            asked.contains("transfer-encoding: chunked\r\n") && !asked.contains("content-length"),
            "{asked}"
        );
        let mut body = Vec::new();
        while !body.ends_with(b"0\r\n\r\n") {
            body.push(stream.read_u8().await.unwrap());
        }
        assert!(String::from_utf8(body).unwrap().contains("hello"));
        stream
            .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
            .await
            .unwrap();
    })
    .await;
    let proxy = Proxy::new(site.address, Options::default());
    // Both a length and chunks: the length is a lie, and does not go on.
    let answer = proxy
        .say(
            "POST http://shop.test/ HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 3\r\n\
             Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        )
        .await;
    assert!(
        answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("3\r\nabc\r\n0\r\n\r\n"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_tunnel_carries_both_ways_and_is_counted_while_it_is_open() {
    let site = Site::echoing().await;
    let proxy = Proxy::new(site.address, Options::default());
    let mut client = proxy.tunnel().await;
    let mut back = [0; 5];
    client.write_all(b"hello").await.unwrap();
    client.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"hello");

    let entry = &proxy.entries()[0];
    assert_eq!((entry.method.as_str(), entry.port, entry.address), ("CONNECT", 443, Some(site.address)));
    assert_eq!((entry.bytes_up, entry.bytes_down, entry.verdict), (5, 5, EgressOutcome::Allowed));
}

#[tokio::test]
async fn what_a_client_sends_right_behind_a_connect_is_not_lost() {
    let site = Site::echoing().await;
    let proxy = Proxy::new(site.address, Options::default());
    let mut client = proxy.dial().await.unwrap();
    client.write_all(b"CONNECT shop.test:443 HTTP/1.1\r\n\r\nearly").await.unwrap();
    head(&mut client).await;
    let mut back = [0; 5];
    client.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"early");
}

#[tokio::test]
async fn a_change_of_protocol_is_carried_through() {
    let site = Site::new(|mut stream| async move {
        let asked = head(&mut stream).await.to_lowercase();
        assert!(
            asked.contains("connection: upgrade\r\n") && asked.contains("upgrade: websocket\r\n"),
            "{asked}"
        );
        let answer = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        let (mut from, mut to) = stream.split();
        tokio::io::copy(&mut from, &mut to).await.unwrap();
    })
    .await;
    let proxy = Proxy::new(site.address, Options::default());
    let mut client = proxy.dial().await.unwrap();
    let asked = "GET http://shop.test/ws HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade\r\n\
                 Upgrade: websocket\r\n\r\n";
    client.write_all(asked.as_bytes()).await.unwrap();
    let answer = head(&mut client).await.to_lowercase();
    assert!(answer.starts_with("http/1.1 101 ") && answer.contains("upgrade: websocket\r\n"), "{answer}");
    assert!(answer.contains("connection: upgrade"), "{answer}");
    let mut back = [0; 4];
    client.write_all(b"ping").await.unwrap();
    client.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"ping");
}

#[tokio::test]
async fn a_second_request_on_one_connection_is_never_sent() {
    let (heads, mut seen) = mpsc::unbounded_channel();
    let site = Site::new(move |mut stream| {
        let heads = heads.clone();
        async move {
            heads.send(head(&mut stream).await).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            heads.send(rest(&mut stream).await).unwrap();
        }
    })
    .await;
    let proxy = Proxy::new(site.address, Options::default());
    let answer = proxy.say(GET.repeat(2)).await;
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    assert!(seen.recv().await.unwrap().starts_with("GET /a?b=c "));
    assert_eq!(seen.recv().await.unwrap(), "");
    assert_eq!((site.visits(), proxy.entries().len()), (1, 1));
}
