//! What the gate sees, what the site gets, and what the page gets.

use super::super::sealed::{SESSION, TOKEN};
use super::*;
use async_compression::tokio::write::GzipEncoder;
use bytes::Bytes;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::Frame;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Request, StatusCode};
use std::convert::Infallible;
use tokio::io::AsyncWriteExt as _;

const FORM: &[(&str, &str)] =
    &[("content-type", "application/x-www-form-urlencoded"), ("sec-fetch-dest", "empty")];

#[tokio::test]
async fn nothing_reaches_the_site_before_the_decision_and_exactly_the_bytes_after() {
    for way in WAYS {
        let mut app = App::new(way).await;
        app.proxy.egress.journal().set_action(7);
        let sent = send(app.browser(way).await, "POST", "/notes?a=%20b&c", FORM, "title=a+b&text=%C3%A9");
        let question = app.gate.next().await;
        app.proxy.egress.journal().set_action(8);
        let EffectRequest { transport, method, url, content_type, destination, body } =
            question.request.clone();
        assert_eq!((transport, method.as_str()), (EffectTransport::Http, "POST"));
        assert_eq!(url, format!("{}/notes?a=%20b&c", way.origin()));
        assert_eq!((content_type.as_str(), destination.as_str()), (FORM[0].1, "empty"));
        assert_eq!(body, "title=a+b&text=%C3%A9");
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(app.server.received().is_empty(), "{way:?}");
        question.answer(Answer::Permit);
        let (_, reply) = reply_of(sent).await;
        assert_eq!((reply.status, reply.text().as_str()), (StatusCode::OK, "done"), "{way:?}");
        let received = app.server.received();
        assert_eq!(received.len(), 1);
        assert_eq!(
            (received[0].method.as_str(), received[0].body.as_str()),
            ("POST", "title=a+b&text=%C3%A9")
        );
        assert!(received[0].target.ends_with("/notes?a=%20b&c"), "{}", received[0].target);
        app.gate.outcome("200").await;
        let row = app.row("/notes").await;
        assert_eq!((row.verdict, row.status, row.action), (EgressOutcome::Allowed, Some(200), 7));
        assert_eq!((row.method.as_str(), row.bytes_up), ("POST", body.len() as u64));
    }
}

#[tokio::test]
async fn a_plain_request_to_the_proxy_is_held_too() {
    let mut app = App::new(Way::PlainTunnel).await;
    let mut stream = app.proxy.dial().await;
    let request = "POST http://app.test/notes HTTP/1.1\r\nHost: app.test\r\nContent-Length: 3\r\n\r\na=b";
    stream.write_all(request.as_bytes()).await.unwrap();
    let question = app.gate.next().await;
    assert_eq!(question.request.url, "http://app.test/notes");
    assert!(app.server.received().is_empty());
    question.answer(Answer::Permit);
    let reply = super::super::rest(&mut stream).await;
    assert!(reply.starts_with("HTTP/1.1 200 ") && reply.ends_with("done"), "{reply}");
    assert_eq!(app.server.last().body, "a=b");

    let mut stream = app.proxy.dial().await;
    let navigation = request.replace("Host:", "Upgrade-Insecure-Requests: 1\r\nHost:");
    stream.write_all(navigation.as_bytes()).await.unwrap();
    app.gate.next().await.answer(Answer::Refuse);
    let reply = super::super::rest(&mut stream).await;
    assert!(reply.starts_with("HTTP/1.1 204 "), "{reply}");
    assert_eq!(app.server.received().len(), 1);
}

#[tokio::test]
async fn a_refused_request_fails_in_the_page_and_a_refused_navigation_leaves_the_document() {
    for way in WAYS {
        let mut app = App::new(way).await;
        let mut browser = app.browser(way).await;
        for (lines, expected) in [
            (&[("sec-fetch-mode", "cors"), ("origin", "https://app.test")][..], StatusCode::FORBIDDEN),
            (&[("sec-fetch-mode", "navigate")], StatusCode::NO_CONTENT),
            (&[], StatusCode::FORBIDDEN),
        ] {
            let sent = send(browser, "POST", "/notes", lines, "a=b");
            app.gate.next().await.answer(Answer::Refuse);
            let reply;
            (browser, reply) = reply_of(sent).await;
            assert_eq!((reply.status, reply.body.len()), (expected, 0), "{way:?} {lines:?}");
            assert_eq!(reply.header("cache-control"), "no-store");
            assert_eq!(reply.header("access-control-allow-origin"), "");
        }
        assert_eq!(refusal_code(&app.row("/notes").await), "denied_by_operator");
        // The connection goes on.
        assert_eq!(browser.get("/", &[]).await.text(), "done", "{way:?}");
        assert_eq!(app.server.received().len(), 1);
    }
}

