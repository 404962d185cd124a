//! The control plane: gate, sessions, MCP, command line, configuration and storage.

pub mod cli;
pub mod config;
pub mod demo;
pub mod error;
pub mod random;
pub mod state;
pub mod storage;
