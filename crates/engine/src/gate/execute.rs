//! Executes one action while holding the session's turn: resolve, decide, record, perform, record.

use super::question_card::QuestionScreenshot;
use super::recording::ScreenshotPlan;
use super::{ActionRun, GRACE, Gate, cancelled};
use crate::error::Fault;
use crate::error::audit_fault;
use crate::session::{EndReason, Session, StoredImage, Turn, denied_before};
use audit::{ActionContext, Approved, Authorization, Intent, Permitted, StoredScreenshot};
use browser::{BrowserError, Outcome, ReplyOptions, TimeLimit};
use error_code::ErrorCode;
use policy::{Action, Decision, Facts, Question};
use redact::{Redacted, redacted};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// An action to decide on, or one that a person has approved.
pub(super) enum ActionSource {
    New(Action),
    Approved(Box<Approved>),
}

impl ActionSource {
    fn action(&self) -> &Action {
        match self {
            ActionSource::New(action) => action,
            ActionSource::Approved(approved) => approved.action(),
        }
    }

    /// Voids an approval whose element cannot be resolved again: the person was asked about another page.
    fn void_if_approved(&self, session: &Session, failure: ActionFailure, is_alive: bool) -> ActionFailure {
        match (self, failure) {
            (_, ActionFailure::Browser(error @ BrowserError::TabCrashed { .. })) => {
                ActionFailure::Browser(error)
            }
            (ActionSource::Approved(_), ActionFailure::Browser(error)) if is_alive => {
                let fault = Fault::of_browser(&error, &|text| session.redact(text));
                ActionFailure::Fault(void(fault.message))
            }
            (_, failure) => failure,
        }
    }
}

pub(super) enum DecisionOutcome {
    Authorized(Authorization),
    NeedsApproval(Question),
}

/// The end of an execution that did not fail.
pub(super) enum ExecuteOutcome {
    Performed(Outcome),
    NeedsApproval(Box<Question>, QuestionScreenshot),
}

/// Details for the reply that become known during execution.
#[derive(Default)]
pub(super) struct ReplyDetails {
    pub matches: usize,
    pub image: Option<StoredImage>,
}

/// The reason why an action was not completed.
pub(super) enum ActionFailure {
    Browser(BrowserError),
    Fault(Fault),
    Ended(EndReason),
}

impl ActionFailure {
    /// Whether the failure counts toward the pause for guidance. Refusals do not.
    pub fn counts(&self) -> bool {
        match self {
            ActionFailure::Browser(_) => true,
            ActionFailure::Fault(fault) => matches!(fault.code, ErrorCode::BrowserActionTimeout { .. }),
            ActionFailure::Ended(_) => false,
        }
    }

    fn code(&self) -> Redacted {
        match self {
            ActionFailure::Browser(error) => Redacted::from_safe(error.code()),
            ActionFailure::Fault(fault) => Redacted::from_safe(&fault.code),
            ActionFailure::Ended(reason) => reason.as_str().into(),
        }
    }
}

/// Resolves when the action has to stop early: timeout, cancelled call or ended session.
async fn interruption(
    session: &Session,
    action: &'static str,
    limit: Duration,
    cancel: &CancellationToken,
) -> ActionFailure {
    tokio::select! {
        () = tokio::time::sleep(limit + GRACE) => ActionFailure::Fault(timed_out(action, limit)),
        () = cancel.cancelled() => ActionFailure::Fault(cancelled()),
        reason = session.until_ended() => ActionFailure::Ended(reason),
    }
}

/// Performs the action. If a request of it is held meanwhile, its responses are not waited for.
async fn perform(
    session: &Session,
    turn: &Turn<'_>,
    permitted: Permitted,
    reply_options: &ReplyOptions,
    limit: TimeLimit,
) -> Result<Outcome, ActionFailure> {
    let browser = &turn.active.link.browser;
    let performed = browser.perform_within(permitted, reply_options, limit);
    tokio::pin!(performed);
    let done = tokio::select! {
        done = &mut performed => done,
        () = session.effect_held() => {
            browser.set_held(true);
            performed.await
        }
    };
    done.map_err(ActionFailure::Browser)
}

