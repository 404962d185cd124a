//! The append-only audit log of what was asked, decided and done, and the only maker of what the driver performs.
//!
//! One line of JSON an event, each with its number and the hash of the line before it, in segments, under a signed head.
//! [`Log::intend`] consumes an [`Authorization`], records it durably, and returns the [`Permitted`] that the driver
//! takes. An authorization comes from a [`policy::Permit`], or from an [`Approved`] question that was rechecked.
//!
//! Only this crate makes a [`Permitted`]:
//! ```compile_fail,E0451
//! fn forge(action: policy::Action, facts: policy::Facts) -> audit::Permitted {
//!     audit::Permitted { action, facts }
//! }
//! ```
//! ```compile_fail,E0624
//! fn skip_the_log(permit: policy::Permit) -> audit::Permitted {
//!     audit::Authorization::from(permit).into_permitted()
//! }
//! ```
//! A question is no authorization without an operator:
//! ```compile_fail,E0277
//! fn skip_the_operator(question: policy::Question) -> audit::Authorization {
//!     question.into()
//! }
//! ```
//! ```compile_fail,E0451
//! fn forge(question: policy::Question) -> audit::Approved {
//!     audit::Approved { question, approved_by: "nobody".into() }
//! }
//! ```
//! The authority to approve has no constructor and no copy:
//! ```compile_fail,E0451
//! fn forge() -> audit::ApprovalAuthority {
//!     audit::ApprovalAuthority { _sealed: () }
//! }
//! ```
//! ```compile_fail,E0624
//! fn forge() -> audit::ApprovalAuthority {
//!     audit::ApprovalAuthority::new()
//! }
//! ```
//! ```compile_fail,E0599
//! fn duplicate(authority: audit::ApprovalAuthority) -> (audit::ApprovalAuthority, audit::ApprovalAuthority) {
//!     (authority.clone(), authority)
//! }
//! ```
//! An approval is used once:
//! ```compile_fail,E0382
//! fn use_twice(approved: audit::Approved, now: policy::Facts) {
//!     drop((approved.recheck(now.clone()), approved.recheck(now)));
//! }
//! ```
//! An allowance for a session comes only from an approval:
//! ```compile_fail,E0451
//! fn forge(scope: policy::AllowanceScope) -> audit::Allowance {
//!     audit::Allowance { scope, approved_by: "nobody".into() }
//! }
//! ```
//! No request is permitted without the log:
//! ```compile_fail,E0451
//! fn forge(digest: policy::EffectDigest, url: String, intent: audit::Intent) -> audit::PermittedEffect {
//!     audit::PermittedEffect { digest, url, intent }
//! }
//! ```
//! Nor authorized without a permit or an operator:
//! ```compile_fail,E0277
//! fn skip(question: policy::EffectQuestion) -> audit::EffectAuthorization {
//!     question.into()
//! }
//! ```

mod approval;
mod authorization;
mod chain;
mod csv;
mod deferred_navigation;
mod digest;
mod effect;
mod effect_gate;
mod egress;
mod error;
mod event;
mod head;
mod input;
mod key;
mod line;
mod log;
mod queue;
mod read;
mod recover;
mod sanitize;
mod store;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub use approval::{Allowance, ApprovalAuthority, Approved, Approver};
pub use authorization::{Authorization, Permitted};
pub use chain::{chain_folders, missing_chains, segments};
pub use csv::{COLUMNS, csv_header, csv_row};
pub use deferred_navigation::{DeferredNavigations, KeptNavigation, ReleasedNavigation};
pub use digest::{sha256, sha256_hex};
pub use effect::{
    EffectAllowance, EffectAuthorization, EffectRecordContext, NavigationReplay, PermittedEffect,
};
pub use effect_gate::{Cleared, EffectDecided, EffectGate, EffectRefused, NavigationTicket};
pub use egress::EgressRecord;
pub use error::AuditError;
pub use event::{CorrelationId, Event, EventKind, EventSubject, StoredScreenshot};
pub use head::{Head, read_head};
pub use key::{Key, KeyError, PublicKey};
pub use line::{LONGEST_LINE, parse as parse_line};
pub use log::{ActionContext, Intent, Log, LogOptions};
pub use read::{
    EventFilter, Follower, LogEntry, UnfinishedSession, read_all, read_last, unfinished_sessions,
};
pub use sanitize::{sanitize, sanitize_redacted, sanitize_redacted_within, sanitize_within};
pub use verify::{Defect, DefectKind, IncompleteTail, Location, Report, verify, verify_lines};
