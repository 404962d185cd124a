//! MCP over a pipe: standard input and output, or the control socket of a running server.

use super::pipe_transport::PipeTransport;
use super::{McpServer, Transport};
use engine::control::Control;
use engine::error::Fault;
use engine::session::EndReason;
use error_code::ErrorCode;
use policy::Scope;
use rmcp::ServiceExt;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

/// How long a client may take to read the last responses.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Serves one client until it hangs up, then closes its own session.
pub async fn serve_pipe<R, W>(control: Arc<Control>, scope: Scope, read: R, write: W) -> Result<(), Fault>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let own = Arc::new(Mutex::new(None));
    let server = McpServer::new(control.clone(), Transport::Pipe { scope: scope.clone(), own: own.clone() });
    let (transport, writer) = PipeTransport::start(read, write);
    let served = match server.serve(transport).await {
        Ok(running) => {
            running.waiting().await.map(|_| ()).map_err(|e| Fault::caused(ErrorCode::Internal, &e))
        }
        Err(error) => Err(Fault::caused(ErrorCode::McpHandshake, &error)
            .hint("Check that the program at the other end is an MCP client.")),
    };
    if let Some(session) = own.lock().await.take()
        && let Ok(session) = control.gate.sessions.find(&scope, &session)
    {
        control.gate.sessions.end(&session, EndReason::Closed).await;
    }
    match tokio::time::timeout(LAST_WORDS, writer).await {
        Ok(Ok(Ok(()))) => {}
        ended => tracing::debug!(?ended, "a client did not read to the end"),
    }
    served
}
