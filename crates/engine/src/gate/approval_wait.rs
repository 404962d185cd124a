//! Asks a person about an action, waits for the approval and runs the approved action. This continues when the call
//! that led to it stops waiting.

use super::question_card::{self, QuestionScreenshot};
use super::recording::TIMEOUT;
use super::{ActionRun, ActionSource, Gate, PendingAction, Reply, RunOutcome, cancelled};
use crate::approvals::{ApprovalScreenshot, ApprovedAction, OpenQuestion, PendingApproval};
use crate::error::Fault;
use crate::error::audit_fault;
use crate::session::{EndFault, Session, Turn};
use audit::ActionContext;
use browser::TimeLimit;
use error_code::ErrorCode;
use policy::{Denial, ElementFacts, Question};
use redact::Redacted;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Gate {
    /// Captures the page for the question.
    pub(super) async fn capture_for_question(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        question: &Question,
    ) -> QuestionScreenshot {
        self.capture_page(session, turn, question.facts().target.as_ref()).await
    }

    /// Captures the page with an element marked. If that fails, the question has no screenshot.
    pub(super) async fn capture_page(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        target: Option<&ElementFacts>,
    ) -> QuestionScreenshot {
        if session.secrets.is_page_withheld() {
            return QuestionScreenshot::default();
        }
        let (mask, format) = (session.secrets.screenshot_mask(), self.sessions.picture_format());
        let limit = TimeLimit::new(TIMEOUT);
        match turn.active.link.browser.recording_screenshot(target, format, &mask, limit).await {
            Ok(taken) => {
                let image = ApprovalScreenshot { bytes: taken.image.bytes, mime: taken.image.format.mime() };
                QuestionScreenshot { image: Some(image), mark: taken.mark }
            }
            Err(error) => {
                tracing::debug!(%error, "a question has no picture");
                QuestionScreenshot::default()
            }
        }
    }

    /// Asks a person. A question that cannot be asked is recorded as a denial; one that has to wait until another is
    /// answered was not decided, and its action is recorded as not performed.
    pub(super) async fn ask(
        &self,
        session: &Session,
        question: &Question,
        screenshot: QuestionScreenshot,
    ) -> Result<OpenQuestion, Fault> {
        let fault = match self.approvals.ask(question_card::new_question(session, question, screenshot)).await
        {
            Ok(waiting) => return Ok(waiting),
            Err(fault) => fault,
        };
        let code = fault.code.clone();
        let about = session.event_subject();
        let redact = |text: &str| session.typed_text.redact(text);
        let context =
            ActionContext { subject: &about, user_agent: &session.user_agent, before: None, redact: &redact };
        if matches!(code, ErrorCode::ApprovalPending { .. }) {
            let page_url = question.facts().page_url.clone();
            self.log.not_performed(&context, question.action(), page_url, &Redacted::from_safe(&code));
            return Err(fault);
        }
        let (rule, risk) = (question.rule().clone(), question.risk());
        let denial = Denial { rule, risk, code, message: String::new(), hint: "" };
        let refused = self.log.refuse(&context, question.action(), question.facts(), &denial);
        refused.await.map_err(audit_fault)?;
        if fault.code == ErrorCode::ApprovalFlood {
            self.alert(session, fault.code.name(), question.rule()).await?;
        }
        Err(fault)
    }

    /// Waits for the approval and runs the action in a task of its own.
    pub(super) fn spawn_after_approval(
        &self,
        session: Arc<Session>,
        run: ActionRun,
        approval: PendingApproval,
        abandoned: CancellationToken,
    ) -> PendingAction {
        let (pending, sender) = self.pending_actions.add(approval.id(), &session.scope);
        let gate = self.clone();
        let approved_run = async move { gate.wait_and_run(session, run, approval, abandoned).await };
        tokio::spawn(async move { sender.send(Box::pin(approved_run).await) });
        pending
    }

    async fn wait_and_run(
        &self,
        session: Arc<Session>,
        run: ActionRun,
        approval: PendingApproval,
        abandoned: CancellationToken,
    ) -> Result<Reply, Fault> {
        let id = approval.id().clone();
        let approved_action = match self.wait_for_approval(&session, approval, &abandoned).await {
            Ok(approved_action) => approved_action,
            Err(fault) => {
                self.conclude(&session, &run, Some(&fault), None).await;
                return Err(fault);
            }
        };
        let ApprovedAction { approved, allowance, domain } = approved_action;
        if let Some(domain) = domain {
            session.allowances.add_domain(domain);
        }
        if let Some(allowance) = allowance {
            session.allowances.add(allowance);
        }
        let result = match session.turn().await {
            Err(fault) => Err(fault),
            Ok(turn) => {
                let start = ActionSource::Approved(Box::new(approved));
                let number = session.action_number();
                match self.run(&session, turn, &run, start, &CancellationToken::new()).await {
                    RunOutcome::Finished(result) => {
                        // What the approved action sends may need an answer of its own.
                        match self.effect_of_action(&session, number, &run.reply_options).await {
                            None => result,
                            Some(Err(fault)) => Err(fault),
                            Some(Ok(pending)) => pending.result(session.time_left()).await,
                        }
                    }
                    RunOutcome::NeedsApproval(..) => {
                        Err(Fault::new(ErrorCode::Internal, "an approved action was asked about again"))
                    }
                }
            }
        };
        let outcome =
            result.as_ref().err().map_or_else(|| "ok".into(), |fault| Redacted::from_safe(&fault.code));
        if let Err(fault) = self.approvals.record_outcome(&id, &outcome).await {
            tracing::warn!(%fault, approval = %id, "the outcome of an approval is not stored with it");
        }
        result
    }

    async fn wait_for_approval(
        &self,
        session: &Session,
        approval: PendingApproval,
        abandoned: &CancellationToken,
    ) -> Result<ApprovedAction, Fault> {
        tokio::select! {
            waited = approval.wait() => waited?,
            reason = session.until_ended() => {
                approval.withdraw().await?;
                return Err(reason.fault(&session.id));
            }
            () = abandoned.cancelled() => {
                approval.withdraw().await?;
                return Err(cancelled());
            }
        }
        let scope = approval.refusal_scope();
        let result = approval.into_result().await;
        if result.as_ref().is_err_and(|fault| fault.code == ErrorCode::DeniedByOperator) {
            session.allowances.refuse(scope);
        }
        result
    }
}
