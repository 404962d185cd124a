//! The gate: every action is decided here, whichever interface it came through.
//!
//! The pipeline is resolve → decide → ask → resolve again → record → perform → record → redact. [`Gate::act`] is its
//! entry point; `execute` has the steps that need the browser.

mod approval_wait;
mod effect_card;
mod effect_questions;
mod escalation;
mod execute;
mod pending;
mod question_card;
mod recording;
mod site_secrets;

pub use pending::{PendingAction, PendingActions};

use crate::approvals::{Approval, ApprovalId, ApprovalStore, PendingApproval};
use crate::error::Fault;
use crate::session::{
    EndFault, EndReason, HistoryEntry, OpenRequest, PageLocation, Registry, Session, StoredImage, Turn,
};
use browser::{BrowserError, Outcome, RedactedOutcome, ReplyOptions};
use error_code::ErrorCode;
use execute::{ActionFailure, ActionSource, ExecuteOutcome, ReplyDetails};
use jiff::Timestamp;
use policy::{Action, Policy, Question, Scope};
use question_card::QuestionScreenshot;
use redact::{Redacted, redacted};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Upper bound of an action's timeout.
pub const LONGEST_ACTION: Duration = Duration::from_secs(120);
/// Extra time for the driver to return after an action's timeout. The driver enforces the timeout itself, so that it can
/// report what it was waiting for and clean up the page.
const GRACE: Duration = Duration::from_secs(5);

/// Decides, records and performs actions. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct Gate {
    policy: Policy,
    log: audit::Log,
    pub sessions: Arc<Registry>,
    approvals: ApprovalStore,
    /// Actions that wait for an approval, and the results of those that did.
    pub pending_actions: PendingActions,
    /// Number of consecutive failures after which a session pauses for guidance; 0 turns this off.
    pause_after: u32,
    /// Whether a session whose agent types a credential waits for a person.
    halts_on_credentials: bool,
}

/// How a gate supervises sessions.
#[derive(Clone, Copy, Debug)]
pub struct Supervision {
    /// Number of consecutive failures after which a session pauses for guidance; 0 turns this off.
    pub pause_after: u32,
    /// Whether a session whose agent types a credential waits for a person.
    pub halts_on_credentials: bool,
}

/// An action and the options of its call.
pub struct ActionRequest {
    pub action: Action,
    pub reply_options: ReplyOptions,
    /// Time limit of the action; the configured one if `None`.
    pub timeout: Option<Duration>,
    /// How long the call waits for an approval. The question stays open after that.
    pub approval_wait: Duration,
    /// Receives the approval when a person is asked.
    pub asked: Option<watch::Sender<Option<Approval>>>,
    /// Cancelled when the caller explicitly withdraws the action. A caller that only disconnects may come back.
    pub abandoned: CancellationToken,
}

impl ActionRequest {
    /// A request whose caller does not wait for an approval.
    pub fn unattended(action: Action, reply_options: ReplyOptions) -> ActionRequest {
        let abandoned = CancellationToken::new();
        ActionRequest {
            action,
            reply_options,
            timeout: None,
            approval_wait: Duration::ZERO,
            asked: None,
            abandoned,
        }
    }
}

/// The redacted result of an action, for the agent.
#[derive(Clone)]
pub struct Reply {
    pub session: Arc<Session>,
    pub outcome: RedactedOutcome,
    /// The stored copy of a screenshot.
    pub image: Option<StoredImage>,
    pub actions_left: u32,
    /// Number of elements that matched the target; 0 for actions without one.
    pub matches: usize,
    /// An operator's message to the agent.
    pub note: Option<Redacted>,
}

impl Gate {
    pub fn new(
        policy: Policy,
        log: audit::Log,
        sessions: Arc<Registry>,
        approvals: ApprovalStore,
        supervision: Supervision,
    ) -> Gate {
        let Supervision { pause_after, halts_on_credentials } = supervision;
        let pending_actions = PendingActions::default();
        Gate { policy, log, sessions, approvals, pending_actions, pause_after, halts_on_credentials }
    }

