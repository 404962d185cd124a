//! One connection to one Chromium: concurrent calls, events in order, every queue bounded.
//!
//! One task runs a reading and a writing loop that never wait for each other, so that a Chromium that sends without
//! reading cannot cause a deadlock.

use super::{
    CallError, Command, Event, EventKind, SessionId,
    bounded::MAX_ID,
    event::OPT_IN_EVENTS,
    pending::{Answer, Call, Pending},
    wire,
};
use bytes::Bytes;
use futures_util::{
    Sink, SinkExt, Stream, StreamExt,
    stream::{SplitSink, SplitStream},
};
use serde::de::DeserializeOwned;
use std::{
    fmt,
    marker::PhantomData,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{broadcast, mpsc, oneshot, watch},
    time::{Instant, timeout_at},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Error as SocketError, Message, protocol::WebSocketConfig},
};

/// Calls that are encoded and not written; at the bound a caller waits, within its own deadline.
const UNSENT_CALLS: usize = 256;
/// Reactions that are not written; a page that causes more at once has its connection closed.
const UNSENT_REACTIONS: usize = 4096;
/// Bridge tokens that are not written; at the bound the sender waits.
const UNSENT_RENEWALS: usize = 4;
/// As large as the bridge carries. A larger message closes the connection.
pub(crate) const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// The limits of a WebSocket to Chromium: screenshots exceed the default of the library.
pub fn websocket_config() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES))
}

#[derive(Clone, Debug)]
pub struct ConnectionOptions {
    /// Events kept for a slow subscriber; beyond it the oldest are dropped, and the subscriber sees how many.
    pub event_buffer: usize,
}

impl Default for ConnectionOptions {
    fn default() -> ConnectionOptions {
        ConnectionOptions { event_buffer: 1024 }
    }
}

/// Why a connection ended: the close code and reason of either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    pub code: Option<u16>,
    pub reason: String,
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "{} (close code {code})", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

/// A cheap handle; the connection closes when the last one is dropped.
#[derive(Clone)]
pub struct Connection {
    calls: mpsc::Sender<Call>,
    renewals: mpsc::Sender<Bytes>,
    closed: watch::Receiver<Option<Closed>>,
    shared: Arc<Shared>,
}

struct Shared {
    next_id: AtomicU64,
    pending: Mutex<Pending>,
    observer: Mutex<Option<Observer>>,
    events: broadcast::Sender<Arc<Event>>,
    opt_in_events: AtomicBool,
}

type Observer = Box<dyn FnMut(&Event, &mut Reactions<'_>) + Send>;

/// Commands that an observer sends in reaction to an event; nobody waits for the replies.
pub struct Reactions<'a> {
    next_id: &'a AtomicU64,
    unsent: &'a mpsc::Sender<String>,
    overflowed: bool,
}

impl Reactions<'_> {
    pub fn post<C: Command>(&mut self, session: Option<&SessionId>, command: &C) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        match wire::encode(id, session, command) {
            Ok(text) => self.overflowed |= self.unsent.try_send(text).is_err(),
            Err(error) => tracing::error!(%error, method = C::METHOD, "cdp reaction not encoded"),
        }
    }
}

