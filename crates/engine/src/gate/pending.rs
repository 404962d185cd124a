//! Actions that wait for a person, or did: what came of each can be fetched by its id, by a call that came later too.

use super::Reply;
use crate::approvals::{ApprovalId, pending};
use crate::error::Fault;
use error_code::ErrorCode;
use policy::Scope;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Results that are kept; of those that are done, the oldest go first.
const MOST_KEPT: usize = 128;

type Result_ = Result<Reply, Fault>;

#[derive(Clone, Default)]
pub struct Pendings(Arc<Mutex<VecDeque<Pending>>>);

/// One action whose answer is still to come, or has come.
#[derive(Clone)]
pub struct Pending {
    pub id: ApprovalId,
    scope: Scope,
    result: watch::Receiver<Option<Arc<Result_>>>,
}

/// Where the result is put. Dropped without one, whoever waits is told that it is lost.
pub(super) struct Fate(watch::Sender<Option<Arc<Result_>>>);

impl Fate {
    pub fn is(self, result: Result_) {
        self.0.send_replace(Some(Arc::new(result)));
    }
}

impl Pendings {
    pub(super) fn add(&self, id: &ApprovalId, scope: &Scope) -> (Pending, Fate) {
        let (sender, result) = watch::channel(None);
        let pending = Pending { id: id.clone(), scope: scope.clone(), result };
        let mut kept = self.lock();
        if kept.len() >= MOST_KEPT
            && let Some(oldest) = kept.iter().position(|pending| pending.is_done())
        {
            kept.remove(oldest);
        }
        kept.push_back(pending.clone());
        (pending, Fate(sender))
    }

    /// One of this scope's.
    pub fn find(&self, scope: &Scope, id: &ApprovalId) -> Option<Pending> {
        self.lock().iter().find(|pending| pending.id == *id && pending.scope == *scope).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Pending>> {
        // A list is whole after any panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    fn is_done(&self) -> bool {
        self.result.borrow().is_some() || self.result.has_changed().is_err()
    }

    /// What came of it, if that is known within `patience`.
    pub async fn result(&self, patience: Duration) -> Result_ {
        let mut result = self.result.clone();
        let done = tokio::time::timeout(patience, result.wait_for(Option::is_some)).await;
        match done {
            Ok(Ok(done)) => match done.as_deref() {
                Some(result) => result.clone(),
                None => Err(lost()),
            },
            Ok(Err(_)) => Err(lost()),
            Err(_) => Err(pending(&self.id, "a person has been asked, and the answer is still to come")),
        }
    }
}

fn lost() -> Fault {
    Fault::new(ErrorCode::Internal, "what came of the action is lost")
}
