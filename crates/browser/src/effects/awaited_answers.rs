//! Answers to effects that have left. Chromium pauses the response, which tells its status, and goes on at once.

use super::lock;
use crate::cdp::{Id, protocol as p};
use audit::PermittedEffect;
use error_code::ErrorCode;
use redact::{Redacted, redacted};
use std::{collections::HashMap, sync::Mutex};
use tokio::sync::oneshot;

/// Recorded where no answer was seen: the page, the tab or the browser went away first.
const SENT: &str = "sent";

/// The effects of one Chromium that wait for an answer.
#[derive(Default)]
pub(super) struct AwaitedAnswers(Mutex<HashMap<Id, oneshot::Sender<Redacted>>>);

/// An effect that has left, or is about to. Dropped, it is recorded as sent.
pub(super) struct SentEffect(Option<PermittedEffect>);

/// An effect that has left and is not answered yet.
pub(super) struct UnansweredEffect {
    pub answer: oneshot::Receiver<Redacted>,
    pub effect: SentEffect,
}

impl SentEffect {
    pub fn new(permit: PermittedEffect) -> SentEffect {
        SentEffect(Some(permit))
    }

    pub fn complete(mut self, result: &Redacted) {
        if let Some(permit) = self.0.take() {
            permit.complete(result);
        }
    }
}

impl Drop for SentEffect {
    fn drop(&mut self) {
        if let Some(permit) = self.0.take() {
            permit.complete(&SENT.into());
        }
    }
}

impl AwaitedAnswers {
    /// Waits for the answer to a request. Begun before the request leaves, so that no answer comes earlier.
    pub fn begin(&self, id: &Id) -> oneshot::Receiver<Redacted> {
        let (sender, answer) = oneshot::channel();
        lock(&self.0).insert(id.clone(), sender);
        answer
    }

    pub fn end(&self, id: &Id) {
        lock(&self.0).remove(id);
    }

    /// Requests whose answers may have come while nobody listened.
    pub fn take_all(&self) -> Vec<Id> {
        std::mem::take(&mut *lock(&self.0)).into_keys().collect()
    }

    /// Whether this is the answer to a request. Whoever waits for it gets its status.
    pub fn take(&self, paused: &p::RequestPaused) -> bool {
        let result = match (&paused.response_status_code, &paused.response_error_reason) {
            (Some(status), _) => redacted!("{}", *status),
            (None, Some(reason)) => redacted!("{}", failure(reason)),
            (None, None) => return false,
        };
        if let Some(sender) = lock(&self.0).remove(&paused.request_id) {
            // The page may have given the request up in this moment.
            drop(sender.send(result));
        }
        true
    }
}

/// The error code for one of Chromium's reasons.
fn failure(reason: &str) -> &'static str {
    let code = match reason {
        "Aborted" => ErrorCode::EffectWithdrawn,
        "ConnectionRefused" => ErrorCode::ConnectionRefused,
        _ => ErrorCode::ConnectionLost,
    };
    code.name()
}
