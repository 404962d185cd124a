//! Progress notifications, for clients that give up on a silent call, and elicitation while an approval is pending.

use super::url_elicitation;
use engine::approvals::{Approval, ApprovalStore};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Some clients cancel a call after five silent seconds.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// Runs `work` and sends progress notifications if the client asked for them. When an approval is requested, a client
/// that supports URL-mode elicitation is sent the approval's page.
pub async fn with_progress<T>(
    context: &RequestContext<RoleServer>,
    approvals: &ApprovalStore,
    what: &str,
    mut asked: watch::Receiver<Option<Approval>>,
    work: impl Future<Output = T>,
) -> T {
    let token = context.meta.get_progress_token();
    let started = Instant::now();
    let mut ticks =
        tokio::time::interval_at(tokio::time::Instant::now() + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
    let mut pending_approval: Option<Approval> = None;
    let mut is_open = true;
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            changed = asked.changed(), if is_open => {
                is_open = changed.is_ok();
                pending_approval = asked.borrow_and_update().clone();
                if let Some(approval) = &pending_approval {
                    url_elicitation::elicit(context, approvals, approval);
                }
            }
            _ = ticks.tick(), if token.is_some() => {}
        }
        if let Some(token) = &token {
            send_progress(
                context,
                token.clone(),
                started,
                message(approvals, what, started, pending_approval.as_ref()),
            )
            .await;
        }
    }
}

fn message(
    approvals: &ApprovalStore,
    what: &str,
    started: Instant,
    pending_approval: Option<&Approval>,
) -> String {
    match pending_approval {
        None => format!("{what}: still running after {} s", started.elapsed().as_secs()),
        Some(approval) => {
            let left = approval.expires_at.duration_since(jiff::Timestamp::now()).as_secs().max(0);
            format!(
                "{what}: waiting for approval {}: {} ({left} s left)",
                approval.id,
                approvals.answer_instructions(&approval.id)
            )
        }
    }
}

async fn send_progress(
    context: &RequestContext<RoleServer>,
    token: ProgressToken,
    started: Instant,
    message: String,
) {
    let mut note = ProgressNotificationParam::new(token, started.elapsed().as_secs_f64());
    note.message = Some(message);
    if let Err(error) = context.peer.notify_progress(note).await {
        tracing::debug!(%error, "a client does not take progress notes");
    }
}
