//! The stations that an action passes with the turn in hand: resolve, decide, record, perform, record.

use super::asking::Shown;
use super::{Errand, GRACE, Gate, cancelled, recording};
use crate::error::Fault;
use crate::error::audit_fault;
use crate::session::{EndReason, Session, Stored, Turn};
use audit::{ActionContext, Approved, Authorization, EventSubject, Permitted};
use browser::{BrowserError, Outcome, ReplyOptions, TimeLimit};
use error_code::ErrorCode;
use policy::{Action, Decision, Facts, Question};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// Where the pipeline begins: with an action to decide on, or with a person's yes to one.
pub(super) enum Start {
    New(Action),
    Approved(Box<Approved>),
}

impl Start {
    fn action(&self) -> &Action {
        match self {
            Start::New(action) => action,
            Start::Approved(approved) => approved.action(),
        }
    }

    /// An element that cannot be found again is not what the person was asked about.
    fn or_void(&self, failure: Failure, is_alive: bool) -> Failure {
        match (self, failure) {
            (_, Failure::Browser(error @ BrowserError::TabCrashed { .. })) => Failure::Browser(error),
            (Start::Approved(_), Failure::Browser(error)) if is_alive => {
                Failure::Fault(void(&Fault::from(error).message))
            }
            (_, failure) => failure,
        }
    }
}

pub(super) enum Decided {
    Authorized(Authorization),
    Ask(Question),
}

/// How far the stations came.
pub(super) enum Done {
    Outcome(Outcome),
    Asked(Box<Question>, Shown),
}

/// What the stations found on their way.
#[derive(Default)]
pub(super) struct Found {
    pub matches: usize,
    pub image: Option<Stored>,
}

/// Why the stations stopped short.
pub(super) enum Failure {
    Browser(BrowserError),
    Fault(Fault),
    Ended(EndReason),
}

impl Failure {
    /// Whether it is one of those after which a person is asked for guidance. Refusals are not.
    pub fn counts(&self) -> bool {
        match self {
            Failure::Browser(_) => true,
            Failure::Fault(fault) => matches!(fault.code, ErrorCode::BrowserActionTimeout { .. }),
            Failure::Ended(_) => false,
        }
    }

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
    viewer: &ReplyOptions,
    limit: TimeLimit,
) -> Result<Outcome, Failure> {
    turn.runtime.link.browser.perform_within(permitted, viewer, limit).await.map_err(Failure::Browser)
}

fn timed_out(action: &str, limit: Duration) -> Fault {
    let seconds = limit.as_secs_f64();
    Fault::new(
        ErrorCode::BrowserActionTimeout { action: action.to_owned(), limit },
        format!("{action} was not done after {seconds} s"),
    )
    .hint("Read the page to see how far it came, then try again or give it more time.")
    .retryable()
}

