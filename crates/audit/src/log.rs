//! The log as the gate uses it: appends events, and records an intent for every authorization.

use crate::approval::ApprovalAuthority;
use crate::authorization::{Authorization, Permitted};
use crate::chain;
use crate::error::AuditError;
use crate::event::{CorrelationId, Event, EventKind, EventSubject, StoredScreenshot, fields};
use crate::head::{Head, HeadFile};
use crate::key::Key;
use crate::queue::{Answer, Job, Line, LineClass, Queue, Slot};
use crate::recover::{self, RecoveredChain};
use crate::sanitize::sanitize_redacted;
use crate::store::Store;
use crate::verify::Defect;
use crate::writer;
use policy::{Action, Denial, Facts};
use redact::{Redacted, redacted};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Timeout of a caller that waits for the disk. A line that is written later has no action.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How a log is stored.
pub struct LogOptions {
    pub key: Key,
    /// When a segment exceeds this size, a new one follows.
    pub segment_bytes: u64,
    /// The oldest segments are dropped when the log is larger.
    pub most_bytes: u64,
}

/// One instance's log. Clones write to the same chain.
#[derive(Clone)]
pub struct Log {
    state: State,
    next: Arc<AtomicU64>,
    instance: Redacted,
    folder: Arc<PathBuf>,
}

#[derive(Clone)]
enum State {
    Open {
        queue: Queue,
        heads: watch::Receiver<Head>,
    },
    /// Adding to it would hide the damage.
    Corrupt(Arc<Defect>),
}

/// A durable intent that has no outcome yet. Dropped without one, it is recorded as abandoned.
#[must_use]
pub struct Intent {
    log: Log,
    subject: EventSubject,
    /// How the outcome is recorded.
    outcome: EventKind,
    action: &'static str,
    pub correlation: CorrelationId,
    /// A reserved slot in the queue, so that the outcome can always be handed over.
    slot: Option<Slot>,
}

/// The gate's further facts about an action.
pub struct ActionContext<'a> {
    pub subject: &'a EventSubject,
    pub user_agent: &'a Redacted,
    pub before: Option<StoredScreenshot>,
    /// Redacts text of a page or an agent.
    pub redact: &'a (dyn Fn(&str) -> Redacted + Sync),
}

impl Log {
    /// Locks the first free chain in `audit`, repairs what a crash left of its end, and records that.
    ///
    /// A chain whose end is damaged is opened, too, and refuses every event; reading still works. The authority is the
    /// only one for this log: it belongs to the approval store.
    pub fn open(
        audit: &Path,
        instance: &str,
        options: LogOptions,
    ) -> Result<(Log, ApprovalAuthority), AuditError> {
        let failed = |source| AuditError::Open { path: audit.to_owned(), source };
        let lock = chain::lock_first_free(audit).map_err(failed)?;
        let folder = Arc::new(lock.folder.clone());
        let found = recover::recover(&lock.folder, &options.key.public()).map_err(failed)?;
        let state = match found {
            Err(defect) => State::Corrupt(Arc::new(defect)),
            Ok(found) => start(lock, found, instance, options).map_err(failed)?,
        };
        let log = Log {
            state,
            next: Arc::new(AtomicU64::new(1)),
            instance: Redacted::outside_sessions(instance),
            folder,
        };
        Ok((log, ApprovalAuthority::new()))
    }

    /// The folder of the chain that this log writes.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Watches the newest signed head; `None` for a damaged log.
    pub fn heads(&self) -> Option<watch::Receiver<Head>> {
        match &self.state {
            State::Open { heads, .. } => Some(heads.clone()),
            State::Corrupt(_) => None,
        }
    }

    /// Fails if the log was damaged when it was opened.
    pub fn check(&self) -> Result<(), AuditError> {
        self.queue().map(|_| ())
    }

    /// Records the intent. Only once it is durable can the action be performed.
    pub async fn intend(
        &self,
        authorization: impl Into<Authorization>,
        context: ActionContext<'_>,
    ) -> Result<(Permitted, Intent), AuditError> {
        let authorization = authorization.into();
        let ActionContext { subject, user_agent, before, redact } = context;
        let action = authorization.action().name();
        let event =
            describe(EventKind::Intent, subject, authorization.action(), authorization.facts(), redact)
                .risk(authorization.risk())
                .decision(Some("allow"))
                .decided_by(Some(authorization.decided_by()))
                .rule(Redacted::from_safe(authorization.rule()))
                .user_agent(user_agent)
                .screenshot_before(before);
        let intent = self.begin(event, subject, EventKind::Outcome, action).await?;
        Ok((authorization.into_permitted(), intent))
    }

