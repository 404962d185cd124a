//! The log as the gate uses it: events in, and an intent for every permit.

use crate::chain;
use crate::error::AuditError;
use crate::event::{About, Correlation, Event, EventKind, Picture};
use crate::head::{Head, HeadFile};
use crate::key::Key;
use crate::line::LONGEST_LINE;
use crate::recover::{self, Found};
use crate::store::Store;
use crate::text::plain;
use crate::verify::Bad;
use crate::writer::{self, Class, Job, Line};
use policy::{Action, Denial, Facts, Permit, Permitted};
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// A disk that hangs for longer holds up no caller; what it writes late is on record without its action.
const PATIENCE: Duration = Duration::from_secs(10);
/// What the number, the hashes and the signature add to an event.
const FRAME_BYTES: usize = 512;

/// How a log is kept.
pub struct LogOptions {
    pub key: Key,
    /// A segment that is longer is followed by the next.
    pub segment_bytes: u64,
    /// The oldest segments go when the log is larger.
    pub most_bytes: u64,
}

/// One instance's log. Clones write to the same chain.
#[derive(Clone)]
pub struct Log {
    state: State,
    next: Arc<AtomicU64>,
    instance: Arc<str>,
    folder: Arc<PathBuf>,
}

#[derive(Clone)]
enum State {
    Open {
        jobs: SyncSender<Job>,
        heads: watch::Receiver<Head>,
    },
    /// It cannot be added to without hiding what was done to it.
    Corrupt(Arc<Bad>),
}

/// An intent that is durable and has no outcome yet. Dropped without one, it says so in the log.
#[must_use]
pub struct Intent {
    log: Log,
    about: About,
    action: &'static str,
    pub correlation: Correlation,
    told: bool,
}

/// What the gate knows of an action beside its permit.
pub struct Context<'a> {
    pub about: &'a About,
    pub user_agent: &'a str,
    pub before: Option<Picture>,
    /// Takes out of a page's or an agent's text what must not be on record.
    pub veil: &'a (dyn Fn(&str) -> String + Sync),
}

impl Log {
    /// Takes the first chain in `audit` that nobody holds, mends what a crash left of its end, and notes that.
    ///
    /// A chain whose end is damaged is opened too, and refuses every event: reading goes on.
    pub fn open(audit: &Path, instance: &str, options: LogOptions) -> Result<Log, AuditError> {
        let failed = |source| AuditError::Open { path: audit.to_owned(), source };
        let held = chain::take(audit).map_err(failed)?;
        let folder = Arc::new(held.folder.clone());
        let found = recover::find(&held.folder, &options.key.public()).map_err(failed)?;
        let state = match found {
            Err(bad) => State::Corrupt(Arc::new(bad)),
            Ok(found) => start(held, found, instance, options).map_err(failed)?,
        };
        Ok(Log { state, next: Arc::new(AtomicU64::new(1)), instance: instance.into(), folder })
    }

    /// The folder of the chain that this log writes.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The newest signed head, as it changes; `None` for a damaged log.
    pub fn heads(&self) -> Option<watch::Receiver<Head>> {
        match &self.state {
            State::Open { heads, .. } => Some(heads.clone()),
            State::Corrupt(_) => None,
        }
    }

    /// Why nothing can be written, if that is so from the start.
    pub fn check(&self) -> Result<(), AuditError> {
        self.jobs().map(|_| ())
    }

    /// Writes the intent; only when it is durable does the permit become something that can be performed.
    pub async fn intend(
        &self,
        permit: Permit,
        context: Context<'_>,
    ) -> Result<(Permitted, Intent), AuditError> {
        let Context { about, user_agent, before, veil } = context;
        let correlation =
            Correlation(format!("{}-{}", self.instance, self.next.fetch_add(1, Ordering::Relaxed)));
        let action = permit.action().name();
        let mut event = describe(EventKind::Intent, about, permit.action(), permit.facts(), veil);
        event.risk = Some(permit.risk().as_str());
        event.correlation_id = Some(correlation.clone());
        event.decision = Some("allow");
        event.decided_by = Some(plain(permit.decided_by()));
        event.rule = Some(plain(permit.rule().as_str()));
        event.user_agent = Some(plain(user_agent));
        event.screenshot_before = before;
        self.write(&event, Class::Begins).await?;
        let (log, about) = (self.clone(), about.clone());
        Ok((permit.recorded(), Intent { log, about, action, correlation, told: false }))
    }

