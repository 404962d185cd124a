//! Operators' supervision of a session: flags, consecutive failures, the pause and the operator's note.

use super::{Session, lock};
use crate::approvals::ApprovalId;
use crate::error::Fault;
use error_code::ErrorCode;
use policy::{Endpoint, Facts, Origin, SessionContext, SessionMode};
use redact::{Redacted, redacted};
use std::time::{Duration, Instant};

/// Maximum number of remembered failures. A pause comes much earlier unless it is turned off.
const MOST_FAILURES: usize = 100;

#[derive(Default)]
pub(super) struct SupervisionState {
    flags: Vec<&'static str>,
    /// Codes of the failures since the last success.
    failures: Vec<Redacted>,
    /// The question that asks for guidance, and why.
    paused: Option<(ApprovalId, PauseReason)>,
    /// The operator's note until the agent has read it.
    note: Option<Redacted>,
}

/// Why a session waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PauseReason {
    /// Several actions in a row have failed.
    Failures,
    /// The agent typed a credential.
    CredentialTyped,
}

/// The page that a session shows.
#[derive(Clone, Debug, Default)]
pub struct PageLocation {
    pub url: Redacted,
    pub title: Redacted,
    pub image: Option<Redacted>,
}

impl Session {
    /// The session context for a decision on these facts.
    pub fn policy_context(&self, facts: &Facts) -> SessionContext {
        let mode = match self.credential_mode {
            super::CredentialMode::Clean => SessionMode::Clean,
            super::CredentialMode::Operator => SessionMode::SignedIn,
        };
        SessionContext {
            mode,
            domains: self.allowances.domains(),
            home: self.sites.home(),
            allowlists: self.sites.navigation(),
            intercepted: self.intercepted_origins(facts),
        }
    }

    /// The origins among these facts whose requests are decided on: at the proxy, or in the browser. Messages on WebSockets
    /// cannot be held in the browser; once a page has opened one, its elements are decided on instead.
    fn intercepted_origins(&self, facts: &Facts) -> Vec<Origin> {
        let Some(released) = &self.login else { return Vec::new() };
        let elements = facts.target.iter().chain(&facts.to).map(|element| element.origin.clone());
        let dialog = facts.dialog.iter().map(|dialog| dialog.origin.clone());
        let page = std::iter::once(Origin::of(&facts.page_url));
        let all = elements.chain(dialog).chain(page);
        let sites = match &self.effects {
            Some(effects) if !effects.has_undecided_channel() => released.sites_decided_in_browser(),
            _ => Vec::new(),
        };
        let is_decided = |origin: &Origin| {
            let in_browser = |endpoint| sites.iter().any(|site| site.contains(&endpoint));
            released.sealed.seal.intercepts(origin) || Endpoint::of(origin.as_str()).is_some_and(in_browser)
        };
        all.filter(is_decided).collect()
    }

    pub fn last_location(&self) -> PageLocation {
        let page = lock(&self.last_page).clone();
        PageLocation { url: page.url, title: page.title, image: None }
    }

    pub fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    pub fn flag(&self, code: &'static str) {
        self.flag_once(code);
    }

    /// Flags the session. Returns false if it has this flag already.
    pub fn flag_once(&self, code: &'static str) -> bool {
        let mut supervision = lock(&self.supervision);
        let is_new = !supervision.flags.contains(&code);
        if is_new {
            supervision.flags.push(code);
        }
        is_new
    }

    pub fn flags(&self) -> Vec<&'static str> {
        lock(&self.supervision).flags.clone()
    }

    pub fn succeeded(&self) {
        lock(&self.supervision).failures.clear();
    }

    /// Counts a failure. Returns the number of consecutive ones.
    pub fn failed(&self, code: &ErrorCode) -> u32 {
        let failures = &mut lock(&self.supervision).failures;
        if failures.len() < MOST_FAILURES {
            failures.push(Redacted::from_safe(code));
        }
        u32::try_from(failures.len()).unwrap_or(u32::MAX)
    }

    pub fn failures(&self) -> Vec<Redacted> {
        lock(&self.supervision).failures.clone()
    }

    pub fn paused_for(&self) -> Option<ApprovalId> {
        lock(&self.supervision).paused.as_ref().map(|(id, _)| id.clone())
    }

    pub fn pause(&self, guidance: ApprovalId, reason: PauseReason) {
        lock(&self.supervision).paused = Some((guidance, reason));
    }

    /// Resumes the session that this question paused. A second call has no effect.
    pub fn resume(&self, guidance: &ApprovalId, note: Option<Redacted>) {
        let mut supervision = lock(&self.supervision);
        if supervision.paused.as_ref().is_none_or(|(id, _)| id != guidance) {
            return;
        }
        supervision.paused = None;
        supervision.failures.clear();
        supervision.note = note;
    }

    /// Takes the operator's note, which the agent reads once.
    pub fn take_note(&self) -> Option<Redacted> {
        lock(&self.supervision).note.take()
    }

    /// The fault of a session that waits for guidance.
    pub fn check_running(&self) -> Result<(), Fault> {
        let Some((id, reason)) = lock(&self.supervision).paused.clone() else { return Ok(()) };
        let (message, end) = match reason {
            PauseReason::Failures => (
                "several actions in a row have failed, so the session waits for a person's guidance",
                "If nobody answers, the pause ends by itself.",
            ),
            PauseReason::CredentialTyped => (
                "a credential was typed, so the session is paused until a person resumes or ends it",
                "Tell the person; nothing else helps.",
            ),
        };
        Err(Fault::new(ErrorCode::SessionPaused { approval: id.to_string() }, message).hint(redacted!(
            "Reading still works. browser_pending with pending_id {} returns the operator's answer; then continue. {}",
            id,
            end
        )))
    }
}
