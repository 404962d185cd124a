//! Sessions: one agent's use of one browser, from its opening to the reason it ended.

mod archive;
mod effect_question;
mod effects;
mod egress_record;
mod end;
mod health;
mod history;
mod images;
mod login;
mod open;
mod page_events;
mod recover;
mod registry;
mod session_browser;
mod sites;
mod supervision;

pub use crate::provider::Phase;
pub use archive::Archived;
pub use effects::{
    EffectSettings, EffectSubject, HeldEffect, HeldGuard, HeldReply, SessionEffects, denied_before,
};
pub use end::{EndFault, EndReason};
pub use history::{History, HistoryEntry};
pub use images::StoredImage;
pub use open::{CredentialMode, OpenRequest, RecordMode};
pub use registry::{Registry, SessionSettings};
pub use sites::SiteList;
pub use supervision::{PageLocation, PauseReason};

use crate::approvals::{ApprovalId, SessionAllowances};
use crate::error::Fault;
use crate::logins::{ReleasedCredentials, SessionSecrets, UnreplacedPlaceholder};
use crate::provider::BrowserId;
use crate::provider::sandbox::{CpuAccount, CpuStatus};
use crate::record::TypedTextRedactor;
use audit::EventSubject;
use effect_question::EffectQuestionState;
use error_code::ErrorCode;
use images::Images;
use jiff::Timestamp;
use policy::{Actor, Name, Scope, SessionId, Tenant};
use redact::{Redacted, RedactedFields, redacted};
use serde::Serialize;
use session_browser::SessionBrowser;
use sites::SessionSites;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use supervision::SupervisionState;
use tokio::sync::{Notify, watch};

/// Maximum number of calls that wait for their turn on one session. Further ones get `session_busy`.
const MOST_WAITING: usize = 16;

/// One session. Actions run one at a time; its end is signalled to all waiting calls.
pub struct Session {
    pub id: SessionId,
    pub name: Option<Name>,
    pub scope: Scope,
    pub browser_id: BrowserId,
    provider: &'static str,
    pub credential_mode: CredentialMode,
    pub record: RecordMode,
    pub started_at: Timestamp,
    pub phases: Vec<Phase>,
    deadline: Instant,
    lifetime: Duration,
    most_actions: u32,
    actions: AtomicU32,
    waiting: AtomicUsize,
    end: watch::Sender<Option<Ended>>,
    active: tokio::sync::Mutex<Option<SessionBrowser>>,
    last_page: Mutex<LastPage>,
    history: Mutex<History>,
    /// Redacts typed text from records.
    pub typed_text: Arc<TypedTextRedactor>,
    /// Secrets that are redacted from all output.
    pub secrets: Arc<SessionSecrets>,
    /// The injected logins.
    pub(crate) login: Option<ReleasedCredentials>,
    /// The sites that it is kept to.
    sites: Arc<SessionSites>,
    /// The ledger of its proxy, for the audit log.
    journal: Option<egress::LedgerJournal>,
    /// Signalled when an action is over: what it caused is recorded soon.
    /// The CPU credit of the browser, where it is counted.
    cpu: Option<Arc<CpuAccount>>,
    action_done: Notify,
    /// The browser's user agent.
    pub user_agent: Redacted,
    images: Images,
    /// Approvals for the rest of the session.
    pub allowances: Arc<SessionAllowances>,
    supervision: Mutex<SupervisionState>,
    /// Effects of a signed-in session, and the question about one of them.
    effects: Option<SessionEffects>,
    effect_question: EffectQuestionState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ended {
    pub at: Timestamp,
    pub reason: EndReason,
}

/// Address and title of the last page, for lists. Page text.
#[derive(Clone, Debug, Default)]
struct LastPage {
    url: Redacted,
    title: Redacted,
}

/// A session in lists and `session show`.
#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct SessionSummary {
    pub session_id: SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_name: Option<Name>,
    pub tenant: Tenant,
    pub actor: Actor,
    pub jail_id: BrowserId,
    pub provider: &'static str,
    pub credential_mode: CredentialMode,
    pub record: RecordMode,
    pub started_at: Timestamp,
    pub seconds_left: u64,
    pub actions: u32,
    pub max_actions: u32,
    /// CPU share and credit, while the session is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuStatus>,
    pub url: Redacted,
    pub title: Redacted,
    /// `open`, or the reason it ended.
    pub state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// Logins that are injected as they are, because their credentials say `sealed: false`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unsealed: Vec<Redacted>,
    /// Where placeholders were sent and not replaced. A site that needs one there needs an operator's allowance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreplaced_placeholders: Vec<UnreplacedPlaceholder>,
    /// The question for guidance that the paused session waits for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused_for: Option<ApprovalId>,
    /// What the session may do on its granted sites without asking: `read`, `write` or `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<policy::Access>,
    /// Granted sites whose traffic the proxy does not read. Their effects are decided on in the browser.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unintercepted: Vec<Redacted>,
    /// What is weaker than usual in this session, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Redacted>,
    /// Hosts whose logins are in the browser.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub signed_in_to: Vec<Redacted>,
    /// Alerts for operators: `approval_flood`, `credential_typed`, `credential_expired`, `secret_withheld`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<&'static str>,
}

/// The right to use the browser of a session, one holder at a time.
pub struct Turn<'a> {
    pub(crate) active: tokio::sync::MappedMutexGuard<'a, SessionBrowser>,
}

