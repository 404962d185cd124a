//! The egress proxy against Debian's tinyproxy: the same TLS site, the same client, one after the other.

use crate::common::tls_site::TlsSite;
use crate::effects;
use crate::records::Record;
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
use policy::EffectRequest;
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
const SAVED: &str = "saved";

/// By which way a request goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Tinyproxy,
    Tunnel,
    Intercepted,
    /// Intercepted, and decided on as an effect; the record is in memory, or on the disk of the build.
    Decided(RecordPlace),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordPlace {
    Memory,
    Disk,
}

pub struct Proxies {
    site: TlsSite,
    folder: tempfile::TempDir,
    tinyproxy: Child,
    tinyproxy_port: u16,
    client: TlsConnector,
    egresses: Vec<Egress>,
    _records: [Record; 2],
}

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

/// A connection to the site that stays open.
pub struct SiteConnection(TlsStream<Box<dyn Wire>>);

impl Proxies {
    pub async fn start() -> Proxies {
        let site = TlsSite::serve(&[SEALED, BLIND], router());
        let folder = tempfile::tempdir().unwrap();
        let (tinyproxy, tinyproxy_port) = start_tinyproxy(folder.path()).await;
        let records = [Record::in_memory(), Record::open()];
        let gated = [RecordPlace::Memory, RecordPlace::Disk].into_iter().zip(&records);
        let mut egresses = vec![serve_egress(&site, folder.path(), Way::Intercepted)];
        for (place, record) in gated {
            let egress = serve_egress(&site, folder.path(), Way::Decided(place));
            egress.set_effect_gate(Arc::new(effects::gate(record)));
            egresses.push(egress);
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AnyCertificate(ring::default_provider())))
            .with_no_client_auth();
        let client = TlsConnector::from(Arc::new(config));
        Proxies { site, folder, tinyproxy, tinyproxy_port, client, egresses, _records: records }
    }

    pub async fn connect(&self, way: Way) -> SiteConnection {
        let port = self.site.address.port();
        let (mut wire, host, target): (Box<dyn Wire>, _, _) = match way {
            Way::Tinyproxy => {
                let stream = TcpStream::connect(("127.0.0.1", self.tinyproxy_port)).await.unwrap();
                (Box::new(stream), BLIND, self.site.address.to_string())
            }
            Way::Tunnel => (Box::new(self.dial(way).await), BLIND, format!("{BLIND}:{port}")),
            Way::Intercepted | Way::Decided(_) => {
                (Box::new(self.dial(way).await), SEALED, format!("{SEALED}:{port}"))
            }
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

    /// Connections and intercepted requests that the proxy without a gate has on its ledger.
    pub fn on_ledger(&self) -> u64 {
        let ledger = self.egresses[0].ledger();
        ledger.entries.len() as u64 + ledger.dropped
    }

    /// One small request over a connection that is open already.
    pub async fn small_request(&self, way: Way, connection: &mut SiteConnection) -> Duration {
        let begun = Instant::now();
        connection.get(self.host(way), 100).await;
        begun.elapsed()
    }

    /// One request with a body over a connection that is open already.
    pub async fn save(&self, way: Way, connection: &mut SiteConnection, request: &EffectRequest) -> Duration {
        let begun = Instant::now();
        connection.post(self.host(way), request).await;
        begun.elapsed()
    }

    fn host(&self, way: Way) -> String {
        let name = if matches!(way, Way::Tinyproxy | Way::Tunnel) { BLIND } else { SEALED };
        format!("{name}:{}", self.site.address.port())
    }

    async fn dial(&self, way: Way) -> UnixStream {
        UnixStream::connect(socket(self.folder.path(), way)).await.unwrap()
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
        self.send(&format!("GET /bytes/{count} HTTP/1.1\r\nHost: {host}\r\n\r\n"), b"").await;
        let mut buffer = vec![0; PIECE];
        let mut left = count;
        while left > 0 {
            let most = left.min(PIECE);
            let read = self.0.read(&mut buffer[..most]).await.unwrap();
            assert!(read > 0, "{left} bytes are missing");
            left -= read;
        }
    }

    async fn post(&mut self, host: String, request: &EffectRequest) {
        let path = request.url.splitn(4, '/').nth(3).unwrap();
        let head = format!(
            "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n",
            request.content_type,
            request.body.len()
        );
        self.send(&head, &request.body).await;
        let mut answer = [0; SAVED.len()];
        self.0.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, SAVED.as_bytes());
    }

    /// Sends a request, and reads the head of the answer.
    async fn send(&mut self, head: &str, body: &[u8]) {
        self.0.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
        // What does not fit the socket stays in the TLS session otherwise.
        self.0.flush().await.unwrap();
        let head = read_head(&mut self.0).await;
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
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

/// Tunnels go by the proxy that decides on nothing.
fn socket(folder: &FilePath, way: Way) -> PathBuf {
    folder.join(match way {
        Way::Decided(RecordPlace::Memory) => "memory",
        Way::Decided(RecordPlace::Disk) => "disk",
        Way::Tinyproxy | Way::Tunnel | Way::Intercepted => "egress",
    })
}

fn serve_egress(site: &TlsSite, folder: &FilePath, way: Way) -> Egress {
    let hosts = [SEALED, BLIND].map(|host| (host, site.address.to_string()));
    let interception = Interception {
        authority: JailAuthority::generate().unwrap(),
        upstream: UpstreamTls::system(Some(&site.authority_file())).unwrap(),
    };
    // The caps of a session would be measured otherwise.
    let options =
        Options { bandwidth: None, requests_per_second: None, max_bytes_down: None, ..Options::default() };
    let listener = UnixListener::bind(socket(folder, way)).unwrap();
    let rules = Arc::new(Rules::new(HostMap::parse(hosts).unwrap()));
    let egress = egress::serve(listener, rules, options, Some(interception));
    egress.set_seal(Seal::new(vec![credential(site.address.port())]));
    egress
}

fn router() -> Router {
    Router::new().route("/bytes/{count}", get(bytes)).fallback(|_: Bytes| async { SAVED })
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
