//! The one TLS connector for requests: rustls with ring, and who is trusted.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// The certificate authorities that a server's certificate must be signed by.
#[derive(Clone, Copy, Debug)]
pub enum TrustedRoots<'a> {
    /// Those of this machine, or those in the file that `SSL_CERT_FILE` names.
    Native,
    /// Those in this PEM file, and no others.
    File(&'a Path),
}

/// Authorities that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    #[error("{}: {source}", file.display())]
    Unreadable { file: PathBuf, source: rustls::pki_types::pem::Error },
    #[error("{}: {source}", file.display())]
    Invalid { file: PathBuf, source: rustls::Error },
    #[error("{}: no certificate in it", file.display())]
    Empty { file: PathBuf },
    #[error("{0}")]
    Config(#[from] rustls::Error),
}

pub(crate) fn connector(trusted: TrustedRoots<'_>) -> Result<TlsConnector, RootsError> {
    let mut roots = RootCertStore::empty();
    match trusted {
        TrustedRoots::Native => {
            // A machine may have some that do not parse, or none: then every server is untrusted, which is said.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        TrustedRoots::File(file) => {
            let file = file.to_owned();
            let certificates = CertificateDer::pem_file_iter(&file)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|source| RootsError::Unreadable { file: file.clone(), source })?;
            for certificate in certificates {
                roots
                    .add(certificate)
                    .map_err(|source| RootsError::Invalid { file: file.clone(), source })?;
            }
            if roots.is_empty() {
                return Err(RootsError::Empty { file });
            }
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// What rustls finds wrong with a certificate comes as this kind; a broken connection as others.
pub(crate) fn is_untrusted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}
