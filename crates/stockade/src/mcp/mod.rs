//! MCP: the door that agents use. It parses, calls the gate, and puts replies into words.

mod answer;
mod fence;
mod http;
mod progress;
mod server;
mod stdio;
mod tools;

pub use http::{service, session_manager};
pub use server::{Door, McpServer};
pub use stdio::{join, serve_pipe};
