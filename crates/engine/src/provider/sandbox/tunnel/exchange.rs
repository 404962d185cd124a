//! One HTTP request to a bridge over a connection of its own.

use super::TunnelError;
use bridge::wire::{MAX_REPLY, Refused, WAIT_HEADER};
use bytes::Bytes;
use http_body_util::Full;
use http_client::Limits;
use hyper::header::{AUTHORIZATION, HOST};
use hyper::{Method, Request, StatusCode};
use serde::de::DeserializeOwned;
use std::io;
use std::time::Duration;
use tokio::net::UnixStream;

pub struct BridgeResponse {
    pub status: StatusCode,
    pub body: Bytes,
}

impl BridgeResponse {
    pub fn parse<T: DeserializeOwned>(&self, doing: &'static str) -> Result<T, TunnelError> {
        serde_json::from_slice(&self.body).map_err(|_| TunnelError::Garbled { doing })
    }

    /// The error of an unexpected response.
    pub fn refused(self, doing: &'static str) -> TunnelError {
        let refusal = serde_json::from_slice::<Refused>(&self.body);
        let reason = refusal.map_or_else(|_| "unavailable".to_owned(), |refused| refused.code);
        TunnelError::Refused { doing, status: self.status.as_u16(), reason }
    }
}

/// Sends a request and reads the response, of at most [`MAX_REPLY`] bytes.
pub async fn exchange(
    stream: UnixStream,
    method: Method,
    path: &str,
    token: &str,
    wait: Option<Duration>,
) -> io::Result<BridgeResponse> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header(HOST, "bridge")
        .header(AUTHORIZATION, format!("Bearer {token}"));
    if let Some(wait) = wait {
        request = request.header(WAIT_HEADER, wait.as_millis().to_string());
    }
    let request = request.body(Full::default()).map_err(io::Error::other)?;
    // The caller bounds the time.
    let limits = Limits { connect: Duration::MAX, total: Duration::MAX, largest_body: Some(MAX_REPLY) };
    let response = http_client::send_over(stream, request, limits).await.map_err(io::Error::other)?;
    Ok(BridgeResponse { status: response.status, body: Bytes::copy_from_slice(&response.body) })
}
