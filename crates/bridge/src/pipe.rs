//! Chromium's debugging pipe: messages of JSON, each ended by a NUL, one stream each way.
//!
//! One client at a time is attached. While none is, what Chromium says is read and dropped, so that
//! Chromium never waits for a reader.

use crate::log::Log;
use bridge::wire::MAX_MESSAGE;
use bytes::{Buf as _, Bytes};
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Utf8Bytes;

/// Messages waiting in each direction. One is enough to read ahead by, and messages can be
/// [`MAX_MESSAGE`] long; when it is taken the sender waits, and so does whoever it reads from.
const QUEUE: usize = 1;
const READ_BUFFER: usize = 64 << 10;
/// The bridge's own calls count from here, far from where a driver's do.
const FIRST_OWN_ID: u32 = 2_000_000_000;

/// What `Browser.getVersion` answers.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BrowserVersion {
    pub product: String,
    pub protocol_version: String,
    pub user_agent: String,
    pub js_version: String,
}

/// Why a client was detached.
#[derive(Debug)]
pub enum Ending {
    Replaced,
    TooLarge,
    BrowserGone { what: String },
}

/// What a client holds.
pub struct Attachment {
    pub from_browser: mpsc::Receiver<Utf8Bytes>,
    pub to_browser: mpsc::Sender<Bytes>,
    pub ending: oneshot::Receiver<Ending>,
}

#[derive(Clone)]
pub struct Pipe {
    to_browser: mpsc::Sender<Bytes>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    client: Option<Client>,
    next_id: u32,
    /// Calls of the bridge's own; at most one per control connection.
    own_calls: HashMap<u32, oneshot::Sender<BrowserVersion>>,
    closed: bool,
}

struct Client {
    messages: mpsc::Sender<Utf8Bytes>,
    ending: oneshot::Sender<Ending>,
}

#[derive(Deserialize)]
struct CommandReply {
    id: u32,
    result: BrowserVersion,
}

impl Pipe {
    /// Carries over our end of a socket pair. The task ends when Chromium's end closes.
    pub fn over(stream: UnixStream, log: Log) -> (Pipe, JoinHandle<()>) {
        let (from_browser, into_browser) = stream.into_split();
        let (to_browser, messages) = mpsc::channel(QUEUE);
        let shared = Arc::new(Mutex::new(Shared::default()));
        tokio::spawn(write(into_browser, messages));
        let reader = tokio::spawn(read(from_browser, shared.clone(), log));
        (Pipe { to_browser, shared }, reader)
    }

    /// Asks Chromium for its version, which is how we know that it speaks. `None` when it went away.
    pub async fn version(&self) -> Option<BrowserVersion> {
        let (sender, answer) = oneshot::channel();
        let id = {
            let mut shared = lock(&self.shared);
            if shared.closed {
                return None;
            }
            // Those whose caller gave up are forgotten, so a mute Chromium does not make the map grow.
            shared.own_calls.retain(|_, caller| !caller.is_closed());
            let id = FIRST_OWN_ID + shared.next_id;
            shared.next_id += 1;
            shared.own_calls.insert(id, sender);
            id
        };
        let call = format!(r#"{{"id":{id},"method":"Browser.getVersion"}}"#);
        self.to_browser.send(call.into()).await.ok()?;
        answer.await.ok()
    }

    /// Attaches a client in place of the one before. A call of our own goes through first: whatever
    /// Chromium still had to say to the old client comes out before its answer, and is dropped.
    pub async fn attach(&self) -> Option<Attachment> {
        self.detach(Ending::Replaced);
        self.version().await?;
        let (messages, from_browser) = mpsc::channel(QUEUE);
        let (ending_sender, ending) = oneshot::channel();
        let mut shared = lock(&self.shared);
        if shared.closed {
            return None;
        }
        let client = Client { messages, ending: ending_sender };
        if let Some(old) = shared.client.replace(client) {
            old.end(Ending::Replaced);
        }
        Some(Attachment { from_browser, to_browser: self.to_browser.clone(), ending })
    }

    pub fn detach(&self, ending: Ending) {
        detach(&self.shared, ending);
    }
}

impl Client {
    fn end(self, ending: Ending) {
        // A client that is gone does not need the reason.
        self.ending.send(ending).ok();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn detach(shared: &Mutex<Shared>, ending: Ending) {
    let client = lock(shared).client.take();
    if let Some(client) = client {
        client.end(ending);
    }
}

/// Each message is written to its end, whatever becomes of the client that sent it: half a message
/// would swallow the next one.
async fn write(mut into_browser: OwnedWriteHalf, mut messages: mpsc::Receiver<Bytes>) {
    while let Some(message) = messages.recv().await {
        if into_browser.write_all_buf(&mut message.chain(&b"\0"[..])).await.is_err() {
            // The reader sees the same end, and reports it.
            return;
        }
    }
}

async fn read(from_browser: OwnedReadHalf, shared: Arc<Mutex<Shared>>, log: Log) {
    let mut reader = BufReader::with_capacity(READ_BUFFER, from_browser);
    loop {
        let mut message = Vec::new();
        let limit = MAX_MESSAGE as u64 + 1;
        match (&mut reader).take(limit).read_until(0, &mut message).await {
            Ok(1..) => {}
            Ok(0) | Err(_) => break,
        }
        if message.last() == Some(&0) {
            message.pop();
            deliver(message, &shared, &log).await;
        } else if message.len() > MAX_MESSAGE {
            drop(message);
            log.note(format_args!("chromium sent a message over {MAX_MESSAGE} bytes; connection cut"));
            detach(&shared, Ending::TooLarge);
            if skip_message(&mut reader).await.is_err() {
                break;
            }
        } else {
            break;
        }
    }
    // Dropping our own calls wakes their waiters.
    let mut shared = lock(&shared);
    shared.closed = true;
    shared.own_calls.clear();
}

async fn deliver(message: Vec<u8>, shared: &Mutex<Shared>, log: &Log) {
    let client = {
        let mut shared = lock(shared);
        if !shared.own_calls.is_empty()
            && let Ok(reply) = serde_json::from_slice::<CommandReply>(&message)
            && let Some(call) = shared.own_calls.remove(&reply.id)
        {
            // The caller may have timed out.
            call.send(reply.result).ok();
            return;
        }
        shared.client.as_ref().map(|client| client.messages.clone())
    };
    let Some(client) = client else { return };
    match Utf8Bytes::try_from(message) {
        // A slow client holds Chromium up here. One that is gone loses the message.
        Ok(text) => client.send(text).await.unwrap_or_default(),
        Err(_) => log.note(format_args!("chromium sent a message that is not UTF-8; dropped")),
    }
}

async fn skip_message(reader: &mut BufReader<OwnedReadHalf>) -> std::io::Result<()> {
    loop {
        let buffer = reader.fill_buf().await?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|&byte| byte == 0);
        let length = buffer.len();
        reader.consume(end.map_or(length, |end| end + 1));
        if end.is_some() {
            return Ok(());
        }
    }
}