fn timed_out(action: &'static str, limit: Duration) -> Fault {
    Fault::new(
        ErrorCode::BrowserActionTimeout { action: action.to_owned(), limit },
        redacted!("{} did not finish within {} s", action, limit.as_secs_f64()),
    )
    .hint("Read the page to see what happened, then try again or raise timeout_seconds.")
    .retryable()
}

impl Gate {
    /// Runs the steps of one action in order. Each step is a method below.
    pub(super) async fn execute(
        &self,
        session: &Arc<Session>,
        turn: &mut Turn<'_>,
        run: &ActionRun,
        source: ActionSource,
        cancel: &CancellationToken,
        details: &mut ReplyDetails,
    ) -> Result<ExecuteOutcome, ActionFailure> {
        let action = source.action();
        report_restart(turn, action)?;
        refuse_placeholder(session, action)?;
        let interrupted = interruption(session, run.name, run.limit, cancel);
        tokio::pin!(interrupted);
        let limit = TimeLimit::new(run.limit);
        // Only once per action: single pressed characters accumulate into one text.
        if matches!(source, ActionSource::New(_)) {
            session.typed_text.remember(action);
            session.secrets.note_supplied(action);
        }
        self.collect_site_secrets(session, turn).await.map_err(ActionFailure::Browser)?;
        self.announce_navigation(session, turn, action);
        let subject = session.event_subject();
        let redact = |text: &str| session.typed_text.redact(text);
        let mut context = ActionContext {
            subject: &subject,
            user_agent: &session.user_agent,
            before: None,
            redact: &redact,
        };
        let facts = self.resolve(session, turn, &source, &context, limit, interrupted.as_mut()).await?;
        details.matches = facts.target.as_ref().map_or(0, |target| target.matches);
        let plan = ScreenshotPlan::new(session, action, &facts);
        let was_approved = matches!(source, ActionSource::Approved(_));
        let authorization = match self.authorize(session, &context, source, facts).await? {
            DecisionOutcome::Authorized(authorization) => authorization,
            DecisionOutcome::NeedsApproval(question) => {
                let screenshot = tokio::select! {
                    screenshot = self.capture_for_question(session, turn, &question) => screenshot,
                    failure = &mut interrupted => return Err(failure),
                };
                return Ok(ExecuteOutcome::NeedsApproval(Box::new(question), screenshot));
            }
        };
        if plan.includes_before(authorization.facts()) {
            context.before = tokio::select! {
                taken = self.capture(session, turn, authorization.facts().target.as_ref()) => {
                    taken.map_err(ActionFailure::Fault)?
                }
                failure = &mut interrupted => return Err(failure),
            };
        }
        let cause = (authorization.action().clone(), authorization.facts().clone());
        let recorded = self.log.intend(authorization, context).await;
        let (permitted, intent) = recorded.map_err(|error| ActionFailure::Fault(audit_fault(error)))?;
        let started = Instant::now();
        session.attribute_egress();
        if !run.is_read_only {
            session.begin_effects(&cause.0, &cause.1);
        }
        let result = tokio::select! {
            result = perform(session, turn, permitted, &run.reply_options, limit) => result,
            failure = &mut interrupted => Err(failure),
        };
        if !run.is_read_only {
            let has_dialog = matches!(&result, Ok(Outcome::Acted(page)) if page.dialog.is_some());
            session.end_effects(has_dialog);
        }
        let duration = started.elapsed();
        let result = self.collect_after_perform(session, turn, result, was_approved).await;
        let (result, screenshot) = self.capture_after(session, turn, result, plan, details).await;
        self.record_outcome(session, turn, intent, duration, &result, screenshot).await?;
        result.map(ExecuteOutcome::Performed)
    }

