//! Who may use an operators' route: no agent, no page of another site, and only who is logged in.

use super::login::status;
use super::{Doors, LARGEST_FORM, Needs};
use crate::console;
use crate::http::guard::answer;
use crate::operator::{form_token, login_required, same};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Redirect, Response};
use engine::error::Fault;
use engine::storage::Visit;
use std::collections::BTreeMap;

/// The cookie where the console is reached over http on this machine, with the port behind it: cookies ignore ports, and
/// two servers of one machine would log each other's operators out.
const COOKIE: &str = "stockade_operator_";
/// And where it is reached by https: no other host or path can set it, nothing reads it in the clear.
const SECURE_COOKIE: &str = "__Host-stockade_operator";

#[derive(Clone)]
pub struct Guard {
    pub doors: Doors,
    pub needs: Needs,
}

/// The operator who asks, and what its browser holds.
#[derive(Clone)]
pub struct Caller {
    pub visit: Visit,
    pub token: String,
}

/// The fields of a form, checked to be one of ours.
#[derive(Clone, Default)]
pub struct Form(pub BTreeMap<String, String>);

impl Form {
    pub fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }
}

pub async fn check(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let secure = is_secure(&guard.doors, request.headers());
    if let Err(fault) = from_no_agent(request.headers())
        .and_then(|()| from_our_page(request.method(), request.headers(), guard.needs))
    {
        return protected(told(request.headers(), &fault, console::refused));
    }
    if guard.needs == Needs::Signature {
        return protected(next.run(request).await);
    }
    let cookies = Cookies { secure, port: guard.doors.port };
    let token = cookie(request.headers(), &cookies.name());
    let caller = match token {
        Some(token) => match guard.doors.desk.find(&token, guard.needs != Needs::Watching).await {
            Ok(visit) => visit.map(|visit| Caller { visit, token }),
            Err(fault) => return protected(told(request.headers(), &fault, console::refused)),
        },
        None => None,
    };
    if guard.needs != Needs::Nothing && caller.is_none() {
        return protected(way_in(&request));
    }
    if request.method() == Method::POST {
        let headers = request.headers().clone();
        request = match with_form(request, guard.needs, caller.as_ref()).await {
            Ok(request) => request,
            Err(fault) => return protected(told(&headers, &fault, console::refused)),
        };
    }
    if let Some(caller) = caller {
        request.extensions_mut().insert(caller);
    }
    request.extensions_mut().insert(cookies);
    protected(next.run(request).await)
}

/// A key is an agent's, whatever it is: an operator has none to send.
fn from_no_agent(headers: &HeaderMap) -> Result<(), Fault> {
    if headers.contains_key(header::AUTHORIZATION) {
        return Err(Fault::new("operator_only", "this is for operators; an agent's key opens nothing here")
            .hint("A person decides, in the console or with `stockade approve`. Wait for them."));
    }
    Ok(())
}

/// What a page of another origin starts is refused, another port of this machine included: cookies ignore ports.
fn from_our_page(method: &Method, headers: &HeaderMap, needs: Needs) -> Result<(), Fault> {
    let refused = || {
        Err(Fault::new("origin_refused", "a page of another site may not do this")
            .hint("Open /console yourself."))
    };
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let reads = matches!(*method, Method::GET | Method::HEAD);
    match text("sec-fetch-site") {
        None | Some("same-origin" | "none") => {}
        // A link that somebody follows, which changes nothing.
        Some(_)
            if reads
                && text("sec-fetch-mode") == Some("navigate")
                && text("sec-fetch-dest") == Some("document") => {}
        Some(_) => return refused(),
    }
    if reads || needs == Needs::Signature {
        return Ok(());
    }
    let origin = text("origin").and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
    // A browser says where a form comes from; what does not say it is not the console.
    if origin.is_none() || origin != text("host") { refused() } else { Ok(()) }
}

/// Reads the form; where one of ours is needed it carries what only the operator's own page knows.
async fn with_form(request: Request, needs: Needs, caller: Option<&Caller>) -> Result<Request, Fault> {
    let (parts, body) = request.into_parts();
    let too_large = |_| Fault::new("bad_arguments", "the form is too large").hint("Write less.");
    let bytes = axum::body::to_bytes(body, LARGEST_FORM).await.map_err(too_large)?;
    let form: BTreeMap<String, String> = url::form_urlencoded::parse(&bytes).into_owned().collect();
    let form = Form(form);
    let expected = caller.map(|caller| form_token(&caller.token)).unwrap_or_default();
    if needs == Needs::Form && !same(form.get("form"), &expected) {
        return Err(Fault::new("form_refused", "this form was not made for this log-in")
            .hint("Open /console again, and use what it shows now."));
    }
    let mut request = Request::from_parts(parts, Body::empty());
    request.extensions_mut().insert(form);
    Ok(request)
}

/// A page is led to the way in, anything else is told.
fn way_in(request: &Request) -> Response {
    let headers = request.headers();
    let navigates = headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
    let is_page = request.method() == Method::GET && request.uri().path().starts_with("/console");
    if !is_page || !(navigates || accepts_html(headers)) {
        return answer(StatusCode::UNAUTHORIZED, login_required());
    }
    // A link on another site comes without the cookie, which is for our own pages: come again from here.
    if headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none") {
        return console::again(request.uri().path()).into_response();
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

/// A person sees a page, a program the fault.
pub fn told(headers: &HeaderMap, fault: &Fault, page: impl Fn(&Fault) -> Html<String>) -> Response {
    if accepts_html(headers) {
        return (status(fault), page(fault)).into_response();
    }
    answer(status(fault), fault.clone())
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value.to_owned())
}

/// Whether the request came by the https address that the settings name.
fn is_secure(doors: &Doors, headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    doors.outside.as_ref().is_some_and(|outside| {
        outside.scheme() == "https"
            && host == Some(&outside[url::Position::BeforeHost..url::Position::AfterPort])
    })
}

/// How the cookie is written for this caller.
#[derive(Clone, Copy)]
pub struct Cookies {
    secure: bool,
    port: u16,
}

impl Cookies {
    pub fn set(self, token: &str) -> String {
        let seconds = engine::storage::LONGEST_VISIT.as_secs();
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

/// What every answer here carries.
fn protected(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, console::CONTENT_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // Not `no-referrer`: with that, our own forms come from origin `null`. No other site is told anything.
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

    fn verdict(method: &str, needs: Needs, lines: &[(&'static str, &'static str)]) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        headers.insert("host", "127.0.0.1:7700".parse().unwrap());
        for (name, value) in lines {
            headers.insert(*name, value.parse().unwrap());
        }
        from_no_agent(&headers)
            .and_then(|()| from_our_page(&method.parse().unwrap(), &headers, needs))
            .map_err(|fault| fault.code.into_owned())
    }

    #[test]
    fn only_our_own_page_changes_anything_and_no_key_does() {
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
            let found = verdict(method, Needs::Form, &lines);
            assert_eq!(found, expected.map_err(str::to_owned), "{method} {lines:?}");
        }
    }

    #[test]
    fn the_cookie_is_for_our_own_pages_and_no_script() {
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
