//! Providers of browsers: where a session's browser runs, and how it is reached.
//!
//! Sessions and recovery know a [`Provider`] and the [`ProvidedBrowser`] that it hands out, and nothing below them: no
//! jail, no tunnel, no runtime. The control plane makes the provider from the settings, and then forgets what it is made of. A remote provider is another variant of both, with a WebSocket
//! address in place of a jail and without an egress proxy of ours.

pub mod sandbox;

use crate::error::Fault;
use browser::cdp;
use egress::Egress;
use policy::Scope;
use redact::{Redacted, RedactedFields};
use sandbox::{CpuAccount, SandboxBrowser, SandboxLease, SandboxProvider};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Starts browsers for sessions.
pub enum Provider {
    /// Browsers in jails of a [`jail::Runtime`].
    Sandbox(SandboxProvider),
}

/// The identity of a provided browser in records and replies, where it is `jail_id`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct BrowserId(String);

redact::declare_safe_text!(BrowserId);

/// A reserved identity whose browser is not started. Dropping it releases what was prepared.
pub enum BrowserLease {
    Sandbox(SandboxLease),
}

/// A running browser that belongs to one session. Dropping it destroys it in the background.
pub enum ProvidedBrowser {
    Sandbox(SandboxBrowser),
}

/// A browser that has just started, with the first connection to it.
pub struct StartedBrowser {
    pub browser: ProvidedBrowser,
    pub connection: BrowserConnection,
    pub user_agent: String,
    /// The steps of the start, in order.
    pub phases: Vec<Phase>,
}

/// A CDP connection to a browser.
pub struct BrowserConnection {
    pub cdp: cdp::Connection,
    pub closed: watch::Receiver<Option<cdp::Closed>>,
    pub keepalive: Keepalive,
}

/// The task that keeps a connection authorized. It ends when this is dropped.
pub struct Keepalive(JoinHandle<()>);

/// What killed a tab or a browser, as far as the provider knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashCause {
    Memory,
    Processes,
    Unknown,
}

/// One step on the way to a usable session, with the time it took.
#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct Phase {
    pub name: Redacted,
    pub ms: f64,
}

/// What one browser may use.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BrowserLimits {
    pub memory_bytes: u64,
    /// Sustained share of processors: 0.5 is half of one.
    pub cpu: f64,
    pub processes: u64,
    pub open_files: u64,
    /// False if the operator turned enforcement off.
    pub enforced: bool,
}

impl Provider {
    /// The provider's name in session summaries.
    pub fn name(&self) -> &'static str {
        match self {
            Provider::Sandbox(_) => "sandbox",
        }
    }

    /// Differs at every start of the control plane.
    pub fn instance(&self) -> String {
        match self {
            Provider::Sandbox(sandbox) => sandbox.instance(),
        }
    }

    pub fn browser_version(&self) -> &str {
        match self {
            Provider::Sandbox(sandbox) => sandbox.browser_version(),
        }
    }

    /// The limits of each browser.
    pub fn limits(&self) -> BrowserLimits {
        match self {
            Provider::Sandbox(sandbox) => sandbox.limits(),
        }
    }

    /// Whether browsers run without enforced limits, by the operator's setting.
    pub fn is_weaker(&self) -> bool {
        match self {
            Provider::Sandbox(sandbox) => sandbox.is_weaker(),
        }
    }

    /// Chooses the identity of a browser, so that records can name it before it runs.
    pub fn reserve(&self) -> Result<BrowserLease, Fault> {
        match self {
            Provider::Sandbox(sandbox) => sandbox.reserve().map(BrowserLease::Sandbox),
        }
    }

    /// Starts the browser and connects to it. Where the provider's traffic passes our proxy, `rules` govern it.
    pub async fn start(
        &self,
        lease: BrowserLease,
        scope: &Scope,
        rules: Arc<egress::Rules>,
    ) -> Result<StartedBrowser, Fault> {
        match (self, lease) {
            (Provider::Sandbox(sandbox), BrowserLease::Sandbox(lease)) => {
                sandbox.start_browser(lease, scope, rules).await
            }
        }
    }

    /// Resolves when the provider is lost with all its browsers; never after [`Provider::shut_down`].
    pub async fn lost(&self) {
        match self {
            Provider::Sandbox(sandbox) => sandbox.lost().await,
        }
    }

    /// Ends all browsers and waits for their end.
    pub async fn shut_down(&self) {
        match self {
            Provider::Sandbox(sandbox) => sandbox.shut_down().await,
        }
    }

    /// The fault of a control plane whose provider was lost.
    pub fn loss_fault(&self) -> Fault {
        match self {
            Provider::Sandbox(_) => sandbox::loss_fault(),
        }
    }
}

impl BrowserLease {
    pub fn id(&self) -> BrowserId {
        match self {
            BrowserLease::Sandbox(lease) => lease.id(),
        }
    }
}

impl ProvidedBrowser {
    pub fn id(&self) -> BrowserId {
        match self {
            ProvidedBrowser::Sandbox(browser) => browser.id(),
        }
    }

    /// The proxy that the browser's traffic passes, where it is ours.
    pub fn egress(&self) -> Option<&Egress> {
        match self {
            ProvidedBrowser::Sandbox(browser) => Some(browser.egress()),
        }
    }

    /// Counts CPU time from now on, with full credit. The start of the browser is exempt.
    pub async fn start_cpu_credit(&mut self) -> Result<(), Fault> {
        match self {
            ProvidedBrowser::Sandbox(browser) => browser.start_cpu_credit().await,
        }
    }

    /// The browser's CPU credit, where it is counted.
    pub fn cpu_account(&self) -> Option<Arc<CpuAccount>> {
        match self {
            ProvidedBrowser::Sandbox(browser) => browser.cpu_account(),
        }
    }

    /// Takes what happened so far as known: [`ProvidedBrowser::crash_cause`] explains later crashes.
    pub async fn reset_crash_counts(&mut self) -> Result<(), Fault> {
        match self {
            ProvidedBrowser::Sandbox(browser) => browser.reset_crash_counts().await,
        }
    }

    /// Explains a crash that has just happened. Each kill explains one crash.
    pub async fn crash_cause(&mut self) -> CrashCause {
        match self {
            ProvidedBrowser::Sandbox(browser) => browser.crash_cause().await,
        }
    }

    /// Connects again after a lost connection, restarting the browser if it is dead.
    pub async fn reconnect(&self) -> Result<BrowserConnection, Fault> {
        match self {
            ProvidedBrowser::Sandbox(browser) => browser.reconnect().await,
        }
    }

    /// Ends the browser and waits for its end.
    pub async fn destroy(self) -> Result<(), Fault> {
        match self {
            ProvidedBrowser::Sandbox(browser) => browser.destroy().await,
        }
    }
}

impl BrowserId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BrowserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Drop for Keepalive {
    fn drop(&mut self) {
        self.0.abort();
    }
}