#[tokio::test]
async fn a_request_that_changes_nothing_leaves_without_a_permit() {
    for way in WAYS {
        let mut app = App::new(way).await;
        let sent = send(app.browser(way).await, "POST", "/search", FORM, "q=a");
        app.gate.next().await.answer(Answer::Read);
        assert_eq!(reply_of(sent).await.1.text(), "done");
        assert_eq!(app.server.last().body, "q=a");
    }
}

#[tokio::test]
async fn a_permit_for_other_bytes_is_refused() {
    for way in WAYS {
        for change in [
            |request: &mut EffectRequest| request.body = Bytes::from_static(b"amount=2"),
            |request: &mut EffectRequest| request.url.push('x'),
            |request: &mut EffectRequest| request.method = "PUT".to_owned(),
        ] {
            let mut app = App::new(way).await;
            let sent = send(app.browser(way).await, "POST", "/notes", FORM, "amount=1");
            let question = app.gate.next().await;
            let mut other = question.request.clone();
            change(&mut other);
            question.answer(Answer::PermitFor(other));
            assert_eq!(reply_of(sent).await.1.status, StatusCode::FORBIDDEN);
            assert!(app.server.received().is_empty(), "{way:?}");
            assert_eq!(refusal_code(&app.row("/notes").await), "effect_mismatch");
        }
    }
}

#[tokio::test]
async fn the_gate_sees_placeholders_and_the_site_gets_the_secrets() {
    for way in [Way::Http1, Way::Http2] {
        let mut app = App::new(way).await;
        let (session, token) = (app.credential.session.clone(), app.credential.token.clone());
        app.proxy.seal.allow("login", redact::SendIn::Body { path: "/token".to_owned() });
        let mut browser = app.browser(way).await;
        let body = format!("t={}", token.as_str());
        let (cookie, said) = (format!("sid={}", session.as_str()), body.clone());
        let sent = tokio::spawn(async move {
            browser.exchange("POST", "/token", &[("cookie", &cookie), FORM[0]], &said).await
        });
        let question = app.gate.next().await;
        assert_eq!(question.request.body, body);
        question.answer(Answer::Permit);
        assert_eq!(sent.await.unwrap().status, StatusCode::OK);
        let received = app.server.last();
        assert_eq!(
            (received.header("cookie"), received.body.clone()),
            (format!("sid={SESSION}"), format!("t={TOKEN}"))
        );
    }
}

#[tokio::test]
async fn a_compressed_body_is_read_for_the_gate_and_sent_as_it_came() {
    let mut encoder = GzipEncoder::new(Vec::new());
    encoder.write_all(b"name=a").await.unwrap();
    encoder.shutdown().await.unwrap();
    let gzip = encoder.into_inner();
    for way in [Way::Http1, Way::Http2] {
        let mut app = App::new(way).await;
        for (coding, body, seen) in [
            ("gzip", gzip.clone(), Some(&b"name=a"[..])),
            ("amz-1.0", b"name=a".to_vec(), Some(b"name=a")),
            ("compress", b"name=a".to_vec(), None),
            ("gzip", b"name=a".to_vec(), None),
            ("br", gzip.clone(), None),
        ] {
            let mut browser = app.browser(way).await;
            let request = browser.request("POST", "/coded").header("content-encoding", coding);
            let request = request.header("content-type", "text/x").body(text(body.clone())).unwrap();
            let sent = tokio::spawn(async move { browser.send(request).await.unwrap().status() });
            let before = app.server.received().len();
            let Some(decoded) = seen else {
                assert_eq!(sent.await.unwrap(), StatusCode::FORBIDDEN, "{coding}");
                assert_eq!(app.server.received().len(), before);
                assert_eq!(app.gate.undecided().last(), Some(&"effect_unreadable"));
                crate::tests::seen::seen(crate::Reason::EffectUnreadable.code());
                continue;
            };
            let question = app.gate.next().await;
            assert_eq!(
                (&question.request.body[..], question.request.content_type.as_str()),
                (decoded, "text/x")
            );
            question.answer(Answer::Permit);
            assert_eq!(sent.await.unwrap(), StatusCode::OK);
            let received = app.server.last();
            assert_eq!(received.body, String::from_utf8_lossy(&body), "{coding}");
            assert_eq!(
                (received.header("content-encoding"), received.header("content-type")),
                (coding.to_owned(), "text/x".to_owned())
            );
        }
    }
}

