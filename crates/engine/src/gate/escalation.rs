//! Alerts for operators, and the pause of a session that fails repeatedly.

use super::Gate;
use super::question_card::host;
use crate::approvals::{ApprovalCard, ApprovalKind, ApprovalState, CardFact, NewQuestion, OpenQuestion};
use crate::error::Fault;
use crate::error::audit_fault;
use crate::session::{EndReason, PageLocation, PauseReason, Session, Turn};
use audit::{Event, EventKind};
use browser::{RedactedOutcome, RedactedPageText};
use error_code::ErrorCode;
use policy::{Risk, RuleName};
use redact::{Redacted, redacted};
use std::sync::Arc;

impl Gate {
    /// Records an alert for operators and flags the session.
    pub(super) async fn alert(
        &self,
        session: &Session,
        code: &'static str,
        rule: &RuleName,
    ) -> Result<(), Fault> {
        session.flag(code);
        let about = session.event_subject();
        let event = Event::new(EventKind::Alert, about).result(code).rule(Redacted::from_safe(rule));
        tracing::warn!(session = %session.id, code, "an agent did what an operator should know of");
        self.log.append(&event).await.map_err(audit_fault)
    }

    /// Withholds a reply in which a sealed secret was found: flags the session and alerts operators. From then on nothing
    /// of that document is shown: no text, because an edit takes a value apart until nothing recognizes it, and no picture,
    /// because what is split over elements is found in text and not always in a picture. Another document is not concerned.
    pub(super) async fn withhold_sealed(
        &self,
        session: &Session,
        turn: &Turn<'_>,
        reply: Result<RedactedOutcome, Fault>,
    ) -> Result<RedactedOutcome, Fault> {
        session.secrets.note_page(turn.active.link.browser.state().document);
        let is_found = session.secrets.take_found_sealed();
        if !is_found && !session.secrets.is_page_withheld() {
            return reply.map_err(|mut fault| {
                fault.message = session.secrets.restore_supplied(fault.message);
                fault.hint = session.secrets.restore_supplied(fault.hint);
                fault
            });
        }
        // The agent does not get this snapshot, so the next one is a full one.
        turn.active.link.browser.forget_last_shown();
        let code = ErrorCode::SecretWithheld;
        if is_found {
            session.flag(code.name());
            let event = Event::new(EventKind::Alert, session.event_subject()).result(code.name());
            tracing::error!(session = %session.id, code = code.name(), "a sealed secret was found in the browser");
            self.log.append(&event).await.map_err(audit_fault)?;
        }
        let hint = "Whatever you asked for may have been done. Do not try to read this page again: the operator has been \
                    alerted and has to look at it. Go on with another page, or stop here.";
        match reply {
            // What failed may be said, without what the page says about it.
            Err(fault) if !is_found => {
                let message =
                    "this failed; the details are withheld, because the page holds a secret of this login";
                Err(Fault { message: message.into(), hint: hint.into(), ..fault })
            }
            _ => {
                let message = "the reply is withheld: the page holds a secret of this login that must not be in the browser";
                Err(Fault::new(code, message).hint(hint))
            }
        }
    }

    /// Counts consecutive failures. At the limit the session pauses and asks for guidance.
    pub(super) async fn escalate(
        &self,
        session: &Arc<Session>,
        failed: bool,
        location: &PageLocation,
        done: &mut Result<RedactedOutcome, Fault>,
    ) {
        let Err(fault) = done else { return session.succeeded() };
        if !failed || self.pause_after == 0 || session.ended().is_some() {
            return;
        }
        if session.failed(&fault.code) < self.pause_after {
            return;
        }
        match self.ask_for_guidance(session, location, PauseReason::Failures).await {
            Ok(waiting) => {
                let id = waiting.approval().id.clone();
                session.pause(id.clone(), PauseReason::Failures);
                tokio::spawn(self.clone().guide(session.clone(), waiting));
                fault.hint = redacted!(
                    "{} Several actions in a row have failed, so the session now waits for a person's guidance: \
                     browser_pending with pending_id {} returns the answer. If nobody answers, the pause ends by itself.",
                    fault.hint,
                    id
                );
            }
            Err(problem) => {
                tracing::warn!(%problem, session = %session.id, "nobody could be asked for guidance");
            }
        }
    }

