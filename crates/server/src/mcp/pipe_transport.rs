//! The transport of MCP over a pipe: one JSON-RPC message a line. What cannot be read is answered, not dropped.

use super::envelope::{self, Rejection};
use super::line_reader::{Line, LineReader, MAX_MESSAGE_BYTES};
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Messages that wait to be written. A client that does not read is not read from either.
pub const MAX_UNWRITTEN: usize = 64;

pub struct PipeTransport<R> {
    lines: LineReader<R>,
    /// Rejections that are not yet with the writer: `receive` can be cancelled between reading and answering.
    rejected: VecDeque<Rejection>,
    writer: Option<mpsc::Sender<Vec<u8>>>,
}

impl<R: AsyncRead + Send + Unpin> PipeTransport<R> {
    /// The task writes until the transport is closed and dropped, or the client hangs up.
    pub fn start<W>(read: R, write: W) -> (PipeTransport<R>, JoinHandle<io::Result<()>>)
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (writer, unwritten) = mpsc::channel(MAX_UNWRITTEN);
        let lines = LineReader::new(read, MAX_MESSAGE_BYTES);
        let transport = PipeTransport { lines, rejected: VecDeque::new(), writer: Some(writer) };
        (transport, tokio::spawn(write_lines(unwritten, write)))
    }
}

pub async fn write_lines(
    mut unwritten: mpsc::Receiver<Vec<u8>>,
    mut write: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    while let Some(line) = unwritten.recv().await {
        write.write_all(&line).await?;
        write.flush().await?;
    }
    Ok(())
}

fn to_line(json: serde_json::Result<Vec<u8>>) -> io::Result<Vec<u8>> {
    let mut line = json?;
    line.push(b'\n');
    Ok(line)
}

fn closed() -> io::Error {
    io::Error::from(io::ErrorKind::NotConnected)
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for PipeTransport<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = self.writer.clone();
        async move {
            let line = to_line(serde_json::to_vec(&message))?;
            writer.ok_or_else(closed)?.send(line).await.map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if !self.rejected.is_empty() {
                // Cancelled here, the rejection stays where it is.
                let place = self.writer.as_ref()?.reserve().await.ok()?;
                if let Some(rejection) = self.rejected.pop_front() {
                    let answer: Value = rejection.to_json();
                    match to_line(serde_json::to_vec(&answer)) {
                        Ok(line) => place.send(line),
                        Err(error) => tracing::warn!(%error, "cannot answer a message"),
                    }
                }
                continue;
            }
            let parsed = match self.lines.next().await {
                Ok(Some(Line::Whole(line))) => envelope::parse(&line),
                Ok(Some(Line::TooLong)) => Err(Rejection::too_long()),
                Ok(None) => return None,
                Err(error) => {
                    tracing::debug!(%error, "a pipe ended early");
                    return None;
                }
            };
            match parsed {
                Ok(message) => return Some(message),
                Err(rejection) if rejection.is_answered => self.rejected.push_back(rejection),
                Err(rejection) => tracing::debug!(?rejection, "a message of a client is ignored"),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer = None;
        Ok(())
    }
}
