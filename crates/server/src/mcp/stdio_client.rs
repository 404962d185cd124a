//! A client of `stockade mcp` that is connected to a server in another process, and outlives it.
//!
//! Messages pass through as they are. The requests that have no response yet are remembered: when the server is lost
//! they are answered with an error. The next request goes to the server that runs by then.

use super::conversation::{Conversation, MessageHead};
use super::envelope::{self, Rejection};
use super::line_reader::{Line, LineReader, MAX_MESSAGE_BYTES, MAX_REPLY_BYTES};
use super::pipe_transport::{MAX_UNWRITTEN, write_lines};
use super::stdio::serve_pipe;
use crate::control_protocol::{PIPE_PATH, SCOPE_HEADER};
use engine::control::Control;
use engine::error::Fault;
use error_code::ErrorCode;
use policy::Scope;
use rmcp::model::ClientJsonRpcMessage;
use serde_json::Value;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The response head has a few short lines.
const MAX_HEAD_BYTES: usize = 4096;
/// A server that is there answers at once; the limit is for one that hangs.
const JOIN_TIMEOUT: Duration = Duration::from_secs(30);
/// What is in flight between this process and a server of its own, in bytes.
const BUFFER_BYTES: usize = 64 * 1024;

/// Why messages are no longer relayed.
#[derive(Debug, PartialEq, Eq)]
pub enum RelayEnd {
    /// The client hung up and has its last responses.
    ClientGone,
    /// The server ended. The client has an answer to every request.
    ServerLost,
}

pub struct StdioClient<R> {
    input: LineReader<R>,
    output: mpsc::Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
    conversation: Mutex<Conversation>,
    /// A request that arrived while there was no server.
    pending: Option<Vec<u8>>,
}

