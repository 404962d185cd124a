//! A policy question that waits for a person's answer. The stored answer is the only way from the question to a permit.

use super::{Approval, ApprovalId, ApprovalKind, ApprovalState, OpenQuestion};
use crate::error::Fault;
use audit::{Allowance, Approved, Approver};
use error_code::ErrorCode;
use policy::{AllowanceScope, DomainPattern, Question};
use redact::redacted;

/// The stored approval and the policy question that it stands for.
pub struct PendingApproval {
    open: OpenQuestion,
    question: Question,
}

/// An approved action and the scope of its approval.
pub struct ApprovedAction {
    pub approved: Approved,
    /// Actions that need no further approval in this session.
    pub allowance: Option<Allowance>,
    /// A domain that is allowed in this session from now on.
    pub domain: Option<DomainPattern>,
}

impl PendingApproval {
    pub fn new(open: OpenQuestion, question: Question) -> PendingApproval {
        PendingApproval { open, question }
    }

    pub fn id(&self) -> &ApprovalId {
        &self.open.approval().id
    }

    /// Waits until the question is answered or expires.
    pub async fn wait(&self) -> Result<(), Fault> {
        self.open.answered().await.map(|_| ())
    }

    /// What a denial of it covers for a while.
    pub fn refusal_scope(&self) -> AllowanceScope {
        self.question.refusal_scope()
    }

    pub async fn withdraw(&self) -> Result<(), Fault> {
        self.open.withdraw().await
    }

    /// Reads the answer from the store.
    pub async fn into_result(self) -> Result<ApprovedAction, Fault> {
        let answered = self.open.answered().await?;
        let by = approver(&answered)?;
        let domain = self.question.domain().cloned();
        let authority = self.open.authority();
        let (approved, allowance) = if answered.approved_for_session {
            authority.approve_for_session(self.question, &by)
        } else {
            (authority.approve(self.question, &by), None)
        };
        Ok(ApprovedAction { approved, allowance, domain })
    }
}

/// Who approved a question; the agent's fault if nobody did.
pub(super) fn approver(answered: &Approval) -> Result<Approver<'_>, Fault> {
    if answered.state != ApprovalState::Approved {
        return Err(refused(answered));
    }
    let (Some(operator), Some(channel)) = (&answered.decided_by, answered.channel) else {
        return Err(Fault::new(ErrorCode::Internal, "an approval does not say who gave it"));
    };
    Ok(Approver { operator: operator.as_str(), channel: channel.as_str(), approval_id: answered.id.as_str() })
}

/// The agent's fault for a denied or expired question.
fn refused(answered: &Approval) -> Fault {
    let (code, message) = match (answered.kind, answered.state) {
        (ApprovalKind::Domain, ApprovalState::Denied) => {
            (ErrorCode::BlockedDomain, "the domain is not on the allowlist, and the operator did not add it")
        }
        (ApprovalKind::Domain, _) => (
            ErrorCode::BlockedDomain,
            "the domain is not on the allowlist, and no operator answered the request to add it in time",
        ),
        (_, ApprovalState::Denied) => (ErrorCode::DeniedByOperator, "the operator denied this action"),
        _ => (ErrorCode::ApprovalTimeout, "no operator answered in time, so the action was denied"),
    };
    let why = answered.note.as_ref().map(|note| redacted!(": {}", note)).unwrap_or_default();
    let hint = if answered.state == ApprovalState::Denied {
        "A person decided this: do not try to reach the same result in another way. Continue without it, or tell the \
         person that you need it."
    } else {
        "Do not try to reach the same result in another way. Tell the person that you need their approval: they answer \
         in the console, and if they cannot log in there yet, `stockade operator link` in a terminal lets them in. Then \
         call again."
    };
    Fault::new(code, redacted!("{}{}", message, why)).hint(hint)
}
