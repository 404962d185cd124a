//! A careless site behind a sealed login: it receives the real values and shows them in every way it can think of.

use super::sealed_app::{BEARER, CSRF, PASSWORD, SESSION};
use super::tls_site::TlsSite;
use super::websocket::{ServerSocket, upgrade};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::{SinkExt, StreamExt};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::{Arc, Mutex};

use super::echo_ways::{WAYS, page};

/// A header that the proxy adds.
pub const API_KEY: &str = "Key93b1f0e7c5a4d28866bb01fe";
/// What the login of `app.test` consists of, and the password of `basic.test`.
pub const VALUES: [&str; 5] = [SESSION, CSRF, BEARER, API_KEY, PASSWORD];
pub const NAMES: [&str; 2] = ["app.test", "basic.test"];

/// The values that arrived. Only those are echoed: the site knows none by itself.
#[derive(Clone, Default)]
pub struct EchoSite {
    received: Arc<Mutex<BTreeSet<String>>>,
    /// The last one that was left.
    comment: Arc<Mutex<String>>,
}

impl EchoSite {
    pub fn serve(&self) -> TlsSite {
        let router = Router::new()
            .route("/learn", get(|| async { Html(LEARN_PAGE) }))
            .route("/learned", get(|| async { "learned" }))
            .route("/way/{name}", get(way))
            .route("/part/{name}", get(part))
            .route("/landed", get(|| async { Html("<title>Landed</title><p>landed") }))
            .route("/guess", get(guess))
            .route("/echo", post(echo))
            .route("/echo/socket", get(echo_socket))
            .route("/comment", get(comments).post(comment))
            .layer(middleware::from_fn_with_state(self.clone(), receive))
            .with_state(self.clone());
        TlsSite::serve(&NAMES, router)
    }

    /// The values in a fixed order.
    pub fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().iter().cloned().collect()
    }
}

/// Takes what a login consists of out of each request.
async fn receive(State(site): State<EchoSite>, request: Request, next: Next) -> Response {
    let values = values_in(request.headers());
    site.received.lock().unwrap().extend(values);
    next.run(request).await
}

fn values_in(headers: &HeaderMap) -> Vec<String> {
    let header = |name: &str| -> Vec<String> {
        let all = headers.get_all(name).iter();
        all.filter_map(|value| value.to_str().ok()).map(str::to_owned).collect()
    };
    let mut values: Vec<String> = header("x-api-key");
    for line in header("cookie") {
        // The copy is of the site's own making.
        let pairs = line.split("; ").filter_map(|pair| pair.split_once('='));
        values.extend(pairs.filter(|(name, _)| *name != "copy").map(|(_, value)| value.to_owned()));
    }
    for line in header("authorization") {
        let (scheme, token) = line.split_once(' ').unwrap_or_default();
        let pair = STANDARD.decode(token).ok().and_then(|pair| String::from_utf8(pair).ok());
        match pair.as_deref().and_then(|pair| pair.split_once(':')) {
            Some((_, password)) if scheme == "Basic" => values.push(password.to_owned()),
            _ => values.push(token.to_owned()),
        }
    }
    values
}

/// A page that shows all values in one way.
async fn way(State(site): State<EchoSite>, Path(name): Path<String>) -> Response {
    let values = site.received();
    let way = WAYS.iter().find(|way| way.name == name).unwrap();
    let html = page(way, &values);
    match name.as_str() {
        "redirect" => {
            let to = format!("/landed?next={}", values.join("&next="));
            (StatusCode::FOUND, [("location", to)]).into_response()
        }
        "error page" => (StatusCode::INTERNAL_SERVER_ERROR, Html(html)).into_response(),
        "not found" => (StatusCode::NOT_FOUND, Html(html)).into_response(),
        "json document" => ([("content-type", "application/json")], html).into_response(),
        "plain document" => ([("content-type", "text/plain")], html).into_response(),
        "svg document" => ([("content-type", "image/svg+xml")], html).into_response(),
        "utf-16 document" => utf16_page("text/html; charset=utf-16le", &html, u16::to_le_bytes),
        "utf-16 document, big end first" => {
            utf16_page("text/html; charset=utf-16be", &html, u16::to_be_bytes)
        }
        _ => Html(html).into_response(),
    }
}

