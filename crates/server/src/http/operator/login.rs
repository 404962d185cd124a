//! In and out: the log-in page, the one-time link, the log-out.

use super::Doors;
use super::guard::{Caller, Cookies, Form, told};
use crate::console;
use crate::operator::{Entry, Password};
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use engine::error::Fault;
use engine::storage::OperatorToken;
use serde::Deserialize;

#[derive(Deserialize)]
pub struct Next {
    #[serde(default)]
    next: String,
}

pub async fn page(Query(query): Query<Next>, caller: Option<Extension<Caller>>) -> Response {
    let next = own_page(&query.next);
    match caller {
        Some(_) => Redirect::to(next).into_response(),
        None => console::login(next, None).into_response(),
    }
}

/// The link's secret stands behind `#`, which browsers keep to themselves: the page's script puts it into the form.
pub async fn link_page() -> Response {
    console::link(None).into_response()
}

pub async fn by_password(
    State(doors): State<Doors>,
    Extension(cookies): Extension<Cookies>,
    Extension(form): Extension<Form>,
    headers: HeaderMap,
) -> Response {
    let next = own_page(form.get("next"));
    let password = Password::given(form.get("password").to_owned());
    match doors.desk.by_password(Entry::Web, form.get("operator"), password).await {
        Ok(token) => entered(cookies, &token, next),
        Err(fault) => told(&headers, &fault, |fault| console::login(next, Some(fault))),
    }
}

pub async fn by_link(
    State(doors): State<Doors>,
    Extension(cookies): Extension<Cookies>,
    Extension(form): Extension<Form>,
    headers: HeaderMap,
) -> Response {
    match doors.desk.by_link(form.get("link")).await {
        Ok(token) => entered(cookies, &token, "/console"),
        Err(fault) => told(&headers, &fault, |fault| console::link(Some(fault))),
    }
}

pub async fn leave(
    State(doors): State<Doors>,
    Extension(cookies): Extension<Cookies>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    match doors.desk.leave(&caller.token).await {
        Ok(()) => ([(header::SET_COOKIE, cookies.clear())], Redirect::to("/console/login")).into_response(),
        Err(fault) => told(&headers, &fault, console::refused),
    }
}

fn entered(cookies: Cookies, token: &OperatorToken, next: &str) -> Response {
    ([(header::SET_COOKIE, cookies.set(token.expose()))], Redirect::to(next)).into_response()
}

/// Where to go after the log-in: a page of the console, whatever a link says.
fn own_page(next: &str) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_');
    let is_own = next == "/console" || next.starts_with("/console/approvals/");
    if is_own && next.chars().all(plain) && next.len() <= 128 { next } else { "/console" }
}

/// How a fault of the operators' side looks over HTTP.
pub fn status(fault: &Fault) -> StatusCode {
    match fault.code.as_ref() {
        "login_failed" | "link_spent" | "login_required" | "webhook_refused" => StatusCode::UNAUTHORIZED,
        "login_throttled" => StatusCode::TOO_MANY_REQUESTS,
        "form_refused" | "origin_refused" | "operator_only" => StatusCode::FORBIDDEN,
        "unknown_approval" | "unknown_grant" | "not_found" => StatusCode::NOT_FOUND,
        "approval_decided" | "approval_expired" | "ambiguous_grant" => StatusCode::CONFLICT,
        "bad_arguments" | "bad_verdict" | "bad_grant" | "confirmation_required" => StatusCode::BAD_REQUEST,
        "too_many_streams" | "webhook_busy" => StatusCode::SERVICE_UNAVAILABLE,
        // A vault or a database that is down.
        _ if fault.retryable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::own_page;

    #[test]
    fn a_log_in_leads_to_the_console_only() {
        for (next, expected) in [
            ("/console", "/console"),
            ("/console/approvals/ap-1x", "/console/approvals/ap-1x"),
            ("", "/console"),
            ("//evil.test", "/console"),
            ("/console/approvals/../../x", "/console"),
            ("/console/approvals/\\evil", "/console"),
            ("https://evil.test/console", "/console"),
        ] {
            assert_eq!(own_page(next), expected, "{next}");
        }
    }
}
