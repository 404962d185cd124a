//! The operators' pages, rendered on the server with one style sheet and one small script.
//!
//! Text of a web page is only put in by `page_text.rs`, which shows it as that page's text.

mod card;
mod effect;
mod layout;
mod page;
mod page_text;
mod screenshot;

pub use card::VerdictForm;
pub use layout::{fault_page, link_login_page, login_page, same_site_reload};
pub use page::{ConsoleView, list, page, single, single_page};

use axum::http::header;
use axum::response::{IntoResponse, Response};

/// Only our own files, nothing inline, forms only to this origin, and no framing.
pub const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

pub async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], include_str!("console.css")).into_response()
}

pub async fn script() -> Response {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], include_str!("console.js")).into_response()
}

#[cfg(test)]
mod tests;
