//! Refused requests: what the browser sees and what the ledger records.

use super::*;
use crate::{AddressRange, Reason};

#[tokio::test]
async fn a_refused_plain_request_gets_no_answer_and_the_ledger_says_why() {
    let site = Site::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let proxy = Proxy::new(site.address, Options::default());
    let port = site.address.port();
    for (host, reason) in [
        ("127.0.0.1", Reason::Address(AddressRange::Loopback)),
        ("127.1", Reason::Address(AddressRange::Loopback)),
        ("2130706433", Reason::Address(AddressRange::Loopback)),
        ("0.0.0.0", Reason::Address(AddressRange::Unspecified)),
        ("[::1]", Reason::Address(AddressRange::Loopback)),
        ("[::ffff:127.0.0.1]", Reason::Address(AddressRange::Loopback)),
        ("localhost", Reason::Name(AddressRange::Loopback)),
        ("shop.test.localhost", Reason::Name(AddressRange::Loopback)),
        ("private.test", Reason::Address(AddressRange::Private)),
        ("mapped.test", Reason::Address(AddressRange::Loopback)),
        ("169.254.169.254", Reason::Address(AddressRange::Metadata)),
    ] {
        let answer =
            proxy.say(format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: shop.test\r\n\r\n")).await;
        assert_eq!(answer, "", "{host}");
        let problem = proxy.problem(host);
        assert_eq!(
            (problem.reason, problem.code(), problem.port),
            (reason, error_code::ErrorCode::EgressRefused, port),
            "{host}"
        );
        assert!(problem.to_string().contains(&problem.host) && !problem.retryable(), "{problem:?}");
        assert!(problem.hint().contains("egress.hosts"), "{problem:?}");
        assert_eq!(proxy.entries().last().unwrap().verdict, EgressOutcome::Refused(reason), "{host}");
    }
    assert_eq!(site.visits(), 0);
}

#[tokio::test]
async fn a_refused_tunnel_is_a_403_and_a_failed_one_a_502_both_without_a_body() {
    // Bound and dropped: nobody listens there.
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = Proxy::new(closed, Options::default());
    for (target, status, code) in [
        ("localhost:443", "403", "egress_refused"),
        ("10.0.0.1:443", "403", "egress_refused"),
        ("public.test:25", "403", "egress_refused"),
        ("nowhere.test:443", "502", "host_not_found"),
        ("shop.test:443", "502", "connection_refused"),
    ] {
        let answer = proxy.say(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {answer}");
        assert!(answer.ends_with("\r\n\r\n"), "{target}: {answer}");
        let host = target.split(':').next().unwrap();
        assert_eq!(proxy.problem(host).code().to_string(), code, "{target}");
    }
}

#[tokio::test]
async fn a_site_that_fails_leaves_the_browser_without_an_answer() {
    for (answer, reason) in [
        ("", Reason::ConnectionLost),
        ("HTTP/1.1 200 OK\r\nContent-Le", Reason::ConnectionLost),
        ("220 mail.test ESMTP\r\n\r\n", Reason::BadAnswer),
        ("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", Reason::BadAnswer),
    ] {
        let site = Site::answering(answer).await;
        let proxy = Proxy::new(site.address, Options::default());
        assert_eq!(proxy.say(GET).await, "", "{answer}");
        assert_eq!(proxy.entries()[0].verdict, EgressOutcome::Failed(reason), "{answer}");
        assert_eq!(proxy.problem("shop.test").reason, reason);
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_not_made_to_look_whole() {
    let site = Site::answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n").await;
    let proxy = Proxy::new(site.address, Options::default());
    let answer = proxy.say(GET).await;
    assert!(!answer.ends_with("0\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn malformed_requests_reach_no_site() {
    let site = Site::answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let proxy = Proxy::new(site.address, Options::default());
    let long_name = "a.".repeat(200);
    for request in [
        "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n",
        "GET https://shop.test/ HTTP/1.1\r\n\r\n",
        "GET ftp://shop.test/ HTTP/1.1\r\n\r\n",
        "GET http://user@shop.test/ HTTP/1.1\r\n\r\n",
        "GET http://shop.test@shop.test/ HTTP/1.1\r\n\r\n",
        "GET http://shop.test:0/ HTTP/1.1\r\n\r\n",
        "GET http://shop.test:/ HTTP/1.1\r\n\r\n",
        "GET http://shop.test:65616/ HTTP/1.1\r\n\r\n",
        "GET http://%73hop.test/ HTTP/1.1\r\n\r\n",
        &format!("GET http://{long_name}test/ HTTP/1.1\r\n\r\n"),
        "GET shop.test:80 HTTP/1.1\r\n\r\n",
        "CONNECT shop.test HTTP/1.1\r\n\r\n",
        "CONNECT shop.test:0 HTTP/1.1\r\n\r\n",
        "CONNECT user@shop.test:443 HTTP/1.1\r\n\r\n",
        "CONNECT http://shop.test/ HTTP/1.1\r\n\r\n",
        "CONNECT /shop.test:443 HTTP/1.1\r\n\r\n",
        "GET http://shop.test/\r\n\r\n",
        "GET  http://shop.test/ HTTP/1.1\r\n\r\n",
        "GET http://shop.test/ HTTP/2.0\r\n\r\n",
        "POST http://shop.test/ HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "POST http://shop.test/ HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc",
        "POST http://shop.test/ HTTP/1.1\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "POST http://shop.test/ HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "POST http://shop.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET http://shop.test/ HTTP/1.1\r\nHost : shop.test\r\n\r\n",
        "GET http://shop.test/ HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
        "GET http://shop.test/ HTTP/1.1\r\nA: b\0c\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n",
    ] {
        let answer = proxy.say(request).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{request:?}: {answer:?}");
        assert_eq!(site.visits(), 0, "{request:?}");
    }
    assert!(proxy.entries().iter().all(|entry| entry.verdict == EgressOutcome::Refused(Reason::Malformed)));
}
