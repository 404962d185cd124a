//! The egress proxy against Debian's tinyproxy: the same TLS site, the same client, one after the other.

use crate::common::tls_site::TlsSite;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::routing::get;
use egress::{
    Egress, HostMap, Interception, JailAuthority, Options, Rules, Seal, SealScope, SealedCookie,
    SealedCredential, SealedValue, UpstreamTls,
};
use futures_util::future::join_all;
use futures_util::stream;
use redact::{Placeholder, SameSite, Secret};
use std::path::{Path as FilePath, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

const SEALED: &str = "sealed.test";
const BLIND: &str = "blind.test";
const PIECE: usize = 64 << 10;

/// By which way a request goes.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    Tinyproxy,
    Tunnel,
    Intercepted,
}

pub struct Proxies {
    site: TlsSite,
    folder: tempfile::TempDir,
    tinyproxy: Child,
    tinyproxy_port: u16,
    client: TlsConnector,
    _egress: Egress,
}

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// A connection to the site that stays open.
pub struct SiteConnection(TlsStream<Box<dyn Wire>>);

impl Proxies {
    pub async fn start() -> Proxies {
        let site = TlsSite::serve(&[SEALED, BLIND], Router::new().route("/bytes/{count}", get(bytes)));
        let folder = tempfile::tempdir().unwrap();
        let (tinyproxy, tinyproxy_port) = start_tinyproxy(folder.path()).await;
        let hosts = [SEALED, BLIND].map(|host| (host, site.address.to_string()));
        let interception = Interception {
            authority: JailAuthority::generate().unwrap(),
            upstream: UpstreamTls::system(Some(&site.authority_file())).unwrap(),
        };
        // The caps of a session would be measured otherwise.
        let options = Options {
            bandwidth: None,
            requests_per_second: None,
            max_bytes_down: None,
            ..Options::default()
        };
        let listener = UnixListener::bind(socket(folder.path())).unwrap();
        let rules = Arc::new(Rules::new(HostMap::parse(hosts).unwrap()));
        let egress = egress::serve(listener, rules, options, Some(interception));
        egress.set_seal(Seal::new(vec![credential(site.address.port())]));
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(ring::default_provider())))
            .with_no_client_auth();
        let client = TlsConnector::from(Arc::new(config));
        Proxies { site, folder, tinyproxy, tinyproxy_port, client, _egress: egress }
    }

    pub async fn connect(&self, way: Way) -> SiteConnection {
        let port = self.site.address.port();
        let (mut wire, host, target): (Box<dyn Wire>, _, _) = match way {
            Way::Tinyproxy => {
                let stream = TcpStream::connect(("127.0.0.1", self.tinyproxy_port)).await.unwrap();
                (Box::new(stream), BLIND, self.site.address.to_string())
            }
            Way::Tunnel => (Box::new(self.dial().await), BLIND, format!("{BLIND}:{port}")),
            Way::Intercepted => (Box::new(self.dial().await), SEALED, format!("{SEALED}:{port}")),
        };
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
        wire.write_all(request.as_bytes()).await.unwrap();
        let head = read_head(&mut wire).await;
        assert!(head.split(' ').nth(1) == Some("200"), "{way:?}: {head}");
        let name = ServerName::try_from(host).unwrap();
        SiteConnection(self.client.connect(name, wire).await.unwrap())
    }

    /// Fetches so many bytes over each of some new connections at once.
    pub async fn fetch(&self, way: Way, streams: usize, count: usize) -> Duration {
        let begun = Instant::now();
        let each = (0..streams).map(|_| async {
            let mut connection = self.connect(way).await;
            connection.get(self.host(way), count).await;
        });
        join_all(each).await;
        begun.elapsed()
    }

    /// One small request over a connection that is open already.
    pub async fn small_request(&self, way: Way, connection: &mut SiteConnection) -> Duration {
        let begun = Instant::now();
        connection.get(self.host(way), 100).await;
        begun.elapsed()
    }

    fn host(&self, way: Way) -> String {
        let name = if matches!(way, Way::Intercepted) { SEALED } else { BLIND };
        format!("{name}:{}", self.site.address.port())
    }

    async fn dial(&self) -> UnixStream {
        UnixStream::connect(socket(self.folder.path())).await.unwrap()
    }
}

impl Drop for Proxies {
    fn drop(&mut self) {
        self.tinyproxy.kill().unwrap();
        self.tinyproxy.wait().unwrap();
    }
}

impl SiteConnection {
    async fn get(&mut self, host: String, count: usize) {
        let request = format!("GET /bytes/{count} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        self.0.write_all(request.as_bytes()).await.unwrap();
        // What does not fit the socket stays in the TLS session otherwise.
        self.0.flush().await.unwrap();
        let head = read_head(&mut self.0).await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let mut buffer = vec![0; PIECE];
        let mut left = count;
        while left > 0 {
            let most = left.min(PIECE);
            let read = self.0.read(&mut buffer[..most]).await.unwrap();
            assert!(read > 0, "{left} bytes are missing");
            left -= read;
        }
    }
}

/// Byte by byte: what follows belongs to somebody else.
async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

fn socket(folder: &FilePath) -> PathBuf {
    folder.join("egress")
}

async fn bytes(Path(count): Path<usize>) -> axum::response::Response {
    let piece = Bytes::from("<p>The quick brown fox jumps over 13 dogs</p>\n".repeat(PIECE / 46 + 1));
    let starts = (0..count).step_by(PIECE);
    let pieces = starts.map(move |at| Ok::<_, std::io::Error>(piece.slice(..PIECE.min(count - at))));
    axum::response::Response::builder()
        .header("content-type", "text/html")
        .header("content-length", count)
        .body(Body::from_stream(stream::iter(pieces)))
        .unwrap()
}

/// Ten cookies and five stored values, as a session has them.
fn credential(port: u16) -> SealedCredential {
    let value = |kind: &str, number: usize| {
        let value = Secret::new(format!("{kind}-{number}-4e5f6a7b8c9d0e1f2a3b4c5d6e7f"));
        let placeholder = Placeholder::for_secret(&value);
        (value, placeholder)
    };
    let cookies = (0..10).map(|number| {
        let (value, placeholder) = value("cookie", number);
        SealedCookie {
            name: format!("c{number}"),
            host: SEALED.to_owned(),
            host_only: true,
            value,
            placeholder,
            http_only: true,
            same_site: SameSite::Lax,
        }
    });
    let storage = (0..5).map(|number| {
        let (value, placeholder) = value("stored", number);
        SealedValue { value, placeholder }
    });
    SealedCredential {
        id: SEALED.to_owned(),
        scope: SealScope::Origin(policy::Origin::of(&format!("https://{SEALED}:{port}"))),
        cookies: cookies.collect(),
        storage: storage.collect(),
        headers: Vec::new(),
        send_in: Vec::new(),
    }
}

async fn start_tinyproxy(folder: &FilePath) -> (Child, u16) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let file = folder.join("tinyproxy.conf");
    let settings = format!(
        "Port {port}\nListen 127.0.0.1\nAllow 127.0.0.1\nMaxClients 300\nTimeout 600\nLogLevel Critical\n"
    );
    std::fs::write(&file, settings).unwrap();
    let mut command = Command::new("tinyproxy");
    command.arg("-d").arg("-c").arg(&file).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().expect("tinyproxy is missing: script/setup bench installs it");
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(10), "tinyproxy does not listen");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    (child, port)
}

/// The client measures; whom it talks to is the concern of other tests.
#[derive(Debug)]
struct AnyCertificate(CryptoProvider);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
