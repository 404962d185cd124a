//! A held effect that waits for a person's answer. The stored answer is the only way from the question to a permit.

use super::pending_approval::approver;
use super::{ApprovalId, OpenQuestion};
use crate::error::Fault;
use audit::{EffectAllowance, EffectAuthorization};
use policy::EffectQuestion;

/// The stored approval and the effect that it stands for.
pub struct PendingEffect {
    open: OpenQuestion,
    question: EffectQuestion,
}

/// An approved effect and the scope of its approval.
pub struct ApprovedEffect {
    pub authorization: EffectAuthorization,
    /// Effects that need no further approval in this session.
    pub allowance: Option<EffectAllowance>,
}

impl PendingEffect {
    pub fn new(open: OpenQuestion, question: EffectQuestion) -> PendingEffect {
        PendingEffect { open, question }
    }

    pub fn id(&self) -> &ApprovalId {
        &self.open.approval().id
    }

    pub fn question(&self) -> &EffectQuestion {
        &self.question
    }

    /// Waits until the question is answered or expires.
    pub async fn wait(&self) -> Result<(), Fault> {
        self.open.answered().await.map(|_| ())
    }

    pub async fn withdraw(&self) -> Result<(), Fault> {
        self.open.withdraw().await
    }

    /// Reads the answer from the store. A refused effect comes back with the agent's fault.
    pub async fn into_result(self) -> Result<ApprovedEffect, (Box<EffectQuestion>, Fault)> {
        let answered = match self.open.answered().await {
            Ok(answered) => answered,
            Err(fault) => return Err((Box::new(self.question), fault)),
        };
        let by = match approver(&answered) {
            Ok(by) => by,
            Err(fault) => return Err((Box::new(self.question), fault)),
        };
        let authority = self.open.authority();
        let (authorization, allowance) = if answered.approved_for_session {
            authority.approve_effect_for_session(self.question, &by)
        } else {
            (authority.approve_effect(self.question, &by), None)
        };
        Ok(ApprovedEffect { authorization, allowance })
    }
}
