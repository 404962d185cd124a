//! MCP over a pipe: standard input and output, or the control socket of a running server.

use super::{McpServer, Transport};
use crate::control_protocol::{PIPE_PATH, SCOPE_HEADER};
use engine::control::Control;
use engine::error::Fault;
use engine::session::EndReason;
use error_code::ErrorCode;
use policy::Scope;
use rmcp::ServiceExt;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

/// The response head has a few short lines.
const MAX_HEAD_BYTES: usize = 4096;

/// Serves one client until it hangs up, then closes its own session.
pub async fn serve_pipe<R, W>(control: Arc<Control>, scope: Scope, read: R, write: W) -> Result<(), Fault>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let own = Arc::new(Mutex::new(None));
    let server = McpServer::new(control.clone(), Transport::Pipe { scope: scope.clone(), own: own.clone() });
    let served = match server.serve((read, write)).await {
        Ok(running) => {
            running.waiting().await.map(|_| ()).map_err(|e| Fault::caused(ErrorCode::Internal, &e))
        }
        Err(error) => Err(Fault::caused(ErrorCode::McpHandshake, &error)
            .hint("Is the program at the other end an MCP client?")),
    };
    if let Some(session) = own.lock().await.take()
        && let Ok(session) = control.gate.sessions.find(&scope, &session)
    {
        control.gate.sessions.end(&session, EndReason::Closed).await;
    }
    served
}

/// Connects standard input and output to a running server, as one MCP client.
pub async fn join(stream: std::os::unix::net::UnixStream, scope: &Scope) -> Result<(), Fault> {
    let failed = |e: std::io::Error| Fault::io(ErrorCode::NotRunning, "cannot join the running server", &e);
    stream.set_nonblocking(true).map_err(failed)?;
    let mut stream = UnixStream::from_std(stream).map_err(failed)?;
    upgrade(&mut stream, scope).await.map_err(failed)?;
    let (mut from_server, mut to_server) = stream.into_split();
    let (mut input, mut output) = rmcp::transport::io::stdio_pipes();
    let up = async {
        copy_and_flush(&mut input, &mut to_server).await?;
        // The client hung up: close our side, and wait for the last replies.
        to_server.shutdown().await
    };
    let down = copy_and_flush(&mut from_server, &mut output);
    tokio::pin!(up, down);
    tokio::select! {
        // The server closed the connection, so this process is done.
        done = &mut down => done.map_err(failed),
        sent = &mut up => {
            sent.map_err(failed)?;
            down.await.map_err(failed)
        }
    }
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

/// Flushes after each read: standard output is buffered, and a client waits for each line.
async fn copy_and_flush(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..count]).await?;
        to.flush().await?;
    }
}
