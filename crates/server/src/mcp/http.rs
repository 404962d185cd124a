//! MCP over streamable HTTP, for the 2025 revisions and later ones.

use super::{McpServer, Transport};
use engine::control::Control;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The transport drops a client that is idle for this long. Browser sessions have deadlines of their own, so this only
/// bounds the transport's memory.
const IDLE: Duration = Duration::from_secs(24 * 3600);

/// The largest request body; typed text is the largest thing a client sends.
pub const LARGEST_REQUEST: usize = 4 * 1024 * 1024;

/// MCP sessions, for clients of the 2025 revisions; later ones have none.
pub fn session_manager() -> Arc<LocalSessionManager> {
    let mut manager = LocalSessionManager::default();
    manager.session_config.keep_alive = Some(IDLE);
    Arc::new(manager)
}

pub fn service(
    control: Arc<Control>,
    manager: Arc<LocalSessionManager>,
    stop: CancellationToken,
) -> StreamableHttpService<McpServer, LocalSessionManager> {
    // Host and Origin are checked for every route in one place, before this service is reached.
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(stop)
        .with_max_request_body_bytes(LARGEST_REQUEST)
        .with_sse_keep_alive(Some(Duration::from_secs(5)));
    StreamableHttpService::new(move || Ok(McpServer::new(control.clone(), Transport::Http)), manager, config)
}
