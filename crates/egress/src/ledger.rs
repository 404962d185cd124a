//! The ledger: every connection and every understood request of a session, in bounded lists, newest last.
//!
//! What is on it is reported once for the audit log: a connection that is still open when its batch is taken is reported
//! again, with its totals, after it has ended.

use crate::hosts::HostName;
use crate::meter::Meter;
use crate::{Reason, rules::RouteError};
use error_code::ErrorCode;
use jiff::Timestamp;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// A compromised browser can send any method; no real one is longer.
const MAX_METHOD_CHARS: usize = 32;

/// The longest path that is kept of a request.
const MAX_PATH_CHARS: usize = 256;

/// Entries that wait to be reported before [`Ledger::batch_ready`] ends.
const BATCH_ENTRIES: usize = 40;

/// One connection, or one request on an intercepted connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerEntry {
    /// Counts up from 0 in a session.
    pub id: u64,
    pub at: Timestamp,
    /// `CONNECT` for a tunnel. Empty, like `host`, when the client did not get as far as asking.
    pub method: String,
    pub host: String,
    pub port: u16,
    /// The address that was connected to, or that was refused. None for a request on an intercepted connection.
    pub address: Option<SocketAddr>,
    /// The path of a request whose head was read, without its query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The HTTP status of its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    pub verdict: EgressOutcome,
    /// On the connection to the site, so far: heads and encryption included. Of an intercepted request: its body.
    pub bytes_up: u64,
    pub bytes_down: u64,
    /// None while the connection is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The number of the session's latest action when it began; 0 before the first.
    pub action: u32,
}

/// A request on a connection whose TLS ends at the proxy, complete with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct InterceptedRequest {
    pub method: String,
    pub host: String,
    pub port: u16,
    /// The path with secrets removed, and without a query that may hold others.
    pub path_redacted: String,
    /// `None` if no answer came.
    pub status: Option<u16>,
    /// Refused if it was held and did not leave.
    pub verdict: EgressOutcome,
    /// The number of the session's latest action when it began.
    pub action: u32,
    pub bytes_up: u64,
    pub bytes_down: u64,
    pub started: Timestamp,
    pub duration: Duration,
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

/// Entries for the audit log, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LedgerBatch {
    pub entries: Vec<LedgerEntry>,
    /// Entries that were dropped before they could be reported.
    pub lost: u64,
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
    pub(crate) path: Option<String>,
}

impl RequestSummary {
    pub(crate) fn new(method: &str, host: &HostName, port: u16) -> RequestSummary {
        RequestSummary { host: host.to_string(), port, ..RequestSummary::unreadable(method) }
    }

    pub(crate) fn with_path(self, path: &str) -> RequestSummary {
        RequestSummary { path: Some(path.chars().take(MAX_PATH_CHARS).collect()), ..self }
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
    latest_action: AtomicU32,
    batch_ready: Notify,
}

/// Each kind has room of its own: a page can be refused 10,000 times in a second, and make up as many
/// hosts that do not exist, but that does not push out what it really sent.
#[derive(Debug, Default)]
struct Rows {
    /// A site was connected to, whatever came of it.
    reached: VecDeque<Row>,
    failed: VecDeque<Row>,
    refused: VecDeque<Row>,
    /// Requests on intercepted connections.
    requests: VecDeque<Row>,
    next: u64,
    dropped: u64,
    /// Rows that wait to be reported.
    unreported: usize,
    lost: u64,
}

#[derive(Debug)]
struct Row {
    id: RowId,
    entry: LedgerEntry,
    /// Counts the bytes of a connection; none for a request, whose counts are in the entry.
    meter: Option<Arc<Meter>>,
    began: Instant,
    is_open: bool,
    reported: Reported,
}

/// How much of a row the audit log has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reported {
    Nothing,
    Beginning,
    Everything,
}

/// A row's position among all rows. Not the time, because the clock can be set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowId(u64);

impl Row {
    fn waits(&self) -> bool {
        match self.reported {
            Reported::Nothing => true,
            Reported::Beginning => !self.is_open,
            Reported::Everything => false,
        }
    }

