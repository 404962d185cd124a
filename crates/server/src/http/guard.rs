//! Who may speak to the HTTP side: this machine only, no web page, and agents with a key.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::control::Control;
use engine::error::Fault;
use policy::Scope;
use std::net::SocketAddr;
use std::sync::Arc;

/// How a fault looks over HTTP.
pub fn answer(status: StatusCode, fault: Fault) -> Response {
    (status, Json(fault)).into_response()
}

/// Where this server is, as requests may name it.
#[derive(Clone, Debug)]
pub struct Place {
    pub address: SocketAddr,
    /// An address that a proxy of the operator's leads to the console.
    pub outside: Option<url::Url>,
}

impl Place {
    /// The address of the console, as a person opens it.
    pub fn console(&self) -> String {
        match &self.outside {
            Some(outside) => format!("{}/console", outside.as_str().trim_end_matches('/')),
            None => format!("http://{}/console", self.address),
        }
    }

    /// Whether a request for the console came by the operator's own address; agents' routes never do.
    fn is_outside(&self, request: &Request) -> bool {
        let Some(outside) = &self.outside else { return false };
        let path = request.uri().path();
        let operators = path == "/console" || path.starts_with("/console/") || path.starts_with("/operator/");
        let headers = request.headers();
        let is = |name: header::HeaderName, expected: &str| {
            headers.get_all(name).iter().all(|value| value.as_bytes() == expected.as_bytes())
        };
        operators
            && headers.contains_key(header::HOST)
            && is(header::HOST, &outside[url::Position::BeforeHost..url::Position::AfterPort])
            && is(header::ORIGIN, outside.as_str().trim_end_matches('/'))
    }
}

/// Refuses requests that name another host (DNS rebinding) or come from a web page of another origin.
pub async fn this_machine(State(place): State<Place>, request: Request, next: Next) -> Response {
    if place.is_outside(&request) {
        return next.run(request).await;
    }
    match check(request.headers(), request.uri().authority().map(|a| a.as_str()), place.address) {
        Ok(()) => next.run(request).await,
        Err(fault) => answer(StatusCode::FORBIDDEN, fault),
    }
}

fn check(headers: &HeaderMap, authority: Option<&str>, address: SocketAddr) -> Result<(), Fault> {
    let host = headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default()).or(authority);
    if !host.is_some_and(|host| is_us(host, address)) {
        return Err(Fault::new("host_refused", "requests must name this machine as their host")
            .hint(format!("Use http://{address}/ or http://localhost:{}/.", address.port())));
    }
    for origin in headers.get_all(header::ORIGIN) {
        let authority = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        if !authority.is_some_and(|authority| is_us(authority, address)) {
            return Err(Fault::new("origin_refused", "web pages of other origins may not use this server")
                .hint("Use a program, or a page that this server serves."));
        }
    }
    Ok(())
}

/// `localhost`, `127.0.0.1` or `[::1]`, with our port.
fn is_us(authority: &str, address: SocketAddr) -> bool {
    let port = format!(":{}", address.port());
    let name = authority.strip_suffix(&port);
    let ours = address.ip().to_string();
    name.is_some_and(|name| {
        name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]" || name == ours
    })
}

/// What the bearer check needs.
#[derive(Clone)]
pub struct Keys {
    pub control: Arc<Control>,
    /// No key is asked for; every caller is the default agent.
    pub open: bool,
}

/// Finds the scope of the caller's key and puts it on the request.
pub async fn bearer(State(keys): State<Keys>, mut request: Request, next: Next) -> Response {
    match caller(&keys, request.headers()).await {
        Ok(scope) => {
            request.extensions_mut().insert(scope);
            next.run(request).await
        }
        Err(fault) => {
            let mut response = answer(StatusCode::UNAUTHORIZED, fault);
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
            response
        }
    }
}

async fn caller(keys: &Keys, headers: &HeaderMap) -> Result<Scope, Fault> {
    if keys.open {
        return keys.control.default_scope();
    }
    let refused = |message: &str| {
        Fault::new("unauthorized", message)
            .hint("Send `Authorization: Bearer KEY`; `stockade key make` makes a key, `stockade key list` shows which are valid.")
    };
    let key = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ")))
        .ok_or_else(|| refused("this server wants a bearer key"))?;
    keys.control.storage.find_key(key.trim()).await?.ok_or_else(|| refused("that key is not valid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_with(host: &str, origin: Option<&str>) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        check(&headers, None, "127.0.0.1:7700".parse().unwrap()).map_err(|fault| fault.code.into_owned())
    }

    #[test]
    fn only_this_machine_and_no_foreign_page_gets_in() {
        for host in ["127.0.0.1:7700", "localhost:7700", "[::1]:7700", "LOCALHOST:7700"] {
            assert_eq!(check_with(host, None), Ok(()), "{host}");
            assert_eq!(check_with(host, Some("http://localhost:7700")), Ok(()), "{host}");
        }
        for host in [
            "evil.example:7700",
            "localhost.evil.example:7700",
            "localhost",
            "127.0.0.1:7701",
            "",
            "localhost:7700:7700",
        ] {
            assert_eq!(check_with(host, None), Err("host_refused".into()), "{host}");
        }
        for origin in [
            "http://evil.example",
            "https://localhost:7700",
            "null",
            "http://localhost:7701",
            "http://localhost:7700.evil.example",
        ] {
            assert_eq!(check_with("localhost:7700", Some(origin)), Err("origin_refused".into()), "{origin}");
        }
    }
}