impl<R: AsyncRead + Send + Unpin + 'static> StdioClient<R> {
    pub fn start(input: R, output: impl AsyncWrite + Send + Unpin + 'static) -> StdioClient<R> {
        let (sender, unwritten) = mpsc::channel(MAX_UNWRITTEN);
        StdioClient {
            input: LineReader::new(input, MAX_MESSAGE_BYTES),
            output: sender,
            writer: tokio::spawn(write_lines(unwritten, output)),
            conversation: Mutex::default(),
            pending: None,
        }
    }

    fn conversation(&self) -> MutexGuard<'_, Conversation> {
        self.conversation.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins a running server and relays until one of the two ends.
    pub async fn join(
        &mut self,
        stream: std::os::unix::net::UnixStream,
        scope: &Scope,
    ) -> Result<RelayEnd, Fault> {
        match connect(stream, scope).await {
            Ok(stream) => self.relay(stream).await,
            // It ended between the connection and the upgrade.
            Err(_) if self.pending.is_some() => self.lose().await,
            Err(fault) => Err(fault),
        }
    }

    /// Goes on with a control plane in this process, after the server of another one was lost.
    pub async fn serve(mut self, control: Arc<Control>, scope: Scope) -> Result<(), Fault> {
        let (ours, theirs) = tokio::io::duplex(BUFFER_BYTES);
        let (read, write) = tokio::io::split(theirs);
        let (served, relayed) = tokio::join!(serve_pipe(control, scope, read, write), self.relay(ours));
        self.finish().await;
        served.and(relayed.map(|_| ()))
    }

    /// Waits for a request after a server was lost. Returns false when the client hung up.
    ///
    /// The first call of a tool gets an error instead of a server, unless a call was cut short: the client has to know
    /// that its sessions are gone.
    pub async fn wait_for_request(&mut self) -> Result<bool, Fault> {
        loop {
            let line = match self.input.next().await {
                Ok(Some(Line::Whole(line))) => line,
                Ok(Some(Line::TooLong)) => {
                    self.send(&Rejection::too_long().to_json()).await?;
                    continue;
                }
                Ok(None) => return Ok(false),
                Err(error) => return Err(input_lost(&error)),
            };
            match envelope::parse(&line) {
                Ok(ClientJsonRpcMessage::Request(_)) => {}
                // It was for the lost server.
                Ok(_) => continue,
                Err(rejection) if rejection.is_answered => {
                    self.send(&rejection.to_json()).await?;
                    continue;
                }
                Err(_) => continue,
            }
            let notice = MessageHead::parse(&line).and_then(|head| self.conversation().take_notice(&head));
            match notice {
                Some(notice) => self.send(&notice).await?,
                None => {
                    self.pending = Some(line);
                    return Ok(true);
                }
            }
        }
    }

    /// Answers the request that waits for a server with the reason why there is none.
    pub async fn refuse(&mut self, fault: &Fault) {
        let Some(head) = self.pending.take().and_then(|line| MessageHead::parse(&line)) else { return };
        let answer = self.conversation().failure(&head, fault);
        if let Some(answer) = answer
            && let Err(error) = self.send(&answer).await
        {
            tracing::debug!(%error, "a client hung up before it was answered");
        }
    }

    /// Waits until the client has everything that was sent.
    pub async fn finish(self) {
        drop(self.output);
        match tokio::time::timeout(JOIN_TIMEOUT, self.writer).await {
            Ok(Ok(Ok(()))) => {}
            ended => tracing::debug!(?ended, "a client did not read to the end"),
        }
    }

    async fn send(&self, message: &Value) -> Result<(), Fault> {
        let line = format!("{message}\n").into_bytes();
        self.output
            .send(line)
            .await
            .map_err(|_| Fault::new(ErrorCode::OutputLost, "the client does not read what it is sent"))
    }

    async fn relay(&mut self, server: impl AsyncRead + AsyncWrite) -> Result<RelayEnd, Fault> {
        let (from_server, mut to_server) = tokio::io::split(server);
        let mut replies = LineReader::new(from_server, MAX_REPLY_BYTES);
        let repeated = self.repeat_handshake(&mut replies, &mut to_server);
        if !matches!(tokio::time::timeout(JOIN_TIMEOUT, repeated).await, Ok(Ok(()))) {
            return self.lose().await;
        }
        let pending = self.pending.take();
        let ended = self.exchange(pending, &mut replies, &mut to_server).await;
        match ended {
            Ok(RelayEnd::ClientGone) => Ok(RelayEnd::ClientGone),
            Ok(RelayEnd::ServerLost) => self.lose().await,
            Err(error) => Err(input_lost(&error)),
        }
    }

    /// Passes lines both ways until one side ends.
    async fn exchange(
        &mut self,
        pending: Option<Vec<u8>>,
        replies: &mut LineReader<impl AsyncRead + Unpin>,
        to_server: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<RelayEnd> {
        let StdioClient { input, output, conversation, .. } = self;
        let conversation = &*conversation;
        let up = async {
            let mut next = pending.map(Line::Whole);
            loop {
                match next.take() {
                    Some(Line::Whole(mut line)) => {
                        note(conversation, |conversation| conversation.note_from_client(&line));
                        line.push(b'\n');
                        if to_server.write_all(&line).await.is_err() || to_server.flush().await.is_err() {
                            return Ok(RelayEnd::ServerLost);
                        }
                    }
                    Some(Line::TooLong) => {
                        let answer = format!("{}\n", Rejection::too_long().to_json());
                        output.send(answer.into_bytes()).await.map_err(|_| io::ErrorKind::BrokenPipe)?;
                    }
                    None => {}
                }
                next = input.next().await?;
                if next.is_none() {
                    // The client hung up: close our side, and wait for the last responses.
                    return Ok(match to_server.shutdown().await {
                        Ok(()) => RelayEnd::ClientGone,
                        Err(_) => RelayEnd::ServerLost,
                    });
                }
            }
        };
        let down = async {
            // An error is the end of the server too.
            while let Ok(Some(line)) = replies.next().await {
                let Line::Whole(mut line) = line else { continue };
                line.push(b'\n');
                // Sent first: a response that does not reach the client leaves its request unanswered.
                let head = MessageHead::parse(&line);
                output.send(line).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
                if let Some(head) = head {
                    note(conversation, |conversation| conversation.note_from_server(&head));
                }
            }
            io::Result::Ok(())
        };
        tokio::pin!(up, down);
        tokio::select! {
            done = &mut down => done.map(|()| RelayEnd::ServerLost),
            sent = &mut up => match sent {
                // What the server sent before it ended must still be read.
                Ok(end) => down.await.map(|()| end),
                Err(error) => Err(error),
            },
        }
    }

    /// Repeats the client's introduction for a new server.
    async fn repeat_handshake(
        &self,
        replies: &mut LineReader<impl AsyncRead + Unpin>,
        to_server: &mut (impl AsyncWrite + Unpin),
    ) -> io::Result<()> {
        let is_initialize =
            |line: &Vec<u8>| MessageHead::parse(line).is_some_and(|head| head.is_initialize());
        if self.pending.as_ref().is_some_and(is_initialize) {
            return Ok(());
        }
        let Some(handshake) = self.conversation().handshake() else { return Ok(()) };
        to_server.write_all(&handshake.initialize).await?;
        to_server.flush().await?;
        loop {
            match replies.next().await? {
                Some(Line::Whole(line)) => {
                    if MessageHead::parse(&line).is_some_and(|head| head.is_response_to(&handshake.id)) {
                        break;
                    }
                }
                Some(Line::TooLong) => {}
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        to_server.write_all(&handshake.initialized).await?;
        to_server.flush().await
    }

    /// Answers what the lost server left unanswered.
    async fn lose(&mut self) -> Result<RelayEnd, Fault> {
        if let Some(line) = self.pending.take() {
            self.conversation().note_from_client(&line);
        }
        let answers = self.conversation().lose_server();
        for answer in &answers {
            self.send(answer).await?;
        }
        tracing::warn!(answered = answers.len(), "the server that this process had joined ended");
        Ok(RelayEnd::ServerLost)
    }
}

fn note(conversation: &Mutex<Conversation>, change: impl FnOnce(&mut Conversation)) {
    change(&mut conversation.lock().unwrap_or_else(PoisonError::into_inner));
}

fn input_lost(error: &io::Error) -> Fault {
    Fault::io(ErrorCode::OutputLost, "the client cannot be reached", error)
}

/// Opens a pipe to a running server, for one MCP client.
pub async fn connect(stream: std::os::unix::net::UnixStream, scope: &Scope) -> Result<UnixStream, Fault> {
    let connected = async {
        stream.set_nonblocking(true)?;
        let mut stream = UnixStream::from_std(stream)?;
        tokio::time::timeout(JOIN_TIMEOUT, upgrade(&mut stream, scope)).await??;
        Ok(stream)
    };
    connected
        .await
        .map_err(|error| Fault::io(ErrorCode::NotRunning, "cannot join the running server", &error))
}

/// Requests the upgrade and reads the response head, one byte at a time so as not to consume what follows.
async fn upgrade(stream: &mut UnixStream, scope: &Scope) -> io::Result<()> {
    let ask = format!(
        "GET {PIPE_PATH} HTTP/1.1\r\nhost: stockade\r\nconnection: upgrade\r\nupgrade: mcp\r\n{SCOPE_HEADER}: {scope}\r\n\r\n"
    );
    stream.write_all(ask.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > MAX_HEAD_BYTES {
            return Err(io::Error::other("the server's answer is too long"));
        }
        head.push(stream.read_u8().await?);
    }
    if head.starts_with(b"HTTP/1.1 101") {
        Ok(())
    } else {
        Err(io::Error::other("the server does not take pipes"))
    }
}
