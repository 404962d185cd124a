//! The time limit of an action, and its errors.

use crate::{cdp::CallError, error::BrowserError, text::AttributedText};
use std::time::Duration;
use tokio::time::Instant;

/// The time limit of a call, starting now. Resolving and performing an action share it.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit {
    given: Duration,
    at: Instant,
}

impl TimeLimit {
    pub fn new(given: Duration) -> TimeLimit {
        TimeLimit { given, at: Instant::now() + given }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub at: Instant,
    action: &'static str,
    /// The whole limit, for the error message.
    given: Duration,
}

impl Deadline {
    pub fn after(time: Duration, action: &'static str) -> Deadline {
        Deadline::of(TimeLimit::new(time), action)
    }

    pub fn of(limit: TimeLimit, action: &'static str) -> Deadline {
        Deadline { at: limit.at, action, given: limit.given }
    }

    /// The same deadline, or an earlier one.
    pub fn within(self, time: Duration) -> Deadline {
        Deadline { at: self.at.min(Instant::now() + time), ..self }
    }

    /// The same deadline, earlier by this much: the rest is for cleaning up.
    pub fn reserving(self, time: Duration) -> Deadline {
        Deadline { at: self.at.checked_sub(time).unwrap_or(self.at), ..self }
    }

    pub fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    pub fn timeout(self) -> BrowserError {
        BrowserError::Timeout { action: self.action, seconds: self.given.as_secs_f64() }
    }

    pub fn error(self, error: CallError) -> BrowserError {
        match error {
            CallError::Timeout { .. } => self.timeout(),
            CallError::Closed { closed } => BrowserError::BrowserLost { closed },
            CallError::Crashed { .. } => BrowserError::TabCrashed { status: None },
            CallError::Detached { .. } => BrowserError::TabClosed,
            CallError::TooLarge { .. } => BrowserError::PageScript {
                reason: AttributedText::Driver("it answered with more than is taken of a page"),
            },
            source => BrowserError::Protocol { source },
        }
    }
}
