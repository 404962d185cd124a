//! The egress ledger in the log: a connection, or a request on an intercepted one.

use crate::sanitize::sanitize_redacted_within;
use jiff::Timestamp;
use redact::{Redacted, RedactedFields};
use serde::Serialize;

/// The longest host and path, in bytes. Forty records fit into a line, whatever they hold.
const LONGEST_TEXT: usize = 256;

/// One entry of a session's egress ledger. A connection that was open when it was recorded has no duration, and is
/// recorded again under the same id after its end.
#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct EgressRecord {
    pub id: u64,
    pub at: Timestamp,
    pub method: Redacted,
    pub host: Redacted,
    pub port: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// `allowed`, `refused` or `failed`.
    pub result: &'static str,
    /// The code of a refusal or a failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Redacted>,
    pub bytes_up: u64,
    pub bytes_down: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The number of the session's latest action when it began; 0 before the first.
    pub action: u32,
}

impl EgressRecord {
    /// The same without control and invisible characters, and with texts of bounded length.
    pub fn sanitized(self) -> EgressRecord {
        let text = |text: &Redacted| sanitize_redacted_within(text, LONGEST_TEXT);
        EgressRecord {
            method: text(&self.method),
            host: text(&self.host),
            path: self.path.as_ref().map(text),
            ..self
        }
    }
}
