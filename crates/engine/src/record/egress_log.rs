//! A session's egress ledger, read back from the audit log.

use audit::LogEntry;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What left through the proxy in one session, or tried to, oldest first.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EgressReport {
    pub entries: Vec<RecordedEgress>,
    /// What was more than is recorded one by one.
    pub lost: u64,
}

/// One connection, or one request on an intercepted connection, as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedEgress {
    pub id: u64,
    pub at: String,
    pub method: String,
    pub host: String,
    pub port: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// `allowed`, `refused` or `failed`.
    pub result: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    pub bytes_up: u64,
    pub bytes_down: u64,
    /// None while the connection is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The number of the session's latest action when it began; 0 before the first.
    pub action: u32,
}

/// The ledger in a session's events. A connection that was recorded twice, open and after its end, is in it once.
pub fn egress_of(events: &[LogEntry]) -> EgressReport {
    let mut entries = BTreeMap::new();
    let mut lost = 0;
    for event in events.iter().filter(|event| event.get("event_type") == "egress") {
        lost += event.fields.get("count").and_then(Value::as_u64).unwrap_or_default();
        let recorded = event.fields.get("egress").and_then(Value::as_array).into_iter().flatten();
        for entry in recorded.filter_map(|entry| RecordedEgress::deserialize(entry).ok()) {
            entries.insert(entry.id, entry);
        }
    }
    EgressReport { entries: entries.into_values().collect(), lost }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(fields: Value) -> LogEntry {
        let Value::Object(fields) = fields else { panic!("{fields}") };
        LogEntry { chain: String::new(), segment: String::new(), line: 1, text: String::new(), fields }
    }

    fn entry(id: u64, duration: Option<u64>) -> Value {
        json!({"id": id, "at": "2026-01-01T00:00:00Z", "method": "CONNECT", "host": "shop.test", "port": 443,
            "result": "allowed", "bytes_up": id, "bytes_down": 2, "duration_ms": duration, "action": 1})
    }

    #[test]
    fn a_connection_counts_once_and_with_its_final_numbers() {
        let report = egress_of(&[
            event(json!({"event_type": "egress", "egress": [entry(1, None), entry(0, Some(5))]})),
            event(json!({"event_type": "outcome", "count": 100})),
            event(json!({"event_type": "egress", "egress": [entry(1, Some(9))], "count": 7})),
            event(json!({"event_type": "egress", "egress": [{"id": "broken"}]})),
        ]);
        let seen: Vec<_> = report.entries.iter().map(|entry| (entry.id, entry.duration_ms)).collect();
        assert_eq!((seen, report.lost), (vec![(0, Some(5)), (1, Some(9))], 7));
    }
}
