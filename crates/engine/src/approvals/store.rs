//! The approval store: asks, answers and lists questions.

use super::rate_limiter::RateLimiter;
use super::{
    Approval, ApprovalCard, ApprovalChange, ApprovalFilter, ApprovalId, ApprovalKind, ApprovalScreenshot,
    ApprovalSettings, ApprovalState, Decider, OpenQuestion, Verdict,
};
use crate::error::Fault;
use crate::error::audit_fault;
use crate::storage::Storage;
use audit::{CorrelationId, Event, EventKind, EventSubject, sanitize};
use browser::RedactedPageText;
use error_code::ErrorCode;
use jiff::{SignedDuration, Timestamp};
use policy::{Name, Scope, SessionId};
use redact::{Redacted, redacted};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::broadcast;
use url::Url;

/// Maximum number of waiting questions of all sessions. Further ones are refused.
const MAX_WAITING: usize = 64;
/// Capacity of the change channel. A receiver that lags further behind lists again.
const CHANGE_CAPACITY: usize = 256;
/// Maximum length of a list.
const MAX_LISTED: i64 = 200;
/// Maximum number of kept decided questions. The audit log is the permanent record.
const MAX_KEPT: i64 = 10_000;
/// Rate limit of an agent's sessions together, as a multiple of one session's limit.
const AGENT_RATE_FACTOR: u32 = 3;
/// Number of questions between two prunings of old rows.
const PRUNE_INTERVAL: u64 = 256;
/// Maximum length of an operator's note.
const MAX_NOTE: usize = 1_000;

/// Stores questions and publishes their changes. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct ApprovalStore(Arc<Inner>);

struct Inner {
    storage: Storage,
    log: audit::Log,
    /// Makes permits; only an answered question reaches it.
    authority: audit::ApprovalAuthority,
    settings: ApprovalSettings,
    /// The audit log chain of this process. No other live process uses it, so rows with this owner are ours.
    owner: String,
    changes: broadcast::Sender<ApprovalChange>,
    rate_limiters: Mutex<RateLimiters>,
    slots: Mutex<HashMap<ApprovalId, QuestionSlot>>,
    /// Number of questions asked so far.
    asked_count: AtomicU64,
    /// The console's URL, once it is served.
    console: OnceLock<Url>,
}

#[derive(Default)]
struct RateLimiters {
    sessions: RateLimiter<SessionId>,
    /// Per agent as well, because an agent can open any number of sessions in turn.
    agents: RateLimiter<Scope>,
}

/// In-memory data of a waiting question.
struct QuestionSlot {
    session: SessionId,
    kind: ApprovalKind,
    screenshot: Option<ApprovalScreenshot>,
}

/// A question to ask.
pub struct NewQuestion {
    pub kind: ApprovalKind,
    pub scope: Scope,
    pub session: SessionId,
    pub session_name: Option<Name>,
    pub card: ApprovalCard,
    pub screenshot: Option<ApprovalScreenshot>,
    /// Time to answer; the configured one if `None`.
    pub timeout: Option<Duration>,
}

impl ApprovalStore {
    /// Opens the store. Questions that an earlier run of this chain left waiting are closed and never applied.
    pub async fn open(
        storage: Storage,
        (log, authority): (audit::Log, audit::ApprovalAuthority),
        settings: ApprovalSettings,
    ) -> Result<ApprovalStore, Fault> {
        let owner = log.folder().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (changes, _) = broadcast::channel(CHANGE_CAPACITY);
        let (rate_limiters, slots) = (Mutex::default(), Mutex::default());
        let store = ApprovalStore(Arc::new(Inner {
            storage,
            log,
            authority,
            settings,
            owner,
            changes,
            rate_limiters,
            slots,
            asked_count: AtomicU64::new(0),
            console: OnceLock::new(),
        }));
        let left = store.0.storage.interrupt_approvals(&store.0.owner, Timestamp::now()).await?;
        for approval in left {
            // A damaged log has been reported already, and every action is refused.
            if let Err(fault) = store.record(EventKind::ApprovalDecided, &approval).await {
                tracing::warn!(%fault, approval = %approval.id, "an interrupted question is not on record");
            }
        }
        store.0.storage.prune_approvals(MAX_KEPT).await?;
        Ok(store)
    }