/// What the script of a page fetches: the values in a form of transport.
async fn part(State(site): State<EchoSite>, Path(name): Path<String>, request: Request) -> Response {
    let values = site.received().join(" ");
    match name.as_str() {
        "headers" => ([("x-echo", values)], "see the header").into_response(),
        "gzip" => ([("content-encoding", "gzip"), ("content-type", "text/plain")], gzip(values.as_bytes()))
            .into_response(),
        "brotli" => ([("content-encoding", "br"), ("content-type", "text/plain")], brotli(values.as_bytes()))
            .into_response(),
        "zstd" => coded("zstd", zstd(values.as_bytes())),
        "deflate" => coded("deflate", zlib(values.as_bytes())),
        "raw deflate" => coded("deflate", stored_block(values.as_bytes())),
        "range" => range(&request, &values),
        "script" => ([("content-type", "text/javascript")], format!("show('{values}')")).into_response(),
        "json" => {
            ([("content-type", "application/json")], serde_json::json!({ "values": values }).to_string())
                .into_response()
        }
        "events" => ([("content-type", "text/event-stream")], format!("data: {values}\n\n")).into_response(),
        "pieces" => {
            let pieces: Vec<_> =
                values.as_bytes().chunks(5).map(|piece| Ok::<_, std::io::Error>(piece.to_vec())).collect();
            Body::from_stream(futures_util::stream::iter(pieces)).into_response()
        }
        "set cookie" => ([("set-cookie", format!("copy={values}; Path=/"))], "set").into_response(),
        "socket" => socket(request, values),
        other => panic!("{other}"),
    }
}

fn socket(request: Request, values: String) -> Response {
    upgrade(request, |mut socket: ServerSocket| async move {
        // A page that has gone does not need them.
        drop(socket.send(values.clone().into()).await);
        drop(socket.send(values.into_bytes().into()).await);
    })
}

fn utf16_page(kind: &'static str, html: &str, encode: fn(u16) -> [u8; 2]) -> Response {
    let bytes: Vec<u8> = html.encode_utf16().flat_map(encode).collect();
    ([("content-type", kind)], bytes).into_response()
}

fn coded(coding: &'static str, bytes: Vec<u8>) -> Response {
    ([("content-encoding", coding), ("content-type", "text/plain")], bytes).into_response()
}

/// The part that was asked for, if one was.
fn range(request: &Request, values: &str) -> Response {
    let asked = request.headers().get("range").and_then(|range| range.to_str().ok());
    let Some((first, last)) = asked.and_then(|range| range.strip_prefix("bytes=")?.split_once('-')) else {
        return values.to_owned().into_response();
    };
    let (first, end) = (first.parse().unwrap(), last.parse::<usize>().map_or(values.len(), |last| last + 1));
    let range = format!("bytes {first}-{}/{}", end - 1, values.len());
    (StatusCode::PARTIAL_CONTENT, [("content-range", range)], values[first..end].to_owned()).into_response()
}

/// A frame of one raw block (RFC 8878).
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap();
    // Magic; a single segment with a content size of four bytes; the last block, raw.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    out.extend(length.to_le_bytes());
    out.extend(&(length << 3 | 1).to_le_bytes()[..3]);
    out.extend(bytes);
    out
}

/// The last block of deflate, stored (RFC 1951).
fn stored_block(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let mut out = vec![1];
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    out.extend(bytes);
    out
}

