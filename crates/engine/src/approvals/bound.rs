//! A question of the policy's that waits for a person. A yes that is found here is the only way from it to a permit.

use super::{Approval, ApprovalId, Kind, State, Waiting};
use crate::error::Fault;
use audit::{Allowance, Approved, Approver};
use error_code::ErrorCode;
use policy::{DomainPattern, Question};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a session was given leave for, and domains that were added for it; beyond it, it is asked again.
const MOST_GIVEN: usize = 64;

/// The row that is shown to people, and the question that it stands for.
pub struct Bound {
    waiting: Waiting,
    question: Question,
}

/// A yes, and how far it goes.
pub struct Yes {
    pub approved: Approved,
    /// What needs no further question in this session.
    pub allowance: Option<Allowance>,
    /// A domain that is one of the session's from now on.
    pub domain: Option<DomainPattern>,
}

impl Bound {
    pub fn new(waiting: Waiting, question: Question) -> Bound {
        Bound { waiting, question }
    }

    pub fn id(&self) -> &ApprovalId {
        &self.waiting.asked().id
    }

    /// Until it is answered or its time is up.
    pub async fn wait(&self) -> Result<(), Fault> {
        self.waiting.answered().await.map(|_| ())
    }

    pub async fn withdraw(&self) -> Result<(), Fault> {
        self.waiting.withdraw().await
    }

    /// The answer that is on the row.
    pub async fn verdict(self) -> Result<Yes, Fault> {
        let answered = self.waiting.answered().await?;
        if answered.state != State::Approved {
            return Err(refused(&answered));
        }
        let (Some(operator), Some(door)) = (&answered.decided_by, answered.door) else {
            return Err(Fault::new(ErrorCode::Internal, "an approval does not say who gave it"));
        };
        let by = Approver { operator, channel: door.as_str(), approval_id: answered.id.as_str() };
        let domain = self.question.domain().cloned();
        let authority = self.waiting.authority();
        let (approved, allowance) = if answered.approved_for_session {
            authority.approve_for_session(self.question, &by)
        } else {
            (authority.approve(self.question, &by), None)
        };
        Ok(Yes { approved, allowance, domain })
    }
}

/// What a no is to the agent.
fn refused(answered: &Approval) -> Fault {
    let (code, message) = match (answered.kind, answered.state) {
        (Kind::Domain, State::Denied) => {
            (ErrorCode::BlockedDomain, "the domain is not on the allowlist, and the operator did not add it")
        }
        (Kind::Domain, _) => (
            ErrorCode::BlockedDomain,
            "the domain is not on the allowlist, and nobody answered in time whether to add it",
        ),
        (_, State::Denied) => (ErrorCode::DeniedByOperator, "the operator was asked, and said no"),
        _ => (ErrorCode::ApprovalTimeout, "a person was asked, and nobody answered in time, which is a no"),
    };
    let why = answered.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
    Fault::new(code, format!("{message}{why}")).hint(
        "This was decided by a person or for want of one: do not try another way to the same end. Go on without it, or \
         tell the person that you need it.",
    )
}

/// What a person let one session do without asking again. It is gone with the session.
#[derive(Default)]
pub struct Given(Mutex<Lists>);

#[derive(Default)]
struct Lists {
    allowances: Vec<Allowance>,
    domains: Vec<DomainPattern>,
}

impl Given {
    pub fn add(&self, allowance: Allowance) {
        let mut lists = self.lock();
        if lists.allowances.len() < MOST_GIVEN {
            lists.allowances.push(allowance);
        }
    }

    pub fn add_domain(&self, domain: DomainPattern) {
        let mut lists = self.lock();
        if lists.domains.len() < MOST_GIVEN && !lists.domains.contains(&domain) {
            lists.domains.push(domain);
        }
    }

    pub fn domains(&self) -> Vec<DomainPattern> {
        self.lock().domains.clone()
    }

    /// A question that was answered before, for the session; any other comes back.
    #[expect(clippy::result_large_err, reason = "the question goes on to be asked")]
    pub fn covers(&self, question: Question) -> Result<Approved, Question> {
        let lists = self.lock();
        match lists.allowances.iter().find(|allowance| allowance.covers(&question)) {
            Some(allowance) => allowance.approve(question),
            None => Err(question),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lists> {
        // Lists are whole after any panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
