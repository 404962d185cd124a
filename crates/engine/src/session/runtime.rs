//! What a session holds while it lives: the tunnel into its jail, the browser, and its way out.

use crate::error::Fault;
use crate::tunnel::{Tunnel, TunnelError};
use browser::Browser;
use browser::cdp::Closed;
use egress::Egress;
use serde::Serialize;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Dropping it closes the connection into the jail and the way out of it.
pub(crate) struct Runtime {
    pub link: Link,
    pub tunnel: Arc<Tunnel>,
    pub egress: Egress,
    /// The kernel's count of out-of-memory kills that are already accounted for.
    pub oom_kills: u64,
    /// The kernel's count of refused processes and threads that are already accounted for.
    pub pids_hits: u64,
    pub restarts_left: u32,
    /// A restart that nobody has been told of: it came while no call was under way.
    pub untold: Option<Fault>,
}

/// One connection to one Chromium; replaced whole when the browser is started again.
pub(crate) struct Link {
    pub browser: Browser,
    pub closed: watch::Receiver<Option<Closed>>,
    pub _renewals: Renewals,
}

impl Link {
    pub fn is_alive(&self) -> bool {
        self.closed.borrow().is_none()
    }
}

/// The task that renews the connection's token; it ends with the runtime.
pub(crate) struct Renewals(pub JoinHandle<Result<(), TunnelError>>);

impl Drop for Renewals {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One step on the way to a usable session, with the time it took.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    pub name: String,
    pub ms: f64,
}