    fn counted(&self) -> LedgerEntry {
        match &self.meter {
            Some(meter) => {
                LedgerEntry { bytes_up: meter.up(), bytes_down: meter.down(), ..self.entry.clone() }
            }
            None => self.entry.clone(),
        }
    }
}

impl Ledger {
    /// Keeps at most `capacity` entries of each kind, and at least one.
    pub(crate) fn new(capacity: usize) -> Ledger {
        Ledger {
            capacity: capacity.max(1),
            rows: Mutex::default(),
            latest_action: AtomicU32::new(0),
            batch_ready: Notify::new(),
        }
    }

    /// What begins from now on is caused by this action.
    pub(crate) fn set_action(&self, number: u32) {
        self.latest_action.store(number, Ordering::Relaxed);
    }

    pub(crate) fn latest_action(&self) -> u32 {
        self.latest_action.load(Ordering::Relaxed)
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

    /// Records a request on an intercepted connection, after its answer.
    pub(crate) fn record_request(&self, request: InterceptedRequest) {
        let InterceptedRequest { method, host, port, path_redacted, status, started, duration, .. } = request;
        let method: String = method.chars().take(MAX_METHOD_CHARS).collect();
        let summary = RequestSummary { method, host, port, path: None }.with_path(&path_redacted);
        let mut entry = self.entry(summary, None, request.verdict);
        entry.action = request.action;
        (entry.at, entry.status, entry.duration_ms) = (started, status, Some(millis(duration)));
        (entry.bytes_up, entry.bytes_down) = (request.bytes_up, request.bytes_down);
        self.push(entry, None, false, |rows| &mut rows.requests);
    }

    /// Marks an allowed request as failed.
    pub(crate) fn mark_failed(&self, id: RowId, reason: Reason) {
        self.change(id, |row| row.entry.verdict = reason.into());
    }

    /// The status that a site answered a plain request with.
    pub(crate) fn set_status(&self, id: RowId, status: u16) {
        self.change(id, |row| row.entry.status = Some(status));
    }

    /// The connection has ended: its counts are final.
    pub(crate) fn close(&self, id: RowId) {
        self.change(id, |row| {
            row.is_open = false;
            row.entry.duration_ms = Some(millis(row.began.elapsed()));
        });
    }

    /// Every connection ends with its session.
    pub(crate) fn close_all(&self) {
        let open: Vec<RowId> =
            self.rows().reached.iter().filter(|row| row.is_open).map(|row| row.id).collect();
        for id in open {
            self.close(id);
        }
    }

    /// Takes up to `most` entries that were not reported, or that have ended since.
    pub(crate) fn take_batch(&self, most: usize) -> LedgerBatch {
        let mut rows = self.rows();
        if rows.unreported == 0 {
            return LedgerBatch { entries: Vec::new(), lost: std::mem::take(&mut rows.lost) };
        }
        let mut waiting: Vec<&mut Row> =
            rows.rings_mut().into_iter().flatten().filter(|row| row.waits()).collect();
        waiting.sort_by_key(|row| row.id);
        waiting.truncate(most);
        let report = |row: &mut Row| {
            row.reported = if row.is_open { Reported::Beginning } else { Reported::Everything };
            row.counted()
        };
        let entries: Vec<LedgerEntry> = waiting.into_iter().map(report).collect();
        rows.unreported -= entries.len();
        LedgerBatch { entries, lost: std::mem::take(&mut rows.lost) }
    }

    /// Resolves when a batch's worth of entries waits to be reported.
    pub(crate) async fn batch_ready(&self) {
        self.batch_ready.notified().await;
    }

    fn change(&self, id: RowId, change: impl FnOnce(&mut Row)) {
        let mut rows = self.rows();
        let index = rows.reached.binary_search_by_key(&id, |row| row.id);
        let Some(row) = index.ok().and_then(|index| rows.reached.get_mut(index)) else { return };
        let waited = row.waits();
        change(row);
        let newly = !waited && row.waits();
        rows.unreported += usize::from(newly);
        self.announce(&rows);
    }

    fn announce(&self, rows: &Rows) {
        if rows.unreported >= BATCH_ENTRIES {
            self.batch_ready.notify_one();
        }
    }

    fn entry(
        &self,
        request: RequestSummary,
        address: Option<SocketAddr>,
        verdict: EgressOutcome,
    ) -> LedgerEntry {
        let RequestSummary { method, host, port, path } = request;
        LedgerEntry {
            id: 0,
            at: Timestamp::now(),
            method,
            host,
            port,
            address,
            path,
            status: None,
            verdict,
            bytes_up: 0,
            bytes_down: 0,
            duration_ms: None,
            action: self.latest_action(),
        }
    }

    fn add(
        &self,
        request: RequestSummary,
        address: Option<SocketAddr>,
        verdict: EgressOutcome,
        meter: Arc<Meter>,
    ) -> RowId {
        let entry = self.entry(request, address, verdict);
        self.push(entry, Some(meter), verdict == EgressOutcome::Allowed, |rows| match verdict {
            EgressOutcome::Allowed => &mut rows.reached,
            EgressOutcome::Failed(_) => &mut rows.failed,
            EgressOutcome::Refused(_) => &mut rows.refused,
        })
    }

    fn push(
        &self,
        entry: LedgerEntry,
        meter: Option<Arc<Meter>>,
        is_open: bool,
        ring: impl FnOnce(&mut Rows) -> &mut VecDeque<Row>,
    ) -> RowId {
        let mut rows = self.rows();
        let id = RowId(rows.next);
        rows.next += 1;
        let entry = LedgerEntry { id: id.0, ..entry };
        let ring = ring(&mut rows);
        let removed = if ring.len() == self.capacity { ring.pop_front() } else { None };
        let (began, reported) = (Instant::now(), Reported::Nothing);
        ring.push_back(Row { id, entry, meter, began, is_open, reported });
        rows.unreported += 1;
        if let Some(removed) = removed {
            rows.dropped += 1;
            rows.lost += u64::from(removed.reported != Reported::Everything);
            rows.unreported -= usize::from(removed.waits());
        }
        self.announce(&rows);
        id
    }

    pub(crate) fn snapshot(&self) -> LedgerSnapshot {
        let rows = self.rows();
        let mut all: Vec<&Row> = rows.rings().into_iter().flatten().collect();
        all.sort_by_key(|row| row.id);
        LedgerSnapshot { entries: all.into_iter().map(Row::counted).collect(), dropped: rows.dropped }
    }

    pub(crate) fn last_failure(&self, host: &str) -> Option<EgressFailure> {
        let host = HostName::parse(host)?.to_string();
        let rows = self.rows();
        let latest =
            rows.connections().into_iter().filter_map(|ring| ring.iter().rfind(|row| row.entry.host == host));
        failure(&latest.max_by_key(|row| row.id)?.entry)
    }

    /// The latest request, if it failed: the target of a redirect, for instance.
    pub(crate) fn newest_failure(&self) -> Option<EgressFailure> {
        let rows = self.rows();
        let newest = rows.connections().into_iter().filter_map(VecDeque::back).max_by_key(|row| row.id)?;
        failure(&newest.entry)
    }

    /// Rows are consistent between any two statements, so a poisoned lock is safe to use.
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failure(entry: &LedgerEntry) -> Option<EgressFailure> {
    let LedgerEntry { at, host, port, verdict, .. } = entry;
    match *verdict {
        EgressOutcome::Allowed => None,
        EgressOutcome::Refused(reason) | EgressOutcome::Failed(reason) => {
            Some(EgressFailure { at: *at, host: host.clone(), port: *port, reason })
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Rows {
    fn connections(&self) -> [&VecDeque<Row>; 3] {
        [&self.reached, &self.failed, &self.refused]
    }

    fn rings(&self) -> [&VecDeque<Row>; 4] {
        [&self.reached, &self.failed, &self.refused, &self.requests]
    }

    fn rings_mut(&mut self) -> [&mut VecDeque<Row>; 4] {
        [&mut self.reached, &mut self.failed, &mut self.refused, &mut self.requests]
    }
}

#[cfg(test)]
mod tests;
