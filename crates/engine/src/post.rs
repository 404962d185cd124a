//! One POST to an address that the operator named, and whether it was taken.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper_util::rt::TokioIo;
use std::io;
use std::sync::{Arc, LazyLock};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore};
use url::{Position, Url};

/// Those that this machine trusts, or those in the file that `SSL_CERT_FILE` names, as they were at the first POST.
static TRUSTED: LazyLock<Result<TlsConnector, Error>> = LazyLock::new(|| {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    trusting(roots)
});

/// Sends JSON; an answer that is no success is an error. It has no time limit of its own.
pub async fn post(url: &Url, headers: &[(&str, &str)], text: String) -> io::Result<()> {
    let connector = match url.scheme() {
        "https" => Some(TRUSTED.as_ref().map_err(io::Error::other)?),
        _ => None,
    };
    post_by(connector, url, headers, text).await
}

fn trusting(roots: RootCertStore) -> Result<TlsConnector, Error> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

async fn post_by(
    tls: Option<&TlsConnector>,
    url: &Url,
    headers: &[(&str, &str)],
    text: String,
) -> io::Result<()> {
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    let target = &url[Position::BeforePath..Position::AfterQuery];
    let mut request =
        Request::post(target).header("host", authority).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(text))).map_err(io::Error::other)?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let stream = TcpStream::connect((&*host, url.port_or_known_default().unwrap_or(80))).await?;
    match tls {
        Some(tls) => {
            let name = ServerName::try_from(host).map_err(io::Error::other)?;
            exchange(tls.connect(name, stream).await?, request).await
        }
        None => exchange(stream, request).await,
    }
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let answering = sender.send_request(request);
    tokio::pin!(answering);
    // The connection is driven by this very call, so nothing of it outlives the call. One that ended may have answered before.
    let answer = tokio::select! {
        answer = &mut answering => answer,
        _ = connection => answering.await,
    };
    let answer = answer.map_err(io::Error::other)?;
    let status = answer.status();
    if status.is_success() { Ok(()) } else { Err(io::Error::other(format!("it answered {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Command;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

    /// A certificate for 127.0.0.1 and its key, made by openssl.
    fn certificate(folder: &Path) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
            .args(["-days", "2", "-subj", "/CN=hook", "-addext", "basicConstraints=critical,CA:FALSE"])
            .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout"])
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        (CertificateDer::from_pem_file(certificate).unwrap(), PrivateKeyDer::from_pem_file(key).unwrap())
    }

    #[tokio::test]
    async fn what_is_posted_over_tls_reaches_whom_we_trust_and_nobody_else() {
        let folder = tempfile::tempdir().unwrap();
        let (certificate, key) = certificate(folder.path());
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = tokio::spawn(async move {
            let mut heard = Vec::new();
            for status in ["204 No Content", "500 No", "never sent", "never sent"] {
                let (stream, _) = listener.accept().await.unwrap();
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut request = String::new();
                while !request.ends_with("{}") {
                    let mut part = [0; 1024];
                    let read = stream.read(&mut part).await.unwrap();
                    assert!(read > 0, "{request}");
                    request.push_str(&String::from_utf8_lossy(&part[..read]));
                }
                heard.push(request);
                let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            heard
        });

        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let known = trusting(roots).unwrap();
        let strangers = trusting(RootCertStore::empty()).unwrap();
        let url = |host: &str| Url::parse(&format!("https://{host}:{port}/hook?a=b")).unwrap();
        for (tls, host, expected) in [
            (&known, "127.0.0.1", None),
            (&known, "127.0.0.1", Some("it answered 500 Internal Server Error")),
            (&strangers, "127.0.0.1", Some("UnknownIssuer")),
            (&known, "localhost", Some("not valid for name")),
        ] {
            let sent = post_by(Some(tls), &url(host), &[("x-name", "value")], "{}".to_owned()).await;
            let told = sent.err().map(|error| error.to_string());
            assert_eq!(told.is_some(), expected.is_some(), "{told:?}");
            let told = told.unwrap_or_default();
            assert!(told.contains(expected.unwrap_or_default()), "{expected:?}: {told}");
        }
        let heard = heard.await.unwrap();
        assert_eq!(heard.len(), 2, "{heard:?}");
        for request in heard {
            assert!(request.starts_with("POST /hook?a=b HTTP/1.1\r\n"), "{request}");
            assert!(request.contains(&format!("host: 127.0.0.1:{port}\r\n")), "{request}");
            assert!(request.contains("x-name: value\r\n"), "{request}");
        }
    }
}
