//! Waiting for the answer to one question.

use super::{Approval, Book, State};
use crate::error::Fault;
use std::time::{Duration, Instant};

/// How often the row is looked at: an answer may come from another process of the same state folder.
const LOOK: Duration = Duration::from_millis(250);

/// A question that was asked. Dropped, it makes room for the next question of its session.
#[must_use]
pub struct Waiting {
    pub(super) book: Book,
    pub(super) asked: Approval,
    pub(super) until: Instant,
}

impl Waiting {
    pub(super) fn authority(&self) -> &audit::ApprovalAuthority {
        self.book.authority()
    }

    pub fn asked(&self) -> &Approval {
        &self.asked
    }

    /// The question once it is answered or its time is up.
    pub async fn answered(&self) -> Result<Approval, Fault> {
        let mut changes = self.book.watch();
        loop {
            let is_late = Instant::now() >= self.until;
            match self.book.find(&self.asked.id).await {
                Ok(Some(found)) if found.state != State::Waiting => {
                    self.book.told(&found);
                    return Ok(found);
                }
                // Somebody may answer in this very moment; then the next look finds it.
                Ok(Some(_)) if is_late => self.book.close(&self.asked.id, State::Expired).await?,
                Ok(Some(_)) => {}
                Ok(None) => return Ok(Approval { state: State::Interrupted, ..self.asked.clone() }),
                Err(fault) if is_late => return Err(fault),
                Err(fault) => tracing::warn!(%fault, "a question could not be looked at"),
            }
            if is_late {
                continue;
            }
            let nap = LOOK.min(self.until.saturating_duration_since(Instant::now()));
            let looked = tokio::time::Instant::now() + nap;
            loop {
                tokio::select! {
                    changed = changes.recv() => match changed {
                        Ok(change) if change.id != self.asked.id => {}
                        // Ours, or so many that one may have been.
                        _ => break,
                    },
                    () = tokio::time::sleep_until(looked) => break,
                }
            }
        }
    }

    /// Nobody needs the answer any more. The answer that came first stands.
    pub async fn withdraw(&self) -> Result<(), Fault> {
        self.book.close(&self.asked.id, State::Withdrawn).await
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.book.let_go(&self.asked.id);
    }
}
