//! Questions to people and their answers. Each question gets one answer, whoever gives it and through whichever channel.
//!
//! The database row is authoritative. An answer is one UPDATE of a row that still waits, so two answers cannot both
//! count. An answer from another process is found by polling the row.

mod allowances;
mod approval;
mod open_question;
mod pending_approval;
mod rate_limiter;
mod rows;
mod store;

#[cfg(test)]
mod tests;

pub use allowances::SessionAllowances;
pub use approval::{
    Approval, ApprovalCard, ApprovalChange, ApprovalFilter, ApprovalId, ApprovalKind, ApprovalScreenshot,
    ApprovalState, CardFact, DOMAIN_APPROVAL_EFFECT, Decider, DecisionChannel, ElementCard, Verdict,
    is_other_site,
};
pub use open_question::OpenQuestion;
pub use pending_approval::{ApprovedAction, PendingApproval};
pub use store::{ApprovalStore, NewQuestion, pending, unknown};

use std::time::Duration;

/// Settings of approvals.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalSettings {
    /// A question without an answer in this time is denied.
    pub timeout: Duration,
    /// Questions of one session per minute. Further ones are denied without asking.
    pub most_a_minute: u32,
}
