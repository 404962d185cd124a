//! Compressed replies: undone, sealed and passed on, wherever they are cut.

use super::*;
use async_compression::tokio::write::{BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder};
use futures_util::StreamExt as _;
use http_body_util::StreamBody;
use hyper::body::Frame;
use tokio::sync::mpsc;

const PAGE: &str = "<p>the token is tok_5f8GhJ2kLm9PqRs4TvWx, and tok_5f8GhJ2kLm9PqRs4TvWx again</p>";

async fn compress(coding: &str, plain: &[u8]) -> Vec<u8> {
    async fn all<W: AsyncWrite + Unpin>(mut encoder: W, plain: &[u8]) -> W {
        encoder.write_all(plain).await.unwrap();
        encoder.shutdown().await.unwrap();
        encoder
    }
    match coding {
        "gzip" => all(GzipEncoder::new(Vec::new()), plain).await.into_inner(),
        "deflate" => all(ZlibEncoder::new(Vec::new()), plain).await.into_inner(),
        "raw deflate" => all(DeflateEncoder::new(Vec::new()), plain).await.into_inner(),
        "br" => all(BrotliEncoder::new(Vec::new()), plain).await.into_inner(),
        "zstd" => all(ZstdEncoder::new(Vec::new()), plain).await.into_inner(),
        "identity" => plain.to_vec(),
        _ => unreachable!("{coding}"),
    }
}

fn coded(name: &str, body: AnyBody) -> Response<AnyBody> {
    let mut response = Response::new(body);
    response.headers_mut().insert("content-encoding", HeaderValue::from_str(name).unwrap());
    response
}

fn pieces(pieces: Vec<Vec<u8>>) -> AnyBody {
    let frames = pieces.into_iter().map(|piece| Ok::<_, Infallible>(Frame::data(Bytes::from(piece))));
    StreamBody::new(futures_util::stream::iter(frames)).boxed_unsync()
}

#[tokio::test]
async fn a_coded_reply_is_sealed_wherever_it_is_cut() {
    for coding in ["identity", "gzip", "deflate", "raw deflate", "br", "zstd"] {
        let compressed = compress(coding, PAGE.as_bytes()).await;
        let whole = compressed.clone();
        let name = coding.strip_prefix("raw ").unwrap_or(coding);
        let (_server, proxy, credential) = sealed_app(move |received| {
            let cut: usize = received.target.rsplit('/').next().unwrap().parse().unwrap();
            let (first, second) = whole.split_at(cut);
            let mut response = coded(name, pieces(vec![first.to_vec(), second.to_vec()]));
            if cut.is_multiple_of(2) {
                response.headers_mut().insert("content-length", HeaderValue::from(whole.len()));
            }
            response
        })
        .await;
        let mut browser = proxy.browser("app.test:443", Version::HTTP_2).await;
        let expected = PAGE.replace(TOKEN, credential.token.as_str());
        for cut in 0..=compressed.len() {
            let reply = browser.get(&format!("/{cut}"), &[]).await;
            assert_eq!(reply.text(), expected, "{coding} cut at {cut}");
            if coding != "identity" {
                assert!(!reply.headers.contains_key("content-encoding"), "{coding}");
                assert!(!reply.headers.contains_key("content-length"), "{coding}");
            }
        }
        assert_eq!(proxy.seal.unswapped(), 0);
    }
}

#[tokio::test]
async fn a_coded_reply_in_single_bytes_is_sealed_too() {
    for coding in ["gzip", "br", "zstd"] {
        let compressed = compress(coding, PAGE.as_bytes()).await;
        let (_server, proxy, credential) =
            sealed_app(move |_| coded(coding, pieces(compressed.iter().map(|byte| vec![*byte]).collect())))
                .await;
        let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
        let reply = browser.get("/", &[]).await;
        assert_eq!(reply.text(), PAGE.replace(TOKEN, credential.token.as_str()), "{coding}");
    }
}

