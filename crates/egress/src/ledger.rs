//! The ledger: every request a session made or tried to make, in bounded lists, newest last.

use crate::hosts::HostName;
use crate::meter::Meter;
use crate::{Reason, rules::RouteError};
use error_code::ErrorCode;
use jiff::Timestamp;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A compromised browser can send any method; no real one is longer.
const MAX_METHOD_CHARS: usize = 32;

/// One request, or one tunnel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerEntry {
    pub at: Timestamp,
    /// `CONNECT` for a tunnel. Empty, like `host`, when the client did not get as far as asking.
    pub method: String,
    pub host: String,
    pub port: u16,
    /// The address that was connected to, or that was refused.
    pub address: Option<SocketAddr>,
    pub verdict: EgressOutcome,
    /// On the connection to the site, so far: heads and encryption included.
    pub bytes_up: u64,
    pub bytes_down: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EgressOutcome {
    Allowed,
    /// By our rules: nothing was sent.
    Refused(Reason),
    /// By the network or the site.
    Failed(Reason),
}

impl From<Reason> for EgressOutcome {
    fn from(reason: Reason) -> EgressOutcome {
        if reason.is_refusal() { EgressOutcome::Refused(reason) } else { EgressOutcome::Failed(reason) }
    }
}

/// The ledger at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerSnapshot {
    pub entries: Vec<LedgerEntry>,
    /// Older entries that were dropped to make room.
    pub dropped: u64,
}

/// Why a request failed or was refused. Its `Display` form is for an agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EgressFailure {
    pub at: Timestamp,
    pub host: String,
    pub port: u16,
    pub reason: Reason,
}

impl EgressFailure {
    pub fn code(&self) -> ErrorCode {
        self.reason.code()
    }

    pub fn hint(&self) -> &'static str {
        self.reason.hint()
    }

    pub fn retryable(&self) -> bool {
        self.reason.retryable()
    }
}

impl fmt::Display for EgressFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason.message(&self.host, self.port))
    }
}

/// A request, as far as it could be parsed.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestSummary {
    pub(crate) method: String,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl RequestSummary {
    pub(crate) fn new(method: &str, host: &HostName, port: u16) -> RequestSummary {
        RequestSummary { host: host.to_string(), port, ..RequestSummary::unreadable(method) }
    }

    pub(crate) fn unreadable(method: &str) -> RequestSummary {
        RequestSummary {
            method: method.chars().take(MAX_METHOD_CHARS).collect(),
            ..RequestSummary::default()
        }
    }
}

#[derive(Debug)]
pub(crate) struct Ledger {
    capacity: usize,
    rows: Mutex<Rows>,
}

/// Each kind has room of its own: a page can be refused 10,000 times in a second, and make up as many
/// hosts that do not exist, but that does not push out what it really sent.
#[derive(Debug, Default)]
struct Rows {
    /// A site was connected to, whatever came of it.
    reached: VecDeque<Row>,
    failed: VecDeque<Row>,
    refused: VecDeque<Row>,
    next: u64,
    dropped: u64,
}

#[derive(Debug)]
struct Row {
    id: RowId,
    entry: LedgerEntry,
    meter: Arc<Meter>,
}

/// A row's position among all rows. Not the time, because the clock can be set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowId(u64);

impl Ledger {
    /// Keeps at most `capacity` entries of each kind, and at least one.
    pub(crate) fn new(capacity: usize) -> Ledger {
        Ledger { capacity: capacity.max(1), rows: Mutex::default() }
    }

    pub(crate) fn record_failure(&self, request: RequestSummary, error: RouteError) {
        self.add(request, error.address, error.reason.into(), Arc::default());
    }

    pub(crate) fn record_allowed(
        &self,
        request: RequestSummary,
        address: SocketAddr,
        meter: Arc<Meter>,
    ) -> RowId {
        self.add(request, Some(address), EgressOutcome::Allowed, meter)
    }

