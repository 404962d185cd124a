//! A sign of life for clients that give up on a silent call, and the way to the person who is asked meanwhile.

use super::leading;
use engine::approvals::{Approval, Book};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Some clients kill a call after five silent seconds.
const EVERY: Duration = Duration::from_secs(2);

/// Runs `work`; while it takes long, tells the client so, if the client asked to be told. When a person is asked, a client
/// that can open addresses is led to the page where they answer.
pub async fn told<T>(
    context: &RequestContext<RoleServer>,
    approvals: &Book,
    what: &str,
    mut asked: watch::Receiver<Option<Approval>>,
    work: impl Future<Output = T>,
) -> T {
    let token = context.meta.get_progress_token();
    let begun = Instant::now();
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + EVERY, EVERY);
    let mut waits_for: Option<Approval> = None;
    let mut is_open = true;
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            changed = asked.changed(), if is_open => {
                is_open = changed.is_ok();
                waits_for = asked.borrow_and_update().clone();
                if let Some(approval) = &waits_for {
                    leading::lead(context, approvals, approval);
                }
            }
            _ = ticks.tick(), if token.is_some() => {}
        }
        if let Some(token) = &token {
            tell(context, token.clone(), begun, message(approvals, what, begun, waits_for.as_ref())).await;
        }
    }
}

fn message(approvals: &Book, what: &str, begun: Instant, waits_for: Option<&Approval>) -> String {
    match waits_for {
        None => format!("{what}: still at it after {} s", begun.elapsed().as_secs()),
        Some(approval) => {
            let left = approval.expires_at.duration_since(jiff::Timestamp::now()).as_secs().max(0);
            format!(
                "{what}: a person is asked ({}), {}; {left} s are left",
                approval.id,
                approvals.answered_at(&approval.id)
            )
        }
    }
}

async fn tell(context: &RequestContext<RoleServer>, token: ProgressToken, begun: Instant, message: String) {
    let mut note = ProgressNotificationParam::new(token, begun.elapsed().as_secs_f64());
    note.message = Some(message);
    if let Err(error) = context.peer.notify_progress(note).await {
        tracing::debug!(%error, "a client does not take progress notes");
    }
}