    /// Sets the console's URL, such as `http://127.0.0.1:7700/console/`. Only the first call has an effect.
    pub fn set_console_url(&self, url: Url) {
        self.0.console.get_or_init(|| url);
    }

    pub fn has_console(&self) -> bool {
        self.0.console.get().is_some()
    }

    /// The console's page of one question. The URL itself carries no authority.
    pub fn page_url(&self, id: &ApprovalId) -> Option<Url> {
        self.0.console.get().and_then(|console| console.join(&format!("approvals/{id}")).ok())
    }

    /// Describes where a question is answered.
    pub fn answer_instructions(&self, id: &ApprovalId) -> String {
        match self.page_url(id) {
            Some(url) => format!("who answers at {url} or by `stockade approve {id}`"),
            None => format!("who answers by `stockade approve {id}`"),
        }
    }

    /// The same as redacted text: it has the console's own address and an id of ours.
    pub fn answer_instructions_text(&self, id: &ApprovalId) -> Redacted {
        Redacted::outside_sessions(self.answer_instructions(id))
    }

    /// Asks a question: stores, records and publishes it.
    pub async fn ask(&self, question: NewQuestion) -> Result<OpenQuestion, Fault> {
        let NewQuestion { kind, scope, session, session_name, card, screenshot, timeout } = question;
        let timeout = timeout.unwrap_or_else(|| self.0.settings.timeout_of(card.rule.as_str()));
        let id = ApprovalId::random();
        self.reserve_slot(&id, &scope, &session, kind, screenshot)?;
        let asked_at = Timestamp::now();
        let wait = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
        let approval = Approval {
            id,
            kind,
            scope,
            session,
            session_name,
            card,
            asked_at,
            expires_at: asked_at.saturating_add(wait).unwrap_or(Timestamp::MAX),
            state: ApprovalState::Waiting,
            decided_by: None,
            channel: None,
            decided_at: None,
            approved_for_session: false,
            note: None,
            outcome: None,
        };
        // From here on the slot is released when this is dropped.
        let waiting = OpenQuestion { store: self.clone(), approval, deadline: Instant::now() + timeout };
        self.0.storage.insert_approval(&waiting.approval, &self.0.owner).await?;
        if let Err(fault) = self.record(EventKind::ApprovalAsked, &waiting.approval).await {
            waiting.withdraw().await?;
            return Err(fault);
        }
        self.publish(&waiting.approval);
        if self.0.asked_count.fetch_add(1, Ordering::Relaxed) % PRUNE_INTERVAL == PRUNE_INTERVAL - 1 {
            // The question is asked; a failed pruning does not withdraw it.
            if let Err(error) = self.0.storage.prune_approvals(MAX_KEPT).await {
                tracing::warn!(%error, "old approvals could not be removed");
            }
        }
        Ok(waiting)
    }

    /// Answers a question. Fails if it was answered before.
    pub async fn answer(&self, id: &ApprovalId, verdict: Verdict, by: &Decider) -> Result<Approval, Fault> {
        let asked = self.find(id).await?.ok_or_else(|| unknown(id.as_str()))?;
        if !verdict.fits(asked.kind) {
            return Err(Fault::outside_sessions(
                ErrorCode::BadVerdict,
                format!("{id} does not take this answer"),
            )
            .hint("Approve or deny an action; resume or end a paused session."));
        }
        let for_session = verdict == Verdict::Approve { for_session: true };
        if for_session && asked.card.for_session.is_empty() {
            return Err(Fault::outside_sessions(
                ErrorCode::BadVerdict,
                format!("{id} can only be approved once"),
            )
            .hint(
                "What cannot be undone needs an approval each time. Approve it without \"for the session\".",
            ));
        }
        let note = match &verdict {
            Verdict::Resume { note: Some(note) } | Verdict::DenyBecause(note) => {
                Some(Redacted::outside_sessions(audit::sanitize_within(note.trim(), MAX_NOTE)))
            }
            _ => None,
        };
        let now = Timestamp::now();
        let answered =
            self.0.storage.answer_approval(id, verdict.state(), by, for_session, note, now).await?;
        let Some(answered) = answered else { return Err(self.refusal(id, now).await?) };
        self.publish(&answered);
        self.record(EventKind::ApprovalDecided, &answered).await?;
        Ok(answered)
    }

