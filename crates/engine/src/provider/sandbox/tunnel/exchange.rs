//! One request to a bridge and its answer, over a connection of its own.

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

pub struct Answer {
    pub status: StatusCode,
    pub body: Bytes,
}

impl Answer {
    pub fn parse<T: DeserializeOwned>(&self, doing: &'static str) -> Result<T, TunnelError> {
        serde_json::from_slice(&self.body).map_err(|_| TunnelError::Garbled { doing })
    }

    /// For an answer that is not the hoped-for one.
    pub fn refused(self, doing: &'static str) -> TunnelError {
        let refusal = serde_json::from_slice::<Refused>(&self.body);
        let reason = refusal.map_or_else(|_| "unavailable".to_owned(), |refused| refused.code);
        TunnelError::Refused { doing, status: self.status.as_u16(), reason }
    }
}

/// The answer is bounded: a jail that says more than [`MAX_REPLY`] bytes is not listened to.
pub async fn exchange(
    stream: UnixStream,
    method: Method,
    path: &str,
    token: &str,
    wait: Option<Duration>,
) -> io::Result<Answer> {
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
    Ok(Answer { status: response.status, body: Bytes::copy_from_slice(&response.body) })
}
