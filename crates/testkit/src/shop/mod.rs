//! A small demonstration shop: `make run`, the docs and the tests use it.
//!
//! It has what makes real sites hard: a login, a search, a long table, an order form, an irreversible button, a
//! cross-origin frame, dialogs. It loads nothing from outside, and keeps its state in memory only.

mod account;
mod catalog;
mod html;
mod orders;
mod pages;
mod store;
#[cfg(test)]
mod tests;

pub use account::{EMAIL, PASSWORD};

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use std::io;
use std::sync::Arc;
use store::Store;
use tokio::net::TcpListener;

/// The host name under which the jailed browser reaches the shop.
pub const HOST: &str = "shop.test";
/// The same server under another host name, for the cross-origin frame.
pub const FRAME_HOST: &str = "delivery.test";

/// The largest form, in bytes; a larger one gets status 413.
const MAX_FORM_BYTES: usize = 64 * 1024;

/// Loads nothing from other origins, except the frame that `?frame=` names.
const CONTENT_POLICY: &str = "default-src 'self'; img-src 'self' data:; frame-src 'self' http: https:";

/// Serves the shop until the future is dropped.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    axum::serve(listener, router()).await
}

/// The shop's routes, with an empty store.
pub fn router() -> Router {
    Router::new()
        .route("/", get(pages::front))
        .route("/search", get(pages::search))
        .route("/product/{slug}", get(pages::product))
        .route("/stock", get(pages::stock))
        .route("/quote", get(pages::quote))
        .route("/dialogs", get(pages::dialogs))
        .route("/order", get(orders::form).post(orders::place))
        .route("/order/{number}", get(orders::thanks))
        .route("/api/orders", get(orders::list))
        .route("/login", get(account::form).post(account::login))
        .route("/logout", post(account::logout))
        .route("/account", get(account::show))
        .route("/account/delete", post(account::delete))
        .route("/account/restore", post(account::restore))
        .route("/api/account", get(account::state))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/shop.css", get(|| async { asset("text/css; charset=utf-8", include_str!("shop.css")) }))
        .route("/shop.js", get(|| async { asset("text/javascript; charset=utf-8", include_str!("shop.js")) }))
        .fallback(|| async { (StatusCode::NOT_FOUND, pages::missing()) })
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .layer(middleware::from_fn(with_policy))
        .with_state(Arc::new(Store::default()))
}

async fn with_policy(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, kind)], text).into_response()
}