    /// Lists waiting questions, oldest first, then decided ones, newest first. Bounded.
    pub async fn list(&self, filter: &ApprovalFilter) -> Result<Vec<Approval>, Fault> {
        Ok(self.0.storage.list_approvals(filter, MAX_LISTED).await?)
    }

    pub async fn find(&self, id: &ApprovalId) -> Result<Option<Approval>, Fault> {
        Ok(self.0.storage.find_approval(id).await?)
    }

    /// Subscribes to changes of questions.
    pub fn watch(&self) -> broadcast::Receiver<ApprovalChange> {
        self.0.changes.subscribe()
    }

    pub fn screenshot(&self, id: &ApprovalId) -> Option<ApprovalScreenshot> {
        self.slots().get(id).and_then(|slot| slot.screenshot.clone())
    }

    /// Stores the outcome of an approved action with its approval.
    pub async fn record_outcome(&self, id: &ApprovalId, outcome: &Redacted) -> Result<(), Fault> {
        self.0.storage.set_approval_outcome(id, outcome).await?;
        self.send_change(id, ApprovalState::Approved);
        Ok(())
    }

    /// Closes a question because its action is no longer wanted. An answered one stays unchanged.
    pub async fn withdraw(&self, id: &ApprovalId) -> Result<(), Fault> {
        self.close(id, ApprovalState::Withdrawn).await
    }

    /// Closes a question without an answer. An answered one stays unchanged.
    pub(super) async fn close(&self, id: &ApprovalId, state: ApprovalState) -> Result<(), Fault> {
        if let Some(closed) = self.0.storage.close_approval(id, state, Timestamp::now()).await? {
            self.publish(&closed);
            self.record(EventKind::ApprovalDecided, &closed).await?;
        }
        Ok(())
    }

    /// Publishes the state of a question. A decided one releases its slot and its screenshot.
    pub fn publish(&self, approval: &Approval) {
        if approval.state != ApprovalState::Waiting {
            self.release_slot(&approval.id);
        }
        self.send_change(&approval.id, approval.state);
    }

    fn send_change(&self, id: &ApprovalId, state: ApprovalState) {
        // There may be no subscriber.
        drop(self.0.changes.send(ApprovalChange { id: id.clone(), state }));
    }

    /// The question of a session that an operator is looking at; guidance is not one.
    pub fn open_question(&self, session: &SessionId) -> Option<ApprovalId> {
        let slots = self.slots();
        let mut open =
            slots.iter().filter(|(_, slot)| slot.session == *session && slot.kind != ApprovalKind::Guidance);
        open.next().map(|(id, _)| id.clone())
    }

    pub(super) fn authority(&self) -> &audit::ApprovalAuthority {
        &self.0.authority
    }

    pub(super) fn release_slot(&self, id: &ApprovalId) {
        self.slots().remove(id);
    }

    /// Reserves a slot. A session has one open question at a time; the total and the rate per minute are limited.
    fn reserve_slot(
        &self,
        id: &ApprovalId,
        scope: &Scope,
        session: &SessionId,
        kind: ApprovalKind,
        screenshot: Option<ApprovalScreenshot>,
    ) -> Result<(), Fault> {
        let mut slots = self.slots();
        let is_guidance = kind == ApprovalKind::Guidance;
        let other = slots.iter().find(|(_, other)| {
            other.session == *session && (other.kind == ApprovalKind::Guidance) == is_guidance
        });
        if let Some((other, _)) = other {
            return Err(pending(other, "another request of this session waits for an answer"));
        }
        if slots.len() >= MAX_WAITING {
            return Err(Fault::outside_sessions(
                ErrorCode::ApprovalsFull,
                format!("{MAX_WAITING} requests already wait"),
            )
            .hint("Wait until some are answered.")
            .retryable());
        }
        let mut rate_limiters = self.0.rate_limiters.lock().unwrap_or_else(PoisonError::into_inner);
        let (most, now) = (self.0.settings.most_a_minute, Instant::now());
        let mut is_within_limits = || {
            rate_limiters.sessions.take(session, most, now)
                && rate_limiters.agents.take(scope, most * AGENT_RATE_FACTOR, now)
        };
        if !is_guidance && !is_within_limits() {
            return Err(flood());
        }
        slots.insert(id.clone(), QuestionSlot { session: session.clone(), kind, screenshot });
        Ok(())
    }

