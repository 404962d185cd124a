//! Access to operator routes: no agent keys, no other origins, and a login where the route needs one.

use super::login::status;
use super::{MAX_FORM_BYTES, OperatorState, RouteAccess};
use crate::console;
use crate::http::guard::fault_json;
use crate::operator::{constant_time_eq, form_token, login_required};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use engine::error::Fault;
use engine::storage::OperatorSession;
use error_code::ErrorCode;
use maud::Markup;
use std::collections::BTreeMap;

/// The cookie over plain http on this machine. The port is appended: cookies ignore ports, and two servers on one
/// machine would log each other's operators out.
const COOKIE: &str = "stockade_operator_";
/// The cookie over https: no other host or path can set it, and it is never sent in the clear.
const SECURE_COOKIE: &str = "__Host-stockade_operator";

#[derive(Clone)]
pub struct Guard {
    pub state: OperatorState,
    pub access: RouteAccess,
}

/// The logged-in operator of a request, with the session token.
#[derive(Clone)]
pub struct Caller {
    pub session: OperatorSession,
    pub token: String,
}

/// The fields of a form whose anti-forgery token was checked.
#[derive(Clone, Default)]
pub struct Form(pub BTreeMap<String, String>);

impl Form {
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

pub async fn check(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let secure = is_https(&guard.state, request.headers());
    if let Err(fault) = reject_agent_keys(request.headers())
        .and_then(|()| require_same_origin(request.method(), request.headers(), guard.access))
    {
        return with_security_headers(fault_response(request.headers(), &fault, console::fault_page));
    }
    if guard.access == RouteAccess::Signature {
        return with_security_headers(next.run(request).await);
    }
    let cookies = Cookies { secure, port: guard.state.port };
    let token = cookie(request.headers(), &cookies.name());
    let caller = match token {
        Some(token) => match guard.state.auth.find(&token, guard.access != RouteAccess::PassiveSession).await
        {
            Ok(session) => session.map(|session| Caller { session, token }),
            Err(fault) => {
                return with_security_headers(fault_response(request.headers(), &fault, console::fault_page));
            }
        },
        None => None,
    };
    if guard.access != RouteAccess::Public && caller.is_none() {
        return with_security_headers(redirect_to_login(&request));
    }
    if request.method() == Method::POST {
        let headers = request.headers().clone();
        request = match read_form(request, guard.access, caller.as_ref()).await {
            Ok(request) => request,
            Err(fault) => {
                return with_security_headers(fault_response(&headers, &fault, console::fault_page));
            }
        };
    }
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
    }
    request.extensions_mut().insert(cookies);
    with_security_headers(next.run(request).await)
}

/// Refuses any `Authorization` header: only agents have keys.
fn reject_agent_keys(headers: &HeaderMap) -> Result<(), Fault> {
    if headers.contains_key(header::AUTHORIZATION) {
        return Err(Fault::new(
            ErrorCode::OperatorOnly,
            "this is for operators; an agent's key opens nothing here",
        )
        .hint(
            "Only a person can decide, in the console or with `stockade approve`. Wait for the decision.",
        ));
    }
    Ok(())
}

/// Refuses requests from other origins, other ports of this machine included: cookies ignore ports.
fn require_same_origin(method: &Method, headers: &HeaderMap, access: RouteAccess) -> Result<(), Fault> {
    let refused = || {
        Err(Fault::new(ErrorCode::OriginRefused, "a page of another site may not do this")
            .hint("Open /console in your own browser."))
    };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let reads = matches!(*method, Method::GET | Method::HEAD);
    match text("sec-fetch-site") {
        None | Some("same-origin" | "none") => {}
        // Following a link changes nothing.
        Some(_)
            if reads
                && text("sec-fetch-mode") == Some("navigate")
                && text("sec-fetch-dest") == Some("document") => {}
        Some(_) => return refused(),
    }
    if reads || access == RouteAccess::Signature {
        return Ok(());
    }
    let origin = text("origin").and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    // Browsers send the origin of a form; a request without it is not from the console.
    if origin.is_none() || origin != text("host") { refused() } else { Ok(()) }
}

/// Reads the form, and checks its anti-forgery token where the route needs one.
async fn read_form(request: Request, access: RouteAccess, caller: Option<&Caller>) -> Result<Request, Fault> {
    let (parts, body) = request.into_parts();
    let too_large =
        |_| Fault::new(ErrorCode::BadArguments, "the form is too large").hint("Send a shorter form.");
    let bytes = axum::body::to_bytes(body, MAX_FORM_BYTES).await.map_err(too_large)?;
    let form: BTreeMap<String, String> = url::form_urlencoded::parse(&bytes).into_owned().collect();
    let form = Form(form);
    let expected = caller.map(|caller| form_token(&caller.token)).unwrap_or_default();
    if access == RouteAccess::SessionForm && !constant_time_eq(form.get("form"), &expected) {
        return Err(Fault::new(ErrorCode::FormRefused, "this form belongs to another login")
            .hint("Reload /console and use the form on it."));
    }
    let mut request = Request::from_parts(parts, Body::empty());
    request.extensions_mut().insert(form);
    Ok(request)
}