    /// Resolves the action's target to facts. Records the action as not performed if that fails.
    async fn resolve(
        &self,
        session: &Session,
        turn: &mut Turn<'_>,
        source: &ActionSource,
        context: &ActionContext<'_>,
        limit: TimeLimit,
        interrupted: Pin<&mut impl Future<Output = ActionFailure>>,
    ) -> Result<Facts, ActionFailure> {
        let action = source.action();
        let resolved = tokio::select! {
            facts = turn.active.link.browser.resolve_within(action, limit) => {
                facts.map_err(ActionFailure::Browser)
            }
            failure = interrupted => Err(failure),
        };
        resolved.map_err(|failure| {
            let failure = source.void_if_approved(session, failure, turn.active.link.is_alive());
            let page_url = turn.active.link.browser.state().url;
            self.log.not_performed(context, action, page_url, &failure.code());
            failure
        })
    }

    /// Decides on a new action, or checks that an approved one still matches the page.
    async fn authorize(
        &self,
        session: &Arc<Session>,
        context: &ActionContext<'_>,
        source: ActionSource,
        facts: Facts,
    ) -> Result<DecisionOutcome, ActionFailure> {
        match source {
            ActionSource::New(action) => self.decide(session, context, action, facts).await,
            ActionSource::Approved(approved) => {
                let (action, page_url) = (approved.action().clone(), facts.page_url.clone());
                approved.recheck(facts).map(DecisionOutcome::Authorized).map_err(|changed| {
                    self.log.not_performed(context, &action, page_url, &"approval_void".into());
                    ActionFailure::Fault(void(changed.what.into()))
                })
            }
        }
    }

    async fn decide(
        &self,
        session: &Arc<Session>,
        context: &ActionContext<'_>,
        action: Action,
        facts: Facts,
    ) -> Result<DecisionOutcome, ActionFailure> {
        let request = (action.clone(), facts.clone());
        let context_of_session = session.policy_context(&facts);
        match self.policy.decide(action, facts, &context_of_session) {
            Decision::Allow(permit) => Ok(DecisionOutcome::Authorized(permit.into())),
            Decision::Ask(question) if session.allowances.is_refused(&question) => {
                let code = Redacted::from_safe(&ErrorCode::DeniedByOperator);
                self.log.not_performed(context, &request.0, request.1.page_url, &code);
                Err(ActionFailure::Fault(denied_before()))
            }
            Decision::Ask(question) => match session.allowances.approve(question) {
                Ok(approved) => approved
                    .recheck(request.1)
                    .map(DecisionOutcome::Authorized)
                    .map_err(|changed| ActionFailure::Fault(void(changed.what.into()))),
                Err(question) => {
                    match question.domain().and_then(|domain| self.sessions.unreachable_site(domain)) {
                        // Nobody is asked about an address that is refused whatever they say.
                        Some(fault) => {
                            let code = Redacted::from_safe(&fault.code);
                            self.log.not_performed(context, &request.0, request.1.page_url, &code);
                            Err(ActionFailure::Fault(fault))
                        }
                        None => Ok(DecisionOutcome::NeedsApproval(question)),
                    }
                }
            },
            Decision::Deny(denial) => {
                let refused = self.log.refuse(context, &request.0, &request.1, &denial);
                refused.await.map_err(|error| ActionFailure::Fault(audit_fault(error)))?;
                if denial.code == ErrorCode::CredentialTyped {
                    self.alert(session, denial.code.name(), &denial.rule)
                        .await
                        .map_err(ActionFailure::Fault)?;
                    // What merely looks random may be an order number, and a card signs nobody in.
                    let is_certain = |text: &&str| {
                        use policy::credential::{CredentialKind, detect};
                        detect(text)
                            .is_some_and(|it| !matches!(it, CredentialKind::Random | CredentialKind::Card))
                    };
                    if self.halts_on_credentials && request.0.sent_texts().iter().any(is_certain) {
                        self.halt_for_credential(session).await;
                    }
                }
                let message = session.redact(&denial.message);
                Err(ActionFailure::Fault(Fault::new(denial.code, message).hint(denial.hint)))
            }
        }
    }

