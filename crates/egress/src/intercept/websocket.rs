//! WebSocket messages of a sealed origin, read and passed on one by one.

use super::connection::SealedConnection;
use super::message_gate::{MessageGate, MessageStop, WaitingMessages};
use super::record::RequestRecord;
use super::request::RequestedWebSocket;
use super::site::SiteConnection;
use crate::seal::{Initiator, PlaceKind, Seal, WebOrigin};
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

/// The longest message that is passed on; a longer one ends the connection. It is held whole, so only the first few
/// connections of a session may carry the longest.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
const MAX_MESSAGE_BYTES_OF_MANY: usize = 1024 * 1024;
/// How long one side may take to close after the other did.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A WebSocket connection that both sides agreed on.
pub(crate) struct WebSocketRelay {
    browser: OnUpgrade,
    site: OnUpgrade,
    messages: MessageSeal,
    gate: Option<MessageGate>,
    /// Hands the site's side over, where it is not the connection of all requests.
    connection: Option<SiteConnection>,
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
        requested: RequestedWebSocket,
        site: OnUpgrade,
        connection: &SealedConnection,
        path: String,
        initiator: Initiator,
        record: RequestRecord,
    ) -> WebSocketRelay {
        let seal = Arc::clone(&connection.seal);
        let origin = connection.origin.clone();
        let RequestedWebSocket { browser, url } = requested;
        let gate = MessageGate::new(connection, url, path.clone());
        let messages = MessageSeal { seal, origin, path, initiator, record };
        WebSocketRelay { browser, site, messages, gate, connection: None }
    }

    pub(super) fn keep(self, connection: SiteConnection) -> WebSocketRelay {
        WebSocketRelay { connection: Some(connection), ..self }
    }

    /// Passes messages on until both sides have closed.
    pub(crate) async fn run(self) {
        let _connection = self.connection;
        match tokio::try_join!(self.browser, self.site) {
            Ok((browser, site)) => {
                relay(TokioIo::new(browser), TokioIo::new(site), self.messages, self.gate).await;
            }
            Err(error) => tracing::debug!(%error, "a WebSocket was given up before it opened"),
        }
    }
}

async fn relay<B, S>(browser: B, site: S, messages: MessageSeal, gate: Option<MessageGate>)
where
    B: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let long_messages = messages.seal.allow_long_messages();
    let longest = if long_messages.is_some() { MAX_MESSAGE_BYTES } else { MAX_MESSAGE_BYTES_OF_MANY };
    let config = WebSocketConfig::default().max_message_size(Some(longest)).max_frame_size(Some(longest));
    let browser = WebSocketStream::from_raw_socket(browser, Role::Server, Some(config)).await;
    let site = WebSocketStream::from_raw_socket(site, Role::Client, Some(config)).await;
    let (mut to_browser, mut from_browser) = browser.split();
    let (mut to_site, mut from_site) = site.split();
    let MessageSeal { seal, origin, path, initiator, mut record } = messages;
    let sent = record.bytes_up();
    let ended = {
        let up = pass_on(&mut from_browser, &mut to_site, gate.as_ref(), |bytes| {
            sent.fetch_add(bytes.len() as u64, std::sync::atomic::Ordering::Relaxed);
            unseal_message(bytes, &seal, &origin, &path, initiator)
        });
        let down = pass_on(&mut from_site, &mut to_browser, None, |bytes| {
            record.add_down(bytes.len());
            match seal.view().sealing().swap(bytes) {
                Cow::Owned(swapped) => Some(swapped),
                Cow::Borrowed(_) => None,
            }
        });
        tokio::pin!(up, down);
        // The side that is left may still answer a close.
        tokio::select! {
            closed = &mut up => match closed {
                DirectionEnd::Refused => DirectionEnd::Refused,
                closed => timeout(closed.wait(), down).await.unwrap_or(DirectionEnd::Broken),
            },
            closed = &mut down => timeout(closed.wait(), up).await.unwrap_or(DirectionEnd::Broken),
        }
    };
    if ended == DirectionEnd::Refused {
        let closing = async {
            tokio::join!(refuse(&mut to_browser, &mut from_browser), refuse(&mut to_site, &mut from_site))
        };
        if timeout(CLOSE_TIMEOUT, closing).await.is_err() {
            tracing::debug!("a WebSocket did not close after a refused message");
        }
    }
    tracing::trace!(?ended, "a WebSocket has closed");
}

/// Closes one side because a message was refused, and waits for it to close. What it still says is not passed on.
async fn refuse(
    to: &mut (impl Sink<Message, Error = Error> + Unpin),
    from: &mut (impl Stream<Item = Result<Message, Error>> + Unpin),
) {
    let frame = CloseFrame { code: CloseCode::Policy, reason: "".into() };
    if to.send(Message::Close(Some(frame))).await.is_ok() {
        while let Some(Ok(_)) = from.next().await {}
    }
}

/// How one direction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectionEnd {
    Closed,
    Broken,
    /// The gate refused a message.
    Refused,
}

impl DirectionEnd {
    fn wait(self) -> Duration {
        match self {
            DirectionEnd::Closed => CLOSE_TIMEOUT,
            DirectionEnd::Broken | DirectionEnd::Refused => Duration::ZERO,
        }
    }
}

/// Passes messages on, each written out before the next is read. Pings are answered by the hop they arrive at. With a
/// gate, each message that it is concerned with waits for its decision, and the later ones behind it.
async fn pass_on(
    from: &mut (impl Stream<Item = Result<Message, Error>> + Unpin),
    to: &mut (impl Sink<Message, Error = Error> + Unpin),
    gate: Option<&MessageGate>,
    mut swap: impl FnMut(&[u8]) -> Option<Vec<u8>>,
) -> DirectionEnd {
    let mut end = DirectionEnd::Broken;
    let mut waiting = WaitingMessages::default();
    loop {
        let message = match waiting.pop() {
            Some(message) => message,
            None => match from.next().await {
                Some(Ok(message)) => message,
                Some(Err(_)) | None => return end,
            },
        };
        let mut cleared = None;
        if let Some(gate) = gate
            && let Some(request) = gate.concerned(&message)
        {
            cleared = match gate.clear(request, from, &mut waiting).await {
                Ok(cleared) => Some(cleared),
                Err(MessageStop::Refused) => return DirectionEnd::Refused,
                Err(MessageStop::Withdrawn) => return DirectionEnd::Broken,
            };
        }
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
        let sent = to.send(message).await;
        if let Some(cleared) = cleared {
            cleared.complete(sent.is_ok());
        }
        if sent.is_err() {
            return end;
        }
    }
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