/// Redirects page loads to the login page; anything else gets the fault.
fn redirect_to_login(request: &Request) -> Response {
    let headers = request.headers();
    let navigates = headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
    let is_page = request.method() == Method::GET && request.uri().path().starts_with("/console");
    if !is_page || !(navigates || accepts_html(headers)) {
        return fault_json(StatusCode::UNAUTHORIZED, login_required());
    }
    // A link on another site comes without the same-site cookie: reload from our own page.
    if headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") {
        return console::same_site_reload(request.uri().path()).into_response();
    }
    Redirect::to(&format!(
        "/console/login?next={}",
        crate::control_protocol::path_segment(request.uri().path())
    ))
    .into_response()
}

pub fn accepts_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// A page for browsers, JSON for programs.
pub fn fault_response(headers: &HeaderMap, fault: &Fault, page: impl Fn(&Fault) -> Markup) -> Response {
    if accepts_html(headers) {
        return (status(fault), page(fault)).into_response();
    }
    fault_json(status(fault), fault.clone())
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// Whether the request came by the configured https address.
fn is_https(state: &OperatorState, headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    state.external_url.as_ref().is_some_and(|external_url| {
        external_url.scheme() == "https"
            && host == Some(&external_url[url::Position::BeforeHost..url::Position::AfterPort])
    })
}

/// The session cookie for one caller.
#[derive(Clone, Copy)]
pub struct Cookies {
    secure: bool,
    port: u16,
}

impl Cookies {
    pub fn set(self, token: &str) -> String {
        let seconds = engine::storage::MAX_SESSION_AGE.as_secs();
        self.line(token, seconds)
    }

    pub fn clear(self) -> String {
        self.line("", 0)
    }

    fn line(self, value: &str, seconds: u64) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}", self.name())
    }

    fn name(self) -> String {
        if self.secure { SECURE_COOKIE.to_owned() } else { format!("{COOKIE}{}", self.port) }
    }
}

/// Headers of every response on operator routes.
fn with_security_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, console::CONTENT_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // Not `no-referrer`: that makes our own forms send `Origin: null`. Other sites get no referrer.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, header::HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-opener-policy", header::HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", header::HeaderValue::from_static("same-origin"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(
        method: &str,
        access: RouteAccess,
        lines: &[(&'static str, &'static str)],
    ) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        headers.insert("host", "127.0.0.1:7700".parse().unwrap());
        for (name, value) in lines {
            headers.insert(*name, value.parse().unwrap());
        }
        reject_agent_keys(&headers)
            .and_then(|()| require_same_origin(&method.parse().unwrap(), &headers, access))
            .map_err(|fault| fault.code.to_string())
    }

    #[test]
    fn changes_need_our_own_origin_and_no_agent_key() {
        let ours = ("origin", "http://127.0.0.1:7700");
        for (method, lines, expected) in [
            ("POST", vec![ours], Ok(())),
            ("POST", vec![ours, ("sec-fetch-site", "same-origin")], Ok(())),
            ("POST", vec![], Err("origin_refused")),
            ("POST", vec![("origin", "null")], Err("origin_refused")),
            ("POST", vec![("origin", "http://127.0.0.1:7701")], Err("origin_refused")),
            ("POST", vec![("origin", "http://localhost:7700")], Err("origin_refused")),
            ("POST", vec![ours, ("sec-fetch-site", "same-site")], Err("origin_refused")),
            (
                "POST",
                vec![ours, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
                Err("origin_refused"),
            ),
            ("GET", vec![], Ok(())),
            ("GET", vec![("sec-fetch-site", "none")], Ok(())),
            (
                "GET",
                vec![("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")],
                Err("origin_refused"),
            ),
            (
                "GET",
                vec![
                    ("sec-fetch-site", "cross-site"),
                    ("sec-fetch-mode", "navigate"),
                    ("sec-fetch-dest", "iframe"),
                ],
                Err("origin_refused"),
            ),
            (
                "GET",
                vec![
                    ("sec-fetch-site", "cross-site"),
                    ("sec-fetch-mode", "navigate"),
                    ("sec-fetch-dest", "document"),
                ],
                Ok(()),
            ),
            ("GET", vec![("authorization", "Bearer x")], Err("operator_only")),
            ("POST", vec![ours, ("authorization", "")], Err("operator_only")),
        ] {
            let found = verdict(method, RouteAccess::SessionForm, &lines);
            assert_eq!(found, expected.map_err(str::to_owned), "{method} {lines:?}");
        }
    }

    #[test]
    fn the_cookie_is_same_site_and_not_readable_by_scripts() {
        let plain = Cookies { secure: false, port: 7700 }.set("t");
        assert!(
            plain.starts_with("stockade_operator_7700=t; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200"),
            "{plain}"
        );
        let secure = Cookies { secure: true, port: 7700 }.set("t");
        assert!(
            secure.starts_with("__Host-stockade_operator=t; Path=/; ") && secure.ends_with("; Secure"),
            "{secure}"
        );
    }
}
