//! Questions to people and their answers. Each question gets one answer, whoever gives it and through whichever channel.
//!
//! The database row is authoritative. An answer is one UPDATE of a row that still waits, so two answers cannot both
//! count. An answer from another process is found by polling the row.

mod allowances;
mod approval;
mod open_question;
mod pending_approval;
mod pending_effect;
mod rate_limiter;
mod rows;
mod store;

#[cfg(test)]
mod tests;

pub use allowances::SessionAllowances;
pub use approval::{
    Approval, ApprovalCard, ApprovalChange, ApprovalFilter, ApprovalId, ApprovalKind, ApprovalScreenshot,
    ApprovalState, CardFact, DOMAIN_APPROVAL_EFFECT, Decider, DecisionChannel, EffectCard, EffectFieldCard,
    ElementCard, Verdict, is_other_site,
};
pub use open_question::OpenQuestion;
pub use pending_approval::{ApprovedAction, PendingApproval};
pub use pending_effect::{ApprovedEffect, PendingEffect};
pub use store::{ApprovalStore, NewQuestion, pending, question_open, unknown};

use std::time::Duration;

/// Settings of approvals.
#[derive(Clone, Debug)]
pub struct ApprovalSettings {
    /// A question without an answer in this time is denied.
    pub timeout: Duration,
    /// Questions of one session per minute. Further ones are denied without asking.
    pub most_a_minute: u32,
    /// Rules of the operator's whose questions have another time to answer.
    pub rule_timeouts: Vec<(String, Duration)>,
}

impl ApprovalSettings {
    fn timeout_of(&self, rule: &str) -> Duration {
        let own = self.rule_timeouts.iter().find(|(name, _)| name == rule);
        own.map_or(self.timeout, |(_, timeout)| *timeout)
    }
}
