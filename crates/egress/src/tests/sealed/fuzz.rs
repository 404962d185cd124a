//! Readers of what browsers and sites send are fed with broken messages: nothing panics, and however a message is broken, no
//! whole secret of it comes to the browser. Two seconds each in a test run; `STOCKADE_FUZZ_SECONDS` gives them longer.

use super::*;
use crate::seal::{
    Initiator, RequestKind, WebOrigin, WebScheme, seal_headers, unseal_cookies, unseal_headers, unseal_path,
};
use audit::{Cleared, EffectDecided, EffectGate, EffectRefused};
use futures_util::SinkExt as _;
use policy::{EffectRequest, RequestHead};
use std::sync::Once;
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_rustls::rustls::ClientConnection;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

/// How long a broken input is waited for.
const PATIENCE: Duration = Duration::from_millis(10);

const PIECES: &[&str] = &[
    "\r\n",
    "\r\n\r\n",
    "\n",
    "\0",
    ": ",
    ";",
    "=",
    ",",
    "\"",
    "%",
    "%2e",
    "..",
    "//",
    "?",
    "&",
    "chunked",
    "gzip",
    "Transfer-Encoding: chunked\r\n",
    "Content-Length: 5\r\n",
    "Content-Length: 99999999999999999999\r\n",
    "HTTP/1.1",
    "Connection: close\r\n",
    "Connection: Upgrade\r\nUpgrade: websocket\r\n",
    "Set-Cookie: a=b; HttpOnly\r\n",
    "Cookie: sid=\r\n",
    "Content-Encoding: br\r\n",
    "Content-Encoding: zstd\r\n",
    "Host: app.test\r\n",
    "é",
    "\u{feff}",
    "0\r\n\r\n",
    "ffffffffffffffff\r\n",
    "-1",
    "Domain=",
    "Expires=",
    "Max-Age=",
    "SameSite=",
    "Thu, 01-Jan-1970",
];

/// A small generator: the same inputs in every run of the same length.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides.max(1) as u64) as usize
    }

    fn broken(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.roll(seeds.len())].clone();
        for _ in 0..=self.roll(4) {
            let at = self.roll(bytes.len() + 1);
            let end = (at + self.roll(40)).min(bytes.len());
            let piece = PIECES[self.roll(PIECES.len())];
            match self.roll(6) {
                0 if !bytes.is_empty() => {
                    let at = at.min(bytes.len() - 1);
                    bytes[at] ^= 1 << self.roll(8);
                }
                1 => drop(bytes.drain(at..end)),
                2 => drop(bytes.splice(at..at, piece.bytes())),
                3 => drop(bytes.splice(at..end, piece.bytes())),
                4 => {
                    let part = bytes[at..end].repeat(1 + self.roll(32));
                    drop(bytes.splice(at..at, part));
                }
                _ => bytes.truncate(at),
            }
            bytes.truncate(100_000);
        }
        bytes
    }
}

static PANICKED: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

/// Tasks of a proxy run on the thread of the test; a panic in one of them does not end it.
struct PanicWatch;

impl PanicWatch {
    fn new() -> PanicWatch {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                PANICKED
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .push(std::thread::current().id());
                before(info);
            }));
        });
        PanicWatch
    }

    fn check(&self, what: &str, input: &[u8]) {
        let panicked = PANICKED.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let is_own = panicked.contains(&std::thread::current().id());
        assert!(!is_own, "{what}: a panic over {:?}", String::from_utf8_lossy(input));
    }
}

/// Feeds broken inputs for as long as the run has.
async fn feed(what: &str, seeds: Vec<Vec<u8>>, mut read: impl AsyncFnMut(Vec<u8>)) {
    let seconds = std::env::var("STOCKADE_FUZZ_SECONDS").map_or(2, |text| text.parse().unwrap());
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut dice = Dice(0x5eed_0f57_0c4a_de02);
    let watch = PanicWatch::new();
    let mut runs = 0u64;
    for seed in &seeds {
        read(seed.clone()).await;
        watch.check(what, seed);
    }
    while Instant::now() < end {
        let input = dice.broken(&seeds);
        read(input.clone()).await;
        watch.check(what, &input);
        runs += 1;
    }
    println!("{what}: {runs} runs");
    assert!(runs > 20, "{what}: {runs} runs");
}

/// Decides at once: on some requests in one way, on others in the other.
#[derive(Debug)]
struct HastyGate;

impl EffectGate for HastyGate {
    fn concerns(&self, head: &RequestHead<'_>) -> bool {
        head.method != "GET"
    }

    fn decide(&self, request: EffectRequest) -> EffectDecided {
        let decided = if request.body.len().is_multiple_of(3) {
            Err(EffectRefused { code: "denied_by_operator" })
        } else {
            Ok(Cleared::Read)
        };
        Box::pin(std::future::ready(decided))
    }
}

