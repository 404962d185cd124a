//! One POST to an `http:` address that the operator named, and whether it was taken.

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper_util::rt::TokioIo;
use std::io;

/// Sends JSON; an answer that is no success is an error. It has no time limit of its own.
pub async fn post(url: &url::Url, headers: &[(&str, &str)], text: String) -> io::Result<()> {
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80));
    let stream = tokio::net::TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let carrying = tokio::spawn(connection);
    let target = url[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
    let mut request = Request::post(target)
        .header("host", format!("{host}:{port}"))
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(text))).map_err(io::Error::other)?;
    let answer = sender.send_request(request).await.map_err(io::Error::other);
    carrying.abort();
    let status = answer?.status();
    if status.is_success() { Ok(()) } else { Err(io::Error::other(format!("it answered {status}"))) }
}