impl Connection {
    /// Takes over an open WebSocket; must be called in a tokio runtime.
    pub fn over<S>(socket: WebSocketStream<S>, options: ConnectionOptions) -> Connection
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (calls, unsent_calls) = mpsc::channel(UNSENT_CALLS);
        let (renewals, unsent_renewals) = mpsc::channel(UNSENT_RENEWALS);
        let (reactions, unsent_reactions) = mpsc::channel(UNSENT_REACTIONS);
        let (close, closed) = watch::channel(None);
        let shared = Arc::new(Shared {
            next_id: AtomicU64::new(1),
            pending: Mutex::default(),
            observer: Mutex::new(None),
            events: broadcast::channel(options.event_buffer).0,
            opt_in_events: AtomicBool::new(false),
        });
        let (sink, stream) = socket.split();
        let reader = SocketReader { stream, shared: Arc::clone(&shared), reactions };
        let writer = SocketWriter {
            sink,
            shared: Arc::clone(&shared),
            calls: unsent_calls,
            renewals: unsent_renewals,
            reactions: unsent_reactions,
        };
        let task_shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let reason = tokio::select! {
                reason = reader.run() => reason,
                reason = writer.run() => reason,
            };
            tracing::debug!(%reason, "cdp connection closed");
            close.send_replace(Some(reason));
            lock(&task_shared.pending).drop_all();
            lock(&task_shared.observer).take();
        });
        Connection { calls, renewals, closed, shared }
    }

    pub async fn call<C: Command>(
        &self,
        session: Option<&SessionId>,
        command: &C,
        deadline: Instant,
    ) -> Result<C::Response, CallError> {
        self.send(session, command, deadline).await?.wait(deadline).await
    }

    /// Sends a command without waiting for the reply. Commands reach Chromium in the order of sending.
    pub async fn send<C: Command>(
        &self,
        session: Option<&SessionId>,
        command: &C,
        deadline: Instant,
    ) -> Result<PendingReply<C::Response>, CallError> {
        let method = C::METHOD;
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let text =
            wire::encode(id, session, command).map_err(|source| CallError::Encode { method, source })?;
        let (answer, answered) = oneshot::channel();
        let max_reply = command.max_reply();
        let call = Call { id, method, session: session.cloned(), text, max_reply, answer };
        let sent = timeout_at(deadline, self.calls.send(call)).await;
        if sent.map_err(|_| CallError::Timeout { method })?.is_err() {
            return Err(closed_error(self.closed.clone()).await);
        }
        tracing::trace!(id, method, "cdp call");
        Ok(PendingReply { method, answered, closed: self.closed.clone(), response: PhantomData })
    }

    /// Whether a target has not handled all input yet, whether a caller waits for it or not.
    pub fn has_pending_input(&self, session: &SessionId) -> bool {
        lock(&self.shared.pending).has_pending_input(session)
    }

    /// The observer gets every event in order, before any reply that Chromium sent after it. It runs on the task of the
    /// connection, so it must be quick and must not block. A new one replaces the old.
    pub fn observe(&self, observer: impl FnMut(&Event, &mut Reactions<'_>) + Send + 'static) {
        *lock(&self.shared.observer) = Some(Box::new(observer));
    }

    /// From now on, response headers, WebSocket frames and event stream messages are decoded too.
    pub fn enable_opt_in_events(&self) {
        self.shared.opt_in_events.store(true, Ordering::Relaxed);
    }

    /// For subscribers that may be slow: a bounded buffer, with the number of dropped events.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.shared.events.subscribe()
    }

    /// Sends binary frames; the bridge takes a new token that way.
    pub fn renewals(&self) -> mpsc::Sender<Bytes> {
        self.renewals.clone()
    }

    /// Holds the reason once the connection has ended.
    pub fn closed(&self) -> watch::Receiver<Option<Closed>> {
        self.closed.clone()
    }
}

/// The reply to a command that was sent.
pub struct PendingReply<R> {
    method: &'static str,
    answered: oneshot::Receiver<Answer>,
    closed: watch::Receiver<Option<Closed>>,
    response: PhantomData<fn() -> R>,
}

impl<R: DeserializeOwned> PendingReply<R> {
    pub async fn wait(self, deadline: Instant) -> Result<R, CallError> {
        let method = self.method;
        let answered = timeout_at(deadline, self.answered).await;
        let Ok(result) = answered.map_err(|_| CallError::Timeout { method })? else {
            return Err(closed_error(self.closed).await);
        };
        serde_json::from_slice(&result?).map_err(|source| CallError::Decode { method, source })
    }
}

/// Waits until the connection says why it ended, so that whoever gets this error finds it closed. The connection's task stops
/// taking calls a moment before it says so, and then always does.
async fn closed_error(mut closed: watch::Receiver<Option<Closed>>) -> CallError {
    let reason = closed.wait_for(Option::is_some).await.ok().and_then(|reason| reason.clone());
    let ended = || Closed { code: None, reason: "the connection is shutting down".to_owned() };
    CallError::Closed { closed: reason.unwrap_or_else(ended) }
}

