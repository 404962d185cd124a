//! A site over TLS, in HTTP/1.1 and HTTP/2, whose certificate an authority of the test's own signed.

use super::Home;
use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Runs until it is dropped.
pub struct TlsSite {
    pub address: SocketAddr,
    authority: String,
    runtime: Option<Runtime>,
}

impl TlsSite {
    /// Serves a router under these names.
    pub fn serve(names: &[&str], router: Router) -> TlsSite {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).unwrap();
            loop {
                let Ok((stream, _)) = listener.accept().await else { continue };
                let (acceptor, router) = (acceptor.clone(), router.clone());
                tokio::spawn(async move {
                    // A browser that gives up on a handshake is not this site's concern.
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = TowerToHyperService::new(router);
                    let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    builder.http2().max_concurrent_streams(100);
                    drop(builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await);
                });
            }
        });
        TlsSite { address, authority: issuer.pem(), runtime: Some(runtime) }
    }

    /// The authority in a file.
    pub fn authority_file(&self) -> std::path::PathBuf {
        let file = std::env::temp_dir().join(format!("stockade-test-ca-{}.pem", self.address.port()));
        std::fs::write(&file, &self.authority).unwrap();
        file
    }

    /// A home whose browser reaches the site by these names, and whose proxy trusts its authority.
    pub fn home(&self, names: &[&str], settings: &str) -> Home {
        let authority = self.authority_file();
        let hosts: String = names.iter().map(|name| format!("        {name}: {}\n", self.address)).collect();
        let ca_file = authority.display();
        Home::new(&format!("    egress:\n      ca_file: {ca_file}\n      hosts:\n{hosts}{settings}"))
    }
}

impl Drop for TlsSite {
    fn drop(&mut self) {
        // It may be dropped in another runtime, which does not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
