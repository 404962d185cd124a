//! What a session may hold: so many requests, so many bytes, and for a body so long.

use super::*;
use bytes::Bytes;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::StatusCode;
use hyper::body::Frame;
use std::convert::Infallible;
use tokio::io::AsyncWriteExt as _;

fn brief() -> Options {
    Options { held_room_timeout: Duration::from_millis(100), ..options() }
}

#[tokio::test]
async fn sixteen_requests_are_held_and_the_next_is_refused() {
    for way in [Way::Http1, Way::Http2] {
        let mut app = App::with_options(way, brief()).await;
        let mut questions = Vec::new();
        let mut sent = Vec::new();
        for _ in 0..16 {
            sent.push(send(app.browser(way).await, "POST", "/notes", &[], "a=b"));
            questions.push(app.gate.next().await);
        }
        let (browser, reply) = reply_of(send(app.browser(way).await, "POST", "/more", &[], "a=b")).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN);
        assert_eq!(refusal_code(&app.row("/more").await), "effects_full");
        assert_eq!(app.gate.undecided(), ["effects_full"]);
        assert!(app.server.received().is_empty());
        // One that is decided on makes room.
        questions.pop().unwrap().answer(Answer::Refuse);
        let next = send(browser, "POST", "/next", &[], "a=b");
        app.gate.next().await.answer(Answer::Permit);
        assert_eq!(reply_of(next).await.1.status, StatusCode::OK);
        for question in questions {
            question.answer(Answer::Permit);
        }
        for one in sent {
            reply_of(one).await;
        }
        assert_eq!(app.server.received().len(), 16, "{way:?}");
    }
}

#[tokio::test]
async fn requests_that_are_decided_on_at_once_wait_for_each_other() {
    let mut app = App::with_options(Way::Http2, Options { max_held: 1, ..options() }).await;
    let mut sent = Vec::new();
    for _ in 0..5 {
        sent.push(send(app.browser(Way::Http2).await, "POST", "/notes", &[], "a=b"));
    }
    for _ in 0..5 {
        app.gate.next().await.answer(Answer::Permit);
    }
    for one in sent {
        assert_eq!(reply_of(one).await.1.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_body_up_to_the_bound_is_held_and_a_larger_one_is_refused() {
    for way in WAYS {
        let mut app = App::with_options(way, brief()).await;
        let most = Options::default().max_effect_bytes;
        let sent = send(app.browser(way).await, "POST", "/upload", &[], "x".repeat(most));
        let question = app.gate.next().await;
        assert_eq!(question.request.body.len(), most);
        question.answer(Answer::Permit);
        let (browser, reply) = reply_of(sent).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert_eq!(app.server.last().body.len(), most);
        // With its length named, and without.
        let (_, reply) = reply_of(send(browser, "POST", "/large", &[], "x".repeat(most + 1))).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN);
        let mut browser = app.browser(way).await;
        let piece = Bytes::from(vec![b'x'; 64 * 1024]);
        let frames = (0..=most / piece.len()).map(move |_| Ok::<_, Infallible>(Frame::data(piece.clone())));
        let body = StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync();
        let request = browser.request("POST", "/endless").body(body).unwrap();
        assert_eq!(browser.send(request).await.unwrap().status(), StatusCode::FORBIDDEN, "{way:?}");
        for path in ["/large", "/endless"] {
            assert_eq!(refusal_code(&app.row(path).await), "effect_too_large", "{way:?}");
        }
        assert_eq!(app.server.received().len(), 1);
    }
}

#[tokio::test]
async fn the_bytes_of_all_held_bodies_are_bounded() {
    let options = Options { max_held_bytes: 1000, ..brief() };
    let mut app = App::with_options(Way::Http1, options).await;
    let first = send(app.browser(Way::Http1).await, "POST", "/first", &[], "x".repeat(700));
    let question = app.gate.next().await;
    let second = send(app.browser(Way::Http1).await, "POST", "/second", &[], "x".repeat(400));
    assert_eq!(reply_of(second).await.1.status, StatusCode::FORBIDDEN);
    assert_eq!(refusal_code(&app.row("/second").await), "effects_full");
    let third = send(app.browser(Way::Http1).await, "POST", "/third", &[], "x".repeat(300));
    app.gate.next().await.answer(Answer::Permit);
    assert_eq!(reply_of(third).await.1.status, StatusCode::OK);
    question.answer(Answer::Permit);
    assert_eq!(reply_of(first).await.1.status, StatusCode::OK);
    let again = send(app.browser(Way::Http1).await, "POST", "/again", &[], "x".repeat(1000));
    app.gate.next().await.answer(Answer::Permit);
    assert_eq!(reply_of(again).await.1.status, StatusCode::OK);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for() {
    let options = Options { effect_body_timeout: Duration::from_millis(200), ..options() };
    let app = App::with_options(Way::PlainTunnel, options).await;
    let mut stream = app.proxy.tunnel("app.test:80").await;
    let head = "POST /slow HTTP/1.1\r\nHost: app.test\r\nContent-Length: 100\r\n\r\nbeginning";
    stream.write_all(head.as_bytes()).await.unwrap();
    assert!(super::super::head(&mut stream).await.starts_with("HTTP/1.1 403 "));
    assert_eq!(refusal_code(&app.row("/slow").await), "effect_incomplete");
    assert_eq!(app.gate.undecided(), ["effect_incomplete"]);
    assert!(app.server.received().is_empty());
}
