//! Asks a person about requests that are held, at the proxy or in the browser, one after the other, and lets them leave or fail.

use super::effect_card;
use super::question_card::QuestionScreenshot;
use super::{Gate, PendingAction, Reply};
use crate::approvals::{ApprovalKind, ApprovedEffect, PendingEffect, question_open};
use crate::error::Fault;
use crate::session::{EndFault, HeldEffect, HeldReply, Session};
use audit::{EffectAuthorization, EffectRefused, NavigationReplay};
use browser::{BrowserError, CallerId, Outcome, ReplyOptions, TimeLimit};
use error_code::ErrorCode;
use policy::CausingAction;
use redact::Redacted;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// How long the screenshot of a question may wait for a call that is under way.
const SCREENSHOT_WAIT: Duration = Duration::from_secs(3);
/// How long a call waits for the question about its own request to be asked.
const ASKING_WAIT: Duration = Duration::from_secs(10);
/// Time limit for the page after an answer.
const PAGE_TIMEOUT: Duration = Duration::from_secs(20);

impl Gate {
    /// Asks about a session's held effects until it ends.
    pub(super) async fn ask_about_effects(self, session: Arc<Session>, mut held: mpsc::Receiver<HeldEffect>) {
        loop {
            let next = tokio::select! {
                next = held.recv() => next,
                _ = session.until_ended() => None,
            };
            let Some(next) = next else { return };
            self.ask_about_effect(&session, next).await;
        }
    }

    async fn ask_about_effect(&self, session: &Arc<Session>, held: HeldEffect) {
        let Some(effects) = session.effects() else { return };
        let HeldEffect { question, cause, reply, count } = held;
        let cause = cause.as_deref();
        // The answer to the one before may have settled this one, too.
        let question = match session.allowances.approve_effect(question) {
            Ok(authorization) => {
                if let Err(fault) = self.release(session, authorization, cause, reply).await {
                    tracing::debug!(%fault, session = %session.id, "an effect that was allowed before did not finish");
                }
                return;
            }
            Err(question) => question,
        };
        if session.allowances.is_effect_refused(&question) {
            let code = ErrorCode::DeniedByOperator;
            effects.refuse(&question, cause, &code).await;
            return self.fail(session, reply, &code).await;
        }
        let screenshot = self.capture_for_effect(session, cause).await;
        let card = effect_card::new_question(session, &question, cause, screenshot);
        let open = match self.approvals.ask(card).await {
            Ok(open) => open,
            Err(fault) => {
                effects.refuse(&question, cause, &fault.code).await;
                if fault.code == ErrorCode::ApprovalFlood
                    && let Err(fault) = self.alert(session, fault.code.name(), question.rule()).await
                {
                    tracing::error!(%fault, session = %session.id, "an alert is not on record");
                }
                self.fail(session, reply, &fault.code).await;
                session.publish_question(Err(fault));
                return;
            }
        };
        let (pending, sender) = self.pending_actions.add(&open.approval().id, &session.scope);
        drop(pending);
        let pending = PendingEffect::new(open, question);
        let id = pending.id().clone();
        session.publish_question(Ok(id.clone()));
        let result = self.answer(session, pending, cause, reply).await;
        let outcome = match &result {
            Ok(_) => "ok".into(),
            Err(fault) => Redacted::from_safe(&fault.code),
        };
        if let Err(fault) = self.approvals.record_outcome(&id, &outcome).await {
            tracing::warn!(%fault, approval = %id, "the outcome of an approval is not stored with it");
        }
        // The next call of the agent finds no open question.
        session.clear_question();
        drop(count);
        sender.send(result);
    }

    /// Waits for the answer, applies it, and returns what the agent gets to see.
    async fn answer(
        &self,
        session: &Arc<Session>,
        pending: PendingEffect,
        cause: Option<&CausingAction>,
        mut reply: HeldReply,
    ) -> Result<Reply, Fault> {
        tokio::select! {
            waited = pending.wait() => waited?,
            reason = session.until_ended() => {
                pending.withdraw().await?;
                return Err(reason.fault(&session.id));
            }
            () = given_up(&mut reply) => {
                pending.withdraw().await?;
                return Err(page_gave_up());
            }
        }
        match pending.into_result().await {
            Ok(ApprovedEffect { authorization, allowance }) => {
                if let Some(allowance) = allowance {
                    session.allowances.add_effect(allowance);
                }
                self.release(session, authorization, cause, reply).await
            }
            Err((question, fault)) => {
                if fault.code == ErrorCode::DeniedByOperator {
                    session.allowances.refuse_effect(&question);
                }
                if let Some(effects) = session.effects() {
                    effects.refuse(&question, cause, &fault.code).await;
                }
                self.fail(session, reply, &fault.code).await;
                Err(fault)
            }
        }
    }