    /// Writes one event and returns when it is durable.
    pub async fn append(&self, event: &Event) -> Result<(), AuditError> {
        let class = match event.event_type {
            EventKind::SessionOpened => Class::Begins,
            EventKind::SessionEnded => Class::Ends,
            _ => Class::Other,
        };
        self.write(event, class).await
    }

    /// Hands over an event that has happened already and waits for nobody. If there is no room for it, it is
    /// counted, and the count is recorded; false if not even that could be handed over.
    pub fn note(&self, event: &Event) -> bool {
        let Ok(fields) = fields(event) else { return false };
        self.jobs().is_ok_and(|jobs| {
            jobs.try_send(Job::Line(Line { fields, class: Class::Seen, durable: None })).is_ok()
        })
    }

    /// Writes that an action was refused, and by which rule.
    pub async fn refuse(
        &self,
        context: &Context<'_>,
        action: &Action,
        facts: &Facts,
        denial: &Denial,
    ) -> Result<(), AuditError> {
        let mut event = describe(EventKind::Refused, context.about, action, facts, context.veil);
        event.decision = Some("deny");
        event.decided_by = Some("policy".to_owned());
        event.rule = Some(plain(denial.rule.as_str()));
        event.risk = Some(denial.risk.as_str());
        event.user_agent = Some(plain(context.user_agent));
        self.append(&event.result(denial.code)).await
    }

    /// Notes an action that came to nothing before it could be decided, with the code of the error.
    pub fn not_performed(
        &self,
        context: &Context<'_>,
        action: &Action,
        page_url: String,
        code: &str,
    ) -> bool {
        let facts = Facts { page_url, ..Facts::default() };
        let mut event = describe(EventKind::NotPerformed, context.about, action, &facts, context.veil);
        event.user_agent = Some(plain(context.user_agent));
        event.target_element =
            action.target().map(|target| plain(&(context.veil)(&crate::input::named(target))));
        self.note(&event.result(code))
    }

    /// Drops the whole segments that begin before line `before`, once the log says so. Returns how many.
    pub async fn trim(&self, before: u64, why: &str) -> Result<u64, AuditError> {
        let (done, answer) = oneshot::channel();
        self.send(Job::Trim { before, why: plain(why), done })?;
        waited(answer).await
    }

    async fn write(&self, event: &Event, class: Class) -> Result<(), AuditError> {
        let fields = fields(event)?;
        let (durable, answer) = oneshot::channel();
        self.send(Job::Line(Line { fields, class, durable: Some(durable) }))?;
        waited(answer).await
    }

    fn send(&self, job: Job) -> Result<(), AuditError> {
        self.jobs()?.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => AuditError::Busy,
            TrySendError::Disconnected(_) => AuditError::Gone,
        })
    }

    fn jobs(&self) -> Result<&SyncSender<Job>, AuditError> {
        match &self.state {
            State::Open { jobs, .. } => Ok(jobs),
            State::Corrupt(bad) => Err(AuditError::Corrupt { path: self.folder.clone(), bad: bad.clone() }),
        }
    }
}

impl Intent {
    /// Writes what came of it, as `tell` completes it.
    pub async fn came_to(mut self, tell: impl FnOnce(Event) -> Event) -> Result<(), AuditError> {
        let outcome = tell(self.outcome());
        self.told = true;
        self.log.write(&outcome, Class::Ends).await
    }

    fn outcome(&self) -> Event {
        Event::outcome(self.about.clone(), self.correlation.clone(), self.action)
    }
}

impl Drop for Intent {
    fn drop(&mut self) {
        if self.told {
            return;
        }
        // Its caller went away in the middle: what the page made of it is not known, and that is on record.
        let event = self.outcome().result("abandoned");
        if let (Ok(fields), Ok(jobs)) = (fields(&event), self.log.jobs()) {
            drop(jobs.try_send(Job::Line(Line { fields, class: Class::Ends, durable: None })));
        }
    }
}