    /// Marks an allowed request as failed.
    pub(crate) fn mark_failed(&self, id: RowId, reason: Reason) {
        let mut rows = self.rows();
        let index = rows.reached.binary_search_by_key(&id, |row| row.id);
        if let Some(row) = index.ok().and_then(|index| rows.reached.get_mut(index)) {
            row.entry.verdict = reason.into();
        }
    }

    fn add(
        &self,
        request: RequestSummary,
        address: Option<SocketAddr>,
        verdict: EgressOutcome,
        meter: Arc<Meter>,
    ) -> RowId {
        let RequestSummary { method, host, port } = request;
        let at = Timestamp::now();
        let entry = LedgerEntry { at, method, host, port, address, verdict, bytes_up: 0, bytes_down: 0 };
        let mut rows = self.rows();
        let id = RowId(rows.next);
        rows.next += 1;
        let ring = match verdict {
            EgressOutcome::Allowed => &mut rows.reached,
            EgressOutcome::Failed(_) => &mut rows.failed,
            EgressOutcome::Refused(_) => &mut rows.refused,
        };
        let full = ring.len() == self.capacity;
        if full {
            ring.pop_front();
        }
        ring.push_back(Row { id, entry, meter });
        rows.dropped += u64::from(full);
        id
    }

    pub(crate) fn snapshot(&self) -> LedgerSnapshot {
        let rows = self.rows();
        let mut all: Vec<&Row> = rows.rings().into_iter().flatten().collect();
        all.sort_by_key(|row| row.id);
        let counted = |row: &Row| LedgerEntry {
            bytes_up: row.meter.up(),
            bytes_down: row.meter.down(),
            ..row.entry.clone()
        };
        LedgerSnapshot { entries: all.into_iter().map(counted).collect(), dropped: rows.dropped }
    }

    pub(crate) fn last_failure(&self, host: &str) -> Option<EgressFailure> {
        let host = HostName::parse(host)?.to_string();
        let rows = self.rows();
        let latest =
            rows.rings().into_iter().filter_map(|ring| ring.iter().rfind(|row| row.entry.host == host));
        let LedgerEntry { at, port, verdict, .. } = &latest.max_by_key(|row| row.id)?.entry;
        match *verdict {
            EgressOutcome::Allowed => None,
            EgressOutcome::Refused(reason) | EgressOutcome::Failed(reason) => {
                Some(EgressFailure { at: *at, host, port: *port, reason })
            }
        }
    }

    /// The latest request, if it failed: the target of a redirect, for instance.
    pub(crate) fn newest_failure(&self) -> Option<EgressFailure> {
        let rows = self.rows();
        let newest = rows.rings().into_iter().filter_map(VecDeque::back).max_by_key(|row| row.id)?;
        let LedgerEntry { at, host, port, verdict, .. } = &newest.entry;
        match *verdict {
            EgressOutcome::Allowed => None,
            EgressOutcome::Refused(reason) | EgressOutcome::Failed(reason) => {
                Some(EgressFailure { at: *at, host: host.clone(), port: *port, reason })
            }
        }
    }

