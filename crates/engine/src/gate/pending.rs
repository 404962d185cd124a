//! Actions that wait, or waited, for an approval. A later call can fetch the result of each by its id.

use super::Reply;
use crate::approvals::{ApprovalId, pending};
use crate::error::Fault;
use error_code::ErrorCode;
use policy::Scope;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Maximum number of kept results. The oldest finished one is removed first.
const MAX_RESULTS: usize = 128;

type ActionResult = Result<Reply, Fault>;

/// The pending actions of all sessions. Clones share their state.
#[derive(Clone, Default)]
pub struct PendingActions(Arc<Mutex<VecDeque<PendingAction>>>);

/// One action that waits for its approval or has its result.
#[derive(Clone)]
pub struct PendingAction {
    pub id: ApprovalId,
    scope: Scope,
    result: watch::Receiver<Option<Arc<ActionResult>>>,
}

/// Publishes the result of a pending action. If it is dropped without one, waiting calls get an error.
pub(super) struct PendingResultSender(watch::Sender<Option<Arc<ActionResult>>>);

impl PendingResultSender {
    pub fn send(self, result: ActionResult) {
        self.0.send_replace(Some(Arc::new(result)));
    }
}

impl PendingActions {
    pub(super) fn add(&self, id: &ApprovalId, scope: &Scope) -> (PendingAction, PendingResultSender) {
        let (sender, result) = watch::channel(None);
        let pending = PendingAction { id: id.clone(), scope: scope.clone(), result };
        let mut kept = self.lock();
        if kept.len() >= MAX_RESULTS
            && let Some(oldest) = kept.iter().position(|pending| pending.is_done())
        {
            kept.remove(oldest);
        }
        kept.push_back(pending.clone());
        (pending, PendingResultSender(sender))
    }

    /// Finds a pending action of this scope.
    pub fn find(&self, scope: &Scope, id: &ApprovalId) -> Option<PendingAction> {
        self.lock().iter().find(|pending| pending.id == *id && pending.scope == *scope).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<PendingAction>> {
        // The list stays consistent across a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingAction {
    fn is_done(&self) -> bool {
        self.result.borrow().is_some() || self.result.has_changed().is_err()
    }

    /// Returns the result, or `approval_pending` if there is none within `timeout`.
    pub async fn result(&self, timeout: Duration) -> ActionResult {
        let mut result = self.result.clone();
        let done = tokio::time::timeout(timeout, result.wait_for(Option::is_some)).await;
        match done {
            Ok(Ok(done)) => match done.as_deref() {
                Some(result) => result.clone(),
                None => Err(lost()),
            },
            Ok(Err(_)) => Err(lost()),
            Err(_) => Err(pending(&self.id, "an operator has not answered yet")),
        }
    }
}

fn lost() -> Fault {
    Fault::new(ErrorCode::Internal, "the result of the action is lost")
}
