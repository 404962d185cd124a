//! The command line's way to a running server: HTTP over the socket in the state folder.

use crate::error::Fault;
use crate::state::State;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::time::Duration;
use tokio::net::UnixStream;

/// Archiving copies pictures; everything else is quick.
const PATIENCE: Duration = Duration::from_secs(60);
const LARGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Asks the server that runs from this state folder.
pub async fn ask(state: &State, method: &str, path: &str) -> Result<Value, Fault> {
    let Some(stream) = state.join()? else {
        return Err(Fault::new("not_running", "no server runs from this state folder")
            .hint("Start one with `stockade serve`, or name its state folder with --state."));
    };
    tokio::time::timeout(PATIENCE, exchange(stream, method, path)).await.map_err(|_| {
        Fault::new("not_responding", "the server does not answer").hint("Look at its log, or restart it.")
    })?
}

async fn exchange(stream: std::os::unix::net::UnixStream, method: &str, path: &str) -> Result<Value, Fault> {
    let failed = |error: &dyn std::error::Error| {
        Fault::caused("not_responding", error).hint("Look at the server's log, or restart it.")
    };
    stream.set_nonblocking(true).map_err(|e| failed(&e))?;
    let stream = UnixStream::from_std(stream).map_err(|e| failed(&e))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| failed(&e))?;
    let carrying = tokio::spawn(connection);
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "stockade")
        .body(Empty::<Bytes>::new())
        .map_err(|e| failed(&e))?;
    let response = sender.send_request(request).await.map_err(|e| failed(&e))?;
    let ok = response.status().is_success();
    let body = Limited::new(response.into_body(), LARGEST_ANSWER);
    let bytes = body.collect().await.map_err(|e| Fault::new("not_responding", e.to_string()))?.to_bytes();
    carrying.abort();
    if ok {
        return serde_json::from_slice(&bytes).map_err(|e| failed(&e));
    }
    let fault: Fault = serde_json::from_slice(&bytes).map_err(|e| failed(&e))?;
    Err(fault)
}

/// A path segment that holds any text.
pub fn segment(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}