#[tokio::test]
async fn a_header_that_changes_the_method_counts() {
    for way in WAYS {
        let mut app = App::new(way).await;
        let mut browser = app.browser(way).await;
        for (method, lines, expected) in [
            ("POST", &[("x-http-method-override", "DELETE")][..], "DELETE"),
            ("GET", &[("x-http-method", "delete")], "DELETE"),
            ("GET", &[("x-method-override", "POST")], "POST"),
            ("POST", &[("x-http-method-override", "GET")], "POST"),
        ] {
            let sent = send(browser, method, "/notes/1", lines, "");
            let question = app.gate.next().await;
            assert_eq!(question.request.method, expected, "{way:?}");
            question.answer(Answer::Permit);
            browser = reply_of(sent).await.0;
            assert_eq!(app.server.last().method.as_str(), method);
        }
    }
}

#[tokio::test]
async fn bodies_without_a_length_and_with_trailers_are_read_to_their_end() {
    for way in WAYS {
        let mut app = App::new(way).await;
        let mut browser = app.browser(way).await;
        let trailers = HeaderMap::from_iter([(
            hyper::header::HeaderName::from_static("x-sum"),
            HeaderValue::from_static("1"),
        )]);
        let frames = [
            Frame::data(Bytes::from_static(b"one,")),
            Frame::data(Bytes::from_static(b"two,")),
            Frame::data(Bytes::from_static(b"three")),
            Frame::trailers(trailers),
        ];
        let frames = frames.map(Ok::<_, Infallible>);
        let body = StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync();
        let request: Request<AnyBody> = browser.request("POST", "/items").body(body).unwrap();
        let sent = tokio::spawn(async move { browser.send(request).await.unwrap().status() });
        let question = app.gate.next().await;
        assert_eq!(question.request.body, "one,two,three", "{way:?}");
        question.answer(Answer::Permit);
        assert_eq!(sent.await.unwrap(), StatusCode::OK);
        assert_eq!(app.server.last().body, "one,two,three");
    }
}

#[tokio::test]
async fn a_browser_that_expects_to_be_told_to_go_on_is_told() {
    let mut app = App::new(Way::Http1).await;
    let mut stream = app.proxy.tls("app.test:443", &[b"http/1.1"]).await.unwrap();
    let head = "POST /notes HTTP/1.1\r\nHost: app.test\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    assert!(super::super::head(&mut stream).await.starts_with("HTTP/1.1 100 "));
    stream.write_all(b"a=b").await.unwrap();
    let question = app.gate.next().await;
    assert_eq!(question.request.body, "a=b");
    question.answer(Answer::Permit);
    assert!(super::super::head(&mut stream).await.starts_with("HTTP/1.1 200 "));
    assert_eq!((app.server.last().body.as_str(), app.server.last().header("expect")), ("a=b", String::new()));
}

#[tokio::test]
async fn each_hop_of_a_redirect_is_decided_on() {
    for way in WAYS {
        let mut app = App::answering(way, options(), |received| {
            let mut reply = Response::new(text(""));
            if received.target.ends_with("/first") {
                *reply.status_mut() = StatusCode::TEMPORARY_REDIRECT;
                reply.headers_mut().insert("location", HeaderValue::from_static("/do/second"));
            }
            reply
        })
        .await;
        let sent = send(app.browser(way).await, "POST", "/first", FORM, "a=b");
        app.gate.next().await.answer(Answer::Permit);
        let (browser, reply) = reply_of(sent).await;
        assert_eq!(
            (reply.status, reply.header("location").as_str()),
            (StatusCode::TEMPORARY_REDIRECT, "/do/second")
        );
        app.gate.outcome("307").await;
        let sent = send(browser, "POST", "/do/second", FORM, "a=b");
        let question = app.gate.next().await;
        assert!(question.request.url.ends_with("/do/second"));
        question.answer(Answer::Refuse);
        let (browser, reply) = reply_of(sent).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN);
        // A hop that became a GET is asked about by its address.
        let sent = send(browser, "GET", "/do/second", &[], "");
        app.gate.next().await.answer(Answer::Refuse);
        assert_eq!(reply_of(sent).await.1.status, StatusCode::FORBIDDEN);
        assert_eq!(app.server.received().len(), 1, "{way:?}");
    }
}
