//! The one place where every action is decided, whichever door it came through.
//!
//! resolve → decide → record → perform → record → redact. Each station is a function here; the order is
//! [`Gate::act`] and nothing else.

mod faults;
mod recording;
mod redact;

pub use faults::{audit_fault, bad_address};
pub use redact::Redactor;

use crate::error::Fault;
use crate::session::{EndReason, Entry, OpenRequest, RecordMode, Registry, Session, Stored, Turn};
use audit::{About, Context, Picture};
use browser::{BrowserError, Outcome, TimeLimit, Viewer};
use jiff::Timestamp;
use policy::{Action, Decision, Facts, Permit, Permitted, Policy, Scope};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// The longest an action may be given, whatever was asked for.
pub const LONGEST_ACTION: Duration = Duration::from_secs(120);
/// The driver keeps an action's limit itself, says what it was waiting for and leaves the page tidy. One that
/// has not come back this long after the limit is not waited for.
const GRACE: Duration = Duration::from_secs(5);

pub struct Gate {
    policy: Policy,
    log: audit::Log,
    pub sessions: Arc<Registry>,
}

/// What an action came to, redacted, and safe to hand to the agent.
pub struct Reply {
    pub session: Arc<Session>,
    pub outcome: Outcome,
    /// Where the picture of a screenshot is kept.
    pub image: Option<Stored>,
    pub actions_left: u32,
    /// How many elements answered to the name that was used; 0 for actions without a target.
    pub matches: usize,
}

impl Gate {
    pub fn new(policy: Policy, log: audit::Log, sessions: Arc<Registry>) -> Gate {
        Gate { policy, log, sessions }
    }

    pub async fn open(&self, scope: &Scope, request: OpenRequest) -> Result<Arc<Session>, Fault> {
        self.sessions.open(scope, request).await
    }

    /// The pipeline.
    pub async fn act(
        &self,
        scope: &Scope,
        session: &str,
        action: Action,
        viewer: Viewer,
        timeout: Option<Duration>,
        cancel: &CancellationToken,
    ) -> Result<Reply, Fault> {
        let session = self.sessions.find(scope, session)?;
        let name = action.name();
        let begun = Instant::now();
        let mut turn = tokio::select! {
            // A call that was given up while it waited is not begun, though its turn has come.
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            turn = session.turn() => turn?,
        };
        session.spend_action()?;
        let limit = timeout.unwrap_or_else(|| self.sessions.action_timeout()).min(LONGEST_ACTION);
        let mut found = Found::default();
        let asked = Asked { action, viewer };
        let done = self.stations(&session, &mut turn, asked, limit, cancel, &mut found).await;
        let (done, end) = self.settle(&session, &mut turn, done).await;
        if cancel.is_cancelled() {
            turn.runtime.link.browser.forget_last_shown();
        }
        let page = turn.runtime.link.browser.state();
        let actions_left = session.actions_left();
        let end = end.or((actions_left == 0).then_some(EndReason::ActionLimit));
        let ending = end.and_then(|reason| self.sessions.declare_end(&session, reason));
        drop(turn);

        let redactor = Redactor::for_session(&session);
        let Found { matches, image } = found;
        session.record_action(Entry {
            at: Timestamp::now(),
            action: name,
            result: done.as_ref().err().map_or_else(|| "ok".into(), |fault| fault.code.to_string()),
            duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            url: session.veil.text(&redactor.text(&page.url)),
            title: session.veil.text(&redactor.text(&page.title)),
            screenshot_id: image.as_ref().map(|image| image.id.clone()),
        });
        if let Some(ending) = ending {
            self.sessions.finish(ending).await;
        }
        let outcome = done.map_err(|fault| redactor.fault(fault))?;
        Ok(Reply { session, outcome: redactor.outcome(outcome), image, actions_left, matches })
    }

    async fn stations(
        &self,
        session: &Session,
        turn: &mut Turn<'_>,
        Asked { action, viewer }: Asked,
        limit: Duration,
        cancel: &CancellationToken,
        found: &mut Found,
    ) -> Result<Outcome, Failure> {
        let name = action.name();
        // Whoever navigates needs nothing of the pages that are gone.
        if let Some(fault) = turn.runtime.untold.take().filter(|_| !matches!(action, Action::Navigate(_))) {
            return Err(Failure::Fault(fault));
        }
        let cut_short = cut_short(session, name, limit, cancel);
        tokio::pin!(cut_short);
        let limit = TimeLimit::new(limit);
        let about = About::session(&session.scope, &session.id, Some(session.jail.as_str()));
        session.veil.learn(&action);
        let veil = |text: &str| session.veil.text(text);
        let mut context =
            Context { about: &about, user_agent: &session.user_agent, before: None, veil: &veil };
        let facts = tokio::select! {
            facts = turn.runtime.link.browser.resolve_within(&action, limit) => facts.map_err(Failure::Browser),
            failure = &mut cut_short => Err(failure),
        };
        let facts = match facts {
            Ok(facts) => facts,
            Err(failure) => {
                let page_url = turn.runtime.link.browser.state().url;
                self.log.not_performed(&context, &action, page_url, &failure.code());
                return Err(failure);
            }
        };
        found.matches = facts.target.as_ref().map_or(0, |target| target.matches);
        let is_pictured = recording::is_pictured(session, &action);
        let permit = self.decide(&context, action, facts).await.map_err(Failure::Fault)?;
        // An empty tab shows nothing.
        if is_pictured && !matches!(permit.facts().page_url.as_str(), "" | "about:blank") {
            context.before = tokio::select! {
                picture = self.picture(session, turn, permit.facts().target.as_ref()) => picture.map_err(Failure::Fault)?,
                failure = &mut cut_short => return Err(failure),
            };
        }
        let (permitted, intent) =
            self.log.intend(permit, context).await.map_err(|e| Failure::Fault(audit_fault(e)))?;
        let begun = Instant::now();
        let done = tokio::select! {
            done = perform(turn, permitted, &viewer, limit) => done,
            failure = &mut cut_short => Err(failure),
        };
        let took = begun.elapsed();
        let (done, after) = if is_pictured {
            (done, self.picture_after(session, turn).await)
        } else {
            match done.and_then(|outcome| keep_image(session, outcome, found).map_err(Failure::Fault)) {
                Ok((outcome, picture)) => (Ok(outcome), picture),
                Err(failure) => (Err(failure), None),
            }
        };
        let result = done.as_ref().err().map_or_else(|| "ok".to_owned(), Failure::code);
        let page = turn.runtime.link.browser.state();
        let (url, title) = (veil(&page.url), veil(&page.title));
        let told =
            intent.came_to(|event| event.took(took).result(&result).at(&url, &title).picture(after)).await;
        if let Err(error) = told {
            turn.runtime.link.browser.forget_last_shown();
            return Err(Failure::Fault(audit_fault(error)));
        }
        done
    }

