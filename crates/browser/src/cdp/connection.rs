//! One connection to one Chromium: many calls outstanding, events in order, nothing unbounded.
//!
//! One task carries it: a reading and a writing loop that never wait for each other, so that a Chromium
//! that talks while it is not listening cannot lock the two sides up.

use super::{
    CallError, Command, Event, EventKind, SessionId,
    bounded::LONGEST_ID,
    event::FOR_SOME,
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

/// Calls that are encoded and not yet written; at the bound a caller waits, within its own deadline.
const UNSENT_CALLS: usize = 256;
/// Reactions that are not yet written; a page that causes more than this at once has its connection closed.
const UNSENT_REACTIONS: usize = 4096;
/// Tokens that are not yet written; at the bound the one who renews waits.
const UNSENT_RENEWALS: usize = 4;
/// The largest message taken, as large as the bridge carries. A larger one closes the connection.
pub(crate) const LARGEST_MESSAGE: usize = 64 << 20;

/// The limits that a WebSocket to Chromium needs: screenshots are larger than the library's default.
pub fn websocket_config() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(Some(LARGEST_MESSAGE)).max_frame_size(Some(LARGEST_MESSAGE))
}

#[derive(Clone, Debug)]
pub struct ConnectionOptions {
    /// Events kept for a subscriber that is behind; beyond it the oldest go and the subscriber is told.
    pub event_buffer: usize,
}

impl Default for ConnectionOptions {
    fn default() -> ConnectionOptions {
        ConnectionOptions { event_buffer: 1024 }
    }
}

/// Why a connection ended: the close code and words of the other side, or ours.
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
    hears_all: AtomicBool,
}

type Observer = Box<dyn FnMut(&Event, &mut Reactions<'_>) + Send>;

/// What an observer sends in reaction to an event; nobody waits for the answers.
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
            hears_all: AtomicBool::new(false),
        });
        let (sink, stream) = socket.split();
        let reader = Reader { stream, shared: Arc::clone(&shared), reactions };
        let writer = Writer {
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
            lock(&task_shared.pending).give_up();
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

    /// Sends a command, and leaves its answer for later: what is sent in order reaches Chromium in order.
    pub async fn send<C: Command>(
        &self,
        session: Option<&SessionId>,
        command: &C,
        deadline: Instant,
    ) -> Result<Answering<C::Response>, CallError> {
        let method = C::METHOD;
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let text =
            wire::encode(id, session, command).map_err(|source| CallError::Encode { method, source })?;
        let (answer, answered) = oneshot::channel();
        let largest_reply = command.largest_reply();
        let call = Call { id, method, session: session.cloned(), text, largest_reply, answer };
        let sent = timeout_at(deadline, self.calls.send(call)).await;
        sent.map_err(|_| CallError::Timeout { method })?.map_err(|_| self.closed_error())?;
        tracing::trace!(id, method, "cdp call");
        Ok(Answering { method, answered, closed: self.closed.clone(), response: PhantomData })
    }

    /// Whether input that was sent to a target has not been handled yet, be anyone waiting for it or not.
    pub fn has_input_under_way(&self, session: &SessionId) -> bool {
        lock(&self.shared.pending).has_input_under_way(session)
    }

    /// The observer sees every event in order, before any answer that Chromium gave after it.
    /// It runs on the connection's own task, so it must be quick and must not wait. A new one replaces the old.
    pub fn observe(&self, observer: impl FnMut(&Event, &mut Reactions<'_>) + Send + 'static) {
        *lock(&self.shared.observer) = Some(Box::new(observer));
    }

    /// From now on there are events for the cookies that a response sets, and for what sockets and streams say.
    pub fn hear_all(&self) {
        self.shared.hears_all.store(true, Ordering::Relaxed);
    }

    /// For those who may lag: a bounded buffer, and word of how many events were missed.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Event>> {
        self.shared.events.subscribe()
    }

    /// What is sent here goes out as binary frames; the bridge takes a fresh token that way.
    pub fn renewals(&self) -> mpsc::Sender<Bytes> {
        self.renewals.clone()
    }

    /// Holds the reason once the connection has ended.
    pub fn closed(&self) -> watch::Receiver<Option<Closed>> {
        self.closed.clone()
    }

    fn closed_error(&self) -> CallError {
        closed_error(&self.closed)
    }
}

/// The answer to a command that was sent.
pub struct Answering<R> {
    method: &'static str,
    answered: oneshot::Receiver<Answer>,
    closed: watch::Receiver<Option<Closed>>,
    response: PhantomData<fn() -> R>,
}

impl<R: DeserializeOwned> Answering<R> {
    pub async fn wait(self, deadline: Instant) -> Result<R, CallError> {
        let method = self.method;
        let answered = timeout_at(deadline, self.answered).await;
        let result = answered
            .map_err(|_| CallError::Timeout { method })?
            .map_err(|_| closed_error(&self.closed))??;
        serde_json::from_slice(&result).map_err(|source| CallError::Decode { method, source })
    }
}

fn closed_error(closed: &watch::Receiver<Option<Closed>>) -> CallError {
    let ended = || Closed { code: None, reason: "the connection is shutting down".to_owned() };
    CallError::Closed { closed: closed.borrow().clone().unwrap_or_else(ended) }
}

struct Reader<S> {
    stream: SplitStream<WebSocketStream<S>>,
    shared: Arc<Shared>,
    reactions: mpsc::Sender<String>,
}

impl<S> Reader<S>
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
                    tracing::trace!(id, "cdp answer");
                    lock(&self.shared.pending).answer(id, result);
                }
                Some(wire::Incoming::Event { session, method, params }) => {
                    if session.as_ref().is_some_and(|session| session.len() > LONGEST_ID) {
                        continue;
                    }
                    if FOR_SOME.contains(&&*method) && !self.shared.hears_all.load(Ordering::Relaxed) {
                        continue;
                    }
                    let Some(kind) = EventKind::decode(&method, params) else { continue };
                    tracing::trace!(%method, "cdp event");
                    let event = Event { session: session.as_deref().map(SessionId::from), kind };
                    if let Err(closed) = self.tell(event) {
                        return closed;
                    }
                }
                None => tracing::debug!(bytes = bytes.len(), "message from chromium not understood"),
            }
        }
        Closed { code: None, reason: "chromium hung up".to_owned() }
    }

    fn tell(&self, event: Event) -> Result<(), Closed> {
        lock(&self.shared.pending).hear(&event);
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

struct Writer<S> {
    sink: SplitSink<WebSocketStream<S>, Message>,
    shared: Arc<Shared>,
    calls: mpsc::Receiver<Call>,
    renewals: mpsc::Receiver<Bytes>,
    reactions: mpsc::Receiver<String>,
}

impl<S> Writer<S>
where
    WebSocketStream<S>: Sink<Message, Error = SocketError>,
{
    async fn run(mut self) -> Closed {
        loop {
            // Reactions first: a call may be waiting for the dialog that one of them dismisses.
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

/// A panic elsewhere must not take the connection down with it: the data is whole between statements.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
