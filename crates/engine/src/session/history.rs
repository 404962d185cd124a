//! The action history of a session, for `session show` and the archive.

use jiff::Timestamp;
use serde::Serialize;
use std::collections::VecDeque;

/// Maximum number of entries. Older ones are dropped and counted. The action budget is usually far lower.
const MAX_ENTRIES: usize = 1_000;

#[derive(Clone, Debug, Serialize)]
pub struct HistoryEntry {
    pub at: Timestamp,
    pub action: &'static str,
    /// `ok`, or the code of the error.
    pub result: String,
    pub duration_ms: u64,
    pub url: String,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screenshot_id: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize)]
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
