//! MCP: the door that agents use. It parses, calls the gate, and puts replies into words.

mod answer;
mod fence;
mod http;
mod leading;
mod progress;
mod server;
mod stdio;
mod timeout;
pub mod tools;

pub use answer::{Answer, fenced_fields};
pub use http::{service, session_manager};
pub use server::{Call, Door, McpServer, session_required};
pub use stdio::{join, serve_pipe};
pub use timeout::name_timed_out_action;
