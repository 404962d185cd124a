//! A sign of life for clients that give up on a silent call.

use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use std::time::{Duration, Instant};

/// Some clients kill a call after five silent seconds.
const EVERY: Duration = Duration::from_secs(2);

/// Runs `work`; while it takes long, tells the client so, if the client asked to be told.
pub async fn told<T>(context: &RequestContext<RoleServer>, what: &str, work: impl Future<Output = T>) -> T {
    let Some(token) = context.meta.get_progress_token() else { return work.await };
    let begun = Instant::now();
    let mut ticks = tokio::time::interval_at(tokio::time::Instant::now() + EVERY, EVERY);
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            _ = ticks.tick() => {
                let seconds = begun.elapsed().as_secs();
                let mut note = ProgressNotificationParam::new(token.clone(), begun.elapsed().as_secs_f64());
                note.message = Some(format!("{what}: still at it after {seconds} s"));
                if let Err(error) = context.peer.notify_progress(note).await {
                    tracing::debug!(%error, "a client does not take progress notes");
                }
            }
        }
    }
}
