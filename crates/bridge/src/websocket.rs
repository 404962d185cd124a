//! A WebSocket to the control plane, relaying Chromium's pipe for as long as its token is renewed.

use crate::pipe::{Attachment, Ending};
use crate::verifier::SharedVerifier;
use bridge::token::{Claims, now_ms};
use bridge::wire::{CLOSE_BROWSER_GONE, CLOSE_REPLACED, CLOSE_TOKEN, CLOSE_TOO_LARGE, MAX_MESSAGE};
use bytes::Bytes;
use futures_util::{Sink, SinkExt, Stream, StreamExt};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

/// How long the other side has to take the close frame and answer it. Then the socket just closes.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// How the connection ends: with a close frame, or without one because the other side left.
enum ConnectionEnd {
    Close(u16, String),
    Left,
}

/// Relays messages until the connection ends. `leftover` is what came after the handshake.
pub async fn relay(
    stream: UnixStream,
    leftover: Vec<u8>,
    attachment: Attachment,
    claims: &Claims,
    tokens: &SharedVerifier,
) {
    let config =
        WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE)).max_frame_size(Some(MAX_MESSAGE));
    let socket = WebSocketStream::from_partially_read(stream, leftover, Role::Server, Some(config)).await;
    let (mut sink, mut source) = socket.split();
    let Attachment { from_browser, to_browser, ending } = attachment;
    let deadline = Deadline::new(claims);
    // All run side by side, so that a slow reader cannot hold off the end of its own token.
    let end = tokio::select! {
        end = inbound(&mut source, to_browser, &deadline, tokens) => end,
        end = outbound(&mut sink, from_browser) => end,
        () = deadline.passed() => ConnectionEnd::Close(CLOSE_TOKEN, "token_expired".to_owned()),
        ending = ending => match ending {
            Ok(Ending::Replaced) => ConnectionEnd::Close(CLOSE_REPLACED, "replaced by a newer connection".to_owned()),
            Ok(Ending::TooLarge) => ConnectionEnd::Close(CLOSE_TOO_LARGE, "message from chromium too large".to_owned()),
            Ok(Ending::BrowserGone { what }) => ConnectionEnd::Close(CLOSE_BROWSER_GONE, what),
            Err(_) => ConnectionEnd::Close(CLOSE_BROWSER_GONE, "chromium is gone".to_owned()),
        },
    };
    let ConnectionEnd::Close(code, reason) = end else { return };
    let frame = CloseFrame { code: code.into(), reason: reason.into() };
    // One attempt: the connection ends either way.
    timeout(CLOSE_TIMEOUT, async {
        if sink.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = source.next().await {}
        }
    })
    .await
    .ok();
}

async fn inbound(
    source: &mut (impl Stream<Item = Result<Message, Error>> + Unpin),
    to_browser: mpsc::Sender<Bytes>,
    deadline: &Deadline,
    tokens: &SharedVerifier,
) -> ConnectionEnd {
    while let Some(frame) = source.next().await {
        match frame {
            Ok(Message::Text(text)) => {
                if to_browser.send(text.into()).await.is_err() {
                    // Chromium closed its pipe; `ending` reports the reason.
                    std::future::pending::<()>().await;
                }
            }
            // A fresh token. It never reaches Chromium.
            Ok(Message::Binary(token)) => match tokens.accept(&token) {
                Ok(claims) => deadline.extend(&claims),
                Err(refusal) => return ConnectionEnd::Close(CLOSE_TOKEN, refusal.code().to_owned()),
            },
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
            Ok(Message::Close(_)) => return ConnectionEnd::Left,
            Err(Error::Capacity(_)) => {
                return ConnectionEnd::Close(CLOSE_TOO_LARGE, "message too large".to_owned());
            }
            Err(_) => return ConnectionEnd::Left,
        }
    }
    ConnectionEnd::Left
}

async fn outbound(
    sink: &mut (impl Sink<Message, Error = Error> + Unpin),
    mut from_browser: mpsc::Receiver<Utf8Bytes>,
) -> ConnectionEnd {
    while let Some(text) = from_browser.recv().await {
        if sink.send(Message::Text(text)).await.is_err() {
            return ConnectionEnd::Left;
        }
    }
    // Detached; why follows by `ending`.
    std::future::pending().await
}

/// The moment at which the newest token ends.
struct Deadline(Mutex<Instant>);

impl Deadline {
    fn new(claims: &Claims) -> Deadline {
        Deadline(Mutex::new(expiry(claims)))
    }

    fn get(&self) -> MutexGuard<'_, Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn extend(&self, claims: &Claims) {
        let mut deadline = self.get();
        *deadline = expiry(claims).max(*deadline);
    }

    /// Returns once the deadline is reached, however often it was moved on the way.
    async fn passed(&self) {
        loop {
            let deadline = *self.get();
            if deadline <= Instant::now() {
                return;
            }
            sleep_until(deadline).await;
        }
    }
}

fn expiry(claims: &Claims) -> Instant {
    Instant::now() + remaining(claims)
}

/// How long a token that was just accepted still lives.
pub fn remaining(claims: &Claims) -> Duration {
    Duration::from_millis(claims.expires_at_ms.saturating_sub(now_ms()))
}