impl Gate {
    pub(super) async fn stations(
        &self,
        session: &Session,
        turn: &mut Turn<'_>,
        errand: &Errand,
        start: Start,
        cancel: &CancellationToken,
        found: &mut Found,
    ) -> Result<Done, Failure> {
        let (name, action) = (errand.name, start.action());
        // Whoever navigates needs nothing of the pages that are gone.
        if let Some(fault) = turn.runtime.unreported.take().filter(|_| !matches!(action, Action::Navigate(_)))
        {
            return Err(Failure::Fault(fault));
        }
        let cut_short = cut_short(session, name, errand.limit, cancel);
        tokio::pin!(cut_short);
        let limit = TimeLimit::new(errand.limit);
        let about = EventSubject::session(&session.scope, &session.id, Some(session.browser_id.as_str()));
        // Once: characters that are pressed make a text.
        if matches!(start, Start::New(_)) {
            session.veil.learn(action);
        }
        self.learn(session, turn).await.map_err(Failure::Browser)?;
        let veil = |text: &str| session.veil.text(text);
        let mut context =
            ActionContext { subject: &about, user_agent: &session.user_agent, before: None, redact: &veil };
        let facts = tokio::select! {
            facts = turn.runtime.link.browser.resolve_within(action, limit) => facts.map_err(Failure::Browser),
            failure = &mut cut_short => Err(failure),
        };
        let facts = match facts {
            Ok(facts) => facts,
            Err(failure) => {
                let failure = start.or_void(failure, turn.runtime.link.is_alive());
                let page_url = turn.runtime.link.browser.state().url;
                self.log.not_performed(&context, action, page_url, &failure.code());
                return Err(failure);
            }
        };
        found.matches = facts.target.as_ref().map_or(0, |target| target.matches);
        let is_pictured = recording::is_pictured(session, action);
        let shot = match action {
            Action::Screenshot(shot) => Some((shot.clone(), facts.target.clone())),
            _ => None,
        };
        let was_asked = matches!(start, Start::Approved(_));
        let authorized = match start {
            Start::New(action) => match self.decide(session, &context, action, facts).await? {
                Decided::Authorized(authorized) => authorized,
                Decided::Ask(question) => {
                    let shown = tokio::select! {
                        shown = self.shown(session, turn, &question) => shown,
                        failure = &mut cut_short => return Err(failure),
                    };
                    return Ok(Done::Asked(Box::new(question), shown));
                }
            },
            Start::Approved(approved) => {
                let (action, page_url) = (approved.action().clone(), facts.page_url.clone());
                approved.recheck(facts).map_err(|changed| {
                    self.log.not_performed(&context, &action, page_url, "approval_void");
                    Failure::Fault(void(changed.what))
                })?
            }
        };
        // An empty tab shows nothing.
        if is_pictured && !matches!(authorized.facts().page_url.as_str(), "" | "about:blank") {
            context.before = tokio::select! {
                picture = self.picture(session, turn, authorized.facts().target.as_ref()) => picture.map_err(Failure::Fault)?,
                failure = &mut cut_short => return Err(failure),
            };
        }
        let (permitted, intent) =
            self.log.intend(authorized, context).await.map_err(|e| Failure::Fault(audit_fault(e)))?;
        let begun = Instant::now();
        let done = tokio::select! {
            done = perform(turn, permitted, &errand.viewer, limit) => done,
            failure = &mut cut_short => Err(failure),
        };
        let took = begun.elapsed();
        // Whatever came of it, nothing is told or recorded of it before this.
        let done = match (done, self.learn(session, turn).await) {
            (Ok(_), Err(error)) => Err(Failure::Browser(error)),
            (Err(Failure::Browser(BrowserError::TargetChanged { what, .. })), _) if was_asked => {
                Err(Failure::Fault(void(what)))
            }
            (done, _) => done,
        };
        let (done, after) = if is_pictured {
            (done, self.picture_after(session, turn).await)
        } else {
            match (done, shot) {
                (Ok(outcome), Some((shot, target))) => {
                    match self.pictures(session, turn, outcome, &shot, target.as_ref(), found).await {
                        Ok((outcome, picture)) => (Ok(outcome), picture),
                        Err(fault) => (Err(Failure::Fault(fault)), None),
                    }
                }
                (done, _) => (done, None),
            }
        };
        let result = done.as_ref().err().map_or_else(|| "ok".to_owned(), Failure::code);
        let page = turn.runtime.link.browser.state();
        let (url, title) = (veil(&page.url), veil(&page.title));
        let told =
            intent.complete(|event| event.took(took).result(&result).at(&url, &title).picture(after)).await;
        if let Err(error) = told {
            turn.runtime.link.browser.forget_last_shown();
            return Err(Failure::Fault(audit_fault(error)));
        }
        if let Ok(outcome) = &done
            && let Err(fault) = self.signed_out(session, &page.url, outcome).await
        {
            turn.runtime.link.browser.forget_last_shown();
            return Err(Failure::Fault(fault));
        }
        done.map(Done::Outcome)
    }

    async fn decide(
        &self,
        session: &Session,
        context: &ActionContext<'_>,
        action: Action,
        facts: Facts,
    ) -> Result<Decided, Failure> {
        let asked = (action.clone(), facts.clone());
        match self.policy.decide(action, facts, &session.standing()) {
            Decision::Allow(permit) => Ok(Decided::Authorized(permit.into())),
            Decision::Ask(question) => match session.given.covers(question) {
                Ok(approved) => approved
                    .recheck(asked.1)
                    .map(Decided::Authorized)
                    .map_err(|changed| Failure::Fault(void(changed.what))),
                Err(question) => Ok(Decided::Ask(question)),
            },
            Decision::Deny(denial) => {
                let refused = self.log.refuse(context, &asked.0, &asked.1, &denial);
                refused.await.map_err(|error| Failure::Fault(audit_fault(error)))?;
                if denial.code == ErrorCode::CredentialTyped {
                    self.alert(session, denial.code.name(), &denial.rule).await.map_err(Failure::Fault)?;
                }
                Err(Failure::Fault(Fault::new(denial.code, denial.message).hint(denial.hint)))
            }
        }
    }
}

/// A yes to something that is not there any more.
fn void(what: &str) -> Fault {
    Fault::new(
        ErrorCode::ApprovalVoid,
        format!("the operator said yes, but the page has changed since they were asked, so nothing was done: {what}"),
    )
    .hint("Read the page. If it is still what you want, do it again: the operator is asked about what is there now.")
}