    /// Rows are consistent between any two statements, so a poisoned lock is safe to use.
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rows {
    fn rings(&self) -> [&VecDeque<Row>; 3] {
        [&self.reached, &self.failed, &self.refused]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(host: &str) -> RequestSummary {
        RequestSummary::new("GET", &HostName::parse(host).unwrap(), 80)
    }

    #[test]
    fn the_newest_failure_is_the_one_that_no_request_came_after() {
        let ledger = Ledger::new(3);
        assert_eq!(ledger.newest_failure(), None);
        ledger.record_failure(request("a.test"), Reason::HostNotFound.into());
        ledger.record_failure(request("b.test"), Reason::NotHome.into());
        let failure = ledger.newest_failure().unwrap();
        assert_eq!((failure.host.as_str(), failure.code()), ("b.test", ErrorCode::EgressNotHome));
        ledger.record_allowed(request("c.test"), SocketAddr::from(([127, 0, 0, 1], 80)), Arc::default());
        assert_eq!(ledger.newest_failure(), None);
    }

    #[test]
    fn the_oldest_entries_make_room_and_are_counted() {
        let ledger = Ledger::new(3);
        for host in ["a.test", "b.test", "c.test", "d.test", "e.test"] {
            ledger.record_failure(request(host), Reason::HostNotFound.into());
        }
        let snapshot = ledger.snapshot();
        let hosts: Vec<&str> = snapshot.entries.iter().map(|entry| entry.host.as_str()).collect();
        assert_eq!((hosts, snapshot.dropped), (vec!["c.test", "d.test", "e.test"], 2));
    }

    #[test]
    fn refusals_and_failures_do_not_push_out_what_was_sent() {
        let ledger = Ledger::new(2);
        let address = "192.0.2.1:80".parse().unwrap();
        ledger.record_failure(request("refused-first.test"), Reason::Port.into());
        let sent = ledger.record_allowed(request("sent.test"), address, Arc::default());
        ledger.record_failure(request("missing.test"), Reason::HostNotFound.into());
        for _ in 0..100 {
            ledger.record_failure(request("refused.test"), Reason::Port.into());
        }
        ledger.record_allowed(request("sent-last.test"), address, Arc::default());
        let hosts = |snapshot: &LedgerSnapshot| -> Vec<String> {
            snapshot.entries.iter().map(|entry| entry.host.clone()).collect()
        };
        let snapshot = ledger.snapshot();
        let expected = ["sent.test", "missing.test", "refused.test", "refused.test", "sent-last.test"];
        assert_eq!((hosts(&snapshot), snapshot.dropped), (expected.map(str::to_owned).to_vec(), 99));

        ledger.mark_failed(sent, Reason::ConnectionLost);
        for _ in 0..100 {
            ledger.record_failure(request("missing.test"), Reason::HostNotFound.into());
        }
        let first = &ledger.snapshot().entries[0];
        assert_eq!(
            (first.host.as_str(), first.verdict),
            ("sent.test", EgressOutcome::Failed(Reason::ConnectionLost))
        );
    }

    #[test]
    fn a_row_that_is_gone_is_not_mistaken_for_another() {
        let ledger = Ledger::new(2);
        let address = "127.0.0.1:80".parse().unwrap();
        let first = ledger.record_allowed(request("a.test"), address, Arc::default());
        let second = ledger.record_allowed(request("b.test"), address, Arc::default());
        let third = ledger.record_allowed(request("c.test"), address, Arc::default());
        ledger.mark_failed(first, Reason::Idle);
        ledger.mark_failed(third, Reason::ConnectionLost);
        let verdicts: Vec<EgressOutcome> =
            ledger.snapshot().entries.iter().map(|entry| entry.verdict).collect();
        assert_eq!(verdicts, [EgressOutcome::Allowed, EgressOutcome::Failed(Reason::ConnectionLost)]);
        assert_ne!(first, second);
    }

    #[test]
    fn the_last_failure_of_a_host_is_found_however_the_host_is_written() {
        let ledger = Ledger::new(10);
        ledger.record_failure(request("127.1"), Reason::ConnectionRefused.into());
        ledger.record_failure(request("127.0.0.1"), Reason::Port.into());
        ledger.record_failure(request("other.test"), Reason::HostNotFound.into());
        let failure = ledger.last_failure("2130706433").unwrap();
        assert_eq!((failure.reason, failure.code()), (Reason::Port, ErrorCode::EgressRefused));
        assert_eq!(ledger.last_failure("unheard.test"), None);
        ledger.record_allowed(request("127.0.0.1"), "127.0.0.1:80".parse().unwrap(), Arc::default());
        assert_eq!(ledger.last_failure("127.0.0.1"), None, "a host that works again has no failure");
    }

    #[test]
    fn a_method_is_kept_in_bounded_size() {
        let entry = RequestSummary::unreadable(&"X".repeat(5000));
        assert_eq!(entry.method.len(), MAX_METHOD_CHARS);
    }
}
