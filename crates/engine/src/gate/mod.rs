//! The one place where every action is decided, whichever door it came through.
//!
//! resolve → decide → ask → resolve again → record → perform → record → redact. Each station is a function here; the
//! order is [`Gate::act`] and nothing else.

mod asking;
mod escalation;
mod following;
mod learning;
mod pending;
mod recording;
mod redact;
mod stations;

pub use self::redact::Redactor;
pub use pending::{Pending, Pendings};

use crate::approvals::{Approval, Book, Bound};
use crate::error::Fault;
use crate::session::{EndFault, EndReason, Entry, OpenRequest, Registry, Session, Stored, Turn, Whereabouts};
use asking::Shown;
use browser::{BrowserError, Outcome, ReplyOptions};
use error_code::ErrorCode;
use jiff::Timestamp;
use policy::{Action, Policy, Question, Scope};
use stations::{Done, Failure, Found, Start};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The longest an action may be given, whatever was asked for.
pub const LONGEST_ACTION: Duration = Duration::from_secs(120);
/// The driver keeps an action's limit itself, says what it was waiting for and leaves the page tidy. One that
/// has not come back this long after the limit is not waited for.
const GRACE: Duration = Duration::from_secs(5);

/// Cheap to clone; clones are the same gate.
#[derive(Clone)]
pub struct Gate {
    policy: Policy,
    log: audit::Log,
    pub sessions: Arc<Registry>,
    approvals: Book,
    /// Actions that wait for a person, and what came of them.
    pub pendings: Pendings,
    /// After so many failures in a row a session waits for guidance; never, if 0.
    pause_after: u32,
}

/// An action, and how its reply is wanted.
pub struct Wish {
    pub action: Action,
    pub viewer: ReplyOptions,
    /// How long it may take; as the settings say, if left out.
    pub timeout: Option<Duration>,
    /// How long the call waits for a person's answer. Whatever it is, the question stays.
    pub patience: Duration,
    /// Told when a person is asked.
    pub asked: Option<watch::Sender<Option<Approval>>>,
    /// Cancelled when the caller says that it does not want the action any more. One that only hangs up may come back.
    pub given_up: CancellationToken,
}

impl Wish {
    /// For a door where nobody waits for a person.
    pub fn unattended(action: Action, viewer: ReplyOptions) -> Wish {
        let given_up = CancellationToken::new();
        Wish { action, viewer, timeout: None, patience: Duration::ZERO, asked: None, given_up }
    }
}

/// What an action came to, redacted, and safe to hand to the agent.
#[derive(Clone)]
pub struct Reply {
    pub session: Arc<Session>,
    pub outcome: Outcome,
    /// Where the picture of a screenshot is kept.
    pub image: Option<Stored>,
    pub actions_left: u32,
    /// How many elements answered to the name that was used; 0 for actions without a target.
    pub matches: usize,
    /// What an operator has to say to the agent.
    pub note: Option<String>,
}

impl Gate {
    pub fn new(
        policy: Policy,
        log: audit::Log,
        sessions: Arc<Registry>,
        approvals: Book,
        pause_after: u32,
    ) -> Gate {
        Gate { policy, log, sessions, approvals, pendings: Pendings::default(), pause_after }
    }

    pub async fn open(&self, scope: &Scope, request: OpenRequest) -> Result<Arc<Session>, Fault> {
        self.sessions.open(scope, request).await
    }

    /// The pipeline.
    pub async fn act(
        &self,
        scope: &Scope,
        session: &str,
        wish: Wish,
        cancel: &CancellationToken,
    ) -> Result<Reply, Fault> {
        let session = self.sessions.find(scope, session)?;
        let Wish { action, viewer, timeout, patience, asked, given_up } = wish;
        let limit = timeout.unwrap_or_else(|| self.sessions.action_timeout()).min(LONGEST_ACTION);
        let errand =
            Errand { name: action.name(), looks: action.only_reads(), viewer, limit, begun: Instant::now() };
        let turn = tokio::select! {
            // A call that was given up while it waited is not begun, though its turn has come.
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            turn = session.turn() => turn?,
        };
        if !errand.looks {
            self.check_running(&session).await?;
        }
        session.spend_action()?;
        match self.run(&session, turn, &errand, Start::New(action), cancel).await {
            Ran::Done(result) => result,
            Ran::Asked(question, shown) => {
                let waiting = match self.ask(&session, &question, shown).await {
                    Ok(waiting) => waiting,
                    Err(fault) => {
                        self.conclude(&session, &errand, Some(&fault), None).await;
                        return Err(fault);
                    }
                };
                if let Some(asked) = asked {
                    asked.send_replace(Some(waiting.asked().clone()));
                }
                let pending = self.follow(session, errand, Bound::new(waiting, *question), given_up);
                tokio::select! {
                    // A caller that is gone may come back for the answer.
                    () = cancel.cancelled() => Err(cancelled()),
                    result = pending.result(patience) => result,
                }
            }
        }
    }

