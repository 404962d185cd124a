//! Requests over TLS, over plain TCP and over a Unix stream, and their bounds.

use super::*;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

const LIMITS: Limits =
    Limits { connect: Duration::from_secs(5), total: Duration::from_secs(20), largest_body: Some(100) };

/// A certificate for 127.0.0.1 and its key, made by openssl.
fn certificate(folder: &Path, name: &str) -> (PathBuf, PrivateKeyDer<'static>) {
    let (certificate, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-days", "2", "-subj", &format!("/CN={name}")])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (certificate, PrivateKeyDer::from_pem_file(key).unwrap())
}

fn post(path: &str) -> Request<Full<Bytes>> {
    Request::post(path).header("x-name", "value").body(wiped_body(Zeroizing::new("{}".to_owned()))).unwrap()
}

/// Reads a request that ends with its body, and answers it.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, response: &str) -> String {
    let mut request = String::new();
    while !request.ends_with("{}") {
        let mut part = [0; 1024];
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "{request}");
        request.push_str(&String::from_utf8_lossy(&part[..read]));
    }
    stream.write_all(response.as_bytes()).await.unwrap();
    request
}

#[tokio::test]
async fn a_request_over_tls_reaches_a_server_that_is_trusted_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (trusted, key) = certificate(folder.path(), "trusted");
    let (other, _) = certificate(folder.path(), "other");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from_pem_file(&trusted).unwrap()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = tokio::spawn(async move {
        let mut heard = Vec::new();
        for status in ["204 No Content", "500 No", "never sent", "never sent"] {
            let (stream, _) = listener.accept().await.unwrap();
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            heard.push(answer(stream, &format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n")).await);
        }
        heard
    });

    let known = Client::new(TrustedRoots::File(&trusted), LIMITS).unwrap();
    let strangers = Client::new(TrustedRoots::File(&other), LIMITS).unwrap();
    for (client, host, expected) in [
        (&known, "127.0.0.1", Ok(204)),
        (&known, "127.0.0.1", Ok(500)),
        (&strangers, "127.0.0.1", Err("UnknownIssuer")),
        (&known, "localhost", Err("not valid for name")),
    ] {
        let url = Url::parse(&format!("https://{host}:{port}/")).unwrap();
        match (client.send(&url, post("/hook?a=b")).await, expected) {
            (Ok(response), Ok(status)) => assert_eq!(response.status.as_u16(), status),
            (Err(HttpError::Untrusted(error)), Err(reason)) => {
                assert!(error.to_string().contains(reason), "{error}");
            }
            (response, _) => panic!("{expected:?}: {:?}", response.map(|response| response.status)),
        }
    }
    let heard = heard.await.unwrap();
    assert_eq!(heard.len(), 2, "{heard:?}");
    for request in heard {
        assert!(request.starts_with("POST /hook?a=b HTTP/1.1\r\n"), "{request}");
        assert!(request.contains(&format!("host: 127.0.0.1:{port}\r\n")), "{request}");
        assert!(request.contains("x-name: value\r\n"), "{request}");
    }
}

#[test]
fn a_file_of_authorities_that_holds_none_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ca.pem");
    let reason = |file: &Path| Client::new(TrustedRoots::File(file), LIMITS).err().unwrap().to_string();
    assert!(reason(&file).contains("ca.pem"));
    std::fs::write(&file, "nothing").unwrap();
    assert!(reason(&file).ends_with("no certificate in it"), "{}", reason(&file));
}

#[tokio::test]
async fn a_response_over_a_connected_stream_is_read_up_to_its_limit() {
    for (response, expected) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_owned(), Some("ok")),
        // Without a length, the end of the connection is that of the body.
        ("HTTP/1.1 200 OK\r\n\r\nok".to_owned(), Some("ok")),
        (format!("HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n{}", "a".repeat(101)), None),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\no".to_owned(), None),
        ("nonsense\r\n\r\n".to_owned(), None),
        (String::new(), None),
    ] {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = tokio::spawn(async move { answer(theirs, &response).await });
        let received = send_over(ours, post("/"), LIMITS).await.ok();
        let received = received.map(|response| String::from_utf8_lossy(&response.body).into_owned());
        assert_eq!(received.as_deref(), expected);
        server.await.unwrap();
    }
}

#[tokio::test]
async fn a_body_that_nobody_wants_is_not_read() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let server = tokio::spawn(async move {
        answer(theirs, "HTTP/1.1 202 Accepted\r\ncontent-length: 1000000\r\n\r\n").await
    });
    let limits = Limits { largest_body: None, ..LIMITS };
    assert_eq!(send_over(ours, post("/"), limits).await.unwrap().status, 202);
    server.await.unwrap();
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let limits = Limits { total: Duration::from_millis(50), ..LIMITS };
    let error = send_over(ours, post("/"), limits).await.err().unwrap();
    assert!(matches!(error, HttpError::Timeout { .. }), "{error}");
}
