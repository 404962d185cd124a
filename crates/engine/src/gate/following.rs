//! From a question to what came of it. This goes on whether or not the call that led to it still waits.

use super::asking::{self, Shown};
use super::recording::PATIENCE;
use super::{Errand, Gate, Pending, Ran, Reply, Start, cancelled};
use crate::approvals::{ApprovalPicture, Bound, Waiting, Yes};
use crate::error::Fault;
use crate::error::audit_fault;
use crate::session::{EndFault, Session, Turn};
use audit::{ActionContext, EventSubject};
use browser::TimeLimit;
use error_code::ErrorCode;
use policy::{Denial, Question};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

impl Gate {
    /// What the page shows, for the person who is asked. A page that cannot be pictured is asked about without.
    pub(super) async fn shown(&self, session: &Session, turn: &Turn<'_>, question: &Question) -> Shown {
        let cover = session.secrets.cover();
        let (target, format) = (question.facts().target.as_ref(), self.sessions.picture_format());
        match turn
            .runtime
            .link
            .browser
            .recording_screenshot(target, format, &cover, TimeLimit::new(PATIENCE))
            .await
        {
            Ok(taken) => {
                let picture = ApprovalPicture { bytes: taken.image.bytes, mime: taken.image.format.mime() };
                Shown { picture: Some(picture), mark: taken.mark }
            }
            Err(error) => {
                tracing::debug!(%error, "a question has no picture");
                Shown::default()
            }
        }
    }

    /// Puts the question. One that cannot be put is a no, and on record as such.
    pub(super) async fn ask(
        &self,
        session: &Session,
        question: &Question,
        shown: Shown,
    ) -> Result<Waiting, Fault> {
        let fault = match self.approvals.ask(asking::ask(session, question, shown)).await {
            Ok(waiting) => return Ok(waiting),
            Err(fault) => fault,
        };
        let code = fault.code.clone();
        let about = EventSubject::session(&session.scope, &session.id, Some(session.browser_id.as_str()));
        let veil = |text: &str| session.veil.text(text);
        let context =
            ActionContext { subject: &about, user_agent: &session.user_agent, before: None, redact: &veil };
        let (rule, risk) = (question.rule().clone(), question.risk());
        let denial = Denial { rule, risk, code, message: String::new(), hint: "" };
        let refused = self.log.refuse(&context, question.action(), question.facts(), &denial);
        refused.await.map_err(audit_fault)?;
        if fault.code == ErrorCode::ApprovalFlood {
            self.alert(session, fault.code.name(), question.rule()).await?;
        }
        Err(fault)
    }

    /// Sees an asked action through in a task of its own.
    pub(super) fn follow(
        &self,
        session: Arc<Session>,
        errand: Errand,
        bound: Bound,
        given_up: CancellationToken,
    ) -> Pending {
        let (pending, fate) = self.pendings.add(bound.id(), &session.scope);
        let gate = self.clone();
        let seen_through = async move { gate.see_through(session, errand, bound, given_up).await };
        tokio::spawn(async move { fate.is(Box::pin(seen_through).await) });
        pending
    }

    async fn see_through(
        &self,
        session: Arc<Session>,
        errand: Errand,
        bound: Bound,
        given_up: CancellationToken,
    ) -> Result<Reply, Fault> {
        let id = bound.id().clone();
        let yes = match self.answer_to(&session, bound, &given_up).await {
            Ok(yes) => yes,
            Err(fault) => {
                self.conclude(&session, &errand, Some(&fault), None).await;
                return Err(fault);
            }
        };
        let Yes { approved, allowance, domain } = yes;
        if let Some(domain) = domain {
            session.given.add_domain(domain);
        }
        if let Some(allowance) = allowance {
            session.given.add(allowance);
        }
        let result = match session.turn().await {
            Err(fault) => Err(fault),
            Ok(turn) => {
                let start = Start::Approved(Box::new(approved));
                match self.run(&session, turn, &errand, start, &CancellationToken::new()).await {
                    Ran::Done(result) => result,
                    Ran::Asked(..) => {
                        Err(Fault::new(ErrorCode::Internal, "an approved action was asked about again"))
                    }
                }
            }
        };
        let outcome = result.as_ref().err().map_or_else(|| "ok".to_owned(), |fault| fault.code.to_string());
        if let Err(fault) = self.approvals.came_to(&id, &outcome).await {
            tracing::warn!(%fault, approval = %id, "what came of an approval is not kept beside it");
        }
        result
    }

    async fn answer_to(
        &self,
        session: &Session,
        bound: Bound,
        given_up: &CancellationToken,
    ) -> Result<Yes, Fault> {
        tokio::select! {
            waited = bound.wait() => waited?,
            reason = session.until_ended() => {
                bound.withdraw().await?;
                return Err(reason.fault(&session.id));
            }
            () = given_up.cancelled() => {
                bound.withdraw().await?;
                return Err(cancelled());
            }
        }
        bound.verdict().await
    }
}