    async fn decide(&self, context: &Context<'_>, action: Action, facts: Facts) -> Result<Permit, Fault> {
        let asked = (action.clone(), facts.clone());
        match self.policy.decide(action, facts) {
            Decision::Allow(permit) => Ok(permit),
            Decision::Deny(denial) => {
                let refused = self.log.refuse(context, &asked.0, &asked.1, &denial);
                refused.await.map_err(audit_fault)?;
                Err(Fault::new(denial.code, denial.message).hint(denial.hint))
            }
        }
    }

    /// Turns a failure into what the caller is told, bringing the browser back where that is possible.
    async fn settle(
        &self,
        session: &Arc<Session>,
        turn: &mut Turn<'_>,
        done: Result<Outcome, Failure>,
    ) -> (Result<Outcome, Fault>, Option<EndReason>) {
        match done {
            Ok(outcome) => (Ok(outcome), None),
            Err(Failure::Fault(fault)) => (Err(fault), None),
            Err(Failure::Ended(reason)) => (Err(reason.fault(&session.id)), None),
            Err(Failure::Browser(BrowserError::TabCrashed { .. })) => {
                (Err(self.sessions.explain_crash(session, &mut turn.runtime).await), None)
            }
            Err(Failure::Browser(_)) if !turn.runtime.link.is_alive() => {
                let (fault, end) = self.sessions.recover(session, &mut turn.runtime).await;
                (Err(fault), end)
            }
            Err(Failure::Browser(error)) => (Err(faults::explain(error, &turn.runtime.egress)), None),
        }
    }
}

/// Keeps the picture that an agent asked for, if pictures are kept, and tells of it as the log does.
fn keep_image(
    session: &Session,
    outcome: Outcome,
    found: &mut Found,
) -> Result<(Outcome, Option<Picture>), Fault> {
    let picture = match &outcome {
        Outcome::Screenshot(image) if session.record != RecordMode::Off => {
            let kept = session.store_image(&image.bytes, image.format)?;
            let told = recording::told(session, &kept, [image.width, image.height], None);
            found.image = Some(kept);
            Some(told)
        }
        _ => None,
    };
    Ok((outcome, picture))
}

/// What is asked for, and whom the reply is for.
struct Asked {
    action: Action,
    viewer: Viewer,
}

/// What the stations found on their way.
#[derive(Default)]
struct Found {
    matches: usize,
    image: Option<Stored>,
}

/// Why the stations stopped short.
enum Failure {
    Browser(BrowserError),
    Fault(Fault),
    Ended(EndReason),
}

impl Failure {
    fn code(&self) -> String {
        match self {
            Failure::Browser(error) => error.code().to_string(),
            Failure::Fault(fault) => fault.code.to_string(),
            Failure::Ended(reason) => reason.as_str().to_owned(),
        }
    }
}

/// What ends an action before it is done: its time is up, its caller or its session is gone.
async fn cut_short(session: &Session, action: &str, limit: Duration, cancel: &CancellationToken) -> Failure {
    tokio::select! {
        () = tokio::time::sleep(limit + GRACE) => Failure::Fault(timed_out(action, limit)),
        () = cancel.cancelled() => Failure::Fault(cancelled()),
        reason = session.until_ended() => Failure::Ended(reason),
    }
}

async fn perform(
    turn: &mut Turn<'_>,
    permitted: Permitted,
    viewer: &Viewer,
    limit: TimeLimit,
) -> Result<Outcome, Failure> {
    turn.runtime.link.browser.perform_within(permitted, viewer, limit).await.map_err(Failure::Browser)
}

fn timed_out(action: &str, limit: Duration) -> Fault {
    let seconds = limit.as_secs_f64();
    Fault::new(
        format!("browser_action_timeout:{action}:{seconds}s"),
        format!("{action} was not done after {seconds} s"),
    )
    .hint("Read the page to see how far it came, then try again or give it more time.")
    .retryable()
}

fn cancelled() -> Fault {
    Fault::new("cancelled", "the call was cancelled by its caller")
        .hint("Nothing to do; call again when you need it.")
}
