//! Login by password and by one-time link, and logout.

use super::OperatorState;
use super::guard::{Caller, Cookies, Form, fault_response};
use crate::console;
use crate::operator::{LoginChannel, Password};
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use engine::error::Fault;
use engine::storage::OperatorToken;
use error_code::ErrorCode;
use serde::Deserialize;

#[derive(Deserialize)]
pub struct NextQuery {
    #[serde(default)]
    next: String,
}

pub async fn page(Query(query): Query<NextQuery>, caller: Option<Extension<Caller>>) -> Response {
    let next = console_path(&query.next);
    match caller {
        Some(_) => Redirect::to(next).into_response(),
        None => console::login_page(next, None).into_response(),
    }
}

/// The link's secret is in the fragment, which browsers do not send: the page's script puts it into the form.
pub async fn link_page() -> Response {
    console::link_login_page(None).into_response()
}

pub async fn with_password(
    State(state): State<OperatorState>,
    Extension(cookies): Extension<Cookies>,
    Extension(form): Extension<Form>,
    headers: HeaderMap,
) -> Response {
    let next = console_path(form.get("next"));
    let password = Password::given(form.get("password").to_owned());
    match state.auth.log_in_with_password(LoginChannel::Web, form.get("operator"), password).await {
        Ok(token) => logged_in(cookies, &token, next),
        Err(fault) => fault_response(&headers, &fault, |fault| console::login_page(next, Some(fault))),
    }
}

pub async fn with_link(
    State(state): State<OperatorState>,
    Extension(cookies): Extension<Cookies>,
    Extension(form): Extension<Form>,
    headers: HeaderMap,
) -> Response {
    match state.auth.log_in_with_link(form.get("link")).await {
        Ok(token) => logged_in(cookies, &token, "/console"),
        Err(fault) => fault_response(&headers, &fault, |fault| console::link_login_page(Some(fault))),
    }
}

/// The first password of an operator who came by a link.
pub async fn set_password(
    State(state): State<OperatorState>,
    Extension(cookies): Extension<Cookies>,
    Extension(caller): Extension<Caller>,
    Extension(form): Extension<Form>,
    headers: HeaderMap,
) -> Response {
    let entry = |name: &str| Password::given(form.get(name).to_owned());
    let (new, repeated) = (entry("password"), entry("repeated"));
    let set = if new.is(&repeated) {
        state.auth.set_first_password(&caller.session.operator, new).await
    } else {
        Err(Fault::new(ErrorCode::BadPassword, "the two passwords differ")
            .hint("Go back and type the same password twice."))
    };
    match set {
        Ok(token) => logged_in(cookies, &token, "/console"),
        Err(fault) => fault_response(&headers, &fault, console::fault_page),
    }
}

pub async fn log_out(
    State(state): State<OperatorState>,
    Extension(cookies): Extension<Cookies>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> Response {
    match state.auth.log_out(&caller.token).await {
        Ok(()) => ([(header::SET_COOKIE, cookies.clear())], Redirect::to("/console/login")).into_response(),
        Err(fault) => fault_response(&headers, &fault, console::fault_page),
    }
}

fn logged_in(cookies: Cookies, token: &OperatorToken, next: &str) -> Response {
    ([(header::SET_COOKIE, cookies.set(token.expose()))], Redirect::to(next)).into_response()
}

/// The page to open after the login. Anything but a console path becomes `/console`.
fn console_path(next: &str) -> &str {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_');
    let is_own = next == "/console" || next.starts_with("/console/approvals/");
    if is_own && next.chars().all(plain) && next.len() <= 128 { next } else { "/console" }
}

/// The HTTP status of a fault on operator routes.
pub fn status(fault: &Fault) -> StatusCode {
    match fault.code {
        ErrorCode::LoginFailed
        | ErrorCode::LinkSpent
        | ErrorCode::LoginRequired
        | ErrorCode::WebhookRefused => StatusCode::UNAUTHORIZED,
        ErrorCode::LoginThrottled => StatusCode::TOO_MANY_REQUESTS,
        ErrorCode::FormRefused | ErrorCode::OriginRefused | ErrorCode::OperatorOnly => StatusCode::FORBIDDEN,
        ErrorCode::UnknownApproval
        | ErrorCode::UnknownGrant
        | ErrorCode::UnknownCredential
        | ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::ApprovalDecided | ErrorCode::ApprovalExpired | ErrorCode::AmbiguousGrant => {
            StatusCode::CONFLICT
        }
        ErrorCode::BadArguments
        | ErrorCode::BadPassword
        | ErrorCode::BadVerdict
        | ErrorCode::BadGrant
        | ErrorCode::ConfirmationRequired => StatusCode::BAD_REQUEST,
        ErrorCode::TooManyStreams | ErrorCode::WebhookBusy => StatusCode::SERVICE_UNAVAILABLE,
        // The vault or the database is down.
        _ if fault.retryable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::console_path;

    #[test]
    fn a_login_redirects_to_the_console_only() {
        for (next, expected) in [
            ("/console", "/console"),
            ("/console/approvals/ap-1x", "/console/approvals/ap-1x"),
            ("", "/console"),
            ("//evil.test", "/console"),
            ("/console/approvals/../../x", "/console"),
            ("/console/approvals/\\evil", "/console"),
            ("https://evil.test/console", "/console"),
        ] {
            assert_eq!(console_path(next), expected, "{next}");
        }
    }
}