async fn waited<T>(answer: oneshot::Receiver<Result<T, Arc<io::Error>>>) -> Result<T, AuditError> {
    let answer = tokio::time::timeout(PATIENCE, answer).await.map_err(|_| AuditError::Busy)?;
    answer.map_err(|_| AuditError::Gone)?.map_err(|source| AuditError::Write { source })
}

/// Opens the store, notes the start and what it mended, and lets the writer go.
fn start(held: chain::Held, found: Found, instance: &str, options: LogOptions) -> io::Result<State> {
    let Found { mut standing, heads, notes } = found;
    let is_new = standing.chain.is_empty();
    if is_new {
        let mut name = [0; 8];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        standing.chain = crate::hex::encode(&name);
    }
    let head = HeadFile::open(&held.folder, &heads)?;
    let sizes = (options.segment_bytes, options.most_bytes);
    let mut store = Store::open(held, head, options.key, standing, sizes)?;
    let first = if is_new { EventKind::LogBegun } else { EventKind::LogOpened };
    let mut events = vec![Event::new(first, About::stockade()).detail(&format!("instance {instance}"))];
    events
        .extend(notes.iter().map(|note| Event::new(EventKind::LogRecovered, About::stockade()).detail(note)));
    let fields: Result<Vec<String>, _> = events.iter().map(fields).collect();
    let fields = fields.map_err(io::Error::other)?;
    // A head before the first line: a log without one has lost it.
    store.sign_head()?;
    store.write(&fields.iter().map(String::as_str).collect::<Vec<_>>())?;
    store.told_of_torn()?;
    // Both places: a spoiled one is mended, and has been noted.
    store.sign_head()?;
    let head = store.sign_head()?;
    let (jobs, heads) = writer::spawn(store, head)?;
    Ok(State::Open { jobs, heads })
}

#[derive(Serialize)]
struct Stamped<'a> {
    timestamp: jiff::Timestamp,
    #[serde(flatten)]
    event: &'a Event,
}

/// The event and its time, as the fields of a JSON object without its braces.
pub fn fields(event: &Event) -> Result<String, AuditError> {
    let text = serde_json::to_string(&Stamped { timestamp: jiff::Timestamp::now(), event })
        .map_err(|source| AuditError::Encode { source })?;
    if text.len() + FRAME_BYTES > LONGEST_LINE {
        return Err(AuditError::TooLong { bytes: text.len() });
    }
    Ok(text[1..text.len() - 1].to_owned())
}

fn describe(
    kind: EventKind,
    about: &About,
    action: &Action,
    facts: &Facts,
    veil: &dyn Fn(&str) -> String,
) -> Event {
    let mut event = Event::new(kind, about.clone());
    event.action = Some(action.name());
    event.input_value = crate::input::told(action, facts).map(|text| plain(&veil(&text)));
    event.target_element = aimed_at(facts).map(|text| plain(&veil(&text)));
    let page = policy::WebUrl::parse(&facts.page_url).ok();
    let url = match action {
        Action::Navigate(navigate) => Some(&navigate.url),
        _ => page.as_ref(),
    };
    // A page can make up a name that holds what must not be on record.
    event.domain = url.map(|url| plain(&veil(url.host())));
    event.url = match url {
        Some(url) => Some(plain(&veil(url.as_str()))),
        None => Some(&facts.page_url).filter(|url| !url.is_empty()).map(|url| plain(&veil(url))),
    };
    event
}

/// The element, the one that a drag ends on, or the dialog.
fn aimed_at(facts: &Facts) -> Option<String> {
    let element = |facts: &policy::ElementFacts| format!("{} {:?}", facts.role, facts.name);
    match (&facts.target, &facts.to, &facts.dialog) {
        (Some(from), Some(to), _) => Some(format!("{} to {}", element(from), element(to))),
        (Some(target), None, _) => Some(element(target)),
        (None, _, Some(dialog)) => Some(format!("{} dialog {:?}", dialog.kind, dialog.message)),
        (None, _, None) => None,
    }
}
