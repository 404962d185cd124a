//! TLS on both sides: who is trusted, which protocol is spoken, and whom a request is for.

use super::*;
use crate::{CertificateFault, Reason};
use rcgen::date_time_ymd;
use tokio::io::AsyncReadExt as _;

fn ok(_: Received) -> Response<AnyBody> {
    Response::new(text("ok"))
}

#[tokio::test]
async fn a_site_with_a_bad_certificate_is_not_spoken_to() {
    let authority = TestAuthority::new();
    let stranger = TestAuthority::named("Stranger");
    let impostor = TestAuthority::new();
    let expired = |params: &mut CertificateParams| params.not_after = date_time_ymd(2001, 1, 1);
    let early = |params: &mut CertificateParams| params.not_before = date_time_ymd(3001, 1, 1);
    for (config, fault) in [
        (stranger.server(&["app.test"], |_| {}), CertificateFault::UnknownIssuer),
        (impostor.server(&["app.test"], |_| {}), CertificateFault::Invalid),
        (authority.server(&["app.test"], expired), CertificateFault::Expired),
        (authority.server(&["app.test"], early), CertificateFault::NotValidYet),
        (authority.server(&["other.test"], |_| {}), CertificateFault::WrongHost),
    ] {
        let server = OriginServer::tls(config, ok).await;
        let credential = TestCredential::new().sealed("https://app.test");
        let proxy = SealedProxy::new(&authority, &[("app.test", server.address)], vec![credential]);
        assert!(proxy.tls("app.test:443", &[b"h2"]).await.is_err(), "{fault:?}");
        assert_eq!(proxy.failure().await, EgressOutcome::Failed(Reason::TlsUntrusted(fault)));
        let failure = proxy.egress.last_failure("app.test").unwrap();
        assert_eq!(failure.code().to_string(), "tls_untrusted");
        assert!(failure.to_string().contains(fault.label()) && !failure.retryable(), "{failure}");
        assert_eq!(server.received().len(), 0);
    }
}

#[tokio::test]
async fn a_site_that_speaks_no_tls_or_hangs_up_is_named_so() {
    let authority = TestAuthority::new();
    for (site, reason) in [
        (super::super::Site::answering("220 mail.test ESMTP\r\n").await, Reason::BadAnswer),
        (super::super::Site::new(|stream| async move { drop(stream) }).await, Reason::ConnectionLost),
    ] {
        let credential = TestCredential::new().sealed("https://app.test");
        let proxy = SealedProxy::new(&authority, &[("app.test", site.address)], vec![credential]);
        let failed = tokio::time::timeout(std::time::Duration::from_secs(60), async {
            // A plain server waits for the end of a head, so the hello has one.
            let mut stream = proxy.tls("app.test:443", &[b"h2"]).await;
            stream.as_mut().err().map(|error| error.kind())
        });
        // The first site reads until an empty line, which a hello may not hold; it then never answers.
        if reason == Reason::ConnectionLost {
            assert!(failed.await.unwrap().is_some());
            let EgressOutcome::Failed(found) = proxy.failure().await else { panic!("not a failure") };
            assert!(matches!(found, Reason::ConnectionLost | Reason::BadAnswer), "{found:?}");
        }
    }
}

#[tokio::test]
async fn both_sides_speak_the_protocol_that_the_site_chooses_among_what_the_browser_offers() {
    let authority = TestAuthority::new();
    let both: &[&[u8]] = &[b"h2", b"http/1.1"];
    let only_1: &[&[u8]] = &[b"http/1.1"];
    let only_2: &[&[u8]] = &[b"h2"];
    let none: &[&[u8]] = &[];
    for (site, browser, expected) in [
        (both, both, Some(&b"h2"[..])),
        (both, only_1, Some(b"http/1.1")),
        (only_1, both, Some(b"http/1.1")),
        (only_2, both, Some(b"h2")),
        (none, both, None),
        (both, none, None),
    ] {
        let server = OriginServer::speaking(site, authority.server(&["app.test"], |_| {}), ok).await;
        let credential = TestCredential::new().sealed("https://app.test");
        let proxy = SealedProxy::new(&authority, &[("app.test", server.address)], vec![credential]);
        let stream = proxy.tls("app.test:443", browser).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), expected, "{site:?} {browser:?}");
        let version = if expected == Some(b"h2") { Version::HTTP_2 } else { Version::HTTP_11 };
        let mut browser = Browser::over(stream, "app.test", version).await;
        assert_eq!(browser.get("/", &[]).await.text(), "ok");
        assert_eq!(server.last().version, version);
    }
}

