//! Sealed connections: every wait ends, every head has a limit, and everything ends with the session.

use super::*;
use crate::Reason;
use std::time::Duration;
use tokio::sync::mpsc;

const SHORT: Duration = Duration::from_millis(50);

async fn app_with(options: Options) -> (OriginServer, SealedProxy) {
    let authority = TestAuthority::new();
    let server =
        OriginServer::tls(authority.server(&["app.test"], |_| {}), |_| Response::new(text("ok"))).await;
    let sealed = TestCredential::new().sealed("https://app.test");
    let hosts = [("app.test", server.address)];
    let proxy = SealedProxy::with_options(&authority, &hosts, vec![sealed], options);
    (server, proxy)
}

#[tokio::test]
async fn a_hello_that_does_not_come_is_not_waited_for() {
    let (server, proxy) = app_with(Options { head_timeout: SHORT, ..Options::default() }).await;
    for beginning in [&b""[..], b"\x16\x03\x01\x02\x00\x01\x00\x01", b"GET / HTTP/1.1\r\n"] {
        let mut stream = proxy.tunnel("app.test:443").await;
        stream.write_all(beginning).await.unwrap();
        super::super::rest(&mut stream).await;
    }
    assert_eq!(proxy.failure().await, EgressOutcome::Refused(Reason::Malformed));
    assert_eq!(server.received().len(), 0);
}

#[tokio::test]
async fn a_head_that_comes_too_slowly_or_not_at_all_ends_the_connection() {
    // Time enough for two handshakes on a busy machine.
    let options = Options { head_timeout: Duration::from_secs(2), ..Options::default() };
    let (server, proxy) = app_with(options).await;
    for beginning in ["", "GET / HTTP/1.1\r\nHo"] {
        let mut stream = proxy.tls("app.test:443", &[b"http/1.1"]).await.unwrap();
        stream.write_all(beginning.as_bytes()).await.unwrap();
        super::super::rest(&mut stream).await;
    }
    assert_eq!(server.received().len(), 0);
}

#[tokio::test]
async fn a_site_whose_handshake_hangs_is_given_up() {
    let authority = TestAuthority::new();
    let site =
        super::super::Site::new(|mut stream| async move { drop(super::super::rest(&mut stream).await) })
            .await;
    let sealed = TestCredential::new().sealed("https://app.test");
    let options = Options { connect_timeout: Duration::from_millis(200), ..Options::default() };
    let proxy = SealedProxy::with_options(&authority, &[("app.test", site.address)], vec![sealed], options);
    assert!(proxy.tls("app.test:443", &[b"h2"]).await.is_err());
    assert_eq!(proxy.failure().await, EgressOutcome::Failed(Reason::ConnectTimeout));
}

#[tokio::test]
async fn a_head_that_is_too_large_is_turned_away_and_a_large_one_passes() {
    let (server, proxy) = app_with(Options::default()).await;
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let mut browser = proxy.browser("app.test:443", version).await;
        // 8 KiB is what servers take.
        let large = "a".repeat(8 * 1024);
        assert_eq!(browser.get("/", &[("x-large", &large)]).await.status, StatusCode::OK);
        assert_eq!(server.last().header("x-large").len(), large.len());
        let before = server.received().len();
        let huge = "a".repeat(100 * 1024);
        let request = browser.request("GET", "/").header("x-huge", &huge).body(text("")).unwrap();
        let answer = browser.send(request).await;
        assert!(
            answer.is_err() || answer.is_ok_and(|answer| answer.status().is_client_error()),
            "{version:?}"
        );
        assert_eq!(server.received().len(), before);
    }
}

#[tokio::test]
async fn a_quiet_connection_is_closed() {
    let options = Options { idle_timeout: Duration::from_secs(1), ..Options::default() };
    let (_server, proxy) = app_with(options).await;
    let mut stream = proxy.tls("app.test:443", &[b"http/1.1"]).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n").await.unwrap();
    assert!(super::super::rest(&mut stream).await.starts_with("HTTP/1.1 200 "));
    assert_eq!(proxy.entries()[0].verdict, EgressOutcome::Allowed);
}

#[tokio::test]
async fn dropping_the_proxy_closes_every_sealed_connection() {
    for version in [Version::HTTP_11, Version::HTTP_2] {
        let (begins, mut begun) = mpsc::unbounded_channel();
        let (ends, mut ended) = mpsc::unbounded_channel::<()>();
        let (_server, proxy, _credential) = sealed_app(move |_| {
            begins.send(()).unwrap();
            let ends = ends.clone();
            let stream = futures_util::stream::poll_fn(move |_| {
                let _ends = &ends;
                std::task::Poll::<Option<Result<hyper::body::Frame<Bytes>, Infallible>>>::Pending
            });
            Response::new(http_body_util::StreamBody::new(stream).boxed_unsync())
        })
        .await;
        let mut browser = proxy.browser("app.test:443", version).await;
        let request = browser.request("GET", "/").body(text("")).unwrap();
        let response = browser.send(request).await.unwrap();
        begun.recv().await.unwrap();
        let SealedProxy { egress, .. } = proxy;
        drop(egress);
        assert!(response.into_body().collect().await.is_err(), "{version:?}");
        drop(_server);
        assert!(ended.recv().await.is_none());
    }
}

#[tokio::test]
async fn requests_on_one_connection_are_counted_against_the_rate_of_their_host() {
    let (server, proxy) = app_with(Options { requests_per_second: Some(2), ..Options::default() }).await;
    let mut browser = proxy.browser("app.test:443", Version::HTTP_2).await;
    let mut refused = 0;
    for _ in 0..100 {
        refused += usize::from(browser.get("/", &[]).await.status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(refused > 0 && server.received().len() == 100 - refused, "{refused}");
    assert_eq!(proxy.failure().await, EgressOutcome::Refused(Reason::TooManyRequests));
}
