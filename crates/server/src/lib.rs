//! What agents and operators connect to: MCP, the HTTP API, the console and operator authentication.

pub mod api;
pub mod client;
mod console;
pub mod http;
pub mod mcp;
pub mod operator;
#[cfg(test)]
#[path = "../../stockade/tests/common/seen.rs"]
mod seen;
