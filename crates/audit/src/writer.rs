//! The thread that owns the log: it writes what is waiting as one group, syncs once, then answers everyone.
//!
//! On a full disk an intent is refused, and the outcome of one that was accepted is not lost: room for it was set
//! aside before the intent was written. Where a file system cannot do that, outcomes are held in memory, a bounded
//! number of them, and written before anything else once there is room.

use crate::chain::Segment;
use crate::event::{About, Event, EventKind};
use crate::head::Head;
use crate::store::Store;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Lines that may wait for the disk; a caller beyond that is told that the log is busy.
const WAITING: usize = 1024;
/// Lines written under one sync.
const GROUP: usize = 256;
/// Outcomes held in memory while the disk is full; one more is lost, and its loss is counted and told.
const MOST_HELD: usize = 1024;
/// What is set aside for each outcome that is still to come. `Event` keeps outcomes shorter than that.
pub const OUTCOME_BYTES: u64 = 8 * 1024;
/// Outcomes that room is set aside for; there are never more sessions than this.
const MOST_EXPECTED: u64 = 1024;
/// What the number, the hashes and the signature add to an event.
const FRAME_BYTES: usize = 512;
/// How often a full disk is looked at again while something is held.
const AGAIN: Duration = Duration::from_millis(500);

pub type Answer = Result<(), Arc<io::Error>>;

/// What an event means for the room on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It starts something whose end must be recorded: refused if there is no room for both.
    Begins,
    /// The end of something that was begun.
    Ends,
    /// Refused if there is no room.
    Other,
    /// Something that has happened already and waits for nobody: counted if there is no room.
    Seen,
}

pub enum Job {
    Line(Line),
    /// Drop the segments that begin before this line, with the reason.
    Trim {
        before: u64,
        why: String,
        done: oneshot::Sender<Result<u64, Arc<io::Error>>>,
    },
}

pub struct Line {
    /// The fields of the event, as JSON without its braces.
    pub fields: String,
    pub class: Class,
    /// Nobody waits for an event that was seen.
    pub durable: Option<oneshot::Sender<Answer>>,
}

pub struct Writer {
    store: Store,
    heads: watch::Sender<Head>,
    /// Ends that are still to come.
    expected: u64,
    held: VecDeque<String>,
    lost: u64,
}

pub fn spawn(store: Store, head: Head) -> io::Result<(SyncSender<Job>, watch::Receiver<Head>)> {
    let (jobs, waiting) = sync_channel(WAITING);
    let (heads, newest) = watch::channel(head);
    let mut writer = Writer { store, heads, expected: 0, held: VecDeque::new(), lost: 0 };
    std::thread::Builder::new().name("audit".into()).spawn(move || writer.run(&waiting))?;
    Ok((jobs, newest))
}

