//! The action history of a session, for `session show` and the archive.

use jiff::Timestamp;
use redact::{Redacted, RedactedFields};
use serde::Serialize;
use std::collections::VecDeque;

/// Maximum number of entries. Older ones are dropped and counted. The action budget is usually far lower.
const MAX_ENTRIES: usize = 1_000;

#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct HistoryEntry {
    pub at: Timestamp,
    pub action: &'static str,
    /// `ok`, or the code of the error.
    pub result: Redacted,
    pub duration_ms: u64,
    pub url: Redacted,
    pub title: Redacted,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screenshot_id: Option<Redacted>,
}

#[derive(Clone, Debug, Default, Serialize, RedactedFields)]
pub struct History {
    pub forgotten: u64,
    pub entries: VecDeque<HistoryEntry>,
}

impl History {
    pub fn push(&mut self, entry: HistoryEntry) {
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
            self.forgotten += 1;
        }
        self.entries.push_back(entry);
    }
}
