//! One request to a vault, on a connection of its own, with bounds on its time and its answer.

use super::tls;
use crate::error::VaultError;
use crate::node::{Node, shown};
use crate::secret::Secret;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use url::Url;
use zeroize::Zeroizing;

/// How long a connection, and the whole call, may take; then the vault counts as unreachable.
const CONNECT: Duration = Duration::from_secs(3);
const CALL: Duration = Duration::from_secs(10);

/// A document and what stands round it.
const LARGEST_ANSWER: usize = 2 * 1024 * 1024;

pub(super) struct Client {
    address: String,
    host: String,
    port: u16,
    tls: Option<TlsConnector>,
    namespace: Option<HeaderValue>,
}

pub(super) struct Answer {
    pub status: u16,
    pub body: Node,
}

impl Answer {
    /// The server's own words, short and without control characters.
    pub(super) fn reason(self) -> String {
        let errors = self.body.fields("").ok().and_then(|mut fields| fields.take("errors"));
        let first = errors.and_then(|node| node.list("", 100).ok()).and_then(|list| list.into_iter().next());
        let text = first.and_then(|node| node.plain("").ok()).unwrap_or_else(|| "no reason given".to_owned());
        shown(text.trim())
    }

    pub(super) fn has_errors(&self) -> bool {
        let Node::Map(map) = &self.body else { return false };
        map.iter()
            .any(|(name, node)| name == "errors" && matches!(node, Node::List(list) if !list.is_empty()))
    }
}

impl Client {
    pub(super) fn new(
        address: &str,
        namespace: Option<&str>,
        ca_file: Option<&Path>,
    ) -> Result<Client, VaultError> {
        let bad = |reason: &str| VaultError::Settings { what: "vault_address", reason: reason.to_owned() };
        let url =
            Url::parse(address).map_err(|_| bad("an address such as https://vault.example.org:8200"))?;
        let host = url.host_str().ok_or_else(|| bad("a host is missing"))?.to_owned();
        let here = matches!(host.as_str(), "127.0.0.1" | "[::1]" | "localhost");
        let tls = match url.scheme() {
            "https" => Some(tls::connector(ca_file)?),
            "http" if here => None,
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
        Ok(Client { address: format!("{}://{host}:{port}", url.scheme()), host, port, tls, namespace })
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
    ) -> Result<Answer, VaultError> {
        let call = self.call_unbounded(method, path, token, body);
        let answer = tokio::time::timeout(CALL, call)
            .await
            .map_err(|_| self.unreachable(format!("no answer within {} s", CALL.as_secs())))??;
        // What a proxy in front of a dead vault answers, a standby without a leader, and a sealed vault.
        match answer.status {
            503 if answer.has_errors() => {
                let address = self.address.clone();
                let reason = answer.reason();
                if reason.to_ascii_lowercase().contains("sealed") {
                    Err(VaultError::Sealed { address })
                } else {
                    Err(self.unreachable(reason))
                }
            }
            429 | 472 | 473 | 500..=599 => {
                let status = answer.status;
                Err(self.unreachable(format!("status {status}, {}", answer.reason())))
            }
            _ => Ok(answer),
        }
    }

    async fn call_unbounded(
        &self,
        method: &str,
        path: &str,
        token: Option<&Secret>,
        body: Option<Zeroizing<String>>,
    ) -> Result<Answer, VaultError> {
        let request = self.request(method, path, token, body)?;
        let host = self.host.trim_matches(['[', ']']);
        let stream = tokio::time::timeout(CONNECT, TcpStream::connect((host, self.port)))
            .await
            .map_err(|_| self.unreachable(format!("no connection within {} s", CONNECT.as_secs())))?
            .map_err(|error| self.unreachable(error.to_string()))?;
        let Some(tls) = &self.tls else { return self.exchange(stream, request).await };
        let name =
            ServerName::try_from(host.to_owned()).map_err(|error| self.unreachable(error.to_string()))?;
        let stream = tls.connect(name, stream).await.map_err(|error| match error.kind() {
            // What rustls finds wrong with a certificate comes as this kind; a broken connection as others.
            std::io::ErrorKind::InvalidData => {
                VaultError::Untrusted { address: self.address.clone(), reason: error.to_string() }
            }
            _ => self.unreachable(error.to_string()),
        })?;
        self.exchange(stream, request).await
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
            .header(HOST, format!("{}:{}", self.host, self.port))
            // Without it a request that was forged through a browser would be taken too: agents ask for it.
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
        let body = body.map_or_else(Bytes::new, |text| Bytes::from_owner(Owned(text)));
        request.body(Full::new(body)).map_err(odd)
    }

    async fn exchange<S>(&self, stream: S, request: Request<Full<Bytes>>) -> Result<Answer, VaultError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let lost = |error: hyper::Error| self.unreachable(error.to_string());
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        let exchange = async {
            let response = sender.send_request(request).await.map_err(lost)?;
            let status = response.status().as_u16();
            let body = Limited::new(response.into_body(), LARGEST_ANSWER).collect().await;
            let body = body.map_err(|error| self.unreachable(error.to_string()))?.to_bytes();
            let body = Zeroizing::new(Vec::from(body));
            Ok::<_, VaultError>((status, body))
        };
        // The connection is driven by this very call, so nothing of it outlives the call.
        let (status, body) = tokio::select! {
            answer = exchange => answer?,
            ended = connection => {
                let reason = ended.err().map_or_else(|| "the connection ended".to_owned(), |error| error.to_string());
                return Err(self.unreachable(reason));
            }
        };
        let body = if body.is_empty() { Node::Null } else { self.parse(status, &body)? };
        Ok(Answer { status, body })
    }

    fn parse(&self, status: u16, body: &[u8]) -> Result<Node, VaultError> {
        match Node::from_json(body) {
            Ok(node) => Ok(node),
            // A proxy's page in place of the vault's answer.
            Err(_) if status >= 500 => Ok(Node::Null),
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

/// A body whose memory is wiped when it was sent.
struct Owned(Zeroizing<String>);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
