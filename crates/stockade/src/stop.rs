//! When to stop: a signal, or the loss of the keeper, without which no jail lives.

use crate::control::Control;
use crate::error::Fault;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that is cancelled by SIGINT, SIGTERM or SIGHUP, or when the keeper dies.
pub fn on_signal(control: Arc<Control>) -> Result<CancellationToken, Fault> {
    let failed = |e: std::io::Error| Fault::io("internal", "cannot watch for signals", &e);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(failed)?;
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            () = control.keeper_lost() => tracing::error!("the keeper is gone, and every jail with it; stopping"),
        }
        stopping.cancel();
    });
    Ok(stop)
}