    pub async fn open(&self, scope: &Scope, request: OpenRequest) -> Result<Arc<Session>, Fault> {
        let session = self.sessions.open(scope, request).await?;
        if let Some(held) = session.take_held_effects() {
            tokio::spawn(self.clone().ask_about_effects(session.clone(), held));
        }
        Ok(session)
    }

    /// Runs one action through the pipeline.
    pub async fn act(
        &self,
        scope: &Scope,
        session: &str,
        request: ActionRequest,
        cancel: &CancellationToken,
    ) -> Result<Reply, Fault> {
        let session = self.sessions.find(scope, session)?;
        let ActionRequest { mut action, reply_options, timeout, approval_wait, asked, abandoned } = request;
        let limit = timeout.unwrap_or_else(|| self.sessions.action_timeout()).min(LONGEST_ACTION);
        let run = ActionRun {
            name: action.name(),
            is_read_only: action.only_reads(),
            reply_options,
            limit,
            started: Instant::now(),
        };
        let turn = tokio::select! {
            // A call that was cancelled while it waited does not start, even if its turn has come.
            biased;
            () = cancel.cancelled() => return Err(cancelled()),
            turn = session.turn() => turn?,
        };
        if !run.is_read_only {
            self.check_running(&session).await?;
            self.check_no_open_question(&session).await?;
        }
        session.spend_action()?;
        let number = session.action_number();
        session.secrets.replace_guesses(&mut action);
        match self.run(&session, turn, &run, ActionSource::New(action), cancel).await {
            RunOutcome::Finished(result) if run.is_read_only => result,
            RunOutcome::Finished(result) => {
                match self.effect_of_action(&session, number, &run.reply_options).await {
                    None => result,
                    Some(Err(fault)) => Err(fault),
                    Some(Ok(pending)) => {
                        if let Some(asked) = asked {
                            asked.send_replace(self.approvals.find(&pending.id).await?);
                        }
                        let result = tokio::select! {
                            () = cancel.cancelled() => Err(cancelled()),
                            result = pending.result(approval_wait) => result,
                        };
                        result.map_err(|fault| self.say_where_to_answer(fault, &pending.id))
                    }
                }
            }
            RunOutcome::NeedsApproval(question, shown) => {
                let waiting = match self.ask(&session, &question, shown).await {
                    Ok(waiting) => waiting,
                    Err(fault) => {
                        self.conclude(&session, &run, Some(&fault), None).await;
                        return Err(fault);
                    }
                };
                if let Some(asked) = asked {
                    asked.send_replace(Some(waiting.approval().clone()));
                }
                let pending = self.spawn_after_approval(
                    session,
                    run,
                    PendingApproval::new(waiting, *question),
                    abandoned,
                );
                let id = pending.id.clone();
                let result = tokio::select! {
                    // A disconnected caller can still fetch the result.
                    () = cancel.cancelled() => Err(cancelled()),
                    result = pending.result(approval_wait) => result,
                };
                result.map_err(|fault| self.say_where_to_answer(fault, &id))
            }
        }
    }

    /// Adds to `approval_pending` where a person answers: many clients show nothing but the text of a reply.
    fn say_where_to_answer(&self, mut fault: Fault, id: &ApprovalId) -> Fault {
        if matches!(fault.code, ErrorCode::ApprovalPending { .. }) {
            let place = self.approvals.answer_instructions_text(id);
            fault.message = redacted!("{}. Tell the person, {}", fault.message, place);
        }
        fault
    }

