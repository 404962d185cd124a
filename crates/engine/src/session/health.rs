//! The health check: ends the session of a browser that runs but does not answer, and restarts one whose tab crashed
//! while idle and that cannot open another.

use super::{EndReason, Registry, Session};
use std::sync::Arc;
use std::time::Duration;

/// Maximum time for a health check; generous for a busy machine with half a CPU.
const LONGEST_PATIENCE: Duration = Duration::from_secs(10);
/// Consecutive failed checks after which the browser counts as unhealthy.
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
            // The holder of the turn notices by itself within its action's timeout.
            let Ok(mut active) = session.active.try_lock() else { continue };
            if let Some(crashed) = active.as_mut().filter(|active| active.link.browser.has_unreported_crash())
            {
                let (fault, end) = self.recover_tab(&session, crashed).await;
                crashed.unreported = Some(fault);
                let ending = end.and_then(|reason| self.declare_end(&session, reason));
                drop(active);
                match ending {
                    Some(ending) => return self.finish(ending).await,
                    None => continue,
                }
            }
            let Some(link) = active.as_ref().map(|active| &active.link) else { return };
            // A dead browser is restarted elsewhere.
            let patience = self.settings.health_interval.min(LONGEST_PATIENCE);
            let answer = link.is_alive().then(|| link.browser.check_health(patience));
            drop(active);
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