#[tokio::test]
async fn a_hello_must_name_the_host_of_the_tunnel() {
    let (server, proxy, _credential) = sealed_app(ok).await;
    let jail = proxy.authority.certificate();
    let other = proxy.tls_named("app.test:443", "other.test", &[b"h2"], jail.clone()).await;
    assert!(other.is_err());
    assert_eq!(proxy.failure().await, EgressOutcome::Refused(Reason::Malformed));
    // An address is not named in a hello.
    assert!(proxy.tls_named("app.test:443", "127.0.0.1", &[b"h2"], jail).await.is_err());
    assert_eq!(server.received().len(), 0);
}

#[tokio::test]
async fn an_address_has_a_certificate_too() {
    let authority = TestAuthority::new();
    let server = OriginServer::tls(authority.server(&["127.0.0.1"], |_| {}), ok).await;
    let credential = TestCredential::new().sealed("https://127.0.0.1");
    let proxy = SealedProxy::new(&authority, &[("127.0.0.1", server.address)], vec![credential]);
    let mut browser = proxy.browser("127.0.0.1:443", Version::HTTP_2).await;
    assert_eq!(browser.get("/", &[]).await.text(), "ok");
    assert_eq!(server.last().header("x-api-key"), API_KEY);
}

#[tokio::test]
async fn a_request_for_another_origin_is_misdirected() {
    let (server, proxy, credential) = sealed_app(ok).await;
    let cookie = format!("sid={}", credential.session.as_str());
    let mut browser = proxy.browser("app.test:443", Version::HTTP_2).await;
    for target in
        ["https://other.test/", "https://app.test:8443/", "http://app.test/", "https://app.test.evil.test/"]
    {
        let request = Request::get(target).header("cookie", &cookie).body(text("")).unwrap();
        let response = browser.send(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::MISDIRECTED_REQUEST, "{target}");
    }
    let request = Request::get("https://app.test/").header("host", "other.test").body(text("")).unwrap();
    assert_ne!(browser.send(request).await.unwrap().status(), StatusCode::OK);
    for heads in [
        "GET / HTTP/1.1\r\nHost: other.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: app.test:8443\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: app.test\r\nHost: other.test\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: app.test\r\nHost: app.test\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET https://other.test/ HTTP/1.1\r\nHost: app.test\r\n\r\n",
        "GET http://app.test/ HTTP/1.1\r\nHost: app.test\r\n\r\n",
        "CONNECT app.test:443 HTTP/1.1\r\nHost: app.test:443\r\n\r\n",
    ] {
        let mut stream = proxy.tls("app.test:443", &[b"http/1.1"]).await.unwrap();
        stream.write_all(heads.as_bytes()).await.unwrap();
        let answer = head(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 4"), "{heads:?}: {answer}");
    }
    assert_eq!(server.received().len(), 0);
}

#[tokio::test]
async fn one_connection_serves_many_requests_in_turn_and_at_once() {
    let (server, proxy, _credential) = sealed_app(|received| Response::new(text(received.target))).await;
    let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
    for number in 0..20 {
        assert!(browser.get(&format!("/{number}"), &[]).await.text().ends_with(&format!("/{number}")));
    }
    // Pipelined: all requests before the first answer.
    let mut stream = proxy.tls("app.test:443", &[b"http/1.1"]).await.unwrap();
    let all: String =
        (0..5).map(|number| format!("GET /p{number} HTTP/1.1\r\nHost: app.test\r\n\r\n")).collect();
    stream.write_all(all.as_bytes()).await.unwrap();
    for number in 0..5 {
        let answer = head(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
        let mut body = [0; 3];
        stream.read_exact(&mut body).await.unwrap();
        assert_eq!(std::str::from_utf8(&body).unwrap(), format!("/p{number}"));
    }
    let mut browser = proxy.browser("app.test:443", Version::HTTP_2).await;
    let Sender::Http2(sender) = &browser.sender else { panic!("not HTTP/2") };
    let mut at_once = JoinSet::new();
    for number in 0..50 {
        let mut sender = sender.clone();
        at_once.spawn(async move {
            let request = Request::get(format!("https://app.test/{number}")).body(text("")).unwrap();
            let body = sender.send_request(request).await.unwrap().into_body().collect().await.unwrap();
            assert_eq!(body.to_bytes(), format!("https://app.test/{number}"));
        });
    }
    while let Some(done) = at_once.join_next().await {
        done.unwrap();
    }
    assert_eq!(browser.get("/last", &[]).await.status, StatusCode::OK);
    // Three tunnels, three connections.
    let tunnels = proxy.entries().iter().filter(|entry| entry.method == "CONNECT").count();
    assert_eq!((tunnels, server.received().len()), (3, 76));
}

#[tokio::test]
async fn a_site_that_closes_after_its_reply_closes_the_browsers_connection() {
    let authority = TestAuthority::new();
    let config = authority.server(&["app.test"], |_| {});
    let server = OriginServer::speaking(&[b"http/1.1"], config, |_| {
        let mut response = Response::new(text("bye"));
        response.headers_mut().insert("connection", HeaderValue::from_static("close"));
        response
    })
    .await;
    let credential = TestCredential::new().sealed("https://app.test");
    let proxy = SealedProxy::new(&authority, &[("app.test", server.address)], vec![credential]);
    let mut stream = proxy.tls("app.test:443", &[b"http/1.1"]).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n").await.unwrap();
    let answer = super::super::rest(&mut stream).await;
    assert!(answer.to_lowercase().contains("connection: close\r\n") && answer.ends_with("bye"), "{answer}");
}

/// A site that answers once and closes on the second request, having read it.
async fn closing_site(authority: &TestAuthority) -> super::super::Site {
    let mut config = authority.server(&["app.test"], |_| {});
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    super::super::Site::new(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.unwrap();
            head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
            head(&mut stream).await;
        }
    })
    .await
}