fn plain_proxy(site: SocketAddr) -> SealedProxy {
    plain_proxy_of(site).0
}

fn plain_proxy_of(site: SocketAddr) -> (SealedProxy, TestCredential) {
    let credential = TestCredential::new();
    let sealed = credential.sealed("http://app.test");
    let proxy = SealedProxy::new(&TestAuthority::new(), &[("app.test", site)], vec![sealed]);
    proxy.egress.set_effect_gate(Arc::new(HastyGate));
    (proxy, credential)
}

const GZIPPED_HELLO: &[u8] =
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcbH\xcd\xc9\xc9\x07\x00\x86\xa6\x106\x05\x00\x00\x00";

/// Reads what comes soon, in which no secret may be. A broken input may be waited on for ever.
async fn read_some(stream: &mut (impl AsyncRead + Unpin)) {
    let mut bytes = Vec::new();
    while let Ok(Ok(1..)) = timeout(PATIENCE, tokio::io::AsyncReadExt::read_buf(stream, &mut bytes)).await {}
    assert_no_secret(&String::from_utf8_lossy(&bytes), "what the browser got");
}

#[tokio::test]
async fn no_hello_makes_the_proxy_panic() {
    let (_server, proxy, _credential) = sealed_app(|_| Response::new(text("ok"))).await;
    let mut seeds = Vec::new();
    for protocols in [&[][..], &[b"h2".to_vec()], &[b"h2".to_vec(), b"http/1.1".to_vec()]] {
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        config.alpn_protocols = protocols.to_vec();
        let name = ServerName::try_from("app.test").unwrap();
        let mut connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut hello = Vec::new();
        connection.write_tls(&mut hello).unwrap();
        seeds.push(hello);
    }
    feed("hellos", seeds, async |hello| {
        let mut stream = proxy.tunnel("app.test:443").await;
        let _written = stream.write_all(&hello).await;
        read_some(&mut stream).await;
    })
    .await;
}

