//! What agents and operators connect to: MCP, the HTTP API, the console and operator authentication.

pub mod api;
pub mod client;
mod console;
mod control_protocol;
pub mod http;
pub mod mcp;
pub mod operator;
#[cfg(test)]
#[path = "../../stockade/tests/common/seen.rs"]
mod seen;
