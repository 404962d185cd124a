//! Access to the HTTP server: own host names only, no other web origins, and keys for agents.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use engine::control::Control;
use engine::error::Fault;
use error_code::ErrorCode;
use policy::Scope;
use redact::Redacted;
use std::net::SocketAddr;
use std::sync::Arc;

/// A fault as an HTTP response.
pub fn fault_json(status: StatusCode, fault: Fault) -> Response {
    (status, Json(fault)).into_response()
}

/// The addresses under which requests may reach this server.
#[derive(Clone, Debug)]
pub struct ServerAddress {
    pub address: SocketAddr,
    /// The console's address behind the operator's own reverse proxy.
    pub external_url: Option<url::Url>,
}

impl ServerAddress {
    /// The console's address, for a person to open.
    pub fn console_url(&self) -> String {
        match &self.external_url {
            Some(external_url) => format!("{}/console", external_url.as_str().trim_end_matches('/')),
            None => format!("http://{}/console", self.address),
        }
    }

    /// Whether a request reaches the console through its external address. Agents' routes are never reached that way.
    fn is_external_console(&self, request: &Request) -> bool {
        let Some(external_url) = &self.external_url else { return false };
        let path = request.uri().path();
        let operators = path == "/console" || path.starts_with("/console/") || path.starts_with("/operator/");
        let headers = request.headers();
        let is = |name: header::HeaderName, expected: &str| {
            headers.get_all(name).iter().all(|value| value.as_bytes() == expected.as_bytes())
        };
        operators
            && headers.contains_key(header::HOST)
            && is(header::HOST, &external_url[url::Position::BeforeHost..url::Position::AfterPort])
            && is(header::ORIGIN, external_url.as_str().trim_end_matches('/'))
    }
}

/// Refuses requests that name another host (DNS rebinding) or come from a web page of another origin.
pub async fn require_own_host(State(server): State<ServerAddress>, request: Request, next: Next) -> Response {
    if server.is_external_console(&request) {
        return next.run(request).await;
    }
    match check_host_and_origin(
        request.headers(),
        request.uri().authority().map(|a| a.as_str()),
        server.address,
    ) {
        Ok(()) => next.run(request).await,
        Err(fault) => fault_json(StatusCode::FORBIDDEN, fault),
    }
}

fn check_host_and_origin(
    headers: &HeaderMap,
    authority: Option<&str>,
    address: SocketAddr,
) -> Result<(), Fault> {
    let host = headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default()).or(authority);
    if !host.is_some_and(|host| is_own_authority(host, address)) {
        return Err(Fault::new(ErrorCode::HostRefused, "requests must name this machine as their host")
            .hint(Redacted::outside_sessions(format!(
                "Use http://{address}/ or http://localhost:{}/.",
                address.port()
            ))));
    }
    for origin in headers.get_all(header::ORIGIN) {
        let authority = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
        if !authority.is_some_and(|authority| is_own_authority(authority, address)) {
            return Err(Fault::new(
                ErrorCode::OriginRefused,
                "web pages of other origins may not use this server",
            )
            .hint("Call from a program, or from a page that this server serves."));
        }
    }
    Ok(())
}

/// `localhost`, `127.0.0.1` or `[::1]`, with our port.
fn is_own_authority(authority: &str, address: SocketAddr) -> bool {
    let port = format!(":{}", address.port());
    let name = authority.strip_suffix(&port);
    let ours = address.ip().to_string();
    name.is_some_and(|name| {
        name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "[::1]" || name == ours
    })
}

/// State of the bearer key check.
#[derive(Clone)]
pub struct AgentKeys {
    pub control: Arc<Control>,
    /// Requires no key; every caller is the default agent.
    pub open: bool,
}

/// Finds the scope of the caller's key and puts it on the request.
pub async fn authenticate_agent(State(keys): State<AgentKeys>, mut request: Request, next: Next) -> Response {
    match scope_of_key(&keys, request.headers()).await {
        Ok(scope) => {
            request.extensions_mut().insert(scope);
            next.run(request).await
        }
        Err(fault) => {
            let mut response = fault_json(StatusCode::UNAUTHORIZED, fault);
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
            response
        }
    }
}

async fn scope_of_key(keys: &AgentKeys, headers: &HeaderMap) -> Result<Scope, Fault> {
    if keys.open {
        return keys.control.default_scope();
    }
    let refused = |message: &'static str| {
        Fault::new(ErrorCode::Unauthorized, message)
            .hint("Send `Authorization: Bearer KEY`; `stockade key make` makes a key, `stockade key list` shows which are valid.")
    };
    let key = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer ").or_else(|| value.strip_prefix("bearer ")))
        .ok_or_else(|| refused("this server needs a bearer key"))?;
    keys.control.storage.find_key(key.trim()).await?.ok_or_else(|| refused("the key is not valid"))
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
        check_host_and_origin(&headers, None, "127.0.0.1:7700".parse().unwrap())
            .map_err(|fault| fault.code.to_string())
    }

    #[test]
    fn other_hosts_and_other_origins_are_refused() {
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