    /// Collects the secrets that the site issued during the action. Runs before anything is recorded or returned,
    /// whatever the result, so that redaction knows them.
    async fn collect_after_perform(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        result: Result<Outcome, ActionFailure>,
        was_approved: bool,
    ) -> Result<Outcome, ActionFailure> {
        match (result, self.collect_site_secrets(session, turn).await) {
            (Ok(_), Err(error)) => Err(ActionFailure::Browser(error)),
            (Err(ActionFailure::Browser(BrowserError::TargetChanged { what, .. })), _) if was_approved => {
                Err(ActionFailure::Fault(void(what.into())))
            }
            (result, _) => result,
        }
    }

    /// Takes the screenshot after the action, or processes the one that the agent requested.
    async fn capture_after(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        result: Result<Outcome, ActionFailure>,
        plan: ScreenshotPlan,
        details: &mut ReplyDetails,
    ) -> (Result<Outcome, ActionFailure>, Option<StoredScreenshot>) {
        session.secrets.note_page(turn.active.link.browser.state().document);
        match (plan, result) {
            (ScreenshotPlan::BeforeAndAfter, result) => (result, self.capture_if_alive(session, turn).await),
            (ScreenshotPlan::Requested { shot, target }, Ok(outcome)) => {
                let target = target.as_deref();
                match self.process_screenshot(session, turn, outcome, &shot, target, details).await {
                    Ok((outcome, stored)) => (Ok(outcome), stored),
                    Err(fault) => (Err(ActionFailure::Fault(fault)), None),
                }
            }
            (_, result) => (result, None),
        }
    }

    /// Completes the intent in the log, then checks that the page is still signed in. After a failure the next
    /// snapshot is a full one, because the agent does not receive this one.
    async fn record_outcome(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        intent: Intent,
        duration: Duration,
        result: &Result<Outcome, ActionFailure>,
        screenshot: Option<StoredScreenshot>,
    ) -> Result<(), ActionFailure> {
        let code = result.as_ref().err().map_or_else(|| "ok".into(), ActionFailure::code);
        let page = turn.active.link.browser.state();
        let (url, title) = (session.typed_text.redact(&page.url), session.typed_text.redact(&page.title));
        let completed = intent
            .complete(|event| event.took(duration).result(code).at(&url, &title).picture(screenshot))
            .await;
        let checked = match (completed, result) {
            (Err(error), _) => Err(audit_fault(error)),
            (Ok(()), Ok(outcome)) => self.check_signed_in(session, &page.url, outcome).await,
            (Ok(()), Err(_)) => Ok(()),
        };
        checked.map_err(|fault| {
            turn.active.link.browser.forget_last_shown();
            ActionFailure::Fault(fault)
        })
    }
}

/// Returns the fault of a restart that no call has reported. A navigation does not need the lost pages.
fn report_restart(turn: &mut Turn<'_>, action: &Action) -> Result<(), ActionFailure> {
    match turn.active.unreported.take() {
        Some(fault) if !matches!(action, Action::Navigate(_)) => Err(ActionFailure::Fault(fault)),
        _ => Ok(()),
    }
}

/// Refuses text that contains a placeholder. The proxy replaces placeholders in few places; an agent has no use for one
/// in any other, and would try whether there is one more.
fn refuse_placeholder(session: &Session, action: &Action) -> Result<(), ActionFailure> {
    let Some(released) = &session.login else { return Ok(()) };
    if !action.sent_texts().iter().any(|text| released.sealed.seal.contains_placeholder(text)) {
        return Ok(());
    }
    let message =
        "the text contains a placeholder: what the browser holds in place of one of the session's secrets";
    Err(ActionFailure::Fault(
        Fault::new(ErrorCode::PlaceholderTyped, message)
            .hint("Leave it out. Stockade sends the real value to the site where it belongs."),
    ))
}

/// The fault of an approval whose page has changed since the question was asked.
fn void(what: Redacted) -> Fault {
    Fault::new(
        ErrorCode::ApprovalVoid,
        redacted!(
            "the operator approved, but the page has changed since the request, so nothing was done: {}",
            what
        ),
    )
    .hint("Read the page. If you still want it, repeat the action: the operator is then asked about the page as it is now.")
}
