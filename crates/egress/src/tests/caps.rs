//! Each cap on a session's traffic, exceeded.

use super::*;
use crate::Reason;
use std::time::{Duration, Instant};

#[tokio::test]
async fn a_session_that_has_received_as_much_as_it_may_is_cut_off_and_stays_so() {
    let site = Site::new(|mut stream| async move {
        head(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
        // The proxy hangs up before all of it is written.
        let _written = stream.write_all(head.as_bytes()).await;
        let _written = stream.write_all(&[b'a'; 1_000_000]).await;
    })
    .await;
    let proxy = Proxy::new(site.address, Options { max_bytes_down: Some(100_000), ..Options::default() });
    let answer = proxy.say(GET).await;
    assert!(answer.len() < 200_000, "{}", answer.len());
    let byte_limit = EgressOutcome::Refused(Reason::ByteLimit);
    let entries = proxy.until(|entries| entries[0].verdict == byte_limit).await;
    assert!(entries[0].bytes_down > 100_000 && entries[0].bytes_down < 1_000_000, "{entries:?}");

    assert_eq!(proxy.say(GET).await, "");
    let problem = proxy.problem("shop.test");
    assert_eq!((problem.code().to_string().as_str(), problem.retryable()), ("egress_byte_limit", false));
    assert!(problem.hint().contains("max_bytes_down"), "{}", problem.hint());
    assert_eq!(site.visits(), 1);
}

#[tokio::test]
async fn a_session_that_has_sent_as_much_as_it_may_is_cut_off() {
    let site = Site::new(|mut stream| async move { drop(rest(&mut stream).await) }).await;
    let proxy = Proxy::new(site.address, Options { max_bytes_up: Some(100_000), ..Options::default() });
    let mut tunnel = proxy.tunnel().await;
    let sent = async {
        loop {
            if tunnel.write_all(&[b'a'; 4096]).await.is_err() {
                return;
            }
        }
    };
    sent.await;
    let byte_limit = EgressOutcome::Refused(Reason::ByteLimit);
    let entries = proxy.until(|entries| entries[0].verdict == byte_limit).await;
    assert!(entries[0].bytes_up > 100_000 && entries[0].bytes_up < 1_000_000, "{entries:?}");
}

#[tokio::test]
async fn bytes_beyond_the_bandwidth_come_later_and_all_of_them_come() {
    let site = Site::echoing().await;
    let proxy = Proxy::new(site.address, Options { bandwidth: Some(40_000), ..Options::default() });
    let mut tunnel = proxy.tunnel().await;
    let began = Instant::now();
    let (mut from, mut to) = tunnel.split();
    let sent = vec![b'a'; 120_000];
    let mut received = vec![0; 120_000];
    let (written, read) = tokio::join!(to.write_all(&sent), from.read_exact(&mut received));
    assert!(written.is_ok() && read.is_ok() && received == sent);
    // A second's worth passes at once.
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(proxy.entries()[0].verdict, EgressOutcome::Allowed);
}

#[tokio::test]
async fn a_host_that_is_asked_too_often_is_refused_and_another_is_not() {
    let site = Site::answering("HTTP/1.1 204 No Content\r\n\r\n").await;
    let hosts = [("shop.test", site.address.to_string()), ("other.test", site.address.to_string())];
    let rules = Rules::new(HostMap::parse(hosts).unwrap());
    let options = Options { requests_per_second: Some(1), ..Options::default() };
    let proxy = Proxy::ruled(rules, table(), options);
    let mut answered = 0;
    while proxy.say(GET).await.starts_with("HTTP/1.1 204 ") {
        answered += 1;
        assert!(answered < 50, "never refused");
    }
    assert!(answered >= 5, "{answered}");
    let problem = proxy.problem("shop.test");
    assert_eq!((problem.code().to_string().as_str(), problem.retryable()), ("egress_rate_limited", true));
    let other = proxy.say("GET http://other.test/ HTTP/1.1\r\nHost: other.test\r\n\r\n").await;
    assert!(other.starts_with("HTTP/1.1 204 "), "{other}");
}