    async fn refusal(&self, id: &ApprovalId, now: Timestamp) -> Result<Fault, Fault> {
        let Some(found) = self.find(id).await? else { return Ok(unknown(id.as_str())) };
        if found.state == ApprovalState::Expired
            || (found.state == ApprovalState::Waiting && found.expires_at <= now)
        {
            return Ok(Fault::outside_sessions(ErrorCode::ApprovalExpired, format!("{id} has expired"))
                .hint("It counts as denied. To allow it after all, have the agent ask again."));
        }
        let by = found.decided_by.as_ref().map(|by| redacted!(" by {}", by)).unwrap_or_default();
        Ok(Fault::outside_sessions(
            ErrorCode::ApprovalDecided,
            format!("{id} was {} already{by}", found.state.as_str()),
        )
        .hint("The first answer counts."))
    }

    async fn record(&self, kind: EventKind, approval: &Approval) -> Result<(), Fault> {
        let about = EventSubject::session(&approval.scope, &approval.session, None);
        let card = &approval.card;
        let quoted =
            |text: &RedactedPageText| text.clone().into_redacted().transform(|text| format!("{text:?}"));
        let element = card
            .element
            .as_ref()
            .map(|element| redacted!("{} {}", element.role.clone().into_redacted(), quoted(&element.name)));
        let decision = match approval.state {
            ApprovalState::Waiting => "ask",
            ApprovalState::Approved => "allow",
            ApprovalState::Resumed => "resume",
            ApprovalState::Ended => "end",
            ApprovalState::Denied
            | ApprovalState::Expired
            | ApprovalState::Interrupted
            | ApprovalState::Withdrawn => "deny",
        };
        let decided_by = match (&approval.decided_by, approval.channel) {
            (Some(operator), Some(channel)) => {
                Some(redacted!("operator {} by {}", operator, channel.as_str()))
            }
            _ if approval.state == ApprovalState::Waiting => None,
            _ => Some("stockade".into()),
        };
        let scope = if approval.approved_for_session { ", for the session" } else { "" };
        let event = Event::new(kind, about)
            .correlation(CorrelationId(Redacted::from_safe(&approval.id)))
            .address(Some(card.url.clone().into_redacted()), Some(card.domain.clone()))
            .risk(card.risk)
            .rule(card.rule.clone())
            .input_value(card.input.clone().map(RedactedPageText::into_redacted))
            .target_element(element)
            .decision(Some(decision))
            .decided_by(decided_by)
            .result(approval.state.as_str())
            .detail(redacted!("{} {}{}", approval.kind.as_str(), card.action, scope));
        self.0.log.append(&event).await.map_err(audit_fault)
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<ApprovalId, QuestionSlot>> {
        // The map stays consistent across a panic.
        self.0.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn unknown(id: &str) -> Fault {
    Fault::outside_sessions(ErrorCode::UnknownApproval, format!("there is no request {:?}", sanitize(id)))
        .hint("List the waiting requests; an id begins with ap-.")
}

/// The fault of a call whose approval is still pending.
pub fn pending(id: &ApprovalId, why: &'static str) -> Fault {
    Fault::new(ErrorCode::ApprovalPending { approval: id.to_string() }, why).hint(redacted!(
        "Call browser_pending (session.pending over HTTP) with pending_id {} to get the result. Do not try another way.",
        id
    ))
}

/// The fault of an action while an operator looks at another request of its session.
pub fn question_open(id: &ApprovalId) -> Fault {
    let why = "another approval request of this session is open; other actions wait until it is answered";
    Fault::new(ErrorCode::QuestionOpen, why)
        .hint(redacted!(
            "Reading works meanwhile. Call browser_pending (session.pending over HTTP) with pending_id {} for the answer, then go on.",
            id
        ))
        .retryable()
}

fn flood() -> Fault {
    Fault::new(
        ErrorCode::ApprovalFlood,
        "this session made too many approval requests in the last minute, so this one was denied without asking anybody",
    )
    .hint("Do not try another way. Wait a minute, then ask only for what the task needs.")
}