    /// Records an intent, with room reserved for its outcome, and returns when it is durable.
    pub(crate) async fn begin(
        &self,
        event: Event,
        subject: &EventSubject,
        outcome: EventKind,
        action: &'static str,
    ) -> Result<Intent, AuditError> {
        let slot = self.queue()?.reserve_outcome()?;
        let correlation =
            CorrelationId(redacted!("{}-{}", self.instance, self.next.fetch_add(1, Ordering::Relaxed)));
        let answer = self.send(&event.correlation(correlation.clone()), LineClass::Opening)?;
        let (log, subject) = (self.clone(), subject.clone());
        // From here the line may be written: a caller that goes away while waiting leaves an abandoned intent.
        let mut intent = Intent { log, subject, outcome, action, correlation, slot: Some(slot) };
        let written = wait_for(answer).await;
        if let Err(AuditError::Write { .. }) = &written {
            // Without an intent there is no outcome either.
            intent.slot = None;
        }
        written.map(|()| intent)
    }

    /// Appends one event and returns when it is durable.
    pub async fn append(&self, event: &Event) -> Result<(), AuditError> {
        let class = match event.kind() {
            EventKind::SessionOpened => LineClass::Opening,
            EventKind::SessionEnded => LineClass::Closing,
            _ => LineClass::Required,
        };
        self.write(event, class).await
    }

    /// Queues an event without waiting. If the disk has no room for it, it is counted, and the count is recorded; false
    /// if it could not be queued.
    pub fn note(&self, event: &Event) -> bool {
        let Ok(fields) = fields(event) else { return false };
        let line = Line { fields, class: LineClass::BestEffort, durable: None };
        self.queue().is_ok_and(|queue| queue.send(Job::Line(line)).is_ok())
    }

    /// Records that an action was refused, and by which rule.
    pub async fn refuse(
        &self,
        context: &ActionContext<'_>,
        action: &Action,
        facts: &Facts,
        denial: &Denial,
    ) -> Result<(), AuditError> {
        let event = describe(EventKind::Refused, context.subject, action, facts, context.redact)
            .decision(Some("deny"))
            .decided_by(Some("policy".into()))
            .rule(Redacted::from_safe(&denial.rule))
            .risk(denial.risk)
            .user_agent(context.user_agent)
            .result(denial.code.name());
        self.append(&event).await
    }

    /// Queues a note of an action that failed before it could be decided, with the error code.
    pub fn not_performed(
        &self,
        context: &ActionContext<'_>,
        action: &Action,
        page_url: String,
        code: &Redacted,
    ) {
        let facts = Facts { page_url, ..Facts::default() };
        let target = action.target().map(|target| (context.redact)(&crate::input::describe_target(target)));
        let event = describe(EventKind::NotPerformed, context.subject, action, &facts, context.redact)
            .user_agent(context.user_agent)
            .target_element(target)
            .result(code.clone());
        if !self.note(&event) {
            tracing::warn!(action = action.name(), %code, "an action that was not performed is not on record");
        }
    }

    /// Records and drops the whole segments that begin before line `before`. Returns how many.
    pub async fn trim(&self, before: u64, why: &Redacted) -> Result<u64, AuditError> {
        let (done, answer) = oneshot::channel();
        self.queue()?.send(Job::Trim { before, why: sanitize_redacted(why), done })?;
        wait_for(answer).await
    }

    async fn write(&self, event: &Event, class: LineClass) -> Result<(), AuditError> {
        wait_for(self.send(event, class)?).await
    }

    /// Queues an event, and returns where its answer comes.
    fn send(&self, event: &Event, class: LineClass) -> Result<oneshot::Receiver<Answer>, AuditError> {
        let fields = fields(event)?;
        let (durable, answer) = oneshot::channel();
        self.queue()?.send(Job::Line(Line { fields, class, durable: Some(durable) }))?;
        Ok(answer)
    }

    fn queue(&self) -> Result<&Queue, AuditError> {
        match &self.state {
            State::Open { queue, .. } => Ok(queue),
            State::Corrupt(defect) => {
                Err(AuditError::Corrupt { path: self.folder.clone(), defect: defect.clone() })
            }
        }
    }
}

impl Intent {
    /// Records the outcome, as `describe` completes it.
    pub async fn complete(mut self, describe: impl FnOnce(Event) -> Event) -> Result<(), AuditError> {
        let outcome = describe(self.outcome());
        let (durable, answer) = oneshot::channel();
        self.hand_over(&outcome, Some(durable))?;
        wait_for(answer).await
    }

    /// Queues the outcome, without waiting until it is durable. Its place is reserved, so it is not lost.
    pub(crate) fn complete_later(mut self, describe: impl FnOnce(Event) -> Event) {
        let outcome = describe(self.outcome());
        if let Err(error) = self.hand_over(&outcome, None) {
            tracing::error!(%error, correlation = %self.correlation.0, "an outcome is not on record");
        }
    }

    /// Queues the outcome in the slot that was reserved for it.
    fn hand_over(
        &mut self,
        outcome: &Event,
        durable: Option<oneshot::Sender<Answer>>,
    ) -> Result<(), AuditError> {
        let line = Line { fields: fields(outcome)?, class: LineClass::Closing, durable };
        let queue = self.log.queue()?;
        match self.slot.take() {
            Some(slot) => queue.send_reserved(slot, Job::Line(line)),
            None => Ok(()),
        }
    }

