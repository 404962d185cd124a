//! The health check: a browser that is there and does not answer ends its session.

use super::{EndReason, Registry, Session};
use std::sync::Arc;
use std::time::Duration;

/// How long a healthy browser may take to say its version, on a busy machine with half a processor.
const LONGEST_PATIENCE: Duration = Duration::from_secs(10);
/// Silent so often in a row, it is not healthy.
const MISSES: u32 = 2;

impl Registry {
    /// Asks the browser process, not the page: a page may be busy for as long as it likes.
    pub(super) async fn guard_health(self: Arc<Self>, session: Arc<Session>) {
        let mut missed = 0;
        loop {
            tokio::select! {
                () = tokio::time::sleep(self.settings.health_interval) => {}
                _ = session.until_ended() => return,
            }
            // Whoever has the turn finds out by itself, within the limit of its action.
            let Ok(runtime) = session.runtime.try_lock() else { continue };
            let Some(link) = runtime.as_ref().map(|runtime| &runtime.link) else { return };
            // A browser that is gone is brought back by others.
            let patience = self.settings.health_interval.min(LONGEST_PATIENCE);
            let answer = link.is_alive().then(|| link.browser.check_health(patience));
            drop(runtime);
            let Some(answer) = answer else { continue };
            let answered = tokio::select! {
                answered = answer => answered,
                _ = session.until_ended() => return,
            };
            missed = if answered { 0 } else { missed + 1 };
            if missed >= MISSES {
                tracing::warn!(session = %session.id, "a browser does not answer the health check");
                return self.end(&session, EndReason::Unhealthy).await;
            }
        }
    }
}
