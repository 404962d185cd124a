//! What the gate is not concerned with streams as before, and origins without sealed values are left as they are.

use super::*;
use crate::{Seal, SealScope};
use bytes::Bytes;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::StatusCode;
use hyper::body::Frame;
use hyper::header::HeaderValue;
use policy::Origin;
use std::convert::Infallible;

/// An application whose origin is intercepted for its effects alone.
async fn intercepted(handler: impl Fn(Received) -> Response<AnyBody> + Send + Sync + 'static) -> App {
    let authority = TestAuthority::new();
    let server = OriginServer::tls(authority.server(&["app.test"], |_| {}), handler).await;
    let seal = Seal::with_intercepted(Vec::new(), vec![SealScope::Origin(Origin::of("https://app.test"))]);
    let proxy = SealedProxy::with_seal(&authority, &[("app.test", server.address)], seal, options());
    let gate = Gate::new();
    proxy.egress.set_effect_gate(Arc::clone(&gate.inner) as Arc<dyn EffectGate>);
    App { server, proxy: Arc::new(proxy), credential: TestCredential::new(), gate }
}

#[tokio::test]
async fn a_get_streams_both_ways_without_being_held() {
    for way in WAYS {
        let mut app = App::answering(way, options(), |_| {
            let pieces = (0..3).map(|_| Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"piece "))));
            Response::new(StreamBody::new(futures_util::stream::iter(pieces)).boxed_unsync())
        })
        .await;
        let mut browser = app.browser(way).await;
        let reply = browser.get("/page", &[]).await;
        assert_eq!((reply.status, reply.text().as_str()), (StatusCode::OK, "piece piece piece "));
        assert!(app.gate.questions.try_recv().is_err());
        assert_eq!(app.gate.heads(), [format!("GET {}/page", way.origin())]);
    }
}

#[tokio::test]
async fn a_large_reply_passes_in_pieces_while_a_request_is_held() {
    const PIECES: usize = 3200;
    let piece = Bytes::from(vec![7; 64 * 1024]);
    let mut app = intercepted(move |_| {
        let piece = piece.clone();
        let pieces = (0..PIECES).map(move |_| Ok::<_, Infallible>(Frame::data(piece.clone())));
        Response::new(StreamBody::new(futures_util::stream::iter(pieces)).boxed_unsync())
    })
    .await;
    for way in [Way::Http1, Way::Http2] {
        let _held = send(app.browser(way).await, "POST", "/held", &[], "a=b");
        let question = app.gate.next().await;
        let mut browser = app.browser(way).await;
        let request = browser.request("GET", "/large").body(text("")).unwrap();
        let mut body = browser.send(request).await.unwrap().into_body();
        let mut bytes = 0;
        while let Some(frame) = body.frame().await {
            bytes += frame.unwrap().into_data().map_or(0, |data| data.len());
        }
        assert_eq!(bytes, PIECES * 64 * 1024, "{way:?}");
        question.answer(Answer::Refuse);
    }
}

#[tokio::test]
async fn an_origin_without_sealed_values_keeps_its_cookies_and_codings_and_is_still_held() {
    let mut app = intercepted(|_| {
        let mut reply = Response::new(text("not really brotli"));
        let headers = reply.headers_mut();
        headers.insert("set-cookie", HeaderValue::from_static("sid=fresh-value-1; HttpOnly; Path=/"));
        headers.insert("content-encoding", HeaderValue::from_static("br"));
        reply
    })
    .await;
    for way in [Way::Http1, Way::Http2] {
        let mut browser = app.browser(way).await;
        let reply = browser.get("/", &[("accept-encoding", "gzip, dcb"), ("cookie", "sid=mine")]).await;
        assert_eq!(reply.header("set-cookie"), "sid=fresh-value-1; HttpOnly; Path=/");
        assert_eq!(
            (reply.header("content-encoding").as_str(), reply.text().as_str()),
            ("br", "not really brotli")
        );
        let received = app.server.last();
        assert_eq!(
            (received.header("accept-encoding"), received.header("cookie")),
            ("gzip, dcb".to_owned(), "sid=mine".to_owned())
        );
        let sent = send(browser, "POST", "/notes", &[("cookie", "sid=fresh-value-1")], "a=b");
        app.gate.next().await.answer(Answer::Permit);
        reply_of(sent).await;
        assert_eq!(
            (app.server.last().body.as_str(), app.server.last().header("cookie").as_str()),
            ("a=b", "sid=fresh-value-1")
        );
    }
    assert_eq!(app.proxy.seal.unswapped(), 0);
}

#[tokio::test]
async fn without_a_gate_nothing_is_held() {
    let authority = TestAuthority::new();
    let server =
        OriginServer::tls(authority.server(&["app.test"], |_| {}), |_| Response::new(text("done"))).await;
    let sealed = TestCredential::new().sealed("https://app.test");
    let proxy = SealedProxy::new(&authority, &[("app.test", server.address)], vec![sealed]);
    let reply = browser(&proxy, Way::Http2).await.exchange("POST", "/notes", &[], "a=b").await;
    assert_eq!((reply.status, server.last().body.as_str()), (StatusCode::OK, "a=b"));
}
