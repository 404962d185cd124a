//! The operators' pages: made here on the server, with one style sheet and one small script of our own.
//!
//! What a page of the web wrote is only ever put in by `words.rs`, which shows it as that page's words.

mod card;
mod page;
mod picture;
mod shell;
mod words;

pub use card::FormParts;
pub use page::{View, live, page, single, single_page};
pub use shell::{again, link, login, refused};

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// Nothing but our own files, nothing inline, nowhere to send a form but here, in nobody's frame.
pub const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

pub async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("console.css")).into_response()
}

pub async fn script() -> Response {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("console.js")).into_response()
}
