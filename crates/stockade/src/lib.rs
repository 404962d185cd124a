//! The control plane: gate, sessions, MCP, command line, configuration and storage.
