//! Sends one POST to an address that the operator configured.

use bytes::Bytes;
use http_body_util::Full;
use http_client::{Client, Limits, RootsError, TrustedRoots};
use hyper::Request;
use std::io;
use std::sync::LazyLock;
use std::time::Duration;
use url::{Position, Url};

/// Callers set the timeout; the response body is ignored.
const LIMITS: Limits = Limits { connect: Duration::MAX, total: Duration::MAX, largest_body: None };

/// Trusts this machine's certificate authorities, loaded at the first POST.
static CLIENT: LazyLock<Result<Client, RootsError>> =
    LazyLock::new(|| Client::new(TrustedRoots::Native, LIMITS));

/// Sends JSON. Fails unless the status is a success. Has no timeout of its own.
pub async fn post(url: &Url, headers: &[(&str, &str)], text: String) -> io::Result<()> {
    let target = &url[Position::BeforePath..Position::AfterQuery];
    let mut request = Request::post(target).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(text))).map_err(io::Error::other)?;
    let client = CLIENT.as_ref().map_err(io::Error::other)?;
    let status = client.send(url, request).await.map_err(io::Error::other)?.status;
    if status.is_success() { Ok(()) } else { Err(io::Error::other(format!("it answered {status}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_post_succeeds_or_fails_by_its_status() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/hook?a=b", listener.local_addr().unwrap())).unwrap();
        let server = tokio::spawn(async move {
            let mut heard = Vec::new();
            for status in ["204 No Content", "500 No"] {
                let (mut stream, _) = listener.accept().await.unwrap();
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
        for expected in [None, Some("it answered 500 Internal Server Error")] {
            let sent = post(&url, &[("x-name", "value")], "{}".to_owned()).await;
            assert_eq!(sent.err().map(|error| error.to_string()).as_deref(), expected);
        }
        for request in server.await.unwrap() {
            assert!(request.starts_with("POST /hook?a=b HTTP/1.1\r\n"), "{request}");
            assert!(request.contains("x-name: value\r\n"), "{request}");
            assert!(request.contains("content-type: application/json\r\n"), "{request}");
        }
    }
}
