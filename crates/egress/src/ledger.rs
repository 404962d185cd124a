//! What a session sent out, or tried to: bounded lists, shown as one, newest last.

use crate::hosts::HostName;
use crate::meter::Meter;
use crate::{Reason, rules::Stop};
use jiff::Timestamp;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Methods are made up freely by a captured browser; no real one is longer.
const LONGEST_METHOD: usize = 32;

/// One request, or one tunnel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    pub at: Timestamp,
    /// `CONNECT` for a tunnel. Empty, like `host`, when the client did not get as far as asking.
    pub method: String,
    pub host: String,
    pub port: u16,
    /// The address that was connected to, or that was refused.
    pub address: Option<SocketAddr>,
    pub verdict: Verdict,
    /// On the connection to the site, so far: heads and encryption included.
    pub bytes_up: u64,
    pub bytes_down: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Allowed,
    /// By our rules: nothing was sent.
    Refused(Reason),
    /// By the network or the site.
    Failed(Reason),
}

impl From<Reason> for Verdict {
    fn from(reason: Reason) -> Verdict {
        if reason.is_refusal() { Verdict::Refused(reason) } else { Verdict::Failed(reason) }
    }
}

/// The ledger at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    pub entries: Vec<Entry>,
    /// Older entries that were dropped to make room.
    pub dropped: u64,
}

/// What went wrong with a host, in words for an agent when it is displayed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Problem {
    pub at: Timestamp,
    pub host: String,
    pub port: u16,
    pub reason: Reason,
}

impl Problem {
    pub fn code(&self) -> &'static str {
        self.reason.code()
    }

    pub fn hint(&self) -> &'static str {
        self.reason.hint()
    }

    pub fn retryable(&self) -> bool {
        self.reason.retryable()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason.message(&self.host, self.port))
    }
}

/// What was asked for, as far as it could be read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Asked {
    pub(crate) fn new(method: &str, host: &HostName, port: u16) -> Asked {
        Asked { host: host.to_string(), port, ..Asked::unreadable(method) }
    }

    pub(crate) fn unreadable(method: &str) -> Asked {
        Asked { method: method.chars().take(LONGEST_METHOD).collect(), ..Asked::default() }
    }
}

#[derive(Debug)]
pub(crate) struct Ledger {
    most: usize,
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
    entry: Entry,
    meter: Arc<Meter>,
}

/// A row's place in the order of all, which the clock, as it can be set back, does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowId(u64);

impl Ledger {
    /// Keeps at most `most` entries of each kind, and at least one.
    pub(crate) fn new(most: usize) -> Ledger {
        Ledger { most: most.max(1), rows: Mutex::default() }
    }

    pub(crate) fn stopped(&self, asked: Asked, stop: Stop) {
        self.add(asked, stop.address, stop.reason.into(), Arc::default());
    }

    pub(crate) fn allowed(&self, asked: Asked, address: SocketAddr, meter: Arc<Meter>) -> RowId {
        self.add(asked, Some(address), Verdict::Allowed, meter)
    }

    /// An allowed request that came to nothing after all.
    pub(crate) fn failed(&self, id: RowId, reason: Reason) {
        let mut rows = self.rows();
        let index = rows.reached.binary_search_by_key(&id, |row| row.id);
        if let Some(row) = index.ok().and_then(|index| rows.reached.get_mut(index)) {
            row.entry.verdict = reason.into();
        }
    }

    fn add(&self, asked: Asked, address: Option<SocketAddr>, verdict: Verdict, meter: Arc<Meter>) -> RowId {
        let Asked { method, host, port } = asked;
        let at = Timestamp::now();
        let entry = Entry { at, method, host, port, address, verdict, bytes_up: 0, bytes_down: 0 };
        let mut rows = self.rows();
        let id = RowId(rows.next);
        rows.next += 1;
        let ring = match verdict {
            Verdict::Allowed => &mut rows.reached,
            Verdict::Failed(_) => &mut rows.failed,
            Verdict::Refused(_) => &mut rows.refused,
        };
        let full = ring.len() == self.most;
        if full {
            ring.pop_front();
        }
        ring.push_back(Row { id, entry, meter });
        rows.dropped += u64::from(full);
        id
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let rows = self.rows();
        let mut all: Vec<&Row> = rows.rings().into_iter().flatten().collect();
        all.sort_by_key(|row| row.id);
        let counted =
            |row: &Row| Entry { bytes_up: row.meter.up(), bytes_down: row.meter.down(), ..row.entry.clone() };
        Snapshot { entries: all.into_iter().map(counted).collect(), dropped: rows.dropped }
    }

    pub(crate) fn last_problem(&self, host: &str) -> Option<Problem> {
        let host = HostName::parse(host)?.to_string();
        let rows = self.rows();
        let latest =
            rows.rings().into_iter().filter_map(|ring| ring.iter().rfind(|row| row.entry.host == host));
        let Entry { at, port, verdict, .. } = &latest.max_by_key(|row| row.id)?.entry;
        match *verdict {
            Verdict::Allowed => None,
            Verdict::Refused(reason) | Verdict::Failed(reason) => {
                Some(Problem { at: *at, host, port: *port, reason })
            }
        }
    }

