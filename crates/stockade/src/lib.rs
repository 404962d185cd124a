//! The control plane: gate, sessions, MCP, command line, configuration and storage.

mod api;
pub mod approvals;
pub mod cli;
mod client;
pub mod config;
mod console;
pub mod control;
pub mod demo;
pub mod doctor;
pub mod error;
pub mod gate;
mod html;
pub mod logins;
mod mcp;
mod memory;
pub mod operator;
mod post;
pub mod random;
pub mod record;
#[cfg(test)]
#[path = "../tests/common/seen.rs"]
mod seen;
pub mod server;
pub mod session;
pub mod smoke;
pub mod state;
mod stop;
pub mod storage;
pub mod tunnel;
