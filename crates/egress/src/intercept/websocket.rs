//! WebSocket messages of a sealed origin, read and passed on one by one.

use super::connection::SealedConnection;
use super::record::RequestRecord;
use crate::seal::{Initiator, PlaceKind, Seal, WebOrigin};
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// The longest message that is passed on; a longer one ends the connection. It is held whole.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// How long one side may take to close after the other did.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A WebSocket connection that both sides agreed on.
pub(crate) struct WebSocketRelay {
    browser: OnUpgrade,
    site: OnUpgrade,
    messages: MessageSeal,
}

/// How messages are swapped.
struct MessageSeal {
    seal: Arc<Seal>,
    origin: WebOrigin,
    path: String,
    initiator: Initiator,
    record: RequestRecord,
}

impl WebSocketRelay {
    pub(super) fn new(
        browser: OnUpgrade,
        site: OnUpgrade,
        connection: &SealedConnection,
        path: String,
        initiator: Initiator,
        record: RequestRecord,
    ) -> WebSocketRelay {
        let seal = Arc::clone(&connection.seal);
        let origin = connection.origin.clone();
        WebSocketRelay { browser, site, messages: MessageSeal { seal, origin, path, initiator, record } }
    }

    /// Passes messages on until both sides have closed.
    pub(crate) async fn run(self) {
        match tokio::try_join!(self.browser, self.site) {
            Ok((browser, site)) => relay(TokioIo::new(browser), TokioIo::new(site), self.messages).await,
            Err(error) => tracing::debug!(%error, "a WebSocket was given up before it opened"),
        }
    }
}

async fn relay<B, S>(browser: B, site: S, messages: MessageSeal)
where
    B: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    let browser = WebSocketStream::from_raw_socket(browser, Role::Server, Some(config)).await;
    let site = WebSocketStream::from_raw_socket(site, Role::Client, Some(config)).await;
    let (to_browser, from_browser) = browser.split();
    let (to_site, from_site) = site.split();
    let MessageSeal { seal, origin, path, initiator, mut record } = messages;
    let sent = record.bytes_up();
    let up = pass_on(from_browser, to_site, |bytes| {
        sent.fetch_add(bytes.len() as u64, std::sync::atomic::Ordering::Relaxed);
        unseal_message(bytes, &seal, &origin, &path, initiator)
    });
    let down = pass_on(from_site, to_browser, |bytes| {
        record.add_down(bytes.len());
        match seal.view().sealing().swap(bytes) {
            Cow::Owned(swapped) => Some(swapped),
            Cow::Borrowed(_) => None,
        }
    });
    tokio::pin!(up, down);
    // The side that is left may still answer a close.
    let ended = tokio::select! {
        closed = &mut up => tokio::time::timeout(closed.wait(), down).await.is_ok(),
        closed = &mut down => tokio::time::timeout(closed.wait(), up).await.is_ok(),
    };
    tracing::trace!(ended, "a WebSocket has closed");
}

/// How one direction ended.
#[derive(Clone, Copy)]
enum DirectionEnd {
    Closed,
    Broken,
}

impl DirectionEnd {
    fn wait(self) -> Duration {
        match self {
            DirectionEnd::Closed => CLOSE_TIMEOUT,
            DirectionEnd::Broken => Duration::ZERO,
        }
    }
}

/// Passes messages on, each written out before the next is read. Pings are answered by the hop they arrive at.
async fn pass_on(
    mut from: impl Stream<Item = Result<Message, Error>> + Unpin,
    mut to: impl Sink<Message, Error = Error> + Unpin,
    mut swap: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> DirectionEnd {
    let mut end = DirectionEnd::Broken;
    while let Some(Ok(message)) = from.next().await {
        let message = match message {
            Message::Text(text) => match swap(text.as_bytes()).map(String::from_utf8) {
                None => Message::Text(text),
                Some(Ok(swapped)) => Message::Text(swapped.into()),
                Some(Err(_)) => return DirectionEnd::Broken,
            },
            Message::Binary(bytes) => Message::Binary(swap(&bytes).map_or(bytes, Into::into)),
            Message::Close(frame) => {
                end = DirectionEnd::Closed;
                Message::Close(frame.map(|frame| swap_reason(frame, &mut swap)))
            }
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
        };
        if to.send(message).await.is_err() {
            break;
        }
    }
    end
}

fn swap_reason(frame: CloseFrame, swap: &mut impl FnMut(&[u8]) -> Option<Vec<u8>>) -> CloseFrame {
    match swap(frame.reason.as_bytes()).map(String::from_utf8) {
        Some(Ok(reason)) => CloseFrame { reason: reason.into(), ..frame },
        Some(Err(_)) => CloseFrame { reason: "".into(), ..frame },
        None => frame,
    }
}

/// A message to the site: swapped where the operator allowed it, and noted elsewhere.
fn unseal_message(
    bytes: &[u8],
    seal: &Seal,
    origin: &WebOrigin,
    path: &str,
    initiator: Initiator,
) -> Option<Vec<u8>> {
    let view = seal.view();
    let mut swapped = Cow::Borrowed(bytes);
    let allowed = view.in_scope(origin).filter(|credential| credential.sends_in_websocket(path));
    for credential in allowed.filter(|_| initiator.is_own()) {
        if let Cow::Owned(changed) = credential.script_out().swap(&swapped) {
            swapped = Cow::Owned(changed);
        }
    }
    seal.note(&view, &swapped, PlaceKind::WebSocket, path, None);
    match swapped {
        Cow::Owned(swapped) => Some(swapped),
        Cow::Borrowed(_) => None,
    }
}