    /// Executes the action while holding the turn, then settles failures, pauses and endings before releasing it.
    async fn run(
        &self,
        session: &Arc<Session>,
        mut turn: Turn<'_>,
        run: &ActionRun,
        start: ActionSource,
        cancel: &CancellationToken,
    ) -> RunOutcome {
        let mut details = ReplyDetails::default();
        let done = match self.execute(session, &mut turn, run, start, cancel, &mut details).await {
            Ok(ExecuteOutcome::NeedsApproval(question, shown)) => {
                return RunOutcome::NeedsApproval(question, shown);
            }
            Ok(ExecuteOutcome::Performed(outcome)) => Ok(outcome),
            Err(failure) => Err(failure),
        };
        let failed = done.as_ref().is_err_and(ActionFailure::counts);
        let (done, end) = self.settle(session, &mut turn, done).await;
        let done = done.map(|outcome| outcome.redact(&|text| session.secrets.redact_reply(text)));
        let mut done = self.withhold_sealed(session, &turn, done).await;
        if cancel.is_cancelled() {
            turn.active.link.browser.forget_last_shown();
        }
        let page = turn.active.link.browser.state();
        let ReplyDetails { matches, image } = details;
        let (url, title) = (session.typed_text.redact(&page.url), session.typed_text.redact(&page.title));
        let location = PageLocation { url, title, image: image.as_ref().map(|image| image.id.clone()) };
        // Before the turn is released, so that the next holder finds the session paused.
        if !run.is_read_only && end.is_none() {
            self.escalate(session, failed, &location, &mut done).await;
        }
        if let Some(ending) = end.and_then(|reason| self.sessions.declare_end(session, reason)) {
            drop(turn);
            self.sessions.finish(ending).await;
        } else {
            drop(turn);
        }
        self.conclude(session, run, done.as_ref().err(), Some(location)).await;
        RunOutcome::Finished(done.map(|outcome| {
            let shows_page = matches!(outcome, Outcome::Acted(_) | Outcome::Navigated { .. });
            Reply {
                session: session.clone(),
                outcome,
                image,
                actions_left: session.actions_left(),
                matches,
                note: if shows_page { session.take_note() } else { None },
            }
        }))
    }

    /// Adds the action to the session's history, and ends a session whose action budget is used up.
    async fn conclude(
        &self,
        session: &Arc<Session>,
        run: &ActionRun,
        fault: Option<&Fault>,
        location: Option<PageLocation>,
    ) {
        let PageLocation { url, title, image } = location.unwrap_or_else(|| session.last_location());
        session.record_action(HistoryEntry {
            at: Timestamp::now(),
            action: run.name,
            result: fault.map_or_else(|| "ok".into(), |fault| Redacted::from_safe(&fault.code)),
            duration_ms: u64::try_from(run.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            url,
            title,
            screenshot_id: image,
        });
        if session.actions_left() == 0 {
            self.sessions.end(session, EndReason::ActionLimit).await;
        }
    }

    /// Turns a failure into the caller's fault. Restarts a dead browser where possible.
    async fn settle(
        &self,
        session: &Arc<Session>,
        turn: &mut Turn<'_>,
        done: Result<Outcome, ActionFailure>,
    ) -> (Result<Outcome, Fault>, Option<EndReason>) {
        match done {
            Ok(outcome) => (Ok(outcome), None),
            Err(ActionFailure::Fault(fault)) => (Err(fault), None),
            Err(ActionFailure::Ended(reason)) => (Err(reason.fault(&session.id)), None),
            Err(ActionFailure::Browser(BrowserError::TabCrashed { .. })) => {
                let (fault, end) = self.sessions.recover_tab(session, &mut turn.active).await;
                (Err(fault), end)
            }
            Err(ActionFailure::Browser(_)) if !turn.active.link.is_alive() => {
                let (fault, end) = self.sessions.recover(session, &mut turn.active).await;
                (Err(fault), end)
            }
            Err(ActionFailure::Browser(error)) => {
                let egress = turn.active.provided.egress();
                (Err(crate::error::explain(error, egress, &|text| session.redact(text))), None)
            }
        }
    }
}

/// One run of an action through the gate.
struct ActionRun {
    name: &'static str,
    /// Whether the action leaves the page unchanged.
    is_read_only: bool,
    reply_options: ReplyOptions,
    limit: Duration,
    started: Instant,
}

#[expect(clippy::large_enum_variant, reason = "one is made for each action and taken apart at once")]
enum RunOutcome {
    Finished(Result<Reply, Fault>),
    NeedsApproval(Box<Question>, QuestionScreenshot),
}

fn cancelled() -> Fault {
    Fault::new(ErrorCode::Cancelled, "the call was cancelled by its caller")
        .hint("Nothing to do; call again when you need it.")
}
