//! Waits for the answer to one question.

use super::{Approval, ApprovalState, ApprovalStore};
use crate::error::Fault;
use std::time::{Duration, Instant};

/// Polling interval of the row: another process with the same state folder may answer.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A question that waits for its answer. Dropping it frees the session's slot for the next question.
#[must_use]
pub struct OpenQuestion {
    pub(super) store: ApprovalStore,
    pub(super) approval: Approval,
    pub(super) deadline: Instant,
}

impl OpenQuestion {
    pub(super) fn authority(&self) -> &audit::ApprovalAuthority {
        self.store.authority()
    }

    pub fn approval(&self) -> &Approval {
        &self.approval
    }

    /// Waits until the question is answered or expires.
    pub async fn answered(&self) -> Result<Approval, Fault> {
        let mut changes = self.store.watch();
        loop {
            let is_expired = Instant::now() >= self.deadline;
            match self.store.find(&self.approval.id).await {
                Ok(Some(found)) if found.state != ApprovalState::Waiting => {
                    self.store.publish(&found);
                    return Ok(found);
                }
                // An answer may arrive at this moment; the next poll finds it.
                Ok(Some(_)) if is_expired => {
                    self.store.close(&self.approval.id, ApprovalState::Expired).await?
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    return Ok(Approval { state: ApprovalState::Interrupted, ..self.approval.clone() });
                }
                Err(fault) if is_expired => return Err(fault),
                Err(fault) => tracing::warn!(%fault, "a question could not be looked at"),
            }
            if is_expired {
                continue;
            }
            let pause = POLL_INTERVAL.min(self.deadline.saturating_duration_since(Instant::now()));
            let next_poll = tokio::time::Instant::now() + pause;
            loop {
                tokio::select! {
                    changed = changes.recv() => match changed {
                        Ok(change) if change.id != self.approval.id => {}
                        // This question changed, or the receiver lagged and may have missed it.
                        _ => break,
                    },
                    () = tokio::time::sleep_until(next_poll) => break,
                }
            }
        }
    }

    /// Closes the question because its answer is no longer needed. An earlier answer stands.
    pub async fn withdraw(&self) -> Result<(), Fault> {
        self.store.close(&self.approval.id, ApprovalState::Withdrawn).await
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.store.release_slot(&self.approval.id);
    }
}
