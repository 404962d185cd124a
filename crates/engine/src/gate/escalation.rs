//! When a person has to look: what alerts them, and a session that fails again and again.

use super::Gate;
use super::asking::host;
use crate::approvals::{Ask, Card, Kind, Said, State, Waiting};
use crate::error::Fault;
use crate::error::audit_fault;
use crate::session::{EndReason, Session, Whereabouts};
use audit::{Event, EventKind, EventSubject, sanitize};
use browser::{Outcome, PageText};
use policy::{Risk, RuleName};
use std::sync::Arc;

impl Gate {
    /// Records something that an operator should know of, and flags the session for whoever looks at it.
    pub(super) async fn alert(
        &self,
        session: &Session,
        code: &'static str,
        rule: &RuleName,
    ) -> Result<(), Fault> {
        session.flag(code);
        let about = EventSubject::session(&session.scope, &session.id, Some(session.browser_id.as_str()));
        let mut event = Event::new(EventKind::Alert, about).result(code);
        event.rule = Some(sanitize(rule.as_str()));
        tracing::warn!(session = %session.id, code, "an agent did what an operator should know of");
        self.log.append(&event).await.map_err(audit_fault)
    }

    /// Counts failures in a row; one too many, and the session waits for guidance.
    pub(super) async fn escalate(
        &self,
        session: &Arc<Session>,
        failed: bool,
        place: &Whereabouts,
        done: &mut Result<Outcome, Fault>,
    ) {
        let Err(fault) = done else { return session.succeeded() };
        if !failed || self.pause_after == 0 || session.ended().is_some() {
            return;
        }
        if session.failed(&fault.code) < self.pause_after {
            return;
        }
        match self.pause(session, place).await {
            Ok(waiting) => {
                let id = waiting.asked().id.clone();
                session.pause(id.clone());
                tokio::spawn(self.clone().guide(session.clone(), waiting));
                fault.hint = format!(
                    "{} Several actions in a row have failed, so the session now waits for a person's guidance: \
                     browser_pending with pending_id {id} tells what they say.",
                    fault.hint
                );
            }
            Err(problem) => {
                tracing::warn!(%problem, session = %session.id, "nobody could be asked for guidance");
            }
        }
    }

    /// Whether the session goes on. An agent may have read the person's answer before it was noticed here.
    pub(super) async fn check_running(&self, session: &Session) -> Result<(), Fault> {
        if let Some(id) = session.paused_for()
            && let Some(answered) = self.approvals.find(&id).await?
            && answered.state == State::Resumed
        {
            self.approvals.told(&answered);
            session.resume(&id, answered.note);
        }
        session.check_running()
    }

    async fn pause(&self, session: &Session, place: &Whereabouts) -> Result<Waiting, Fault> {
        let because = session.failures().iter().map(|code| Said::new("failed with", code)).collect();
        let card = Card {
            tool: String::new(),
            action: "go on after failures".to_owned(),
            risk: Risk::Medium,
            rule: "escalation.failures".to_owned(),
            description: "several actions in a row have failed, and the session is paused".to_owned(),
            because,
            domain: host(&place.url),
            url: PageText::new(&place.url),
            element: None,
            input: None,
            mark: None,
            irreversible: false,
            for_session: Vec::new(),
        };
        let ask = Ask {
            kind: Kind::Guidance,
            scope: session.scope.clone(),
            session: session.id.clone(),
            session_name: session.name.clone(),
            card,
            picture: None,
            patience: Some(session.time_left()),
        };
        self.approvals.ask(ask).await
    }

    /// Waits for what the person says, and does it.
    async fn guide(self, session: Arc<Session>, waiting: Waiting) {
        let answered = tokio::select! {
            answered = waiting.answered() => answered,
            _ = session.until_ended() => {
                if let Err(fault) = waiting.withdraw().await {
                    tracing::warn!(%fault, session = %session.id, "a call for guidance is still in the book");
                }
                return;
            }
        };
        match answered {
            Ok(answered) if answered.state == State::Resumed => session.resume(&answered.id, answered.note),
            Ok(answered) if answered.state == State::Ended => {
                self.sessions.end(&session, EndReason::Operator).await;
            }
            // Its time is over with the session's own.
            Ok(_) => {}
            Err(fault) => {
                tracing::error!(%fault, session = %session.id, "guidance could not be waited for");
                self.sessions.end(&session, EndReason::Operator).await;
            }
        }
    }
}
