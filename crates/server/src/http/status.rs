//! The page at `/`: that Stockade runs, and how to connect to it. It shows no secret and takes no orders.

use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse, Response};
use engine::control::Control;
use std::sync::Arc;

const PAGE: &str = include_str!("status.html");
/// The page has no script and loads nothing.
const CONTENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

pub async fn page(State(control): State<Arc<Control>>) -> Response {
    let page = PAGE
        .replace("{{version}}", env!("CARGO_PKG_VERSION"))
        .replace("{{browser}}", &escape(control.browser_version()))
        .replace("{{sessions}}", &control.gate.sessions.open_count().to_string());
    let headers = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ];
    (headers, Html(page)).into_response()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
