//! Stop conditions: a signal, or the loss of the provider with all its browsers.

use crate::control::Control;
use crate::error::Fault;
use error_code::ErrorCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Signals the stop and remembers whether it was requested.
pub struct Stop {
    /// Cancelled by SIGINT, SIGTERM or SIGHUP, or when the provider is lost.
    pub token: CancellationToken,
    control: Arc<Control>,
    provider_lost: Arc<AtomicBool>,
}

impl Stop {
    pub fn watch(control: Arc<Control>) -> Result<Stop, Fault> {
        let failed = |e: std::io::Error| Fault::io(ErrorCode::Internal, "cannot watch for signals", &e);
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
        let provider_lost = Arc::new(AtomicBool::new(false));
        let stop = Stop { token: CancellationToken::new(), control: control.clone(), provider_lost };
        let (token, provider_lost) = (stop.token.clone(), stop.provider_lost.clone());
        tokio::spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
                () = control.provider_lost() => provider_lost.store(true, Ordering::SeqCst),
            }
            token.cancel();
        });
        Ok(stop)
    }

    /// Fails if the stop was caused by the loss of the provider.
    pub fn wanted(&self) -> Result<(), Fault> {
        if self.provider_lost.load(Ordering::SeqCst) {
            return Err(self.control.provider_loss_fault());
        }
        Ok(())
    }
}
