//! An honest site for tests of effects, over TLS or without. It serves the pages it was given, answers everything else with success,
//! and records each request and each WebSocket message byte for byte.

use super::plain_site::PlainSite;
use super::tls_site::TlsSite;
use super::websocket::{ServerSocket, upgrade};
use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The largest body that is recorded.
const MAX_BODY: usize = 4 << 20;

/// The session cookie that the site knows.
pub const SESSION: &str = "Sid5be0c1f9a7d34e2288aa61cc";

/// A request as it arrived. The method of a WebSocket message is `MESSAGE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    pub host: String,
    pub method: String,
    /// Path and query.
    pub target: String,
    pub content_type: String,
    pub body: Vec<u8>,
    /// Whether it carried the session's cookie.
    pub is_signed_in: bool,
}

impl Received {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn line(&self) -> String {
        format!("{} {} {}", self.method, self.target, self.text())
    }

    /// Whether the request may change something by its method.
    pub fn is_write(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS")
    }
}

#[derive(Clone, Default)]
pub struct EffectSite {
    pages: Arc<Mutex<HashMap<String, String>>>,
    redirects: Arc<Mutex<HashMap<String, (u16, String)>>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl EffectSite {
    pub fn new() -> EffectSite {
        let site = EffectSite::default();
        site.page("/", "<title>Home</title><p>home");
        site.page("/lib.js", include_str!("../effects/lib.js"));
        site.page("/effects-sw.js", include_str!("../effects/worker.js"));
        site.page("/effects-worker.js", include_str!("../effects/worker.js"));
        site
    }

    pub fn page(&self, path: &str, text: &str) {
        self.pages.lock().unwrap().insert(path.to_owned(), text.to_owned());
    }

    /// Makes a path answer with a redirect, whatever the method.
    pub fn redirect(&self, status: u16, from: &str, to: &str) {
        self.redirects.lock().unwrap().insert(from.to_owned(), (status, to.to_owned()));
    }

    pub fn serve(&self, names: &[&str]) -> TlsSite {
        TlsSite::serve(names, Router::new().fallback(answer).with_state(self.clone()))
    }

    pub fn serve_plain(&self) -> PlainSite {
        PlainSite::serve(Router::new().fallback(answer).with_state(self.clone()))
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// Whether a request or message arrived that fits, without those that came first.
    pub fn has_received(&self, skip: usize, fits: impl Fn(&Received) -> bool) -> bool {
        self.received.lock().unwrap().iter().skip(skip).any(fits)
    }

    pub fn forget(&self) {
        self.received.lock().unwrap().clear();
    }

    /// What arrived under a prefix of the target.
    pub fn received_at(&self, method: &str, prefix: &str) -> Vec<Received> {
        let fits = |one: &Received| one.method == method && one.target.starts_with(prefix);
        self.received().into_iter().filter(fits).collect()
    }

    fn note(&self, received: Received) {
        self.received.lock().unwrap().push(received);
    }
}

fn header(headers: &HeaderMap, name: &str) -> String {
    let value = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    value.unwrap_or_default()
}

async fn answer(State(site): State<EffectSite>, request: Request) -> Response {
    let headers = request.headers().clone();
    let is_upgrade = header(&headers, "upgrade").eq_ignore_ascii_case("websocket");
    let target = request.uri().path_and_query().map(ToString::to_string).unwrap_or_default();
    let host = request.uri().host().map_or_else(|| header(&headers, "host"), str::to_owned);
    let path = request.uri().path().to_owned();
    let cookies = headers.get_all("cookie").iter();
    let is_signed_in =
        cookies.into_iter().any(|line| String::from_utf8_lossy(line.as_bytes()).contains(SESSION));
    let about = Received {
        host,
        method: request.method().to_string(),
        target: target.clone(),
        content_type: header(&headers, "content-type"),
        body: Vec::new(),
        is_signed_in,
    };
    if is_upgrade {
        return socket(site, about, request);
    }
    let body = to_bytes(request.into_body(), MAX_BODY).await.unwrap_or_default();
    let is_get = about.method == "GET";
    site.note(Received { body: body.to_vec(), ..about });
    if let Some((status, to)) = site.redirects.lock().unwrap().get(&target) {
        let status = StatusCode::from_u16(*status).unwrap();
        return (status, [("location", to.clone())]).into_response();
    }
    let page = site.pages.lock().unwrap().get(&path).cloned();
    let no_store = ("cache-control", "no-store");
    match page {
        Some(text) if is_get => {
            let kind = if path.ends_with(".js") { "text/javascript" } else { "text/html; charset=utf-8" };
            ([("content-type", kind), no_store, ("service-worker-allowed", "/")], text).into_response()
        }
        _ if header(&headers, "accept").contains("text/html") => {
            let text = "<!doctype html><title>Done</title><p>done";
            ([("content-type", "text/html; charset=utf-8"), no_store], text).into_response()
        }
        _ => {
            let text = r#"{"ok":true,"id":1,"data":{},"items":[]}"#;
            ([("content-type", "application/json"), no_store], text).into_response()
        }
    }
}

/// Records each message and sends none.
fn socket(site: EffectSite, about: Received, request: Request) -> Response {
    upgrade(request, |mut socket: ServerSocket| async move {
        while let Some(Ok(message)) = socket.next().await {
            if message.is_text() || message.is_binary() {
                let body: Bytes = message.into_data();
                site.note(Received { method: "MESSAGE".to_owned(), body: body.to_vec(), ..about.clone() });
            }
        }
    })
}