struct SocketReader<S> {
    stream: SplitStream<WebSocketStream<S>>,
    shared: Arc<Shared>,
    reactions: mpsc::Sender<String>,
}

impl<S> SocketReader<S>
where
    WebSocketStream<S>: Stream<Item = Result<Message, SocketError>>,
{
    async fn run(mut self) -> Closed {
        while let Some(message) = self.stream.next().await {
            let bytes = match message {
                Ok(Message::Text(text)) => Bytes::from(text),
                Ok(Message::Close(frame)) => return closed_by(frame),
                Ok(_) => continue,
                Err(error) => return Closed { code: None, reason: error.to_string() },
            };
            match wire::decode(&bytes) {
                Some(wire::Incoming::Reply { id, result }) => {
                    tracing::trace!(id, "cdp reply");
                    lock(&self.shared.pending).answer(id, result);
                }
                Some(wire::Incoming::Event { session, method, params }) => {
                    if session.as_ref().is_some_and(|session| session.len() > MAX_ID) {
                        continue;
                    }
                    if OPT_IN_EVENTS.contains(&&*method) && !self.shared.opt_in_events.load(Ordering::Relaxed)
                    {
                        continue;
                    }
                    let Some(kind) = EventKind::decode(&method, params) else { continue };
                    tracing::trace!(%method, "cdp event");
                    let event = Event { session: session.as_deref().map(SessionId::from), kind };
                    if let Err(closed) = self.dispatch(event) {
                        return closed;
                    }
                }
                None => tracing::debug!(bytes = bytes.len(), "cdp message could not be decoded"),
            }
        }
        Closed { code: None, reason: "chromium hung up".to_owned() }
    }

    fn dispatch(&self, event: Event) -> Result<(), Closed> {
        lock(&self.shared.pending).apply_event(&event);
        let mut reactions =
            Reactions { next_id: &self.shared.next_id, unsent: &self.reactions, overflowed: false };
        if let Some(observer) = lock(&self.shared.observer).as_mut() {
            observer(&event, &mut reactions);
        }
        if reactions.overflowed {
            let reason = "the page caused more events than can be answered".to_owned();
            return Err(Closed { code: None, reason });
        }
        if self.shared.events.receiver_count() > 0 {
            // Fails only when the last subscriber has just gone.
            self.shared.events.send(Arc::new(event)).ok();
        }
        Ok(())
    }
}

struct SocketWriter<S> {
    sink: SplitSink<WebSocketStream<S>, Message>,
    shared: Arc<Shared>,
    calls: mpsc::Receiver<Call>,
    renewals: mpsc::Receiver<Bytes>,
    reactions: mpsc::Receiver<String>,
}

impl<S> SocketWriter<S>
where
    WebSocketStream<S>: Sink<Message, Error = SocketError>,
{
    async fn run(mut self) -> Closed {
        loop {
            // Reactions first: a call may wait for the dialog that one of them dismisses.
            let message = tokio::select! {
                biased;
                Some(text) = self.reactions.recv() => Message::text(text),
                Some(token) = self.renewals.recv() => Message::Binary(token),
                call = self.calls.recv() => match call {
                    Some(call) => match lock(&self.shared.pending).expect(call) {
                        Some(text) => Message::text(text),
                        None => continue,
                    },
                    None => return self.finish().await,
                },
            };
            if let Err(error) = self.sink.send(message).await {
                return Closed { code: None, reason: error.to_string() };
            }
        }
    }

    async fn finish(mut self) -> Closed {
        let reason = match self.sink.close().await {
            Ok(()) => "the driver closed it".to_owned(),
            Err(error) => error.to_string(),
        };
        Closed { code: None, reason }
    }
}

fn closed_by(frame: Option<tokio_tungstenite::tungstenite::protocol::CloseFrame>) -> Closed {
    match frame {
        Some(frame) => Closed { code: Some(frame.code.into()), reason: frame.reason.as_str().to_owned() },
        None => Closed { code: None, reason: "chromium hung up".to_owned() },
    }
}

/// A panic elsewhere must not end the connection: the data is consistent between statements.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
