//! The time an action has, and how running out of it is told.

use crate::{cdp::CallError, error::BrowserError, page_text::Words};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    pub at: Instant,
    action: &'static str,
    seconds: u64,
}

impl Deadline {
    pub fn after(time: Duration, action: &'static str) -> Deadline {
        Deadline { at: Instant::now() + time, action, seconds: time.as_secs() }
    }

    /// The same deadline, or an earlier one.
    pub fn within(self, time: Duration) -> Deadline {
        Deadline { at: self.at.min(Instant::now() + time), ..self }
    }

    pub fn left(self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    pub fn timeout(self) -> BrowserError {
        BrowserError::Timeout { action: self.action, seconds: self.seconds }
    }

    pub fn error(self, error: CallError) -> BrowserError {
        match error {
            CallError::Timeout { .. } => self.timeout(),
            CallError::Closed { closed } => BrowserError::BrowserLost { closed },
            CallError::Crashed { .. } => BrowserError::TabCrashed { status: None },
            CallError::Detached { .. } => BrowserError::TabClosed,
            CallError::TooLarge { .. } => BrowserError::PageScript {
                reason: Words::Ours("it answered with more than is taken of a page"),
            },
            source => BrowserError::Protocol { source },
        }
    }
}
