//! Asking, answering, listing.

use super::rate::Rate;
use super::{
    Approval, ApprovalId, ApprovalPicture, ApprovalSettings, Card, Change, Decider, Filter, Kind, State,
    Verdict, Waiting,
};
use crate::error::Fault;
use crate::error::audit_fault;
use crate::storage::Storage;
use audit::{CorrelationId, Event, EventKind, EventSubject, sanitize};
use error_code::ErrorCode;
use jiff::{SignedDuration, Timestamp};
use policy::{Name, Scope, SessionId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::broadcast;
use url::Url;

/// Questions that wait at once, of all sessions; the next are refused.
const MOST_WAITING: usize = 64;
/// Changes that a slow reader may be behind; beyond it, it lists again.
const CHANGES: usize = 256;
/// The most that a list has.
const MOST_LISTED: i64 = 200;
/// Decided ones that are kept. The audit log is the lasting record.
const MOST_KEPT: i64 = 10_000;
/// How often an agent may ask with all of its sessions together, as a multiple of what each may.
const SESSIONS_WORTH: u32 = 3;
/// How many questions may come before the oldest are forgotten.
const PRUNED_EVERY: u64 = 256;
/// A note is a sentence or two.
const LONGEST_NOTE: usize = 1_000;

/// Cheap to clone; clones are the same book.
#[derive(Clone)]
pub struct Book(Arc<Inner>);

struct Inner {
    storage: Storage,
    log: audit::Log,
    /// Nobody but an answered question reaches it.
    authority: audit::ApprovalAuthority,
    settings: ApprovalSettings,
    /// The chain of the log that this book writes: nobody else alive has it, so what waits under it is ours.
    owner: String,
    changes: broadcast::Sender<Change>,
    rates: Mutex<Rates>,
    open: Mutex<HashMap<ApprovalId, Open>>,
    /// Questions that were put so far.
    put: AtomicU64,
    /// Where the console is, once it is served.
    console: OnceLock<Url>,
}

#[derive(Default)]
struct Rates {
    sessions: Rate<SessionId>,
    /// An agent that opens one session after the other is still one.
    agents: Rate<Scope>,
}

/// What this process knows of a question that waits.
struct Open {
    session: SessionId,
    kind: Kind,
    picture: Option<ApprovalPicture>,
}

/// A question as it is put.
pub struct Ask {
    pub kind: Kind,
    pub scope: Scope,
    pub session: SessionId,
    pub session_name: Option<Name>,
    pub card: Card,
    pub picture: Option<ApprovalPicture>,
    /// How long it waits for its answer; as the settings say, if left out.
    pub patience: Option<Duration>,
}

impl Book {
    /// Whatever an earlier run of this chain left waiting is closed, and never applied.
    pub async fn open(
        storage: Storage,
        (log, authority): (audit::Log, audit::ApprovalAuthority),
        settings: ApprovalSettings,
    ) -> Result<Book, Fault> {
        let owner = log.folder().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (changes, _) = broadcast::channel(CHANGES);
        let (rates, open) = (Mutex::default(), Mutex::default());
        let book = Book(Arc::new(Inner {
            storage,
            log,
            authority,
            settings,
            owner,
            changes,
            rates,
            open,
            put: AtomicU64::new(0),
            console: OnceLock::new(),
        }));
        let left = book.0.storage.interrupt_approvals(&book.0.owner, Timestamp::now()).await?;
        for approval in left {
            // A damaged log has said so already, and refuses every action.
            if let Err(fault) = book.record(EventKind::ApprovalDecided, &approval).await {
                tracing::warn!(%fault, approval = %approval.id, "an interrupted question is not on record");
            }
        }
        book.0.storage.prune_approvals(MOST_KEPT).await?;
        Ok(book)
    }

    /// Where people find the console, such as `http://127.0.0.1:7700/console/`. The first word stands.
    pub fn console_is_at(&self, url: Url) {
        self.0.console.get_or_init(|| url);
    }

    pub fn has_console(&self) -> bool {
        self.0.console.get().is_some()
    }

    /// The console's page of one question. It carries no authority.
    pub fn page_of(&self, id: &ApprovalId) -> Option<Url> {
        self.0.console.get().and_then(|console| console.join(&format!("approvals/{id}")).ok())
    }

    /// Where a question is answered, in words.
    pub fn answered_at(&self, id: &ApprovalId) -> String {
        match self.page_of(id) {
            Some(url) => format!("who answers at {url} or by `stockade approve {id}`"),
            None => format!("who answers by `stockade approve {id}`"),
        }
    }

    /// Puts a question: stored, recorded, and shown to whoever watches.
    pub async fn ask(&self, ask: Ask) -> Result<Waiting, Fault> {
        let Ask { kind, scope, session, session_name, card, picture, patience } = ask;
        let patience = patience.unwrap_or(self.0.settings.timeout);
        let id = ApprovalId::random();
        self.take_place(&id, &scope, &session, kind, picture)?;
        let asked_at = Timestamp::now();
        let wait = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
        let asked = Approval {
            id,
            kind,
            scope,
            session,
            session_name,
            card,
            asked_at,
            expires_at: asked_at.saturating_add(wait).unwrap_or(Timestamp::MAX),
            state: State::Waiting,
            decided_by: None,
            door: None,
            decided_at: None,
            approved_for_session: false,
            note: None,
            outcome: None,
        };
        // From here on its place is given back however this ends.
        let waiting = Waiting { book: self.clone(), asked, until: Instant::now() + patience };
        self.0.storage.insert_approval(&waiting.asked, &self.0.owner).await?;
        if let Err(fault) = self.record(EventKind::ApprovalAsked, &waiting.asked).await {
            waiting.withdraw().await?;
            return Err(fault);
        }
        self.told(&waiting.asked);
        if self.0.put.fetch_add(1, Ordering::Relaxed) % PRUNED_EVERY == PRUNED_EVERY - 1 {
            // The question has been put: what is kept of old ones is no reason to give it up.
            if let Err(error) = self.0.storage.prune_approvals(MOST_KEPT).await {
                tracing::warn!(%error, "old approvals could not be removed");
            }
        }
        Ok(waiting)
    }

    /// The one answer that a question gets.
    pub async fn answer(&self, id: &ApprovalId, verdict: Verdict, by: &Decider) -> Result<Approval, Fault> {
        let asked = self.find(id).await?.ok_or_else(|| unknown(id.as_str()))?;
        if !verdict.fits(asked.kind) {
            return Err(Fault::new(ErrorCode::BadVerdict, format!("{id} cannot be answered like that"))
                .hint("An action is approved or denied; a paused session is resumed or ended."));
        }
        let for_session = verdict == Verdict::Approve { for_session: true };
        if for_session && asked.card.for_session.is_empty() {
            return Err(Fault::new(ErrorCode::BadVerdict, format!("{id} can only be approved once")).hint(
                "What cannot be undone is asked for each time: approve it without \"for the session\".",
            ));
        }
        let note = match &verdict {
            Verdict::Resume { note: Some(note) } | Verdict::DenyBecause(note) => {
                Some(audit::sanitize_within(note.trim(), LONGEST_NOTE))
            }
            _ => None,
        };
        let now = Timestamp::now();
        let answered =
            self.0.storage.answer_approval(id, verdict.state(), by, for_session, note, now).await?;
        let Some(answered) = answered else { return Err(self.why_not(id, now).await?) };
        self.told(&answered);
        self.record(EventKind::ApprovalDecided, &answered).await?;
        Ok(answered)
    }

    /// Those that wait, oldest first; then the decided, newest first. Bounded.
    pub async fn list(&self, filter: &Filter) -> Result<Vec<Approval>, Fault> {
        Ok(self.0.storage.list_approvals(filter, MOST_LISTED).await?)
    }

    pub async fn find(&self, id: &ApprovalId) -> Result<Option<Approval>, Fault> {
        Ok(self.0.storage.find_approval(id).await?)
    }

    /// What becomes of questions from now on.
    pub fn watch(&self) -> broadcast::Receiver<Change> {
        self.0.changes.subscribe()
    }

    pub fn picture(&self, id: &ApprovalId) -> Option<ApprovalPicture> {
        self.places().get(id).and_then(|open| open.picture.clone())
    }

    /// Keeps what came of an approved action beside it.
    pub async fn came_to(&self, id: &ApprovalId, outcome: &str) -> Result<(), Fault> {
        self.0.storage.approval_came_to(id, &sanitize(outcome)).await?;
        self.tell(id, State::Approved);
        Ok(())
    }

    /// Closes a question that nobody answered; one that was answered stays as it is.
    pub(super) async fn close(&self, id: &ApprovalId, state: State) -> Result<(), Fault> {
        if let Some(closed) = self.0.storage.close_approval(id, state, Timestamp::now()).await? {
            self.told(&closed);
            self.record(EventKind::ApprovalDecided, &closed).await?;
        }
        Ok(())
    }

    /// Tells everybody who watches. One that is decided gives its place to the next, and its picture is gone.
    pub fn told(&self, approval: &Approval) {
        if approval.state != State::Waiting {
            self.let_go(&approval.id);
        }
        self.tell(&approval.id, approval.state);
    }

    fn tell(&self, id: &ApprovalId, state: State) {
        // Nobody may be watching.
        drop(self.0.changes.send(Change { id: id.clone(), state }));
    }

    pub(super) fn authority(&self) -> &audit::ApprovalAuthority {
        &self.0.authority
    }

    pub(super) fn let_go(&self, id: &ApprovalId) {
        self.places().remove(id);
    }

    /// A place among those that wait: one question of a session at a time, so many in all, so many a minute.
    fn take_place(
        &self,
        id: &ApprovalId,
        scope: &Scope,
        session: &SessionId,
        kind: Kind,
        picture: Option<ApprovalPicture>,
    ) -> Result<(), Fault> {
        let mut open = self.places();
        let guides = kind == Kind::Guidance;
        let other = open
            .iter()
            .find(|(_, other)| other.session == *session && (other.kind == Kind::Guidance) == guides);
        if let Some((other, _)) = other {
            return Err(pending(other, "another question of this session waits for its answer"));
        }
        if open.len() >= MOST_WAITING {
            return Err(Fault::new(
                ErrorCode::ApprovalsFull,
                format!("{MOST_WAITING} questions wait already"),
            )
            .hint("Wait until some are answered.")
            .retryable());
        }
        let mut rates = self.0.rates.lock().unwrap_or_else(PoisonError::into_inner);
        let (most, now) = (self.0.settings.most_a_minute, Instant::now());
        let mut fits = || {
            rates.sessions.take(session, most, now) && rates.agents.take(scope, most * SESSIONS_WORTH, now)
        };
        if !guides && !fits() {
            return Err(flood());
        }
        open.insert(id.clone(), Open { session: session.clone(), kind, picture });
        Ok(())
    }

    async fn why_not(&self, id: &ApprovalId, now: Timestamp) -> Result<Fault, Fault> {
        let Some(found) = self.find(id).await? else { return Ok(unknown(id.as_str())) };
        if found.state == State::Expired || (found.state == State::Waiting && found.expires_at <= now) {
            return Ok(Fault::new(ErrorCode::ApprovalExpired, format!("the time to answer {id} is over"))
                .hint("It was denied. If it is wanted after all, the agent has to ask again."));
        }
        let by = found.decided_by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
        Ok(Fault::new(ErrorCode::ApprovalDecided, format!("{id} was {} already{by}", found.state.as_str()))
            .hint("One question gets one answer; the first one stands."))
    }

    async fn record(&self, kind: EventKind, approval: &Approval) -> Result<(), Fault> {
        let about = EventSubject::session(&approval.scope, &approval.session, None);
        let card = &approval.card;
        let mut event = Event::new(kind, about).at(card.url.as_str(), "");
        event.correlation_id = Some(CorrelationId(approval.id.to_string()));
        event.domain = Some(sanitize(&card.domain));
        event.risk = Some(card.risk.as_str());
        event.rule = Some(sanitize(&card.rule));
        event.input_value = card.input.as_ref().map(|input| sanitize(input.as_str()));
        event.target_element = card
            .element
            .as_ref()
            .map(|element| sanitize(&format!("{} {:?}", element.role.as_str(), element.name.as_str())));
        event.decision = Some(match approval.state {
            State::Waiting => "ask",
            State::Approved => "allow",
            State::Resumed => "resume",
            State::Ended => "end",
            State::Denied | State::Expired | State::Interrupted | State::Withdrawn => "deny",
        });
        event.decided_by = match (&approval.decided_by, approval.door) {
            (Some(operator), Some(door)) => {
                Some(sanitize(&format!("operator {operator} by {}", door.as_str())))
            }
            _ if approval.state == State::Waiting => None,
            _ => Some("stockade".to_owned()),
        };
        let scope = if approval.approved_for_session { ", for the session" } else { "" };
        let event = event.result(approval.state.as_str()).detail(&format!(
            "{} {}{scope}",
            approval.kind.as_str(),
            card.action
        ));
        self.0.log.append(&event).await.map_err(audit_fault)
    }

    fn places(&self) -> MutexGuard<'_, HashMap<ApprovalId, Open>> {
        // A map is whole after any panic.
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn unknown(id: &str) -> Fault {
    Fault::new(ErrorCode::UnknownApproval, format!("there is no question {:?}", sanitize(id)))
        .hint("Look at the list of what waits; an id begins with ap-.")
}

/// What a call gets whose answer is still to come.
pub fn pending(id: &ApprovalId, why: &str) -> Fault {
    Fault::new(ErrorCode::ApprovalPending { approval: id.to_string() }, why.to_owned()).hint(format!(
        "Call browser_pending (session.pending over HTTP) with pending_id {id} to get what came of it; do not try another way."
    ))
}

fn flood() -> Fault {
    Fault::new(
        ErrorCode::ApprovalFlood,
        "this session has asked for too much in the last minute, so this is denied and nobody was asked",
    )
    .hint("Do not try another way. Wait a minute, and then ask only for what the task needs.")
}