    /// What was asked for last, if it came to nothing: where a redirect led to, for one.
    pub(crate) fn newest_problem(&self) -> Option<Problem> {
        let rows = self.rows();
        let newest = rows.rings().into_iter().filter_map(VecDeque::back).max_by_key(|row| row.id)?;
        let Entry { at, host, port, verdict, .. } = &newest.entry;
        match *verdict {
            Verdict::Allowed => None,
            Verdict::Refused(reason) | Verdict::Failed(reason) => {
                Some(Problem { at: *at, host: host.clone(), port: *port, reason })
            }
        }
    }

    /// Rows are whole between any two statements, so a panic elsewhere leaves nothing to mistrust.
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

    fn asked(host: &str) -> Asked {
        Asked::new("GET", &HostName::parse(host).unwrap(), 80)
    }

    #[test]
    fn the_newest_problem_is_the_one_that_nothing_came_after() {
        let ledger = Ledger::new(3);
        assert_eq!(ledger.newest_problem(), None);
        ledger.stopped(asked("a.test"), Reason::HostNotFound.into());
        ledger.stopped(asked("b.test"), Reason::NotHome.into());
        let problem = ledger.newest_problem().unwrap();
        assert_eq!((problem.host.as_str(), problem.code()), ("b.test", "egress_not_home"));
        ledger.allowed(asked("c.test"), SocketAddr::from(([127, 0, 0, 1], 80)), Arc::default());
        assert_eq!(ledger.newest_problem(), None);
    }

    #[test]
    fn the_oldest_entries_make_room_and_are_counted() {
        let ledger = Ledger::new(3);
        for host in ["a.test", "b.test", "c.test", "d.test", "e.test"] {
            ledger.stopped(asked(host), Reason::HostNotFound.into());
        }
        let snapshot = ledger.snapshot();
        let hosts: Vec<&str> = snapshot.entries.iter().map(|entry| entry.host.as_str()).collect();
        assert_eq!((hosts, snapshot.dropped), (vec!["c.test", "d.test", "e.test"], 2));
    }

    #[test]
    fn refusals_and_failures_do_not_push_out_what_was_sent() {
        let ledger = Ledger::new(2);
        let address = "192.0.2.1:80".parse().unwrap();
        ledger.stopped(asked("refused-first.test"), Reason::Port.into());
        let sent = ledger.allowed(asked("sent.test"), address, Arc::default());
        ledger.stopped(asked("missing.test"), Reason::HostNotFound.into());
        for _ in 0..100 {
            ledger.stopped(asked("refused.test"), Reason::Port.into());
        }
        ledger.allowed(asked("sent-last.test"), address, Arc::default());
        let hosts = |snapshot: &Snapshot| -> Vec<String> {
            snapshot.entries.iter().map(|entry| entry.host.clone()).collect()
        };
        let snapshot = ledger.snapshot();
        let expected = ["sent.test", "missing.test", "refused.test", "refused.test", "sent-last.test"];
        assert_eq!((hosts(&snapshot), snapshot.dropped), (expected.map(str::to_owned).to_vec(), 99));

        ledger.failed(sent, Reason::ConnectionLost);
        for _ in 0..100 {
            ledger.stopped(asked("missing.test"), Reason::HostNotFound.into());
        }
        let first = &ledger.snapshot().entries[0];
        assert_eq!(
            (first.host.as_str(), first.verdict),
            ("sent.test", Verdict::Failed(Reason::ConnectionLost))
        );
    }

    #[test]
    fn a_row_that_is_gone_is_not_mistaken_for_another() {
        let ledger = Ledger::new(2);
        let address = "127.0.0.1:80".parse().unwrap();
        let first = ledger.allowed(asked("a.test"), address, Arc::default());
        let second = ledger.allowed(asked("b.test"), address, Arc::default());
        let third = ledger.allowed(asked("c.test"), address, Arc::default());
        ledger.failed(first, Reason::Idle);
        ledger.failed(third, Reason::ConnectionLost);
        let verdicts: Vec<Verdict> = ledger.snapshot().entries.iter().map(|entry| entry.verdict).collect();
        assert_eq!(verdicts, [Verdict::Allowed, Verdict::Failed(Reason::ConnectionLost)]);
        assert_ne!(first, second);
    }

    #[test]
    fn the_last_problem_of_a_host_is_found_however_the_host_is_written() {
        let ledger = Ledger::new(10);
        ledger.stopped(asked("127.1"), Reason::ConnectionRefused.into());
        ledger.stopped(asked("127.0.0.1"), Reason::Port.into());
        ledger.stopped(asked("other.test"), Reason::HostNotFound.into());
        let problem = ledger.last_problem("2130706433").unwrap();
        assert_eq!((problem.reason, problem.code()), (Reason::Port, "egress_refused"));
        assert_eq!(ledger.last_problem("unheard.test"), None);
        ledger.allowed(asked("127.0.0.1"), "127.0.0.1:80".parse().unwrap(), Arc::default());
        assert_eq!(ledger.last_problem("127.0.0.1"), None, "what was mended is no problem any more");
    }

    #[test]
    fn what_a_client_says_is_kept_in_bounded_size() {
        let entry = Asked::unreadable(&"X".repeat(5000));
        assert_eq!(entry.method.len(), LONGEST_METHOD);
    }
}