impl Writer {
    fn run(&mut self, waiting: &Receiver<Job>) {
        loop {
            let first = if self.held.is_empty() {
                waiting.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                waiting.recv_timeout(AGAIN)
            };
            match first {
                Ok(first) => self.serve(std::iter::once(first).chain(waiting.try_iter().take(GROUP - 1))),
                Err(RecvTimeoutError::Timeout) => self.commit(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.commit(Vec::new());
        // The process ends: what could not be given back or synced here is mended at the next start.
        self.store.close().unwrap_or_default();
    }

    fn serve(&mut self, jobs: impl Iterator<Item = Job>) {
        let mut group = Vec::new();
        let mut trims = Vec::new();
        for job in jobs {
            match job {
                Job::Line(line) => group.push(line),
                Job::Trim { before, why, done } => trims.push((before, why, done)),
            }
        }
        self.commit(group);
        for (before, why, done) in trims {
            let dropped = self.store.before(before).and_then(|segments| self.trim(&segments, &why));
            // Whoever asked may have gone; it is done all the same.
            drop(done.send(dropped.map_err(Arc::new)));
        }
    }

    /// Writes what was held, then the group, as far as there is room.
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
        let note = (self.lost > 0).then(|| lost(self.lost));
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

    /// Splits a group into what there is room for, and what is refused and why.
    fn make_room(&mut self, group: Vec<Line>) -> (Vec<Line>, (Vec<Line>, Option<io::Error>)) {
        let size =
            |lines: &[Line]| -> u64 { lines.iter().map(|l| (l.fields.len() + FRAME_BYTES) as u64).sum() };
        let held: u64 = self.held.iter().map(|l| (l.len() + FRAME_BYTES) as u64).sum();
        let begun = group.iter().filter(|line| line.class == Class::Begins).count() as u64;
        let reserve = (self.expected + begun).min(MOST_EXPECTED) * OUTCOME_BYTES;
        let Err(full) = self.store.make_room(held + size(&group), reserve) else {
            return (group, (Vec::new(), None));
        };
        let (mut ends, rest): (Vec<_>, Vec<_>) = group.into_iter().partition(|it| it.class == Class::Ends);
        let (seen, refused): (Vec<_>, Vec<_>) = rest.into_iter().partition(|it| it.class == Class::Seen);
        // Those use what was set aside, and leave the ends that are still to come theirs.
        let left = self.expected.saturating_sub(ends.len() as u64).min(MOST_EXPECTED) * OUTCOME_BYTES;
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
        self.expected = (self.expected + count(Class::Begins)).saturating_sub(count(Class::Ends));
        // A head that cannot be written leaves the log ahead of it, which the next one mends.
        if let Ok(head) = self.store.sign_head() {
            self.heads.send_replace(head);
        }
        answer(group, &Ok(()));
        let reserve = self.expected.min(MOST_EXPECTED) * OUTCOME_BYTES;
        if self.store.rotate_if_long(reserve).unwrap_or(false) {
            let dropped = self.store.over_size().unwrap_or_default();
            // Tried again at the next rotation; the log is a little larger until then.
            self.trim(&dropped, "the log's size").unwrap_or_default();
        }
    }

    /// Ends are kept for later; everyone else learns that it failed.
    fn failed(&mut self, group: Vec<Line>, error: io::Error) {
        let (ends, rest): (Vec<_>, Vec<_>) = group.into_iter().partition(|line| line.class == Class::Ends);
        let (seen, refused): (Vec<_>, Vec<_>) = rest.into_iter().partition(|line| line.class == Class::Seen);
        self.lost += seen.len() as u64;
        for mut line in ends {
            self.expected = self.expected.saturating_sub(1);
            if self.held.len() < MOST_HELD {
                self.held.push_back(std::mem::take(&mut line.fields));
                answer(vec![line], &Ok(()));
            } else {
                self.lost += 1;
                answer(vec![line], &Err(Arc::new(io::Error::from(error.kind()))));
            }
        }
        answer(refused, &Err(Arc::new(error)));
    }

    /// Notes what is dropped, then drops it.
    fn trim(&mut self, dropped: &[Segment], why: &str) -> io::Result<u64> {
        let (Some(oldest), Some(newest)) = (dropped.first(), dropped.last()) else { return Ok(0) };
        let bytes: u64 = dropped.iter().map(|segment| segment.bytes).sum();
        let detail = format!(
            "{} segments, {} to {}, {bytes} bytes, because of {why}",
            dropped.len(),
            oldest.name(),
            newest.name()
        );
        let event =
            Event::new(EventKind::LogTrimmed, About::stockade()).detail(&detail).count(dropped.len() as u64);
        let fields = crate::log::fields(&event).map_err(io::Error::other)?;
        self.store.make_room((fields.len() + FRAME_BYTES) as u64, self.expected * OUTCOME_BYTES)?;
        self.store.write(&[&fields])?;
        if let Some(head) = self.store.drop_segments(dropped)? {
            self.heads.send_replace(head);
        }
        Ok(dropped.len() as u64)
    }
}

fn lost(count: u64) -> String {
    let event = Event::new(EventKind::EventsLost, About::stockade())
        .detail("there was no room to record them")
        .count(count);
    // An event of ours without any text of others has words.
    crate::log::fields(&event).unwrap_or_default()
}

fn answer(group: Vec<Line>, answer: &Answer) {
    for line in group {
        if let Some(durable) = line.durable {
            // A caller that was cancelled does not wait for its answer; the line stands all the same.
            drop(durable.send(answer.clone()));
        }
    }
}