#[tokio::test]
async fn no_request_makes_the_proxy_panic() {
    // The site shows all that it gets: the secrets too, which the proxy puts in where they belong.
    let server = OriginServer::plain(|received| Response::new(text(received.all()))).await;
    let (proxy, credential) = plain_proxy_of(server.address);
    let signed_in = format!(
        "GET /a?b=c HTTP/1.1\r\nHost: app.test\r\nReferer: http://app.test/\r\nCookie: sid={}; csrftoken={}\r\n\
         Authorization: Bearer {}\r\nAccept-Encoding: gzip, br\r\n\r\n",
        credential.session.as_str(),
        credential.csrf.as_str(),
        credential.token.as_str()
    );
    let seeds = [
        signed_in.as_str(),
        "POST /form HTTP/1.1\r\nHost: app.test\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: 7\r\n\r\na=b&c=d",
        "POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n\
         5\r\n{\"a\":\r\n4\r\n\"b\"}\r\n0\r\nX-Trailer: 1\r\n\r\n",
        "GET /live HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    ];
    let mut seeds = seeds.map(|seed| seed.as_bytes().to_vec()).to_vec();
    for coding in ["gzip", "deflate", "br", "zstd", "gzip, br"] {
        let head = format!(
            "POST /coded HTTP/1.1\r\nHost: app.test\r\nContent-Encoding: {coding}\r\n\
             X-HTTP-Method-Override: DELETE\r\nContent-Length: 25\r\n\r\n"
        );
        seeds.push([head.as_bytes(), GZIPPED_HELLO].concat());
    }
    feed("requests", seeds, async |request| {
        let mut stream = proxy.tunnel("app.test:80").await;
        let _written = stream.write_all(&request).await;
        read_some(&mut stream).await;
    })
    .await;
}

#[tokio::test]
async fn no_reply_makes_the_proxy_panic() {
    let reply: Arc<Mutex<Vec<u8>>> = Arc::default();
    let answered = Arc::clone(&reply);
    let site = super::super::Site::new(move |mut stream| {
        let answered = Arc::clone(&answered);
        async move {
            head(&mut stream).await;
            let bytes = answered.lock().unwrap().clone();
            let _written = stream.write_all(&bytes).await;
        }
    })
    .await;
    let proxy = plain_proxy(site.address);
    let mut zipped = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 25\r\n\r\n".to_vec();
    zipped.extend_from_slice(GZIPPED_HELLO);
    let text_seeds = [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: sid=fresh-value-1; Path=/; HttpOnly\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Trailer: 1\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Encoding: br\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nConnection: close\r\n\r\nx\u{1}",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    ];
    let mut seeds = text_seeds.map(|seed| seed.as_bytes().to_vec()).to_vec();
    seeds.push(zipped);
    seeds
        .push(format!("HTTP/1.1 200 OK\r\nX-A: {SESSION}\r\nContent-Length: 24\r\n\r\n{TOKEN}").into_bytes());
    seeds.push(
        format!(
            "HTTP/1.1 200 {TOKEN}\r\n{TOKEN}: b\r\nSet-Cookie: a={CSRF}; Max-Age=0\r\nTransfer-Encoding: chunked\r\n\r\n\
             18;a=b\r\n{TOKEN}\r\n0\r\nX-Trailer: {SESSION}\r\n\r\n"
        )
        .into_bytes(),
    );
    feed("replies", seeds, async |bytes| {
        *reply.lock().unwrap() = bytes;
        let mut stream = proxy.tunnel("app.test:80").await;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: app.test\r\n\r\n").await.unwrap();
        read_some(&mut stream).await;
    })
    .await;
}

#[tokio::test]
async fn no_cookie_header_or_path_makes_the_seal_panic() {
    let credential = TestCredential::new();
    let seal = Seal::new(vec![credential.sealed("https://app.test")]);
    let origin =
        WebOrigin { scheme: WebScheme::Https, host: HostName::parse("app.test").unwrap(), port: 443 };
    let seeds = vec![
        format!("sid={}; csrftoken={}; a=b", credential.session.as_str(), credential.csrf.as_str())
            .into_bytes(),
        b"sid=fresh-value-123; Path=/; Domain=.app.test; HttpOnly; SameSite=None; Max-Age=60".to_vec(),
        b"a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT; HttpOnly".to_vec(),
        format!("Bearer {}", credential.token.as_str()).into_bytes(),
    ];
    feed("cookies", seeds, async |bytes| {
        let Ok(value) = HeaderValue::from_bytes(&bytes) else { return };
        let view = seal.view();
        let mut headers = HeaderMap::new();
        headers.insert("cookie", value.clone());
        headers.insert("authorization", value.clone());
        let kind = RequestKind::of(&Method::GET, &headers);
        unseal_cookies(&mut headers, &seal, &view, &origin, "/", (Initiator::Own, kind));
        unseal_headers(&mut headers, &seal, &view, &origin, "/", Initiator::Own);
        let mut reply = HeaderMap::new();
        reply.insert("set-cookie", value.clone());
        seal_headers(&mut reply, &seal, &origin, &bytes);
        if let Ok(path) = value.to_str() {
            unseal_path(path, &seal, &view, &origin, Initiator::Own);
        }
        // A broken secret may not come out as a whole one.
        assert_eq!(reply.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn no_websocket_frame_makes_the_proxy_panic() {
    let frames: Arc<Mutex<Vec<u8>>> = Arc::default();
    let sent = Arc::clone(&frames);
    let site = super::super::Site::new(move |mut stream| {
        let sent = Arc::clone(&sent);
        async move {
            head(&mut stream).await;
            let accept = derive_accept_key(b"dGhlIHNhbXBsZSBub25jZQ==");
            let answer = format!(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                 Sec-WebSocket-Accept: {accept}\r\n\r\n"
            );
            let bytes = sent.lock().unwrap().clone();
            let _written = stream.write_all(&[answer.as_bytes(), &bytes].concat()).await;
            super::super::rest(&mut stream).await;
        }
    })
    .await;
    let proxy = plain_proxy(site.address);
    let mut seeds = Vec::new();
    // A ping of the browser's own comes back to it, so the secret is in the site's frames alone.
    const OTHER: &str = "what a page says to site";
    for (role, said) in [(Role::Client, OTHER), (Role::Server, TOKEN)] {
        let (near, mut far) = tokio::io::duplex(4096);
        let mut socket = WebSocketStream::from_raw_socket(near, role, None).await;
        for message in
            [Message::text(said), Message::binary(vec![0; 130]), Message::Ping(Bytes::from_static(b"p"))]
        {
            socket.send(message).await.unwrap();
        }
        socket.close(None).await.unwrap();
        drop(socket);
        let mut bytes = Vec::new();
        tokio::io::AsyncReadExt::read_to_end(&mut far, &mut bytes).await.unwrap();
        seeds.push(bytes);
    }
    feed("frames", seeds, async |bytes| {
        *frames.lock().unwrap() = bytes.clone();
        let mut stream = proxy.tunnel("app.test:80").await;
        let request = "GET /live HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        head(&mut stream).await;
        let own = String::from_utf8_lossy(&bytes).contains(TOKEN);
        let _written = stream.write_all(if own { OTHER.as_bytes() } else { &bytes }).await;
        read_some(&mut stream).await;
    })
    .await;
}
