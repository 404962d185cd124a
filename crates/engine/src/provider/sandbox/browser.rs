//! One browser in its jail: limits, crash counts, restart and destruction.

use super::cpu::{CpuAccount, CpuControl, CpuController};
use super::tunnel::Tunnel;
use super::{SandboxSettings, connect};
use crate::error::Fault;
use crate::provider::{BrowserConnection, BrowserId, CrashCause};
use bridge::wire::StageName;
use egress::Egress;
use error_code::ErrorCode;
use jail::{JailError, JailId, Runtime};
use redact::{Redacted, redacted};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;

/// The bridge's threads, and those of a display where there is one.
const IDLE_PROCESSES: u64 = 16;
/// How often, and how far apart, a jail is polled until only idle processes are left: three seconds in all.
const POLLS: usize = 60;
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A jail's identity and the duty to destroy the jail. Dropping it destroys the jail in the background.
pub struct SandboxLease {
    runtime: Arc<dyn Runtime>,
    jail: JailId,
    destroyed: bool,
}

impl SandboxLease {
    pub(super) fn new(runtime: Arc<dyn Runtime>, jail: JailId) -> SandboxLease {
        SandboxLease { runtime, jail, destroyed: false }
    }

    pub fn id(&self) -> BrowserId {
        BrowserId(self.jail.to_string())
    }

    pub(super) fn jail(&self) -> &JailId {
        &self.jail
    }

    /// Calls the runtime from a blocking thread.
    pub(super) async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn Runtime, &JailId) -> Result<T, JailError> + Send + 'static,
    ) -> Result<T, Fault> {
        let (runtime, jail) = (self.runtime.clone(), self.jail.clone());
        match tokio::task::spawn_blocking(move || call(&*runtime, &jail)).await {
            Ok(answer) => answer.map_err(Fault::from),
            Err(error) => Err(Fault::caused(ErrorCode::Internal, &error)),
        }
    }

    /// Adds the end of the jail's log to a failed start: the bridge may have died before it could report.
    pub(super) async fn add_log_tail(&self, mut fault: Fault) -> Fault {
        if let Ok(tail) = self.call(|runtime, jail| runtime.log_tail(jail)).await
            && !tail.trim().is_empty()
        {
            let tail = Redacted::outside_sessions(audit::sanitize(tail.trim()));
            fault.message = redacted!("{}; the jail said: {}", fault.message, tail);
        }
        fault
    }

    async fn destroy(mut self) -> Result<(), Fault> {
        self.destroyed = true;
        self.call(|runtime, jail| runtime.destroy(jail)).await.map(drop)
    }
}

impl Drop for SandboxLease {
    fn drop(&mut self) {
        // Without an event loop the control plane is ending, and its runtime ends every jail.
        let Ok(event_loop) = Handle::try_current() else { return };
        if self.destroyed {
            return;
        }
        let (runtime, jail) = (self.runtime.clone(), self.jail.clone());
        event_loop.spawn_blocking(move || {
            if let Err(error) = runtime.destroy(&jail) {
                tracing::error!(%error, %jail, "cannot destroy the jail of a failed opening");
            }
        });
    }
}

/// A browser in a started jail.
pub struct SandboxBrowser {
    tunnel: Arc<Tunnel>,
    egress: Egress,
    settings: Arc<SandboxSettings>,
    cpu_controller: Arc<CpuController>,
    /// `None` before [`SandboxBrowser::start_cpu_credit`], and where limits are off.
    cpu: Option<CpuControl>,
    /// The kernel's count of out-of-memory kills that are already explained.
    oom_kills: u64,
    /// The kernel's count of refused processes and threads that are already explained.
    pids_limit_hits: u64,
    /// The last field: the tunnel and the proxy close before the jail is destroyed.
    lease: SandboxLease,
}

impl SandboxBrowser {
    pub(super) fn new(
        tunnel: Arc<Tunnel>,
        egress: Egress,
        settings: Arc<SandboxSettings>,
        cpu_controller: Arc<CpuController>,
        lease: SandboxLease,
    ) -> SandboxBrowser {
        SandboxBrowser {
            tunnel,
            egress,
            settings,
            cpu_controller,
            cpu: None,
            oom_kills: 0,
            pids_limit_hits: 0,
            lease,
        }
    }

    pub fn id(&self) -> BrowserId {
        self.lease.id()
    }

    pub fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Counts the browser's CPU time from now on, with full credit.
    pub async fn start_cpu_credit(&mut self) -> Result<(), Fault> {
        let controller = self.cpu_controller.clone();
        self.cpu = self.lease.call(move |_, jail| controller.add(jail, Instant::now())).await?;
        Ok(())
    }

    pub fn cpu_account(&self) -> Option<Arc<CpuAccount>> {
        self.cpu.as_ref().map(|cpu| cpu.account().clone())
    }

    pub async fn reset_crash_counts(&mut self) -> Result<(), Fault> {
        let stats = self.lease.call(|runtime, jail| runtime.stats(jail)).await?.unwrap_or_default();
        self.oom_kills = stats.oom_kills;
        self.pids_limit_hits = stats.pids_limit_hits;
        Ok(())
    }

    /// Compares the kernel's counts with the explained ones, then takes note of them.
    pub async fn crash_cause(&mut self) -> CrashCause {
        let (oom_kills, pids_limit_hits) = (self.oom_kills, self.pids_limit_hits);
        if let Err(error) = self.reset_crash_counts().await {
            tracing::warn!(jail = %self.lease.jail(), %error, "cannot read a jail's counts");
            return CrashCause::Unknown;
        }
        let kills = self.oom_kills;
        tracing::info!(jail = %self.lease.jail(), kills, known = oom_kills, "a tab or a browser died");
        match (self.oom_kills > oom_kills, self.pids_limit_hits > pids_limit_hits) {
            (true, _) => CrashCause::Memory,
            (false, true) => CrashCause::Processes,
            (false, false) => CrashCause::Unknown,
        }
    }

    pub async fn reconnect(&self) -> Result<BrowserConnection, Fault> {
        let Some(cpu) = &self.cpu else { return self.restart_and_connect().await };
        // As at the first start, CPU time counts from readiness on: starting is not the page's work.
        cpu.pause().await?;
        let connected = self.restart_and_connect().await;
        // There may be a page already.
        cpu.resume().await?;
        connected
    }

    async fn restart_and_connect(&self) -> Result<BrowserConnection, Fault> {
        // A connection can be lost while its browser lives; then nothing is restarted.
        if self.tunnel.status().await?.stage == StageName::Down {
            self.wait_for_old_processes().await?;
            self.tunnel.restart().await?;
        }
        let readiness = self.tunnel.version(self.settings.start_timeout).await?;
        connect(&self.tunnel, &readiness.ws_path).await
    }

    /// Waits until the dead browser's processes are gone. Hundreds of threads take a moment, and until then a new
    /// browser would meet the same limit that the old one died of.
    async fn wait_for_old_processes(&self) -> Result<(), Fault> {
        for _ in 0..POLLS {
            let stats = self.lease.call(|runtime, jail| runtime.stats(jail)).await?;
            if stats.is_none_or(|stats| stats.pids <= IDLE_PROCESSES) {
                return Ok(());
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        // Try to start anyway; a failure is reported.
        Ok(())
    }

    pub async fn destroy(self) -> Result<(), Fault> {
        let SandboxBrowser { tunnel, egress, lease, cpu, .. } = self;
        drop((tunnel, egress, cpu));
        lease.destroy().await
    }
}