    fn outcome(&self) -> Event {
        Event::outcome(self.outcome, self.subject.clone(), self.correlation.clone(), self.action)
    }
}

impl Drop for Intent {
    fn drop(&mut self) {
        if self.slot.is_none() {
            return;
        }
        // Its caller went away in the middle. What the page made of it is unknown, and that is recorded.
        let event = self.outcome().result("abandoned");
        if let Err(error) = self.hand_over(&event, None) {
            tracing::error!(%error, correlation = %self.correlation.0, "an abandoned intent is not on record");
        }
    }
}

async fn wait_for<T>(answer: oneshot::Receiver<Result<T, Arc<io::Error>>>) -> Result<T, AuditError> {
    let answer = tokio::time::timeout(WRITE_TIMEOUT, answer).await.map_err(|_| AuditError::Busy)?;
    answer.map_err(|_| AuditError::Gone)?.map_err(|source| AuditError::Write { source })
}

/// Opens the store, records the start and what was repaired, and starts the writer.
fn start(
    lock: chain::ChainLock,
    found: RecoveredChain,
    instance: &str,
    options: LogOptions,
) -> io::Result<State> {
    let RecoveredChain { mut position, heads, notes } = found;
    let is_new = position.chain.is_empty();
    if is_new {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        position.chain = hex::encode(name);
    }
    let head = HeadFile::open(&lock.folder, &heads)?;
    let sizes = (options.segment_bytes, options.most_bytes);
    let mut store = Store::open(lock, head, options.key, position, sizes)?;
    let first = if is_new { EventKind::LogBegun } else { EventKind::LogOpened };
    let mut events = vec![
        Event::new(first, EventSubject::stockade())
            .detail(Redacted::outside_sessions(format!("instance {instance}"))),
    ];
    events.extend(notes.iter().map(|note| {
        Event::new(EventKind::LogRecovered, EventSubject::stockade())
            .detail(Redacted::outside_sessions(note.as_str()))
    }));
    let fields: Result<Vec<String>, _> = events.iter().map(fields).collect();
    let fields = fields.map_err(io::Error::other)?;
    // A head before the first line: a log without a head is damaged.
    store.sign_head()?;
    store.write(&fields.iter().map(String::as_str).collect::<Vec<_>>())?;
    store.forget_torn()?;
    // Both slots: this repairs a damaged one, which has been recorded.
    store.sign_head()?;
    let head = store.sign_head()?;
    let (queue, heads) = writer::spawn(store, head)?;
    Ok(State::Open { queue, heads })
}

fn describe(
    kind: EventKind,
    subject: &EventSubject,
    action: &Action,
    facts: &Facts,
    redact: &dyn Fn(&str) -> Redacted,
) -> Event {
    let page = policy::WebUrl::parse(&facts.page_url).ok();
    let url = match action {
        Action::Navigate(navigate) => Some(&navigate.url),
        _ => page.as_ref(),
    };
    // A page can choose a host name that holds a secret.
    let domain = url.map(|url| redact(url.host()));
    let url = match url {
        Some(url) => Some(redact(url.as_str())),
        None => Some(&facts.page_url).filter(|url| !url.is_empty()).map(|url| redact(url)),
    };
    Event::new(kind, subject.clone())
        .action(action.name())
        .input_value(crate::input::describe_input(action, facts).map(|text| redact(&text)))
        .target_element(describe_target(action, facts).map(|text| redact(&text)))
        .address(url, domain)
}

/// The target element with role, name and how the agent named it; both ends of a drag; or the dialog.
fn describe_target(action: &Action, facts: &Facts) -> Option<String> {
    let target = facts.target.as_ref().map(|target| target.element.as_str());
    let element = |facts: &policy::ElementFacts| {
        let named = match action.target() {
            Some(named) if target == Some(facts.element.as_str()) => crate::input::describe_target(named),
            _ => format!("ref {}", facts.element),
        };
        format!("{} {:?} ({named})", facts.role, facts.name)
    };
    match (&facts.target, &facts.to, &facts.dialog) {
        (Some(from), Some(to), _) => Some(format!("{} to {}", element(from), element(to))),
        (Some(target), None, _) => Some(element(target)),
        (None, _, Some(dialog)) => Some(format!("{} dialog {:?}", dialog.kind, dialog.message)),
        (None, _, None) => None,
    }
}

#[cfg(test)]
impl Log {
    /// A log in which only the test writes lines.
    pub fn unattended(queue: Queue, head: Head) -> Log {
        let state = State::Open { queue, heads: watch::channel(head).1 };
        let folder = Arc::new(PathBuf::new());
        Log { state, next: Arc::new(AtomicU64::new(1)), instance: "i1".into(), folder }
    }
}
