//! Ways around the gate that a page or a captured browser may try.

use super::*;
use tokio::io::AsyncWriteExt as _;

/// Sends raw bytes over a tunnel and reads the head of the first reply.
async fn raw(app: &App, bytes: &str) -> (String, tokio::net::UnixStream) {
    let mut stream = app.proxy.tunnel("app.test:80").await;
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let head = timeout(PATIENCE, super::super::head(&mut stream)).await.expect("no reply");
    (head, stream)
}

#[tokio::test]
async fn requests_with_two_lengths_are_rejected() {
    let app = App::new(Way::PlainTunnel).await;
    for lines in ["Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: 3, 4\r\n"] {
        let (head, _stream) =
            raw(&app, &format!("POST / HTTP/1.1\r\nHost: app.test\r\n{lines}\r\nabcd")).await;
        assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    }
    assert!(app.server.received().is_empty() && app.gate.heads().is_empty());
}

#[tokio::test]
async fn what_follows_a_chunked_body_is_a_request_of_its_own() {
    for lines in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 64\r\n",
    ] {
        let mut app = App::new(Way::PlainTunnel).await;
        let mut stream = app.proxy.tunnel("app.test:80").await;
        let smuggled = "POST /smuggled HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\n\r\n";
        let bytes =
            format!("POST /first HTTP/1.1\r\nHost: app.test\r\n{lines}\r\n3\r\na=b\r\n0\r\n\r\n{smuggled}");
        stream.write_all(bytes.as_bytes()).await.unwrap();
        let question = app.gate.next().await;
        assert_eq!(question.request.body, "a=b");
        assert!(app.server.received().is_empty());
        question.answer(Answer::Permit);
        // The second is asked about too, or the connection has ended.
        if let Ok(Some(second)) = timeout(Duration::from_millis(500), app.gate.questions.recv()).await {
            assert!(second.request.url.ends_with("/smuggled"));
            second.answer(Answer::Refuse);
        }
        assert!(super::super::head(&mut stream).await.starts_with("HTTP/1.1 200 "));
        let received = app.server.received();
        assert_eq!(received.len(), 1, "{lines}");
        assert_eq!((received[0].body.as_str(), received[0].header("content-length").as_str()), ("a=b", "3"));
    }
}

#[tokio::test]
async fn another_protocol_is_no_way_around() {
    let mut app = App::new(Way::PlainTunnel).await;
    for (upgrade, method) in [("h2c", "POST"), ("websocket", "POST"), ("tls/1.0", "DELETE")] {
        let mut stream = app.proxy.tunnel("app.test:80").await;
        let request = format!(
            "{method} /up HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: {upgrade}\r\n\
             HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nContent-Length: 0\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        app.gate.next().await.answer(Answer::Refuse);
        assert!(super::super::head(&mut stream).await.starts_with("HTTP/1.1 403 "), "{upgrade}");
    }
    assert!(app.server.received().is_empty());
    // A GET passes as a GET; what follows it is read as HTTP/1 again.
    let h2c = "GET /up HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    let (head, mut stream) =
        raw(&app, &format!("{h2c}POST /after HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\n\r\n")).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let question = app.gate.next().await;
    assert!(question.request.url.ends_with("/after"));
    question.answer(Answer::Refuse);
    let rest = async { while !super::super::head(&mut stream).await.contains("403") {} };
    timeout(PATIENCE, rest).await.unwrap();
    assert_eq!(app.server.received().len(), 1);
    assert!(!app.server.last().headers.contains_key("upgrade"));
}

#[tokio::test]
async fn a_request_names_the_origin_of_its_connection_and_no_other() {
    let app = App::new(Way::PlainTunnel).await;
    for (request, status) in [
        ("POST http://other.test/ HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\n\r\n", "421"),
        ("POST http://app.test/ HTTP/1.1\r\nHost: other.test\r\nContent-Length: 0\r\n\r\n", "421"),
        ("POST https://app.test/ HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\n\r\n", "421"),
        ("CONNECT app.test:80 HTTP/1.1\r\nHost: app.test\r\n\r\n", "405"),
    ] {
        let (head, _stream) = raw(&app, request).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {head}");
    }
    assert!(app.server.received().is_empty() && app.gate.heads().is_empty());
}

#[tokio::test]
async fn the_gate_is_asked_with_the_address_as_it_is_sent() {
    let mut app = App::new(Way::PlainTunnel).await;
    for (target, url) in [
        ("/a/../b?x=1&x=2", "http://app.test/a/../b?x=1&x=2"),
        ("http://app.test:80/abs?q", "http://app.test:80/abs?q"),
        ("//double//slash", "http://app.test//double//slash"),
        ("/%64elete?%6f", "http://app.test/%64elete?%6f"),
    ] {
        let host = if target.starts_with("http") { "app.test:80" } else { "app.test" };
        let mut stream = app.proxy.tunnel("app.test:80").await;
        let request = format!("POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let question = app.gate.next().await;
        assert_eq!(question.request.url, url);
        question.answer(Answer::Permit);
        super::super::head(&mut stream).await;
        let sent = target.strip_prefix("http://app.test:80").unwrap_or(target);
        assert_eq!(app.server.last().target, sent);
    }
}

#[tokio::test]
async fn early_data_is_not_taken_and_odd_methods_are_asked_about() {
    let mut app = App::new(Way::Http2).await;
    let stream = app.proxy.tls("app.test:443", &[b"h2"]).await.unwrap();
    assert!(!stream.get_ref().1.is_early_data_accepted());
    for method in ["PATCH", "PURGE", "post", "PROPFIND", "TRACE"] {
        let sent = send(app.browser(Way::Http2).await, method, "/odd", &[], "");
        let question = app.gate.next().await;
        assert_eq!(question.request.method, method.to_ascii_uppercase());
        question.answer(Answer::Refuse);
        reply_of(sent).await;
    }
    assert!(app.server.received().is_empty());
}

#[tokio::test]
async fn headers_that_stay_behind_do_not_describe_the_request() {
    let mut app = App::new(Way::PlainTunnel).await;
    let mut stream = app.proxy.tunnel("app.test:80").await;
    let request = "POST /a HTTP/1.1\r\nHost: app.test\r\nConnection: content-type\r\n\
                   Content-Type: text/plain\r\nContent-Length: 3\r\n\r\na=b";
    stream.write_all(request.as_bytes()).await.unwrap();
    let question = app.gate.next().await;
    assert_eq!((question.request.content_type.as_str(), &question.request.body[..]), ("", &b"a=b"[..]));
    question.answer(Answer::Permit);
    assert!(super::super::head(&mut stream).await.starts_with("HTTP/1.1 200 "));
    assert!(!app.server.last().headers.contains_key("content-type"));
}