    /// Lets an authorized effect leave, and reads the page that it leads to.
    async fn release(
        &self,
        session: &Arc<Session>,
        authorization: EffectAuthorization,
        cause: Option<&CausingAction>,
        reply: HeldReply,
    ) -> Result<Reply, Fault> {
        let Some(effects) = session.effects() else {
            return Err(Fault::new(ErrorCode::Internal, "a session without effects has one"));
        };
        let replay = match reply {
            HeldReply::Request(answer) => {
                // The page may have given up at this moment; then nothing leaves.
                if answer.send(Ok(authorization)).is_err() {
                    return Err(page_gave_up());
                }
                None
            }
            HeldReply::Navigation(ticket) => {
                let permitted = effects.permit(authorization, cause).await?;
                let replay = permitted.replay();
                let turn = session.turn().await?;
                // The one that keeps the request takes the permit: the driver or the proxy.
                if let Some(permitted) = turn.active.link.browser.release_navigation(ticket, permitted) {
                    let egress = turn.active.provided.egress();
                    let egress =
                        egress.ok_or_else(|| Fault::new(ErrorCode::Internal, "the proxy is gone"))?;
                    egress.release_navigation(ticket, permitted);
                }
                Some(replay)
            }
        };
        self.page_after_effect(session, replay).await
    }

    /// Makes a held effect fail in the page.
    async fn fail(&self, session: &Arc<Session>, reply: HeldReply, code: &ErrorCode) {
        match reply {
            HeldReply::Request(answer) => {
                // A page that gave up needs no answer.
                drop(answer.send(Err(EffectRefused::from(code))));
            }
            HeldReply::Navigation(ticket) => {
                if let Ok(turn) = session.turn().await {
                    turn.active.link.browser.discard_navigation(ticket);
                    if let Some(egress) = turn.active.provided.egress() {
                        egress.discard_navigation(ticket);
                    }
                }
            }
        }
        if let Ok(turn) = session.turn().await {
            turn.active.link.browser.set_held(false);
        }
    }

    /// Reads the page once what was released has settled.
    async fn page_after_effect(
        &self,
        session: &Arc<Session>,
        replay: Option<NavigationReplay>,
    ) -> Result<Reply, Fault> {
        let turn = session.turn().await?;
        let browser = &turn.active.link.browser;
        browser.set_held(false);
        let caller =
            session.effect_reply_options().map_or_else(|| CallerId::new("effect"), |options| options.caller);
        let options = ReplyOptions { caller, full: true };
        let limit = TimeLimit::new(PAGE_TIMEOUT);
        let done = match replay {
            Some(replay) => match browser.replay_navigation(replay, &options, limit).await {
                // A site may answer without a page, and the tab stays where it is.
                Err(BrowserError::NavigationFailed { .. }) => browser.page_after_hold(&options, limit).await,
                replayed => replayed,
            },
            None => browser.page_after_hold(&options, limit).await,
        };
        if let Err(error) = self.collect_site_secrets(session, &turn).await {
            tracing::debug!(%error, "secrets of a page after an effect were not collected");
        }
        let explain =
            |error| crate::error::explain(error, turn.active.provided.egress(), &|text| session.redact(text));
        let done = done
            .map_err(explain)
            .map(|outcome: Outcome| outcome.redact(&|text| session.secrets.redact_owned(text)));
        let outcome = self.withhold_sealed(session, &turn, done).await?;
        drop(turn);
        Ok(Reply {
            session: session.clone(),
            outcome,
            image: None,
            actions_left: session.actions_left(),
            matches: 0,
            note: session.take_note(),
        })
    }

    /// The question about a request that an action caused, if one is held; or why one was refused unasked.
    pub(super) async fn effect_of_action(
        &self,
        session: &Arc<Session>,
        number: u32,
        reply_options: &ReplyOptions,
    ) -> Option<Result<PendingAction, Fault>> {
        let effects = session.effects()?;
        if let Some(fault) = effects.take_refusal(number) {
            return Some(Err(fault));
        }
        if !effects.is_held_after(number) {
            return None;
        }
        session.set_effect_reply_options(reply_options);
        match session.question(ASKING_WAIT).await? {
            Ok(id) => self.pending_actions.find(&session.scope, &id).map(Ok),
            Err(fault) => Some(Err(fault)),
        }
    }

    /// Refuses an action while an operator looks at another step of the session: their answer is about what they were
    /// shown.
    pub(super) async fn check_no_open_question(&self, session: &Session) -> Result<(), Fault> {
        if let Some(id) = self.approvals.open_question(&session.id) {
            return Err(question_open(&id));
        }
        if !session.effects().is_some_and(|effects| effects.is_any_held()) {
            return Ok(());
        }
        match session.question(ASKING_WAIT).await {
            Some(Ok(id)) => Err(question_open(&id)),
            Some(Err(_)) | None => Ok(()),
        }
    }

    /// The page, with the element that was acted on, once no call is under way.
    async fn capture_for_effect(
        &self,
        session: &Session,
        cause: Option<&CausingAction>,
    ) -> QuestionScreenshot {
        let Ok(Ok(turn)) = tokio::time::timeout(SCREENSHOT_WAIT, session.turn()).await else {
            return QuestionScreenshot::default();
        };
        let target = cause.and_then(|cause| cause.on_element().facts.target.as_ref());
        self.capture_page(session, &turn, target).await
    }
}

/// Resolves when the page no longer waits for the request.
async fn given_up(reply: &mut HeldReply) {
    match reply {
        HeldReply::Request(answer) => answer.closed().await,
        HeldReply::Navigation(_) => std::future::pending().await,
    }
}

fn page_gave_up() -> Fault {
    Fault::new(
        ErrorCode::ApprovalVoid,
        "the page cancelled the request before an operator answered; nothing was sent",
    )
    .hint("Read the page. If it is still what you want, do it again.")
}

/// The kind of approval that a held request needs.
pub(super) const KIND: ApprovalKind = ApprovalKind::Effect;
