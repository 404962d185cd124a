//! The gate's decision on single WebSocket messages.

use super::connection::SealedConnection;
use super::effect::{Clearance, Decided, Holding};
use super::record::RequestRecord;
use crate::Reason;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use policy::{EffectRequest, EffectTransport};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep};
use tokio_tungstenite::tungstenite::{Error, Message};

/// Later messages that are read while one is held, so that a browser that leaves is noticed; further ones wait in the
/// browser.
const MAX_WAITING_MESSAGES: usize = 64;
const MAX_WAITING_BYTES: usize = 64 * 1024;

/// How long a browser that closes the WebSocket waits for the decision on what it sent before.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(5);

/// Decides on the messages that a page sends over one WebSocket.
pub(super) struct MessageGate {
    connection: SealedConnection,
    holding: Holding,
    /// Of the handshake.
    url: String,
    path: String,
}

/// Messages that wait behind one that is held, in their order.
#[derive(Default)]
pub(super) struct WaitingMessages {
    messages: VecDeque<Message>,
    bytes: usize,
    is_closing: bool,
}

/// A message that may leave. Its row is written to the ledger when this is dropped.
pub(super) struct ClearedMessage {
    clearance: Clearance,
    record: RequestRecord,
    _room: OwnedSemaphorePermit,
}

/// A message that must not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageStop {
    Refused,
    /// The browser went away.
    Withdrawn,
}

impl MessageGate {
    /// `None` in a session whose effects nobody decides on.
    pub(super) fn new(connection: &SealedConnection, url: String, path: String) -> Option<MessageGate> {
        let holding = connection.holding.clone()?;
        Some(MessageGate { connection: connection.clone(), holding, url, path })
    }

    /// The message as the gate sees it; `None` if it is none of its concern. Control frames are not.
    pub(super) fn concerned(&self, message: &Message) -> Option<EffectRequest> {
        let (content_type, body) = match message {
            Message::Text(text) => ("text/plain", Bytes::from(text.clone())),
            Message::Binary(bytes) => ("application/octet-stream", bytes.clone()),
            Message::Close(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return None,
        };
        let request = EffectRequest {
            transport: EffectTransport::WebSocket,
            method: "MESSAGE".to_owned(),
            url: self.url.clone(),
            content_type: content_type.to_owned(),
            destination: "websocket".to_owned(),
            body,
        };
        self.holding.gate.concerns(&request.head()).then_some(request)
    }

    /// Waits for the decision on one message. What the browser sends meanwhile waits behind it.
    pub(super) async fn clear(
        &self,
        request: EffectRequest,
        from: &mut (impl Stream<Item = Result<Message, Error>> + Unpin),
        waiting: &mut WaitingMessages,
    ) -> Result<ClearedMessage, MessageStop> {
        let _in_use = self.connection.access.meter.hold();
        let mut decided = Box::pin(self.decide(request));
        loop {
            tokio::select! {
                biased;
                decided = &mut decided => return decided.map_err(|_| MessageStop::Refused),
                message = from.next(), if waiting.has_room() => match message {
                    Some(Ok(message)) => waiting.push(message),
                    Some(Err(_)) | None => return Err(MessageStop::Withdrawn),
                },
                () = sleep(CLOSING_TIMEOUT), if waiting.is_closing => return Err(MessageStop::Withdrawn),
            }
        }
    }

    async fn decide(&self, request: EffectRequest) -> Result<ClearedMessage, Reason> {
        let MessageGate { connection, holding, path, .. } = self;
        let mut record = connection.record("MESSAGE", path, &connection.seal.view());
        record.set_verdict(Reason::EffectWithdrawn.into());
        let bytes = request.body.len();
        let entered = async {
            if bytes > connection.options.max_effect_bytes {
                return Err(Reason::EffectTooLarge);
            }
            Ok((holding.room.enter().await?, holding.room.reserve_bytes(bytes).await?))
        };
        let (place, room) = match entered.await {
            Ok(entered) => entered,
            Err(reason) => {
                connection.refuse_undecided(holding, &request, reason, &mut record);
                return Err(reason);
            }
        };
        let decided = holding.decide(request, Instant::now(), &mut record).await;
        let clearance = decided.and_then(|decided| match decided {
            Decided::Cleared(clearance) => Ok(clearance),
            // Only navigations are deferred.
            Decided::Deferred(_) => Err(Reason::EffectMismatch),
        });
        drop(place);
        let clearance = clearance?;
        record.bytes_up().store(bytes as u64, Ordering::Relaxed);
        Ok(ClearedMessage { clearance, record, _room: room })
    }
}

impl ClearedMessage {
    /// Records whether the message was written out.
    pub(super) fn complete(mut self, is_sent: bool) {
        if is_sent {
            return self.clearance.complete("sent");
        }
        self.record.set_verdict(Reason::ConnectionLost.into());
        self.clearance.complete(Reason::ConnectionLost.code().name());
    }
}

impl WaitingMessages {
    pub(super) fn pop(&mut self) -> Option<Message> {
        let message = self.messages.pop_front()?;
        self.bytes -= message.len();
        Some(message)
    }

    fn has_room(&self) -> bool {
        !self.is_closing && self.messages.len() < MAX_WAITING_MESSAGES && self.bytes < MAX_WAITING_BYTES
    }

    fn push(&mut self, message: Message) {
        match message {
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return,
            Message::Close(_) => self.is_closing = true,
            Message::Text(_) | Message::Binary(_) => {}
        }
        self.bytes += message.len();
        self.messages.push_back(message);
    }
}
