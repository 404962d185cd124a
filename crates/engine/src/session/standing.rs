//! How a session stands with the people who watch over it: what they let it do, what it is flagged for, and a pause.

use super::{Session, lock};
use crate::approvals::ApprovalId;
use crate::error::Fault;
use error_code::ErrorCode;
use policy::{SessionContext, SessionMode};
use std::time::{Duration, Instant};

/// Failures that are remembered; a pause comes far earlier, unless it is turned off.
const MOST_FAILURES: usize = 100;

#[derive(Default)]
pub(super) struct Watched {
    flags: Vec<&'static str>,
    /// Codes of the failures since the last success.
    failures: Vec<String>,
    /// What asks for guidance.
    paused: Option<ApprovalId>,
    /// What an operator said, until the agent has read it.
    note: Option<String>,
}

/// Where a session is.
#[derive(Clone, Debug, Default)]
pub struct Whereabouts {
    pub url: String,
    pub title: String,
    pub image: Option<String>,
}

impl Session {
    /// What the policy has to know of it.
    pub fn standing(&self) -> SessionContext {
        let mode = match self.credential_mode {
            super::CredentialMode::Clean => SessionMode::Clean,
            super::CredentialMode::Operator => SessionMode::SignedIn,
        };
        SessionContext { mode, domains: self.given.domains(), home: self.home.clone() }
    }

    pub fn last_place(&self) -> Whereabouts {
        let page = lock(&self.last_page).clone();
        Whereabouts { url: page.url, title: page.title, image: None }
    }

    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    pub fn flag(&self, code: &'static str) {
        self.flag_once(code);
    }

    /// Whether it was not flagged for this before.
    pub fn flag_once(&self, code: &'static str) -> bool {
        let mut watched = lock(&self.watched);
        let is_new = !watched.flags.contains(&code);
        if is_new {
            watched.flags.push(code);
        }
        is_new
    }

    pub fn flags(&self) -> Vec<&'static str> {
        lock(&self.watched).flags.clone()
    }

    pub fn succeeded(&self) {
        lock(&self.watched).failures.clear();
    }

    /// Counts one more failure in a row.
    pub fn failed(&self, code: &ErrorCode) -> u32 {
        let failures = &mut lock(&self.watched).failures;
        if failures.len() < MOST_FAILURES {
            failures.push(code.to_string());
        }
        u32::try_from(failures.len()).unwrap_or(u32::MAX)
    }

    pub fn failures(&self) -> Vec<String> {
        lock(&self.watched).failures.clone()
    }

    pub fn paused_for(&self) -> Option<ApprovalId> {
        lock(&self.watched).paused.clone()
    }

    pub fn pause(&self, guidance: ApprovalId) {
        lock(&self.watched).paused = Some(guidance);
    }

    /// The person said to go on. Said twice, it is heard once.
    pub fn resume(&self, guidance: &ApprovalId, note: Option<String>) {
        let mut watched = lock(&self.watched);
        if watched.paused.as_ref() != Some(guidance) {
            return;
        }
        watched.paused = None;
        watched.failures.clear();
        watched.note = note;
    }

    /// What an operator said and the agent has not read yet.
    pub fn take_note(&self) -> Option<String> {
        lock(&self.watched).note.take()
    }

    /// The fault of a session that waits for guidance.
    pub fn check_running(&self) -> Result<(), Fault> {
        let Some(id) = self.paused_for() else { return Ok(()) };
        let message = "several actions in a row have failed, so the session waits for a person's guidance";
        Err(Fault::new(ErrorCode::SessionPaused { approval: id.to_string() }, message).hint(format!(
            "Reading still works. browser_pending with pending_id {id} tells what the person says; then go on."
        )))
    }
}
