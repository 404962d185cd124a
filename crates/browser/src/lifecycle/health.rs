//! Whether the browser process still answers.

use crate::{
    browser::Browser,
    cdp::{CallError, protocol as p},
};
use std::time::Duration;
use tokio::time::Instant;

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
}
