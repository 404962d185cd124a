//! Whether the browser process still answers and can still start renderers, and the end of one that cannot.

use crate::{
    browser::Browser,
    cdp::{CallError, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    state::TabEnd,
};
use std::time::Duration;
use tokio::time::Instant;

/// How long a new tab may take to open and answer. Generous for a busy machine with half a CPU.
const NEW_TAB_TIMEOUT: Duration = Duration::from_secs(10);
/// How long Chromium may take to exit when it is asked to. Then it is made to crash.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

impl Browser {
    /// Whether Chromium answers within the time, also while an action runs. A closed connection counts as an answer: it is
    /// reported elsewhere.
    pub fn check_health(&self, patience: Duration) -> impl Future<Output = bool> + Send + use<> {
        let connection = self.connection.clone();
        async move {
            let reply = connection.call(None, &p::GetVersion {}, Instant::now() + patience).await;
            !matches!(reply, Err(CallError::Timeout { .. }))
        }
    }

    /// Whether the active tab crashed, and no call has reported it.
    pub fn has_unreported_crash(&self) -> bool {
        self.has_crashed_tab() && !self.shared.lock().end_reported
    }

    fn has_crashed_tab(&self) -> bool {
        matches!(self.shared.lock().ended, Some(TabEnd::Crashed { .. }))
    }

    /// Replaces a crashed tab, and waits until the new one answers. Fails if Chromium cannot start renderers any more:
    /// the process that forks them may be dead.
    pub async fn replace_crashed_tab(&self) -> Result<(), BrowserError> {
        let _turn = self.turn.lock().await;
        if !self.has_crashed_tab() {
            return Ok(());
        }
        let deadline = Deadline::after(NEW_TAB_TIMEOUT, "attach");
        self.replace_tab(deadline).await?;
        self.call_tab(&p::GetLayoutMetrics {}, deadline).await.map(|_| ())
    }

    /// Ends the browser process and waits until the connection is closed. Returns whether it is.
    pub async fn terminate(&self) -> bool {
        let mut closed = self.connection.closed();
        let commands = async {
            let exit_by = Instant::now() + EXIT_TIMEOUT;
            // The reply is of no interest: the closed connection is.
            if let Err(error) = self.connection.call(None, &p::CloseBrowser {}, exit_by).await {
                tracing::debug!(%error, "chromium did not confirm its exit");
            }
            tokio::time::sleep_until(exit_by).await;
            if let Err(error) = self.connection.call(None, &p::CrashBrowser {}, exit_by + EXIT_TIMEOUT).await
            {
                tracing::debug!(%error, "chromium did not confirm its crash");
            }
            tokio::time::sleep_until(exit_by + EXIT_TIMEOUT).await;
        };
        tokio::select! {
            // A dropped sender also means that the connection is closed.
            _ = closed.wait_for(Option::is_some) => true,
            () = commands => false,
        }
    }
}