    /// The stations with the turn in hand, and everything that has to be tidy before it is let go.
    async fn run(
        &self,
        session: &Arc<Session>,
        mut turn: Turn<'_>,
        errand: &Errand,
        start: Start,
        cancel: &CancellationToken,
    ) -> Ran {
        let mut found = Found::default();
        let done = match self.stations(session, &mut turn, errand, start, cancel, &mut found).await {
            Ok(Done::Asked(question, shown)) => return Ran::Asked(question, shown),
            Ok(Done::Outcome(outcome)) => Ok(outcome),
            Err(failure) => Err(failure),
        };
        let failed = done.as_ref().is_err_and(Failure::counts);
        let (mut done, end) = self.settle(session, &mut turn, done).await;
        if cancel.is_cancelled() {
            turn.runtime.link.browser.forget_last_shown();
        }
        let page = turn.runtime.link.browser.state();
        let redactor = Redactor::for_session(session);
        let Found { matches, image } = found;
        let (url, title) =
            (session.veil.text(&redactor.text(&page.url)), session.veil.text(&redactor.text(&page.title)));
        let place = Whereabouts { url, title, image: image.as_ref().map(|image| image.id.clone()) };
        // With the turn in hand: whoever waits for it finds the session paused.
        if !errand.looks && end.is_none() {
            self.escalate(session, failed, &place, &mut done).await;
        }
        if let Some(ending) = end.and_then(|reason| self.sessions.declare_end(session, reason)) {
            drop(turn);
            self.sessions.finish(ending).await;
        } else {
            drop(turn);
        }
        self.conclude(session, errand, done.as_ref().err(), Some(place)).await;
        Ran::Done(done.map_err(|fault| redactor.fault(fault)).map(|outcome| {
            let is_told = matches!(outcome, Outcome::Acted(_) | Outcome::Navigated { .. });
            Reply {
                session: session.clone(),
                outcome: redactor.outcome(outcome),
                image,
                actions_left: session.actions_left(),
                matches,
                note: if is_told { session.take_note() } else { None },
            }
        }))
    }

    /// Keeps what an action came to, and ends a session that has used up its actions.
    async fn conclude(
        &self,
        session: &Arc<Session>,
        errand: &Errand,
        fault: Option<&Fault>,
        place: Option<Whereabouts>,
    ) {
        let Whereabouts { url, title, image } = place.unwrap_or_else(|| session.last_place());
        session.record_action(Entry {
            at: Timestamp::now(),
            action: errand.name,
            result: fault.map_or_else(|| "ok".into(), |fault| fault.code.to_string()),
            duration_ms: u64::try_from(errand.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            url,
            title,
            screenshot_id: image,
        });
        if session.actions_left() == 0 {
            self.sessions.end(session, EndReason::ActionLimit).await;
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
                (Err(self.sessions.explain_crash(&mut turn.runtime).await), None)
            }
            Err(Failure::Browser(_)) if !turn.runtime.link.is_alive() => {
                let (fault, end) = self.sessions.recover(session, &mut turn.runtime).await;
                (Err(fault), end)
            }
            Err(Failure::Browser(error)) => {
                (Err(crate::error::explain(error, turn.runtime.provided.egress())), None)
            }
        }
    }
}

/// One call's way through the gate.
struct Errand {
    name: &'static str,
    /// It leaves the page as it was.
    looks: bool,
    viewer: ReplyOptions,
    limit: Duration,
    begun: Instant,
}

#[expect(clippy::large_enum_variant, reason = "one is made for each action and taken apart at once")]
enum Ran {
    Done(Result<Reply, Fault>),
    Asked(Box<Question>, Shown),
}

fn cancelled() -> Fault {
    Fault::new(ErrorCode::Cancelled, "the call was cancelled by its caller")
        .hint("Nothing to do; call again when you need it.")
}
