//! Limits of one proxy: connections, times and sizes.

use std::time::Duration;

/// Bounds of one session's proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Connections at once; a further one is closed at once and recorded in the ledger.
    pub max_connections: usize,
    /// For the head of a request, from the moment of connecting; then the connection is closed.
    pub head_timeout: Duration,
    pub lookup_timeout: Duration,
    /// For all addresses of a host together.
    pub connect_timeout: Duration,
    /// How long nothing may pass in either direction; then the connection is closed, within twice that.
    pub idle_timeout: Duration,
    /// Entries in the ledger of each kind (connected, failed, refused); the oldest of its kind is dropped
    /// for a further one.
    pub ledger_entries: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            // Chromium opens at most 32 through one proxy, and 255 WebSockets.
            max_connections: 256,
            head_timeout: Duration::from_secs(60),
            lookup_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(300),
            ledger_entries: 10_000,
        }
    }
}
