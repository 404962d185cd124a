//! Sealed origins: a browser on the proxy's socket, real TLS servers on loopback, and what each of them sees.

mod bounds;
mod codings;
mod framing;
mod fuzz;
mod handshakes;
mod replies;
mod requests;
mod websockets;

use super::{head, seen};
use crate::hosts::HostName;
use crate::resolve::tests::table;
use crate::server::serve_with;
use crate::{
    Egress, EgressOutcome, HostMap, Interception, JailAuthority, LedgerEntry, Options, Rules, Seal,
    SealScope, SealedCookie, SealedCredential, SealedHeader, SealedValue, UpstreamTls,
};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Version, client, server};
use hyper_util::rt::{TokioExecutor, TokioIo};
use policy::Origin;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use redact::{Placeholder, SameSite, Secret};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio_rustls::{TlsAcceptor, TlsConnector};

pub(super) type AnyBody = UnsyncBoxBody<Bytes, Infallible>;

pub(super) fn text(body: impl Into<Bytes>) -> AnyBody {
    Full::new(body.into()).boxed_unsync()
}

/// An authority that the proxy trusts, as a company has one.
pub(super) struct TestAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl TestAuthority {
    pub(super) fn new() -> TestAuthority {
        TestAuthority::named("Test authority")
    }

    pub(super) fn named(name: &str) -> TestAuthority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        TestAuthority { issuer }
    }

    /// A certificate for some hosts, changed as the test wants.
    pub(super) fn server(&self, hosts: &[&str], change: impl FnOnce(&mut CertificateParams)) -> ServerConfig {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let mut params = CertificateParams::new(hosts).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap()
    }

    fn pem(&self) -> String {
        self.issuer.pem()
    }

    fn der(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }
}

/// A request as an origin received it.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) method: Method,
    pub(super) version: Version,
    pub(super) target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
}

impl Received {
    /// All of it in one text, header by header.
    pub(super) fn all(&self) -> String {
        let lines = self
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
        format!("{} {}\n{}\n{}", self.method, self.target, lines.collect::<String>(), self.body)
    }

    pub(super) fn header(&self, name: &str) -> String {
        let values: Vec<&str> =
            self.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        values.join(" | ")
    }
}

type Handler = Arc<dyn Fn(Received) -> Response<AnyBody> + Send + Sync>;

/// A server that keeps every request that it received.
pub(super) struct OriginServer {
    pub(super) address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    _task: JoinSet<()>,
}

impl OriginServer {
    /// Over TLS, speaking both versions of HTTP.
    pub(super) async fn tls(
        config: ServerConfig,
        handler: impl Fn(Received) -> Response<AnyBody> + Send + Sync + 'static,
    ) -> OriginServer {
        OriginServer::speaking(&[b"h2", b"http/1.1"], config, handler).await
    }

    pub(super) async fn speaking(
        protocols: &[&[u8]],
        mut config: ServerConfig,
        handler: impl Fn(Received) -> Response<AnyBody> + Send + Sync + 'static,
    ) -> OriginServer {
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        OriginServer::start(Some(TlsAcceptor::from(Arc::new(config))), Arc::new(handler)).await
    }

    pub(super) async fn plain(
        handler: impl Fn(Received) -> Response<AnyBody> + Send + Sync + 'static,
    ) -> OriginServer {
        OriginServer::start(None, Arc::new(handler)).await
    }

    async fn start(tls: Option<TlsAcceptor>, handler: Handler) -> OriginServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received: Arc<Mutex<Vec<Received>>> = Arc::default();
        let kept = Arc::clone(&received);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, handler, kept) = (tls.clone(), Arc::clone(&handler), Arc::clone(&kept));
                open.spawn(async move {
                    match tls {
                        None => answer_all(stream, false, handler, kept).await,
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else { return };
                            let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                            answer_all(stream, is_http2, handler, kept).await;
                        }
                    }
                });
            }
        });
        OriginServer { address, received, _task: task }
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub(super) fn last(&self) -> Received {
        self.received().pop().unwrap()
    }
}

async fn answer_all(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    is_http2: bool,
    handler: Handler,
    kept: Arc<Mutex<Vec<Received>>>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (handler, kept) = (Arc::clone(&handler), Arc::clone(&kept));
        async move {
            let (parts, body) = request.into_parts();
            // A body that breaks off is answered as one that is empty.
            let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            let received = Received {
                method: parts.method,
                version: parts.version,
                target: parts.uri.to_string(),
                headers: parts.headers,
                body: String::from_utf8_lossy(&body).into_owned(),
            };
            kept.lock().unwrap().push(received.clone());
            Ok::<_, Infallible>(handler(received))
        }
    });
    let io = TokioIo::new(stream);
    // A browser that leaves is no failure of the origin.
    if is_http2 {
        let _ended =
            server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await;
    } else {
        let _ended = server::conn::http1::Builder::new().serve_connection(io, service).with_upgrades().await;
    }
}