/// The same within zlib (RFC 1950).
fn zlib(bytes: &[u8]) -> Vec<u8> {
    let (mut a, mut b) = (1u32, 0u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    [&[0x78, 0x01][..], &stored_block(bytes), &(b << 16 | a).to_be_bytes()].concat()
}

/// Stored blocks: a decoder sees gzip, and no crate is needed to make it.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let length = u16::try_from(bytes.len()).unwrap();
    out.push(1);
    out.write_all(&length.to_le_bytes()).unwrap();
    out.write_all(&(!length).to_le_bytes()).unwrap();
    out.write_all(bytes).unwrap();
    let mut check = !0u32;
    for byte in bytes {
        check ^= u32::from(*byte);
        for _ in 0..8 {
            check = if check & 1 == 1 { (check >> 1) ^ 0xedb8_8320 } else { check >> 1 };
        }
    }
    out.write_all(&(!check).to_le_bytes()).unwrap();
    out.write_all(&u32::from(length).to_le_bytes()).unwrap();
    out
}

/// An uncompressed block of brotli (RFC 7932, 9.2), and the empty last one.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap() - 1;
    // WBITS 16 is one zero bit; then ISLAST 0, MNIBBLES 0 for four nibbles, MLEN - 1, and ISUNCOMPRESSED 1.
    let head = (length << 4) | (1 << 20);
    let mut out = head.to_le_bytes()[..3].to_vec();
    out.write_all(bytes).unwrap();
    out.push(3);
    out
}

/// A search page: it repeats what it was asked for, what is posted, fetched and said over a WebSocket, and a comment.
async fn guess(uri: Uri) -> Html<String> {
    let query = uri.query().unwrap_or_default().trim_start_matches("q=").to_owned();
    Html(format!(
        "<title>Search</title><p>You searched for: {query}<p>No results<input id=note aria-label=Note>\
         <select id=list aria-label=List><option>One<option>Two</select><button id=go>Go</button>\
         <button id=fetch>Fetch</button><button id=say>Say</button><p id=out><p id=got>\
         <form method=post action=/echo><input id=posted name=text aria-label=Posted><button id=post>Post</button></form>\
         <form method=post action=/comment><input id=remark name=text aria-label=Remark><button id=leave>Leave</button></form>\
         <script>note.oninput = () => out.textContent = 'Note: ' + note.value;\
         document.getElementById('fetch').onclick = async () => {{\
           const reply = await fetch('/echo', {{method: 'POST', body: JSON.stringify({{text: note.value}})}});\
           got.textContent = 'Fetched: ' + await reply.text() }};\
         say.onclick = () => {{ const socket = new WebSocket('wss://' + location.host + '/echo/socket');\
           socket.onopen = () => socket.send(note.value);\
           socket.onmessage = event => got.textContent = 'Heard: ' + event.data }}</script>"
    ))
}

/// Shows what was posted.
async fn echo(body: String) -> Html<String> {
    Html(format!("<title>Echo</title><p>You sent: {body}"))
}

/// Keeps a comment, and shows it with the page of comments.
async fn comment(State(site): State<EchoSite>, body: String) -> Html<String> {
    body.clone_into(&mut site.comment.lock().unwrap());
    comments(State(site)).await
}

async fn comments(State(site): State<EchoSite>) -> Html<String> {
    let comment = site.comment.lock().unwrap().clone();
    Html(format!("<title>Comments</title><p>The last comment: {comment}"))
}

/// Says what it hears.
async fn echo_socket(request: Request) -> Response {
    upgrade(request, |mut socket: ServerSocket| async move {
        while let Some(Ok(message)) = socket.next().await {
            if !message.is_text() || socket.send(message).await.is_err() {
                return;
            }
        }
    })
}

const LEARN_PAGE: &str = "<title>Learn</title><p id=out>waiting<script>
const token = localStorage.getItem('token');
fetch('/learned', {headers: token ? {Authorization: 'Bearer ' + token} : {}})
  .then(reply => reply.text()).then(text => out.textContent = 'site has ' + text)
</script>";