#[tokio::test]
async fn codings_on_top_of_each_other_are_undone_and_unknown_ones_are_counted() {
    let inner = compress("gzip", PAGE.as_bytes()).await;
    let both = compress("br", &inner).await;
    let zipped = inner.clone();
    let (_server, proxy, credential) =
        sealed_app(move |received| match received.target.rsplit('/').next().unwrap() {
            "both" => coded("gzip, br", text(both.clone())),
            "many" => coded("gzip, gzip, gzip, gzip", text(zipped.clone())),
            "unknown" => coded("x-secret-sauce", text(zipped.clone())),
            _ => {
                let mut response = coded("gzip", text(zipped.clone()));
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                response
            }
        })
        .await;
    let mut browser = proxy.browser("app.test:443", Version::HTTP_2).await;
    let reply = browser.get("/both", &[]).await;
    assert_eq!(reply.text(), PAGE.replace(TOKEN, credential.token.as_str()));
    assert_eq!(proxy.seal.unswapped(), 0);
    // A browser decodes a part that is the whole.
    let reply = browser.get("/part", &[]).await;
    assert_eq!(reply.text(), PAGE.replace(TOKEN, credential.token.as_str()));
    let reply = browser.get("/unknown", &[]).await;
    assert_eq!(
        (reply.header("content-encoding"), &reply.body[..]),
        ("x-secret-sauce".to_owned(), &inner[..])
    );
    assert_eq!(proxy.seal.unswapped(), 1);
    let many = browser.request("GET", "/many").body(text("")).unwrap();
    assert!(browser.send(many).await.is_err());
    assert_eq!(proxy.seal.unswapped(), 2);
}

#[tokio::test]
async fn a_head_or_unchanged_reply_says_of_its_coding_what_the_whole_one_would() {
    let (_server, proxy, _credential) = sealed_app(|received| {
        let mut response = coded("gzip", text(""));
        if received.method == Method::HEAD {
            response.headers_mut().insert("content-length", HeaderValue::from_static("55"));
        } else {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        response
    })
    .await;
    for method in ["HEAD", "GET"] {
        let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
        let reply = browser.exchange(method, "/", &[], "").await;
        assert!(!reply.headers.contains_key("content-encoding") && reply.body.is_empty(), "{reply:?}");
        assert_ne!(reply.header("content-length"), "55");
    }
}

#[tokio::test]
async fn broken_coded_replies_break_off() {
    let good = compress("gzip", PAGE.repeat(500).as_bytes()).await;
    let (_server, proxy, _credential) = sealed_app(move |received| {
        let mut bytes = good.clone();
        match received.target.rsplit('/').next().unwrap() {
            "cut" => bytes.truncate(bytes.len() / 2),
            "garbage" => bytes = b"this is no gzip at all".to_vec(),
            _ => bytes.extend_from_slice(b"what follows the end is ignored, as browsers do"),
        }
        coded("gzip", text(bytes))
    })
    .await;
    for (path, is_whole) in [("/cut", false), ("/garbage", false), ("/excess", true)] {
        let mut browser = proxy.browser("app.test:443", Version::HTTP_2).await;
        let request = browser.request("GET", path).body(text("")).unwrap();
        let body = match browser.send(request).await {
            Ok(response) => response.into_body().collect().await,
            Err(error) => Err(error),
        };
        assert_eq!(body.is_ok(), is_whole, "{path}");
        if let Ok(body) = body {
            assert_eq!(body.to_bytes().len(), PAGE.repeat(500).len());
        }
    }
}

#[tokio::test]
async fn a_compressed_event_is_delivered_before_the_next_one_is_sent() {
    let (pieces, fed) = mpsc::channel::<Bytes>(1);
    let fed = Mutex::new(Some(fed));
    let (_server, proxy, credential) = sealed_app(move |_| {
        let mut fed = fed.lock().unwrap().take().unwrap();
        let stream = futures_util::stream::poll_fn(move |cx| fed.poll_recv(cx));
        coded(
            "gzip",
            StreamBody::new(stream.map(|piece| Ok::<_, Infallible>(Frame::data(piece)))).boxed_unsync(),
        )
    })
    .await;
    let mut browser = proxy.browser("app.test:443", Version::HTTP_11).await;
    let mut encoder = GzipEncoder::new(Vec::new());
    let request = browser.request("GET", "/events").body(text("")).unwrap();
    let mut body = browser.send(request).await.unwrap().into_body();
    for number in 0..5 {
        encoder.write_all(format!("data: {number} {TOKEN}\n\n").as_bytes()).await.unwrap();
        encoder.flush().await.unwrap();
        let event = std::mem::take(encoder.get_mut());
        pieces.send(Bytes::from(event)).await.unwrap();
        let expected = format!("data: {number} {}\n\n", credential.token.as_str());
        let mut delivered = String::new();
        while delivered.len() < expected.len() {
            let frame = body.frame().await.unwrap().unwrap();
            delivered.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
        assert_eq!(delivered, expected);
    }
}

#[tokio::test]
async fn a_site_is_asked_only_for_codings_that_can_be_undone() {
    let (server, proxy, _credential) = sealed_app(|_| Response::new(text(""))).await;
    let mut browser = proxy.browser("app.test:443", Version::HTTP_2).await;
    browser.get("/", &[("accept-encoding", "gzip, deflate, br, zstd, dcb, dcz")]).await;
    assert_eq!(server.last().header("accept-encoding"), "gzip, deflate, br, zstd");
}