#[tokio::test]
async fn a_request_that_may_have_had_its_effect_is_not_sent_again_by_the_browser() {
    let authority = TestAuthority::new();
    for (method, is_answered) in [("POST", true), ("GET", false)] {
        let site = closing_site(&authority).await;
        let credential = TestCredential::new().sealed("https://app.test");
        let proxy = SealedProxy::new(&authority, &[("app.test", site.address)], vec![credential]);
        let mut stream = proxy.tls("app.test:443", &[b"http/1.1"]).await.unwrap();
        let request = format!("{method} / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        head(&mut stream).await;
        let mut body = [0; 2];
        stream.read_exact(&mut body).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = super::super::rest(&mut stream).await;
        assert_eq!(answer.starts_with("HTTP/1.1 502 "), is_answered, "{method}: {answer}");
        assert_eq!(proxy.failure().await, EgressOutcome::Failed(Reason::ConnectionLost));
        assert_eq!(site.visits(), 1);
    }
}

#[tokio::test]
async fn a_browser_that_waits_to_continue_is_told_to() {
    let (server, proxy, _credential) = sealed_app(ok).await;
    let mut stream = proxy.tls("app.test:443", &[b"http/1.1"]).await.unwrap();
    let request = "POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 100 "));
    stream.write_all(b"hello").await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200 "));
    assert_eq!(server.last().body, "hello");
}

#[test]
fn the_authority_says_its_public_key_and_nothing_of_its_private_one() {
    use base64::Engine as _;
    let first = JailAuthority::generate().unwrap();
    let second = JailAuthority::generate().unwrap();
    assert_ne!(first.spki_sha256_base64(), second.spki_sha256_base64());
    let digest = base64::prelude::BASE64_STANDARD.decode(first.spki_sha256_base64()).unwrap();
    assert_eq!(digest.len(), 32);
    assert_eq!(format!("{first:?}"), "JailAuthority(..)");
    for number in 0..200 {
        let host = HostName::parse(&format!("h{number}.test")).unwrap();
        let config = first.server_config(&host, None).unwrap();
        assert!(Arc::ptr_eq(&config, &first.server_config(&host, None).unwrap()), "it is kept");
    }
}

#[test]
fn a_file_of_authorities_must_hold_some() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authorities.pem");
    assert!(UpstreamTls::system(Some(&file)).is_err());
    for content in ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        std::fs::write(&file, content).unwrap();
        let error = UpstreamTls::system(Some(&file)).unwrap_err().to_string();
        assert!(error.contains("authorities.pem"), "{error}");
    }
    assert!(UpstreamTls::system(None).is_ok());
}
