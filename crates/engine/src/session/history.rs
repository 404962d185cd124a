//! What a session did, for `session show` and its archive.

use jiff::Timestamp;
use serde::Serialize;
use std::collections::VecDeque;

/// Entries kept; older ones go, and their number is told. The action budget is usually far lower.
const KEPT: usize = 1_000;

#[derive(Clone, Debug, Serialize)]
pub struct Entry {
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
    pub entries: VecDeque<Entry>,
}

impl History {
    pub fn push(&mut self, entry: Entry) {
        if self.entries.len() == KEPT {
            self.entries.pop_front();
            self.forgotten += 1;
        }
        self.entries.push_back(entry);
    }
}
