//! Whom we trust to be the vault.

use crate::error::VaultError;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// With a file, its authorities and no others; without, those of the machine.
pub(super) fn connector(ca_file: Option<&Path>) -> Result<TlsConnector, VaultError> {
    let bad = |reason: String| VaultError::Settings { what: "ca_file", reason };
    let mut roots = RootCertStore::empty();
    match ca_file {
        Some(file) => {
            let certificates = CertificateDer::pem_file_iter(file)
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|error| bad(format!("{}: {error}", file.display())))?;
            for certificate in certificates {
                roots.add(certificate).map_err(|error| bad(format!("{}: {error}", file.display())))?;
            }
            if roots.is_empty() {
                return Err(bad(format!("{}: no certificate in it", file.display())));
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}