/// A proxy with sealed credentials, and the browser's side of it.
pub(super) struct SealedProxy {
    pub(super) egress: Egress,
    pub(super) seal: Arc<Seal>,
    authority: Arc<JailAuthority>,
    site_authority: CertificateDer<'static>,
    folder: tempfile::TempDir,
}

impl SealedProxy {
    pub(super) fn new(
        authority: &TestAuthority,
        hosts: &[(&str, SocketAddr)],
        credentials: Vec<SealedCredential>,
    ) -> SealedProxy {
        let options = Options { requests_per_second: None, bandwidth: None, ..Options::default() };
        SealedProxy::with_options(authority, hosts, credentials, options)
    }

    pub(super) fn with_options(
        authority: &TestAuthority,
        hosts: &[(&str, SocketAddr)],
        credentials: Vec<SealedCredential>,
        options: Options,
    ) -> SealedProxy {
        SealedProxy::with_seal(authority, hosts, Seal::new(credentials), options)
    }

    pub(super) fn with_seal(
        authority: &TestAuthority,
        hosts: &[(&str, SocketAddr)],
        seal: Arc<Seal>,
        options: Options,
    ) -> SealedProxy {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("authority.pem");
        std::fs::write(&file, authority.pem()).unwrap();
        let listener = UnixListener::bind(folder.path().join("egress")).unwrap();
        let hosts = HostMap::parse(hosts.iter().map(|(host, at)| (*host, at.to_string()))).unwrap();
        let jail = JailAuthority::generate().unwrap();
        let interception = Interception {
            authority: Arc::clone(&jail),
            upstream: UpstreamTls::system(Some(&file)).unwrap(),
        };
        let rules = Arc::new(Rules::new(hosts));
        let egress = serve_with(listener, rules, options, Some(interception), table());
        egress.set_seal(Arc::clone(&seal));
        SealedProxy { egress, seal, authority: jail, site_authority: authority.der(), folder }
    }

    pub(super) async fn dial(&self) -> UnixStream {
        UnixStream::connect(self.folder.path().join("egress")).await.unwrap()
    }

    /// A tunnel, as a browser opens one.
    pub(super) async fn tunnel(&self, authority: &str) -> UnixStream {
        let mut stream = self.dial().await;
        let connect = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        stream.write_all(connect.as_bytes()).await.unwrap();
        let answer = head(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        stream
    }

    /// A TLS connection that trusts the jail's authority alone: an intercepted one.
    pub(super) async fn tls(
        &self,
        authority: &str,
        protocols: &[&[u8]],
    ) -> std::io::Result<TlsStream<UnixStream>> {
        let host = authority.rsplit_once(':').unwrap().0.to_owned();
        self.tls_named(authority, &host, protocols, self.authority.certificate()).await
    }

    /// A TLS connection that trusts the sites' authority alone: one that is not looked into.
    pub(super) async fn blind_tls(&self, authority: &str) -> std::io::Result<TlsStream<UnixStream>> {
        let host = authority.rsplit_once(':').unwrap().0.to_owned();
        self.tls_named(authority, &host, &[b"http/1.1"], self.site_authority.clone()).await
    }

    pub(super) async fn tls_named(
        &self,
        authority: &str,
        name: &str,
        protocols: &[&[u8]],
        trusted: CertificateDer<'static>,
    ) -> std::io::Result<TlsStream<UnixStream>> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let stream = self.tunnel(authority).await;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    /// A browser's connection that speaks one version of HTTP.
    pub(super) async fn browser(&self, authority: &str, version: Version) -> Browser {
        let protocol: &[u8] = if version == Version::HTTP_2 { b"h2" } else { b"http/1.1" };
        let stream = self.tls(authority, &[protocol]).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol));
        Browser::over(stream, authority, version).await
    }

    pub(super) fn entries(&self) -> Vec<LedgerEntry> {
        let entries = self.egress.ledger().entries;
        for entry in &entries {
            if let EgressOutcome::Refused(reason) | EgressOutcome::Failed(reason) = entry.verdict {
                seen::seen(reason.code());
            }
        }
        entries
    }

    /// Waits for an outcome that is not `Allowed`; the latest counts.
    pub(super) async fn failure(&self) -> EgressOutcome {
        loop {
            let verdicts = self.entries().into_iter().map(|entry| entry.verdict);
            if let Some(verdict) = verdicts.rev().find(|verdict| *verdict != EgressOutcome::Allowed) {
                return verdict;
            }
            tokio::task::yield_now().await;
        }
    }
}

enum Sender {
    Http1(client::conn::http1::SendRequest<AnyBody>),
    Http2(client::conn::http2::SendRequest<AnyBody>),
}

/// One connection of a browser to an origin.
pub(super) struct Browser {
    sender: Sender,
    authority: String,
    _task: JoinSet<()>,
}

