//! WebSockets to granted sites whose traffic the proxy does not read. Their messages leave undecided, so the gate is asked
//! before the connection opens. Chromium opens a tunnel for each, and offers HTTP/1.1 alone in its TLS hello; requests
//! offer HTTP/2 as well, and plain ones use no tunnel.

use audit::EffectGate;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_rustls::rustls::server::Acceptor;

/// A hello is smaller, also with the keys of several groups.
const MAX_HELLO_BYTES: usize = 64 << 10;
const TLS_HANDSHAKE: u8 = 0x16;
const HTTP2: &[u8] = b"h2";

/// A tunnel to a site that the gate watches.
pub(crate) struct WatchedTunnel {
    pub gate: Arc<dyn EffectGate>,
    pub host: String,
    pub port: u16,
}

impl WatchedTunnel {
    /// Hands the beginning of the tunnel to the site; `false` if it is a WebSocket that may not open.
    pub(crate) async fn admit<B, S>(&self, browser: &mut B, site: &mut S) -> bool
    where
        B: AsyncRead + Unpin,
        S: AsyncWrite + Unpin,
    {
        let (begun, is_websocket) = read_beginning(browser).await;
        if is_websocket && !self.gate.permits_undecided_channel(&self.host, self.port) {
            return false;
        }
        site.write_all(&begun).await.is_ok()
    }
}

/// What the browser sends first, and whether a WebSocket begins so.
async fn read_beginning(browser: &mut (impl AsyncRead + Unpin)) -> (Vec<u8>, bool) {
    let mut begun = Vec::new();
    let mut acceptor = Acceptor::default();
    loop {
        let before = begun.len();
        match browser.read_buf(&mut begun).await {
            Ok(read) if read > 0 && begun.len() <= MAX_HELLO_BYTES => {}
            // Nothing that a browser sends: it counts as what it could be.
            _ => return (begun, true),
        }
        if begun[0] != TLS_HANDSHAKE {
            return (begun, true);
        }
        let mut new = &begun[before..];
        while !new.is_empty() {
            if acceptor.read_tls(&mut new).unwrap_or(0) == 0 {
                return (begun, true);
            }
        }
        match acceptor.accept() {
            Ok(None) => {}
            Ok(Some(accepted)) => {
                let offers_http2 =
                    accepted.client_hello().alpn().into_iter().flatten().any(|name| name == HTTP2);
                return (begun, !offers_http2);
            }
            Err(_) => return (begun, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_rustls::rustls::pki_types::ServerName;
    use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore};

    fn hello(protocols: &[&[u8]]) -> Vec<u8> {
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        let name = ServerName::try_from("own.test").unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut written = Vec::new();
        client.write_tls(&mut written).unwrap();
        written
    }

    #[tokio::test]
    async fn a_websocket_is_known_by_its_beginning_however_it_is_cut() {
        for (sent, expected) in [
            (hello(&[b"h2", b"http/1.1"]), false),
            (hello(&[b"http/1.1"]), true),
            (hello(&[]), true),
            (b"GET /live HTTP/1.1\r\n".to_vec(), true),
            (vec![TLS_HANDSHAKE; 40], true),
            (Vec::new(), true),
        ] {
            for piece in [1, 7, 100_000] {
                let (mut browser, mut end) = tokio::io::duplex(piece);
                let whole = sent.clone();
                let sending = tokio::spawn(async move {
                    // The reader stops where it knows enough.
                    drop(browser.write_all(&whole).await);
                });
                let (begun, is_websocket) = read_beginning(&mut end).await;
                drop(end);
                sending.await.unwrap();
                assert_eq!(is_websocket, expected, "{sent:?} in pieces of {piece}");
                assert!(sent.starts_with(&begun), "in pieces of {piece}");
            }
        }
    }
}
