//! Records the egress ledger in the audit log, in batches at a bounded rate.

use super::Session;
use audit::{EgressRecord, Event, EventKind, Log};
use egress::{EgressOutcome, LedgerBatch, LedgerEntry};
use redact::Redacted;
use std::sync::Arc;
use std::time::Duration;

/// The most entries in one event. A line of the log holds them all, whatever their hosts and paths are.
const MOST_ENTRIES: usize = 40;

/// How long an entry waits for others.
const INTERVAL: Duration = Duration::from_secs(2);

/// Pause per recorded entry. A page in a loop gets about a hundred a second; the rest is counted.
const PAUSE_PER_ENTRY: Duration = Duration::from_millis(10);

/// Records until the session ends. What is left then is recorded by [`record_rest`].
pub async fn record_egress(session: Arc<Session>, log: Log) {
    let Some(journal) = session.journal.clone() else { return };
    loop {
        tokio::select! {
            () = tokio::time::sleep(INTERVAL) => {}
            () = journal.batch_ready() => {}
            () = session.action_done.notified() => {}
            _ = session.until_ended() => return,
        }
        loop {
            let taken = record_batch(&session, &log, &journal.take_batch(MOST_ENTRIES)).await;
            let pause = PAUSE_PER_ENTRY * u32::try_from(taken).unwrap_or(u32::MAX);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = session.until_ended() => return,
            }
            if taken < MOST_ENTRIES {
                break;
            }
        }
    }
}

/// Records what is left when the session has ended: its connections end with it.
pub async fn record_rest(session: &Session, log: &Log) {
    let Some(journal) = &session.journal else { return };
    journal.close();
    while record_batch(session, log, &journal.take_batch(MOST_ENTRIES)).await == MOST_ENTRIES {}
}

/// Appends one event. Returns the number of entries.
async fn record_batch(session: &Session, log: &Log, batch: &LedgerBatch) -> usize {
    if batch.entries.is_empty() && batch.lost == 0 {
        return 0;
    }
    let entries = batch.entries.iter().map(|entry| record(session, entry)).collect();
    let mut event = Event::new(EventKind::Egress, session.event_subject()).egress(entries);
    if batch.lost > 0 {
        event = event.detail("more connections than are recorded individually").count(batch.lost);
    }
    if let Err(error) = log.append(&event).await {
        tracing::error!(%error, session = %session.id, "a part of the egress ledger is not on record");
    }
    batch.entries.len()
}

/// An entry for the log. A page can put a secret or typed text into a host name or a path.
fn record(session: &Session, entry: &LedgerEntry) -> EgressRecord {
    let redact = |text: &str| session.typed_text.redact(text);
    let (result, reason) = match entry.verdict {
        EgressOutcome::Allowed => ("allowed", None),
        EgressOutcome::Refused(reason) => ("refused", Some(reason)),
        EgressOutcome::Failed(reason) => ("failed", Some(reason)),
    };
    EgressRecord {
        id: entry.id,
        at: entry.at,
        method: redact(&entry.method),
        host: redact(&entry.host),
        port: entry.port,
        address: entry.address.map(|address| Redacted::outside_sessions(address.to_string())),
        path: entry.path.as_deref().map(redact),
        status: entry.status,
        result,
        code: reason.map(|reason| Redacted::from_safe(reason.code())),
        bytes_up: entry.bytes_up,
        bytes_down: entry.bytes_down,
        duration_ms: entry.duration_ms,
        action: entry.action,
    }
    .sanitized()
}
