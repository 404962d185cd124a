//! Limits of one proxy: connections, times, sizes and rates.

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
    /// Bytes that a session may receive and send in all. Beyond them its connections are cut and further ones refused.
    pub max_bytes_down: Option<u64>,
    pub max_bytes_up: Option<u64>,
    /// Bytes a second, for each direction of all connections together. Beyond it bytes wait.
    pub bandwidth: Option<u64>,
    /// Requests a second to one host, tunnels included; five seconds' worth may come at once. Further ones are refused.
    pub requests_per_second: Option<u32>,
    /// The longest body of a request that waits for the gate; a longer one is refused.
    pub max_effect_bytes: usize,
    /// Requests that wait for the gate at once, and the bytes of their bodies in all.
    pub max_held: usize,
    pub max_held_bytes: usize,
    /// How long a request waits until there is room for it to be held; then it is refused.
    pub held_room_timeout: Duration,
    /// For the whole body of a request that has to be decided on; then it is refused.
    pub effect_body_timeout: Duration,
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
            max_bytes_down: Some(8 << 30),
            max_bytes_up: Some(1 << 30),
            bandwidth: Some(128 << 20),
            // A page of a thousand pictures from one host loads; a page that knocks in a loop stops.
            requests_per_second: Some(200),
            max_effect_bytes: 8 << 20,
            max_held: 16,
            max_held_bytes: 32 << 20,
            // Long enough for ordinary requests of a page that are decided on at once, one after the other.
            held_room_timeout: Duration::from_secs(2),
            effect_body_timeout: Duration::from_secs(30),
            ledger_entries: 10_000,
        }
    }
}
