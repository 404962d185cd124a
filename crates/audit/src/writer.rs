//! The thread that owns the log: it writes all waiting lines as one group, syncs once, then answers their callers.
//!
//! On a full disk an intent is refused. The outcome of an accepted intent is not lost: space for it was reserved before
//! the intent was written. Where a file system cannot reserve space, a bounded number of outcomes is held in memory and
//! written before anything else once there is space.

use crate::chain::Segment;
use crate::event::{Event, EventKind, EventSubject, fields};
use crate::head::Head;
use crate::queue::{Answer, Job, Line, LineClass, MAX_WAITING, Queue, Queued};
use crate::store::Store;
use redact::Redacted;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use tokio::sync::watch;

/// Lines written under one sync.
const GROUP: usize = 256;
/// Outcomes held in memory while the disk is full; further ones are lost, and their number is recorded.
const MAX_HELD: usize = MAX_WAITING;
/// The space reserved for each outcome that is still to come. `Event` keeps outcomes shorter.
pub const OUTCOME_BYTES: u64 = 8 * 1024;
/// Outcomes that space is reserved for; there are never more intents than this.
const MAX_EXPECTED: u64 = 1024;
/// The size of the number, the hashes and the signature of a line.
const FRAME_BYTES: usize = 512;
/// The time between two attempts to write held outcomes.
const RETRY_DELAY: Duration = Duration::from_millis(500);

pub struct Writer {
    store: Store,
    heads: watch::Sender<Head>,
    /// Closing lines that are still to come.
    expected: u64,
    held: VecDeque<String>,
    lost: u64,
    /// Rotation or trimming failed last time, and that was logged.
    is_upkeep_failing: bool,
}

pub fn spawn(store: Store, head: Head) -> io::Result<(Queue, watch::Receiver<Head>)> {
    let (queue, waiting) = Queue::new();
    let (heads, newest) = watch::channel(head);
    let mut writer =
        Writer { store, heads, expected: 0, held: VecDeque::new(), lost: 0, is_upkeep_failing: false };
    std::thread::Builder::new().name("audit".into()).spawn(move || writer.run(&waiting))?;
    Ok((queue, newest))
}

