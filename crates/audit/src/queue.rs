//! The queue to the writer: bounded, with a slot reserved for the outcome of every intent.

use crate::error::AuditError;
use redact::Redacted;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Jobs that may wait for the disk; beyond that, callers get [`AuditError::Busy`].
pub const MAX_WAITING: usize = 1024;
/// Intents without an outcome; beyond that, the next intent is refused.
const MAX_INTENTS: usize = 1024;

pub type Answer = Result<(), Arc<io::Error>>;

/// How an event is treated when the disk is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineClass {
    /// Starts something whose end must be recorded: refused if there is no space for both.
    Opening,
    /// The end of something: never refused.
    Closing,
    /// Refused if there is no space.
    Required,
    /// It has happened already, and nobody waits for it. Counted if there is no space.
    BestEffort,
}

pub enum Job {
    Line(Line),
    /// Drop the segments that begin before this line, with the reason.
    Trim {
        before: u64,
        why: Redacted,
        done: oneshot::Sender<Result<u64, Arc<io::Error>>>,
    },
}

pub struct Line {
    /// The fields of the event, as JSON without its braces.
    pub fields: String,
    pub class: LineClass,
    /// Where the caller waits, if one does.
    pub durable: Option<oneshot::Sender<Answer>>,
}

/// Room for one job in the queue, released when the writer takes the job.
pub struct Slot {
    _permit: OwnedSemaphorePermit,
}

/// A job and the slot that it takes up.
pub struct Queued {
    pub job: Job,
    _slot: Slot,
}

#[derive(Clone)]
pub struct Queue {
    /// Bounded by the slots: each message holds one.
    jobs: Sender<Queued>,
    waiting: Arc<Semaphore>,
    outcomes: Arc<Semaphore>,
}

impl Queue {
    pub fn new() -> (Queue, Receiver<Queued>) {
        let (jobs, receiver) = channel();
        let waiting = Arc::new(Semaphore::new(MAX_WAITING));
        let outcomes = Arc::new(Semaphore::new(MAX_INTENTS));
        (Queue { jobs, waiting, outcomes }, receiver)
    }

    /// Fails if the queue is full.
    pub fn send(&self, job: Job) -> Result<(), AuditError> {
        self.send_reserved(take_slot(&self.waiting)?, job)
    }

    /// Reserves a slot for the outcome of an intent that is about to be recorded.
    pub fn reserve_outcome(&self) -> Result<Slot, AuditError> {
        take_slot(&self.outcomes)
    }

    /// Fails only if the writer is gone.
    pub fn send_reserved(&self, slot: Slot, job: Job) -> Result<(), AuditError> {
        self.jobs.send(Queued { job, _slot: slot }).map_err(|_| AuditError::Gone)
    }
}

fn take_slot(slots: &Arc<Semaphore>) -> Result<Slot, AuditError> {
    Arc::clone(slots).try_acquire_owned().map(|_permit| Slot { _permit }).map_err(|_| AuditError::Busy)
}
