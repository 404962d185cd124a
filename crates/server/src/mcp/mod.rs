//! The MCP server: parses calls, runs them through the gate, renders replies.

mod http;
mod page_delimiters;
mod progress;
mod server;
mod stdio;
mod timeout;
mod tool_reply;
pub mod tools;
mod url_elicitation;

pub use http::{service, session_manager};
pub use server::{Call, McpServer, Transport, session_required};
pub use stdio::{join, serve_pipe};
pub use timeout::name_timed_out_action;
pub use tool_reply::{DelimitedFields, ToolReply, delimited_fields};
