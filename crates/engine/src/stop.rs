//! When to stop: a signal, or the loss of the keeper, without which no jail lives.

use crate::control::Control;
use crate::error::Fault;
use error_code::ErrorCode;
use jail::JailError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The moment to stop, and whether somebody wanted it.
pub struct Stop {
    /// Cancelled by SIGINT, SIGTERM or SIGHUP, or when the keeper dies.
    pub token: CancellationToken,
    keeper_lost: Arc<AtomicBool>,
}

impl Stop {
    pub fn watch(control: Arc<Control>) -> Result<Stop, Fault> {
        let failed = |e: std::io::Error| Fault::io(ErrorCode::Internal, "cannot watch for signals", &e);
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
        let stop = Stop { token: CancellationToken::new(), keeper_lost: Arc::default() };
        let (token, keeper_lost) = (stop.token.clone(), stop.keeper_lost.clone());
        tokio::spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
                () = control.keeper_lost() => keeper_lost.store(true, Ordering::SeqCst),
            }
            token.cancel();
        });
        Ok(stop)
    }

    /// A stop that nobody asked for is a failure.
    pub fn wanted(&self) -> Result<(), Fault> {
        if self.keeper_lost.load(Ordering::SeqCst) {
            return Err(JailError::RuntimeLost { why: "it ended".to_owned() }.into());
        }
        Ok(())
    }
}