    /// Checks that the session is not paused. Looks up the answer, because the agent may have read it before the waiting
    /// task did.
    pub(super) async fn check_running(&self, session: &Session) -> Result<(), Fault> {
        if let Some(id) = session.paused_for()
            && let Some(answered) = self.approvals.find(&id).await?
            && !matches!(answered.state, ApprovalState::Waiting | ApprovalState::Ended)
        {
            self.approvals.publish(&answered);
            session.resume(&id, answered.note);
        }
        session.check_running()
    }

    /// Halts a session whose agent typed a credential, until a person resumes or ends it.
    pub(super) async fn halt_for_credential(&self, session: &Arc<Session>) {
        let location = session.last_location();
        match self.ask_for_guidance(session, &location, PauseReason::CredentialTyped).await {
            Ok(waiting) => {
                session.pause(waiting.approval().id.clone(), PauseReason::CredentialTyped);
                tokio::spawn(self.clone().guide(session.clone(), waiting));
            }
            Err(problem) => {
                tracing::warn!(%problem, session = %session.id, "nobody could be asked about a typed credential");
            }
        }
    }

    async fn ask_for_guidance(
        &self,
        session: &Session,
        location: &PageLocation,
        reason: PauseReason,
    ) -> Result<OpenQuestion, Fault> {
        let (action, risk, rule, description, timeout) = match reason {
            PauseReason::Failures => (
                "resume the session after repeated failures",
                Risk::Medium,
                "escalation.failures",
                "several actions in a row have failed, and the session is paused",
                // As for any question. The pause is lifted when it expires.
                None,
            ),
            PauseReason::CredentialTyped => (
                "resume the session after a typed credential",
                Risk::Critical,
                "escalation.credential",
                "the agent tried to type a credential; it was refused, and the session is paused",
                // Nothing lifts it but an answer or the end of the session.
                Some(session.time_left()),
            ),
        };
        let because = match reason {
            PauseReason::Failures => {
                session.failures().iter().map(|code| CardFact::new("failed with", code)).collect()
            }
            PauseReason::CredentialTyped => Vec::new(),
        };
        let card = ApprovalCard {
            tool: "".into(),
            action: action.into(),
            risk,
            rule: rule.into(),
            description: description.into(),
            because,
            domain: location.url.transform(host),
            url: RedactedPageText::new(&location.url),
            element: None,
            input: None,
            mark: None,
            irreversible: false,
            for_session: Vec::new(),
            effect: None,
        };
        let question = NewQuestion {
            kind: ApprovalKind::Guidance,
            scope: session.scope.clone(),
            session: session.id.clone(),
            session_name: session.name.clone(),
            card,
            screenshot: None,
            timeout,
        };
        self.approvals.ask(question).await
    }

    /// Waits for the person's guidance and applies it.
    async fn guide(self, session: Arc<Session>, waiting: OpenQuestion) {
        let answered = tokio::select! {
            answered = waiting.answered() => answered,
            _ = session.until_ended() => {
                if let Err(fault) = waiting.withdraw().await {
                    tracing::warn!(%fault, session = %session.id, "a call for guidance could not be withdrawn");
                }
                return;
            }
        };
        match answered {
            Ok(answered) if answered.state == ApprovalState::Ended => {
                self.sessions.end(&session, EndReason::Operator).await;
            }
            // Also when nobody answered in time: a pause is no punishment.
            Ok(answered) => session.resume(&answered.id, answered.note),
            Err(fault) => {
                tracing::error!(%fault, session = %session.id, "guidance could not be waited for");
                self.sessions.end(&session, EndReason::Operator).await;
            }
        }
    }
}
