//! One bounded HTTP/1.1 request over TCP, TLS or a stream that is connected already.
//!
//! Each request has a connection of its own, which is driven by the call itself: nothing of it outlives the call. That
//! is why hyper's connection is used and not hyper-util's pooling client, which also cannot take a connected Unix
//! stream. Bodies are wiped when they are dropped: some hold secrets.

mod tls;

pub use hyper;
pub use tls::{RootsError, TrustedRoots};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::{InvalidDnsNameError, ServerName};
use url::{Position, Url};
use zeroize::Zeroizing;

/// Bounds on one request. A caller that bounds the time itself gives `Duration::MAX`.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Until a TCP connection is there.
    pub connect: Duration,
    /// Until the whole response is there.
    pub total: Duration,
    /// Bytes of a response's body. With `None` the body is not read.
    pub largest_body: Option<usize>,
}

/// Sends requests to servers whose certificates it trusts.
pub struct Client {
    /// `None` for one that speaks plain HTTP only.
    tls: Option<TlsConnector>,
    limits: Limits,
}

pub struct Response {
    pub status: StatusCode,
    pub body: Zeroizing<Vec<u8>>,
}

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("the address has no host")]
    NoHost,
    #[error("this client does not support TLS")]
    PlainOnly,
    #[error("{0}")]
    BadHost(#[from] InvalidDnsNameError),
    #[error("no connection within {} s", after.as_secs())]
    ConnectTimeout { after: Duration },
    #[error("{0}")]
    Connect(io::Error),
    /// The server's certificate is not one that is trusted for its name.
    #[error("{0}")]
    Untrusted(io::Error),
    #[error("{0}")]
    Tls(io::Error),
    #[error("{0}")]
    Exchange(#[from] hyper::Error),
    #[error("the connection ended")]
    Ended,
    #[error("{0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    #[error("no answer within {} s", after.as_secs())]
    Timeout { after: Duration },
}

/// A request's body that is wiped when it was sent.
pub fn wiped_body(text: Zeroizing<String>) -> Full<Bytes> {
    struct Wiped(Zeroizing<String>);

    impl AsRef<[u8]> for Wiped {
        fn as_ref(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }

    Full::new(Bytes::from_owner(Wiped(text)))
}

impl Client {
    pub fn new(trusted: TrustedRoots<'_>, limits: Limits) -> Result<Client, RootsError> {
        Ok(Client { tls: Some(tls::connector(trusted)?), limits })
    }

    /// For `http:` addresses alone; no authorities are loaded.
    pub fn plain(limits: Limits) -> Client {
        Client { tls: None, limits }
    }

    /// Sends the request to the host and port of an `https:` or `http:` address. The request's own URI is a path; its
    /// `Host` is set here.
    pub async fn send(&self, url: &Url, request: Request<Full<Bytes>>) -> Result<Response, HttpError> {
        let after = self.limits.total;
        timeout(after, self.send_unbounded(url, request)).await.map_err(|_| HttpError::Timeout { after })?
    }

    async fn send_unbounded(
        &self,
        url: &Url,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response, HttpError> {
        let authority = &url[Position::BeforeHost..Position::AfterPort];
        let authority = HeaderValue::from_str(authority).map_err(|_| HttpError::NoHost)?;
        request.headers_mut().insert(HOST, authority);
        let host = url.host_str().ok_or(HttpError::NoHost)?.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default().unwrap_or(80);
        let after = self.limits.connect;
        let stream = timeout(after, TcpStream::connect((host.as_str(), port)))
            .await
            .map_err(|_| HttpError::ConnectTimeout { after })?
            .map_err(HttpError::Connect)?;
        if url.scheme() != "https" {
            return exchange(stream, request, self.limits.largest_body).await;
        }
        let tls = self.tls.as_ref().ok_or(HttpError::PlainOnly)?;
        let stream = tls.connect(ServerName::try_from(host)?, stream).await.map_err(|error| {
            if tls::is_untrusted(&error) { HttpError::Untrusted(error) } else { HttpError::Tls(error) }
        })?;
        exchange(stream, request, self.limits.largest_body).await
    }
}

/// Sends the request over a stream that is connected already: a Unix socket, say.
pub async fn send_over<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    limits: Limits,
) -> Result<Response, HttpError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let after = limits.total;
    timeout(after, exchange(stream, request, limits.largest_body))
        .await
        .map_err(|_| HttpError::Timeout { after })?
}

async fn exchange<S>(
    stream: S,
    request: Request<Full<Bytes>>,
    largest_body: Option<usize>,
) -> Result<Response, HttpError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async {
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = match largest_body {
            Some(most) => {
                Limited::new(response.into_body(), most).collect().await.map_err(HttpError::Body)?
            }
            None => return Ok(Response { status, body: Zeroizing::default() }),
        };
        Ok::<_, HttpError>(Response { status, body: Zeroizing::new(Vec::from(body.to_bytes())) })
    };
    tokio::pin!(exchange);
    // A connection that ended may have brought the response before.
    tokio::select! {
        biased;
        response = &mut exchange => response,
        ended = connection => match timeout(Duration::ZERO, exchange).await {
            Ok(response) => response,
            Err(_) => Err(ended.err().map_or(HttpError::Ended, HttpError::Exchange)),
        },
    }
}

#[cfg(test)]
mod tests;
