//! The TLS client towards sites: who is trusted, and why a handshake failed.

use super::{Alpn, CertificateFault};
use crate::hosts::HostName;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// Verifies sites against the system's roots and an optional file of further ones. Shared by all sessions.
pub struct UpstreamTls {
    http1: Arc<ClientConfig>,
    http2: Arc<ClientConfig>,
    both: Arc<ClientConfig>,
    unnamed: Arc<ClientConfig>,
}

impl fmt::Debug for UpstreamTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UpstreamTls(..)")
    }
}

/// Certificate authorities that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamTlsError {
    #[error("{}: {source}", file.display())]
    Unreadable { file: PathBuf, source: pem::Error },
    #[error("{}: {source}", file.display())]
    Invalid { file: PathBuf, source: rustls::Error },
    #[error("{}: no certificate in it", file.display())]
    Empty { file: PathBuf },
    #[error("{0}")]
    Config(#[from] rustls::Error),
}

/// Why a site's handshake failed.
#[derive(Debug)]
pub(crate) enum UpstreamError {
    Untrusted(CertificateFault),
    /// It speaks no TLS, or none that we do.
    Protocol,
    /// It closed the connection.
    Lost,
}

impl UpstreamTls {
    /// Trusts the system's roots (or the file that `SSL_CERT_FILE` names), and those in `extra_ca`.
    pub fn system(extra_ca: Option<&Path>) -> Result<Arc<UpstreamTls>, UpstreamTlsError> {
        let mut roots = RootCertStore::empty();
        // A machine may have some that do not parse, or none: then every site is untrusted, which is said.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if let Some(file) = extra_ca {
            add_file(&mut roots, file)?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let speaking = |protocols: &[Alpn]| {
            let mut config = config.clone();
            config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
            Arc::new(config)
        };
        Ok(Arc::new(UpstreamTls {
            http1: speaking(&[Alpn::Http1]),
            http2: speaking(&[Alpn::Http2]),
            both: speaking(&[Alpn::Http2, Alpn::Http1]),
            unnamed: speaking(&[]),
        }))
    }

    /// Shakes hands with the site, offering what the browser offered and we speak.
    pub(crate) async fn connect<S>(
        &self,
        host: &HostName,
        offered: &[Alpn],
        stream: S,
    ) -> Result<(TlsStream<S>, Option<Alpn>), UpstreamError>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let config = match (offered.contains(&Alpn::Http1), offered.contains(&Alpn::Http2)) {
            (true, true) => &self.both,
            (true, false) => &self.http1,
            (false, true) => &self.http2,
            (false, false) => &self.unnamed,
        };
        let name = server_name(host).ok_or(UpstreamError::Protocol)?;
        let connected = TlsConnector::from(Arc::clone(config)).connect(name, stream).await;
        let stream = connected.map_err(|error| read_error(&error))?;
        let chosen = stream.get_ref().1.alpn_protocol();
        let protocol = match chosen {
            None => None,
            Some(chosen) => Some(Alpn::parse(chosen).ok_or(UpstreamError::Protocol)?),
        };
        Ok((stream, protocol))
    }
}

fn server_name(host: &HostName) -> Option<ServerName<'static>> {
    match host {
        HostName::Name(name) => ServerName::try_from(name.clone()).ok(),
        HostName::Address(address) => Some(ServerName::IpAddress((*address).into())),
    }
}

fn add_file(roots: &mut RootCertStore, file: &Path) -> Result<(), UpstreamTlsError> {
    let file = file.to_owned();
    let certificates = CertificateDer::pem_file_iter(&file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|source| UpstreamTlsError::Unreadable { file: file.clone(), source })?;
    if certificates.is_empty() {
        return Err(UpstreamTlsError::Empty { file });
    }
    for certificate in certificates {
        roots.add(certificate).map_err(|source| UpstreamTlsError::Invalid { file: file.clone(), source })?;
    }
    Ok(())
}

fn read_error(error: &io::Error) -> UpstreamError {
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match tls {
        Some(tls) => CertificateFault::of(tls).map_or(UpstreamError::Protocol, UpstreamError::Untrusted),
        None => UpstreamError::Lost,
    }
}