impl Session {
    /// The session as the audit log names it.
    pub fn event_subject(&self) -> EventSubject {
        EventSubject::session(&self.scope, &self.id, Some(&self.browser_id))
    }

    /// Redacts a text for the session's agent.
    pub fn redact(&self, text: &str) -> Redacted {
        self.secrets.redact(text)
    }

    pub fn ended(&self) -> Option<Ended> {
        *self.end.borrow()
    }

    /// The fault of an ended session; `Ok` while it lives.
    pub fn check_open(&self) -> Result<(), Fault> {
        self.ended().map_or(Ok(()), |ended| Err(ended.reason.fault(&self.id)))
    }

    /// Resolves when the session ends.
    pub async fn until_ended(&self) -> EndReason {
        let mut end = self.end.subscribe();
        match end.wait_for(Option::is_some).await {
            Ok(ended) => ended.map_or(EndReason::Closed, |ended| ended.reason),
            // The sender lives in `self`: it cannot be gone while we wait.
            Err(_) => EndReason::Closed,
        }
    }

    /// Waits for a turn, in order of arrival.
    pub async fn turn(&self) -> Result<Turn<'_>, Fault> {
        self.check_open()?;
        let _queued = QueuedCall::take(&self.waiting, &self.id)?;
        let guard = tokio::select! {
            guard = self.active.lock() => guard,
            reason = self.until_ended() => return Err(reason.fault(&self.id)),
        };
        self.check_open()?;
        match tokio::sync::MutexGuard::try_map(guard, Option::as_mut) {
            Ok(active) => Ok(Turn { active }),
            Err(_) => Err(self.ended().map_or(EndReason::Closed, |ended| ended.reason).fault(&self.id)),
        }
    }

    /// Counts one action. The session ends after the action that uses up the budget.
    pub fn spend_action(&self) -> Result<(), Fault> {
        let spent = self.actions.fetch_update(Ordering::AcqRel, Ordering::Acquire, |actions| {
            (actions < self.most_actions).then_some(actions + 1)
        });
        spent.map(|_| ()).map_err(|_| EndReason::ActionLimit.fault(&self.id))
    }

    /// The number of the latest action.
    pub fn action_number(&self) -> u32 {
        self.actions.load(Ordering::Acquire)
    }

    pub fn actions_left(&self) -> u32 {
        self.most_actions.saturating_sub(self.actions.load(Ordering::Acquire))
    }

    /// What the browser requests from now on is caused by the action under way.
    pub(crate) fn attribute_egress(&self) {
        if let Some(journal) = &self.journal {
            journal.set_action(self.actions.load(Ordering::Acquire));
        }
    }

    pub fn record_action(&self, entry: HistoryEntry) {
        self.action_done.notify_one();
        {
            let mut page = lock(&self.last_page);
            page.url.clone_from(&entry.url);
            page.title.clone_from(&entry.title);
        }
        lock(&self.history).push(entry);
    }

    pub fn store_image(&self, bytes: &[u8], format: policy::ImageFormat) -> Result<StoredImage, Fault> {
        self.images.put(bytes, format)
    }

    pub fn image(&self, id: &str) -> Option<StoredImage> {
        self.images.find(id)
    }

    pub fn history(&self) -> History {
        lock(&self.history).clone()
    }

    pub fn summary(&self) -> SessionSummary {
        let ended = self.ended();
        let page = lock(&self.last_page).clone();
        let left = self.time_left();
        SessionSummary {
            session_id: self.id.clone(),
            session_name: self.name.clone(),
            tenant: self.scope.tenant.clone(),
            actor: self.scope.actor.clone(),
            jail_id: self.browser_id.clone(),
            provider: self.provider,
            credential_mode: self.credential_mode,
            record: self.record,
            started_at: self.started_at,
            seconds_left: if ended.is_some() { 0 } else { left.as_secs() },
            actions: self.actions.load(Ordering::Acquire),
            max_actions: self.most_actions,
            cpu: self.cpu.as_ref().filter(|_| ended.is_none()).map(|account| account.status()),
            url: page.url,
            title: page.title,
            state: ended.map_or("open", |ended| ended.reason.as_str()),
            closed_at: ended.map(|ended| ended.at),
            unsealed: self.unsealed(),
            unreplaced_placeholders: self.unreplaced_placeholders(),
            paused_for: self.paused_for(),
            access: self.login.as_ref().map(|released| released.access()),
            unintercepted: self.unintercepted(),
            notes: self.notes(),
            signed_in_to: self.signed_in_to(),
            flags: self.flags(),
        }
    }
}

/// A place in the queue of waiting calls. Dropping it frees the place.
struct QueuedCall<'a>(&'a AtomicUsize);

impl<'a> QueuedCall<'a> {
    fn take(waiting: &'a AtomicUsize, session: &SessionId) -> Result<QueuedCall<'a>, Fault> {
        if waiting.fetch_add(1, Ordering::AcqRel) >= MOST_WAITING {
            waiting.fetch_sub(1, Ordering::AcqRel);
            let message = redacted!("{} calls already wait for session {}", MOST_WAITING, session);
            return Err(Fault::new(ErrorCode::SessionBusy, message)
                .hint("Wait for an answer before the next call.")
                .retryable());
        }
        Ok(QueuedCall(waiting))
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A panic elsewhere leaves plain data behind these locks, never a broken invariant.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
