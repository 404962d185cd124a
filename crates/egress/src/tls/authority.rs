//! The certificate authority of one jail, and the certificates that it issues to the proxy.

use super::Alpn;
use crate::hosts::HostName;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData as _, SanType,
};
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::ServerSessionMemoryCache;
use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio_rustls::rustls::{self, ServerConfig};

/// Configurations that are kept, one for each host and protocol; the oldest makes room. A session has a handful.
const MAX_CACHED: usize = 64;

/// TLS sessions of one host that the browser can resume.
const MAX_RESUMABLE: usize = 64;

/// The authority of one jail: made with it, trusted by its browser alone, and gone with it. Its private key never
/// leaves this memory.
pub struct JailAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    spki_sha256_base64: String,
    /// One key for all certificates: making one takes longer than signing.
    leaf_key: KeyPair,
    signing_key: Arc<dyn rustls::sign::SigningKey>,
    issued: Mutex<VecDeque<IssuedCertificate>>,
}

struct IssuedCertificate {
    host: HostName,
    protocol: Option<Alpn>,
    config: Arc<ServerConfig>,
}

impl fmt::Debug for JailAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JailAuthority(..)")
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("cannot create a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("cannot use a certificate: {0}")]
    Tls(#[from] rustls::Error),
}

impl JailAuthority {
    pub fn generate() -> Result<Arc<JailAuthority>, AuthorityError> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "Stockade jail");
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let spki = Sha256::digest(key.subject_public_key_info());
        let issuer = CertifiedIssuer::self_signed(params, key)?;
        let leaf_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialized_der()));
        let signing_key = ring::sign::any_supported_type(&der)?;
        Ok(Arc::new(JailAuthority {
            issuer,
            spki_sha256_base64: BASE64_STANDARD.encode(spki),
            leaf_key,
            signing_key,
            issued: Mutex::default(),
        }))
    }

    /// For `--ignore-certificate-errors-spki-list`.
    pub fn spki_sha256_base64(&self) -> String {
        self.spki_sha256_base64.clone()
    }

    #[cfg(test)]
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.issuer.der().clone()
    }

    /// How to be `host` towards the browser, speaking one protocol.
    pub(crate) fn server_config(
        &self,
        host: &HostName,
        protocol: Option<Alpn>,
    ) -> Result<Arc<ServerConfig>, AuthorityError> {
        let mut issued = self.issued.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = issued.iter().find(|known| known.host == *host && known.protocol == protocol) {
            return Ok(Arc::clone(&known.config));
        }
        let chain = vec![self.issue(host)?, self.issuer.der().clone()];
        let certified = CertifiedKey::new(chain, Arc::clone(&self.signing_key));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = protocol.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        config.session_storage = ServerSessionMemoryCache::new(MAX_RESUMABLE);
        let config = Arc::new(config);
        if issued.len() == MAX_CACHED {
            issued.pop_front();
        }
        issued.push_back(IssuedCertificate { host: host.clone(), protocol, config: Arc::clone(&config) });
        Ok(config)
    }

    fn issue(&self, host: &HostName) -> Result<CertificateDer<'static>, AuthorityError> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![match host {
            HostName::Name(name) => SanType::DnsName(name.clone().try_into()?),
            HostName::Address(address) => SanType::IpAddress(*address),
        }];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        Ok(params.signed_by(&self.leaf_key, &self.issuer)?.der().clone())
    }
}
