//! A `CONNECT` tunnel to a sealed origin: who is spoken to, before anything is said.

use super::Interception;
use super::connection::SealedConnection;
use super::site::SiteTls;
use crate::Reason;
use crate::hosts::HostName;
use crate::meter::MeteredStream;
use crate::seal::WebScheme;
use crate::tls::{Alpn, UpstreamError};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::server::{Acceptor, ClientHello};

impl SealedConnection {
    /// Serves a tunnel until both sides have closed.
    pub(crate) async fn serve_tunnel<B>(self, browser: B, site: MeteredStream, interception: &Interception)
    where
        B: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        match self.origin.scheme {
            WebScheme::Http => self.serve_http1(browser, site).await,
            WebScheme::Https => self.serve_tls(browser, site, interception).await,
        }
    }

    /// The site's certificate is verified before the browser gets one, and the site chooses the protocol.
    async fn serve_tls<B>(mut self, browser: B, site: MeteredStream, interception: &Interception)
    where
        B: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let options = self.options;
        let hello =
            timeout(options.head_timeout, LazyConfigAcceptor::new(Acceptor::default(), browser)).await;
        let Ok(Ok(start)) = hello else {
            tracing::debug!("a tunnel to a sealed origin did not begin with TLS");
            return self.ledger.mark_failed(self.row, Reason::Malformed);
        };
        let hello = start.client_hello();
        if !is_for(&hello, &self.origin.host) {
            return self.ledger.mark_failed(self.row, Reason::Malformed);
        }
        let offered: Vec<Alpn> = hello.alpn().into_iter().flatten().filter_map(Alpn::parse).collect();
        let connecting = interception.upstream.connect(&self.origin.host, &offered, site);
        let (site, protocol) = match timeout(options.connect_timeout, connecting).await {
            Ok(Ok(connected)) => connected,
            Ok(Err(error)) => return self.ledger.mark_failed(self.row, handshake_reason(&error)),
            Err(_) => return self.ledger.mark_failed(self.row, Reason::ConnectTimeout),
        };
        self.access.tls = Some(SiteTls { upstream: Arc::clone(&interception.upstream), protocol });
        let config = match interception.authority.server_config(&self.origin.host, protocol) {
            Ok(config) => config,
            Err(error) => {
                tracing::error!(%error, "a certificate of a jail could not be made");
                return;
            }
        };
        let Ok(Ok(browser)) = timeout(options.head_timeout, start.into_stream(config)).await else {
            tracing::debug!("the browser gave a handshake up");
            return;
        };
        match protocol {
            Some(Alpn::Http2) => self.serve_http2(browser, site).await,
            Some(Alpn::Http1) | None => self.serve_http1(browser, site).await,
        }
    }
}

/// Whether the browser wants to speak with this host. Addresses are not named in a hello.
fn is_for(hello: &ClientHello<'_>, host: &HostName) -> bool {
    match (hello.server_name(), host) {
        (Some(name), host) => HostName::parse(name).as_ref() == Some(host),
        (None, HostName::Address(_)) => true,
        (None, HostName::Name(_)) => false,
    }
}

pub(super) fn handshake_reason(error: &UpstreamError) -> Reason {
    match error {
        UpstreamError::Untrusted(fault) => Reason::TlsUntrusted(*fault),
        UpstreamError::Protocol => Reason::BadAnswer,
        UpstreamError::Lost => Reason::ConnectionLost,
    }
}
