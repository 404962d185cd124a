//! Whether the browser process still answers.

use crate::{
    browser::Browser,
    cdp::{CallError, protocol as p},
};
use std::time::Duration;
use tokio::time::Instant;

impl Browser {
    /// Asks for nothing but a sign of life, beside whatever else goes on. A connection that is closed is no silence:
    /// it tells of itself.
    pub fn check_health(&self, patience: Duration) -> impl Future<Output = bool> + Send + use<> {
        let connection = self.connection.clone();
        async move {
            let asked = connection.call(None, &p::GetVersion {}, Instant::now() + patience).await;
            !matches!(asked, Err(CallError::Timeout { .. }))
        }
    }
}
