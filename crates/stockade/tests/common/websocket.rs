//! The server's side of a WebSocket handshake, for test sites.

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

pub type ServerSocket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// Accepts the handshake of a request and serves its socket until `serve` returns.
pub fn upgrade<F: Future<Output = ()> + Send>(
    request: Request,
    serve: impl FnOnce(ServerSocket) -> F + Send + 'static,
) -> Response {
    let key = request.headers().get("sec-websocket-key").unwrap().to_str().unwrap().to_owned();
    tokio::spawn(async move {
        let Ok(upgraded) = hyper::upgrade::on(request).await else { return };
        serve(WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await).await;
    });
    Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-accept", derive_accept_key(key.as_bytes()))
        .body(Body::empty())
        .unwrap()
}
