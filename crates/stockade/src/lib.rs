//! The control plane: gate, sessions, MCP, command line, configuration and storage.

pub mod config;
pub mod error;
