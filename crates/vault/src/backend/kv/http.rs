//! Requests to a vault server, and what its status codes mean.

use crate::error::VaultError;
use crate::secret_tree::{SecretNode, printable_excerpt};
use bytes::Bytes;
use http_body_util::Full;
use http_client::{HttpError, Limits, TrustedRoots, wiped_body};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request};
use redact::Secret;
use std::path::Path;
use std::time::Duration;
use url::Url;
use zeroize::Zeroizing;

/// Beyond these the vault counts as unreachable. A body is a document and what stands around it.
const LIMITS: Limits = Limits {
    connect: Duration::from_secs(3),
    total: Duration::from_secs(10),
    largest_body: Some(2 * 1024 * 1024),
};

pub(super) struct KvClient {
    address: String,
    url: Url,
    http: http_client::Client,
    namespace: Option<HeaderValue>,
}

pub(super) struct KvResponse {
    pub status: u16,
    pub body: SecretNode,
}

impl KvResponse {
    /// The server's own words, short and without control characters.
    pub(super) fn reason(self) -> String {
        let errors = self.body.fields("").ok().and_then(|mut fields| fields.take("errors"));
        let first = errors.and_then(|node| node.list("", 100).ok()).and_then(|list| list.into_iter().next());
        let text = first.and_then(|node| node.plain("").ok()).unwrap_or_else(|| "no reason given".to_owned());
        printable_excerpt(text.trim())
    }

    pub(super) fn has_errors(&self) -> bool {
        let SecretNode::Map(map) = &self.body else { return false };
        map.iter().any(|(name, node)| {
            name == "errors" && matches!(node, SecretNode::List(list) if !list.is_empty())
        })
    }
}

impl KvClient {
    pub(super) fn new(
        address: &str,
        namespace: Option<&str>,
        ca_file: Option<&Path>,
    ) -> Result<KvClient, VaultError> {
        let bad = |reason: &str| VaultError::Settings { what: "vault_address", reason: reason.to_owned() };
        let url =
            Url::parse(address).map_err(|_| bad("an address such as https://vault.example.org:8200"))?;
        let host = url.host_str().ok_or_else(|| bad("a host is missing"))?.to_owned();
        let here = matches!(host.as_str(), "127.0.0.1" | "[::1]" | "localhost");
        let http = match url.scheme() {
            "https" => {
                http_client::Client::new(ca_file.map_or(TrustedRoots::Native, TrustedRoots::File), LIMITS)
                    .map_err(|error| VaultError::Settings { what: "ca_file", reason: error.to_string() })?
            }
            "http" if here => http_client::Client::plain(LIMITS),
            "http" => return Err(bad("plain http would show the token to the network: use https")),
            _ => return Err(bad("https, or http to this machine")),
        };
        if !url.username().is_empty()
            || url.password().is_some()
            || url.path() != "/"
            || url.query().is_some()
        {
            return Err(bad("scheme, host and port, and nothing else"));
        }
        let namespace = namespace
            .map(|name| HeaderValue::from_str(name.trim_matches('/')))
            .transpose()
            .map_err(|_| VaultError::Settings {
                what: "vault_namespace",
                reason: "a name such as team/web".to_owned(),
            })?;
        let port = url.port_or_known_default().unwrap_or(8200);
        let address = format!("{}://{host}:{port}", url.scheme());
        Ok(KvClient { address, url, http, namespace })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Calls `/v1/PATH`. Being unreachable and being sealed are errors; every other status is the caller's to judge.
    pub(super) async fn call(
        &self,
        method: &str,
        path: &str,
        token: Option<&Secret>,
        body: Option<Zeroizing<String>>,
    ) -> Result<KvResponse, VaultError> {
        let response = self.exchange(self.request(method, path, token, body)?).await?;
        // A proxy in front of a dead vault, a standby without a leader, and a sealed vault.
        match response.status {
            503 if response.has_errors() => {
                let address = self.address.clone();
                let reason = response.reason();
                if reason.to_ascii_lowercase().contains("sealed") {
                    Err(VaultError::Sealed { address })
                } else {
                    Err(self.unreachable(reason))
                }
            }
            429 | 472 | 473 | 500..=599 => {
                let status = response.status;
                Err(self.unreachable(format!("status {status}, {}", response.reason())))
            }
            _ => Ok(response),
        }
    }

    async fn exchange(&self, request: Request<Full<Bytes>>) -> Result<KvResponse, VaultError> {
        let response = self.http.send(&self.url, request).await.map_err(|error| match error {
            HttpError::Untrusted(error) => {
                VaultError::Untrusted { address: self.address.clone(), reason: error.to_string() }
            }
            error => self.unreachable(error.to_string()),
        })?;
        let (status, body) = (response.status.as_u16(), response.body);
        let body = if body.is_empty() { SecretNode::Null } else { self.parse(status, &body)? };
        Ok(KvResponse { status, body })
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        token: Option<&Secret>,
        body: Option<Zeroizing<String>>,
    ) -> Result<Request<Full<Bytes>>, VaultError> {
        let odd = |error: hyper::http::Error| VaultError::Answer {
            address: self.address.clone(),
            reason: error.to_string(),
        };
        let method = Method::from_bytes(method.as_bytes()).map_err(|error| odd(error.into()))?;
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/v1/{path}"))
            // Agents require this header: it keeps out requests that a web page forges through a browser.
            .header("X-Vault-Request", "true");
        if let Some(namespace) = &self.namespace {
            request = request.header("X-Vault-Namespace", namespace);
        }
        if let Some(token) = token {
            let mut value =
                HeaderValue::from_str(token.expose_secret()).map_err(|error| odd(error.into()))?;
            value.set_sensitive(true);
            request = request.header("X-Vault-Token", value);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        request.body(body.map_or_else(Full::default, wiped_body)).map_err(odd)
    }

    fn parse(&self, status: u16, body: &[u8]) -> Result<SecretNode, VaultError> {
        match SecretNode::from_json(body) {
            Ok(node) => Ok(node),
            // The page of a proxy instead of the vault's response.
            Err(_) if status >= 500 => Ok(SecretNode::Null),
            Err(bad) => Err(VaultError::Answer {
                address: self.address.clone(),
                reason: format!("status {status}, {bad}"),
            }),
        }
    }

    fn unreachable(&self, reason: String) -> VaultError {
        VaultError::Unreachable { address: self.address.clone(), reason }
    }
}