impl Writer {
    fn run(&mut self, waiting: &Receiver<Queued>) {
        loop {
            let first = if self.held.is_empty() {
                waiting.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                waiting.recv_timeout(RETRY_DELAY)
            };
            match first {
                Ok(first) => self.serve(std::iter::once(first).chain(waiting.try_iter().take(GROUP - 1))),
                Err(RecvTimeoutError::Timeout) => self.commit(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.commit(Vec::new());
        if let Err(error) = self.store.close() {
            tracing::warn!(%error, "the audit log was not closed cleanly; the next start repairs it");
        }
    }

    fn serve(&mut self, queued: impl Iterator<Item = Queued>) {
        let mut group = Vec::new();
        let mut trims = Vec::new();
        for queued in queued {
            match queued.job {
                Job::Line(line) => group.push(line),
                Job::Trim { before, why, done } => trims.push((before, why, done)),
            }
        }
        self.commit(group);
        for (before, why, done) in trims {
            let dropped = self.store.before(before).and_then(|segments| self.trim(&segments, &why));
            if let Err(Err(error)) = done.send(dropped.map_err(Arc::new)) {
                tracing::warn!(%error, "old audit segments were not dropped, and the caller is gone");
            }
        }
    }

    /// Writes held outcomes, then the group, as far as there is space.
    fn commit(&mut self, group: Vec<Line>) {
        if group.is_empty() && self.held.is_empty() {
            return;
        }
        let (accepted, refused) = self.make_room(group);
        if let Some(error) = refused.1 {
            answer(refused.0, &Err(Arc::new(error)));
        }
        if accepted.is_empty() && self.held.is_empty() {
            return;
        }
        let note = self.describe_lost();
        let held: Vec<String> = self.held.iter().cloned().collect();
        let events: Vec<&str> = held
            .iter()
            .map(String::as_str)
            .chain(note.as_deref())
            .chain(accepted.iter().map(|line| line.fields.as_str()))
            .collect();
        match self.store.write(&events) {
            Ok(()) => self.written(accepted),
            Err(error) => self.failed(accepted, error),
        }
    }

    /// Splits a group into what there is space for, and what is refused and why.
    fn make_room(&mut self, group: Vec<Line>) -> (Vec<Line>, (Vec<Line>, Option<io::Error>)) {
        let size =
            |lines: &[Line]| -> u64 { lines.iter().map(|l| (l.fields.len() + FRAME_BYTES) as u64).sum() };
        let held: u64 = self.held.iter().map(|l| (l.len() + FRAME_BYTES) as u64).sum();
        let begun = group.iter().filter(|line| line.class == LineClass::Opening).count() as u64;
        let reserve = (self.expected + begun).min(MAX_EXPECTED) * OUTCOME_BYTES;
        let Err(full) = self.store.make_room(held + size(&group), reserve) else {
            return (group, (Vec::new(), None));
        };
        let (mut ends, rest): (Vec<_>, Vec<_>) =
            group.into_iter().partition(|it| it.class == LineClass::Closing);
        let (seen, refused): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|it| it.class == LineClass::BestEffort);
        // Those use reserved space, and leave enough for the outcomes that are still to come.
        let left = self.expected.saturating_sub(ends.len() as u64).min(MAX_EXPECTED) * OUTCOME_BYTES;
        if self.store.has_room(held + size(&ends) + size(&seen) + left) {
            ends.extend(seen);
        } else {
            self.lost += seen.len() as u64;
        }
        (ends, (refused, Some(full)))
    }

    fn written(&mut self, group: Vec<Line>) {
        self.held.clear();
        self.lost = 0;
        let count = |class| group.iter().filter(|line| line.class == class).count() as u64;
        self.expected = (self.expected + count(LineClass::Opening)).saturating_sub(count(LineClass::Closing));
        // Without it the log is ahead of its head, which the next head makes up for.
        let signed = self.store.sign_head().map(|head| {
            self.heads.send_replace(head);
        });
        answer(group, &Ok(()));
        let trimmed = self.keep_within_limits();
        let kept_up = signed.and(trimmed);
        match &kept_up {
            Err(error) if !self.is_upkeep_failing => {
                tracing::warn!(%error, "the audit log was written, but not signed, rotated or trimmed; it is retried");
            }
            Ok(()) if self.is_upkeep_failing => {
                tracing::info!("the audit log is signed, rotated and trimmed again")
            }
            _ => {}
        }
        self.is_upkeep_failing = kept_up.is_err();
    }

    /// Starts a new segment and drops the oldest ones, where limits ask for it. What fails is retried later: rotation
    /// with the next group, trimming with the next rotation.
    fn keep_within_limits(&mut self) -> io::Result<()> {
        let reserve = self.expected.min(MAX_EXPECTED) * OUTCOME_BYTES;
        if self.store.rotate_if_long(reserve)? {
            let dropped = self.store.over_size()?;
            self.trim(&dropped, &"the log's size".into())?;
        }
        Ok(())
    }

    /// An event for lines that were lost, if there are any.
    fn describe_lost(&self) -> Option<String> {
        if self.lost == 0 {
            return None;
        }
        let event = Event::new(EventKind::EventsLost, EventSubject::stockade())
            .detail("there was no room to record them")
            .count(self.lost);
        let written = fields(&event);
        if let Err(error) = &written {
            tracing::error!(%error, lost = self.lost, "lost events are not on record");
        }
        written.ok()
    }

    /// Closing lines are held for later; all other callers get the error.
    fn failed(&mut self, group: Vec<Line>, error: io::Error) {
        let (ends, rest): (Vec<_>, Vec<_>) =
            group.into_iter().partition(|line| line.class == LineClass::Closing);
        let (seen, refused): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|line| line.class == LineClass::BestEffort);
        self.lost += seen.len() as u64;
        for mut line in ends {
            self.expected = self.expected.saturating_sub(1);
            if self.held.len() < MAX_HELD {
                self.held.push_back(std::mem::take(&mut line.fields));
                answer(vec![line], &Ok(()));
            } else {
                self.lost += 1;
                answer(vec![line], &Err(Arc::new(io::Error::from(error.kind()))));
            }
        }
        answer(refused, &Err(Arc::new(error)));
    }

    /// Records what is dropped, then drops it.
    fn trim(&mut self, dropped: &[Segment], why: &Redacted) -> io::Result<u64> {
        let (Some(oldest), Some(newest)) = (dropped.first(), dropped.last()) else { return Ok(0) };
        let bytes: u64 = dropped.iter().map(|segment| segment.bytes).sum();
        let detail = Redacted::outside_sessions(format!(
            "{} segments, {} to {}, {bytes} bytes, because of {why}",
            dropped.len(),
            oldest.name(),
            newest.name()
        ));
        let event = Event::new(EventKind::LogTrimmed, EventSubject::stockade())
            .detail(detail)
            .count(dropped.len() as u64);
        let fields = fields(&event).map_err(io::Error::other)?;
        self.store.make_room((fields.len() + FRAME_BYTES) as u64, self.expected * OUTCOME_BYTES)?;
        self.store.write(&[&fields])?;
        if let Some(head) = self.store.drop_segments(dropped)? {
            self.heads.send_replace(head);
        }
        Ok(dropped.len() as u64)
    }
}

fn answer(group: Vec<Line>, answer: &Answer) {
    for line in group {
        if let Some(durable) = line.durable {
            let is_failure = answer.is_err();
            // A cancelled caller does not wait any more. Its line stays written.
            if durable.send(answer.clone()).is_err() && is_failure {
                tracing::warn!("an event is not on record, and its caller is gone");
            }
        }
    }
}
