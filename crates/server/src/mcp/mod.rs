//! The MCP server: parses calls, runs them through the gate, renders replies.

mod conversation;
mod deferred;
mod envelope;
mod http;
mod line_reader;
mod page_delimiters;
mod pipe_transport;
mod progress;
mod server;
mod stdio;
mod stdio_client;
mod tasks;
mod timeout;
mod tool_reply;
pub mod tools;
mod unavailable;
mod url_elicitation;

pub use deferred::{BackendConnection, serve_deferred};
pub use envelope::{Rejection, error_response, parse as parse_message, request_id};
pub use http::{LARGEST_REQUEST, service, session_manager};
pub use server::{Call, McpServer, Transport, session_required};
pub use stdio::serve_pipe;
pub use stdio_client::{RelayEnd, StdioClient, connect};
pub use timeout::name_timed_out_action;
pub use tool_reply::{DelimitedFields, ToolReply, delimited_fields};