impl Browser {
    pub(super) async fn over(
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        authority: &str,
        version: Version,
    ) -> Browser {
        let mut task = JoinSet::new();
        let io = TokioIo::new(stream);
        let sender = if version == Version::HTTP_2 {
            let (sender, connection) =
                client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
            task.spawn(async move { drop(connection.await) });
            Sender::Http2(sender)
        } else {
            let (sender, connection) = client::conn::http1::Builder::new()
                .max_buf_size(1024 * 1024)
                .max_headers(1000)
                .handshake(io)
                .await
                .unwrap();
            task.spawn(async move { drop(connection.with_upgrades().await) });
            Sender::Http1(sender)
        };
        let authority = authority.strip_suffix(":443").unwrap_or(authority).to_owned();
        Browser { sender, authority, _task: task }
    }

    pub(super) fn request(&self, method: &str, target: &str) -> hyper::http::request::Builder {
        match &self.sender {
            Sender::Http1(_) => Request::builder().method(method).uri(target).header("host", &self.authority),
            Sender::Http2(_) => {
                Request::builder().method(method).uri(format!("https://{}{target}", self.authority))
            }
        }
    }

    pub(super) async fn send(&mut self, request: Request<AnyBody>) -> hyper::Result<Response<Incoming>> {
        match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }

    pub(super) async fn get(&mut self, target: &str, lines: &[(&str, &str)]) -> Reply {
        self.exchange("GET", target, lines, "").await
    }

    pub(super) async fn exchange(
        &mut self,
        method: &str,
        target: &str,
        lines: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut request = self.request(method, target).body(text(body.to_owned())).unwrap();
        for (name, value) in lines {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            request.headers_mut().append(name, HeaderValue::from_str(value).unwrap());
        }
        let response = self.send(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let collected = body.collect().await.unwrap();
        let trailers = collected.trailers().cloned();
        Reply { status: parts.status, headers: parts.headers, body: collected.to_bytes(), trailers }
    }
}

/// A whole reply as a browser got it.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) trailers: Option<HeaderMap>,
}

impl Reply {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(super) fn header(&self, name: &str) -> String {
        let values = self.headers.get_all(name).iter().map(|value| value.to_str().unwrap());
        values.collect::<Vec<_>>().join(" | ")
    }
}

pub(super) const SESSION: &str = "kJ8s-Q2mZ71xv9TfLw0bYdRe4HcUa6Np";
pub(super) const CSRF: &str = "csrfA93kd02mslQ7ZpwX55tt";
pub(super) const TOKEN: &str = "tok_5f8GhJ2kLm9PqRs4TvWx";
pub(super) const API_KEY: &str = "key-8Ahq2Lm5Vd0Zs7Xc4Tn1";
pub(super) const SECRETS: [&str; 4] = [SESSION, CSRF, TOKEN, API_KEY];

pub(super) fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

pub(super) fn placeholder(of: &str) -> Placeholder {
    Placeholder::for_secret(&secret(of))
}

/// A credential with one value of each kind, and its placeholders: session cookie, readable cookie, storage.
pub(super) struct TestCredential {
    pub(super) session: Placeholder,
    pub(super) csrf: Placeholder,
    pub(super) token: Placeholder,
}

impl TestCredential {
    pub(super) fn new() -> TestCredential {
        TestCredential { session: placeholder(SESSION), csrf: placeholder(CSRF), token: placeholder(TOKEN) }
    }

    pub(super) fn sealed(&self, origin: &str) -> SealedCredential {
        let host = HostName::parse(origin.rsplit('/').next().unwrap().split(':').next().unwrap()).unwrap();
        let cookie =
            |name: &str, value: &str, placeholder: &Placeholder, http_only, same_site| SealedCookie {
                name: name.to_owned(),
                host: host.to_string(),
                host_only: true,
                value: secret(value),
                placeholder: placeholder.clone(),
                http_only,
                same_site,
            };
        SealedCredential {
            id: "login".to_owned(),
            scope: SealScope::Origin(Origin::of(origin)),
            cookies: vec![
                cookie("sid", SESSION, &self.session, true, SameSite::Lax),
                cookie("csrftoken", CSRF, &self.csrf, false, SameSite::Lax),
            ],
            storage: vec![SealedValue { value: secret(TOKEN), placeholder: self.token.clone() }],
            headers: vec![SealedHeader { name: "X-Api-Key".to_owned(), value: secret(API_KEY) }],
            send_in: Vec::new(),
        }
    }
}

/// A proxy with one sealed origin, `https://app.test`, that answers as the test wants.
pub(super) async fn sealed_app(
    handler: impl Fn(Received) -> Response<AnyBody> + Send + Sync + 'static,
) -> (OriginServer, SealedProxy, TestCredential) {
    let authority = TestAuthority::new();
    let server = OriginServer::tls(authority.server(&["app.test"], |_| {}), handler).await;
    let credential = TestCredential::new();
    let hosts = [("app.test", server.address)];
    let proxy = SealedProxy::new(&authority, &hosts, vec![credential.sealed("https://app.test")]);
    (server, proxy, credential)
}

/// No secret stands in a text, as it is.
pub(super) fn assert_no_secret(text: &str, what: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{what} has a secret: {text}");
    }
}
