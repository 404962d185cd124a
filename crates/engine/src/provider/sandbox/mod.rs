//! The sandbox provider: each browser in a jail of its own, reached through the bridge that runs beside it.

mod backend;
mod browser;
mod cpu;
pub mod tunnel;

pub use backend::{BackendFactory, backend, maintenance_backend, native};
pub use browser::{SandboxBrowser, SandboxLease};
pub use cpu::{CpuAccount, CpuSettings, CpuStatus};

use super::{BrowserConnection, BrowserLimits, Keepalive, Phase, ProvidedBrowser, StartedBrowser};
use crate::error::Fault;
use ::browser::cdp;
use cpu::CpuController;
use egress::{Interception, JailAuthority, UpstreamTls};
use error_code::ErrorCode;
use jail::{Enforcement, JailError, JailId, JailSpec, PreparedJail, Runtime, RuntimeBackend};
use policy::Scope;
use redact::Redacted;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::UnixListener;
use tunnel::{Tunnel, keep_renewed};

/// The port on the jail's own loopback where the bridge takes Chromium's proxy traffic.
const PROXY_PORT: u16 = 3128;

/// Settings of every jail.
#[derive(Clone, Debug)]
pub struct SandboxSettings {
    pub limits: jail::Limits,
    pub cpu: CpuSettings,
    /// How often the bridge restarts a dead browser.
    pub restarts: u32,
    /// Lifetime of a token for the bridge.
    pub token_lifetime: Duration,
    /// How long a jail may take from nothing to a browser that answers.
    pub start_timeout: Duration,
    /// Limits of a session's proxy.
    pub egress: egress::Options,
    /// Size of a headed browser's display; headless without one.
    pub display: Option<(u32, u32)>,
    /// How the proxy verifies the sites of sealed credentials.
    pub upstream_tls: Arc<UpstreamTls>,
}

/// Runs browsers on a started runtime.
pub struct SandboxProvider {
    runtime: Arc<dyn Runtime>,
    signer: Arc<bridge::token::Signer>,
    settings: Arc<SandboxSettings>,
    cpu: Arc<CpuController>,
}

impl SandboxProvider {
    /// Starts the runtime. Nothing is left behind on failure.
    pub async fn start(
        backend: Arc<dyn RuntimeBackend>,
        settings: SandboxSettings,
    ) -> Result<SandboxProvider, Fault> {
        let signer = bridge::token::Signer::generate().map_err(|e| Fault::caused(ErrorCode::Internal, &e))?;
        let runtime = tokio::task::spawn_blocking(move || backend.start())
            .await
            .map_err(|e| Fault::caused(ErrorCode::Internal, &e))??;
        if runtime.info().enforcement == Enforcement::Weaker {
            tracing::warn!("limits are NOT enforced: `container.weaker_limits` is on");
        }
        let cpu = CpuController::start(runtime.clone(), settings.cpu);
        Ok(SandboxProvider { runtime, signer: Arc::new(signer), settings: Arc::new(settings), cpu })
    }

    pub fn instance(&self) -> String {
        self.runtime.info().instance.to_string()
    }

    pub fn browser_version(&self) -> &str {
        &self.runtime.info().browser_version
    }

    pub fn limits(&self) -> BrowserLimits {
        let jail::Limits { memory_bytes, pids, open_files, .. } = self.settings.limits;
        let cpu = self.settings.cpu.share;
        BrowserLimits { memory_bytes, cpu, processes: pids, open_files, enforced: !self.is_weaker() }
    }

    pub fn is_weaker(&self) -> bool {
        self.runtime.info().enforcement == Enforcement::Weaker
    }

    pub fn reserve(&self) -> Result<SandboxLease, Fault> {
        let jail =
            JailId::parse(&format!("j-{}", crate::random::token(12))).map_err(jail::JailError::from)?;
        Ok(SandboxLease::new(self.runtime.clone(), jail))
    }

    /// Prepares and starts the jail, waits for readiness, then connects.
    pub async fn start_browser(
        &self,
        lease: SandboxLease,
        scope: &Scope,
        rules: Arc<egress::Rules>,
    ) -> Result<StartedBrowser, Fault> {
        let begun = Instant::now();
        let mut phases = Vec::new();
        let PreparedJail { cdp, egress, .. } = lease.call(|runtime, jail| runtime.prepare(jail)).await?;
        let authority = JailAuthority::generate().map_err(|e| Fault::caused(ErrorCode::Internal, &e))?;
        let authority_spki = authority.spki_sha256_base64();
        let interception = Interception { authority, upstream: self.settings.upstream_tls.clone() };
        let egress = egress::serve(listener(egress)?, rules, self.settings.egress, Some(interception));
        let tunnel =
            Tunnel::new(listener(cdp)?, self.signer.clone(), scope.to_string(), lease.jail().to_string());
        let tunnel = Arc::new(tunnel.token_lifetime(self.settings.token_lifetime));
        let spec = self.spec(scope, lease.jail(), authority_spki);
        lease.call(move |runtime, _| runtime.start(&spec)).await?;
        phases.push(Phase { name: "jail".into(), ms: millis(begun) });

        let readiness = match tunnel.version(self.settings.start_timeout).await {
            Ok(readiness) => readiness,
            Err(error) => return Err(lease.add_log_tail(error.into()).await),
        };
        let bridge_phases = readiness.phases.iter();
        phases.extend(
            bridge_phases.map(|phase| Phase {
                name: Redacted::outside_sessions(phase.name.to_string()),
                ms: phase.ms,
            }),
        );
        let connecting = Instant::now();
        let connection = connect(&tunnel, &readiness.ws_path).await?;
        phases.push(Phase { name: "websocket".into(), ms: millis(connecting) });
        let browser = SandboxBrowser::new(tunnel, egress, self.settings.clone(), self.cpu.clone(), lease);
        Ok(StartedBrowser {
            browser: ProvidedBrowser::Sandbox(browser),
            connection,
            user_agent: readiness.user_agent,
            phases,
        })
    }

    /// Resolves when the runtime is lost; no jail survives it.
    pub async fn lost(&self) {
        let (sender, lost) = tokio::sync::oneshot::channel::<()>();
        let notify = move |why: &str| {
            tracing::debug!(why, "the runtime is lost");
            // The receiver is gone, so no notification is needed.
            if sender.send(()).is_err() {}
        };
        if let Err(error) = self.runtime.on_lost(Box::new(notify)) {
            tracing::warn!(%error, "the runtime cannot be watched; its loss will show at the next session");
        }
        // A runtime that was shut down, or that cannot be watched, is not lost.
        if lost.await.is_err() {
            std::future::pending().await
        }
    }

    pub async fn shut_down(&self) {
        let runtime = self.runtime.clone();
        match tokio::task::spawn_blocking(move || runtime.shutdown()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "the runtime left something; `stockade jail reap` clears it")
            }
            Err(error) => tracing::error!(%error, "the runtime was not waited for"),
        }
    }

    fn spec(&self, scope: &Scope, jail: &JailId, authority_spki: String) -> JailSpec {
        let settings = &self.settings;
        let mut command: Vec<String> = vec![jail::BRIDGE.into()];
        command.extend(["--cdp".into(), jail::CDP_SOCKET.into()]);
        command.extend(["--egress".into(), jail::EGRESS_SOCKET.into()]);
        command.extend(["--public-key".into(), self.signer.public_key()]);
        command.extend(["--scope".into(), scope.to_string(), "--target".into(), jail.to_string()]);
        command.extend(["--restarts".into(), settings.restarts.to_string()]);
        command.extend(["--proxy-port".into(), PROXY_PORT.to_string()]);
        if let Some((width, height)) = settings.display {
            command.extend(["--display".into(), format!("{width}x{height}")]);
        }
        command.extend(["--".into(), self.runtime.info().browser_program.clone()]);
        let display =
            if settings.display.is_some() { ::browser::Display::X11 } else { ::browser::Display::Headless };
        let proxy = format!("127.0.0.1:{PROXY_PORT}");
        let launch = ::browser::LaunchOptions {
            proxy,
            display,
            authority_spki: Some(authority_spki),
            ..Default::default()
        };
        command.extend(::browser::launch_flags(&launch));
        JailSpec {
            id: jail.clone(),
            limits: settings.limits.clone(),
            command,
            env: vec![("HOME".into(), "/tmp".into()), ("LANG".into(), "C.UTF-8".into())],
        }
    }
}

/// The fault of a control plane whose runtime was lost.
pub(super) fn loss_fault() -> Fault {
    JailError::RuntimeLost { why: "it ended".to_owned() }.into()
}

/// Opens the CDP connection and keeps its token fresh.
async fn connect(tunnel: &Arc<Tunnel>, path: &str) -> Result<BrowserConnection, Fault> {
    let socket = tunnel.open_cdp(path).await?;
    let connection = cdp::Connection::over(socket, cdp::ConnectionOptions::default());
    let closed = connection.closed();
    let renewal = keep_renewed(tunnel.clone(), connection.renewals());
    let keepalive = Keepalive(tokio::spawn(async move {
        if let Err(error) = renewal.await {
            tracing::warn!(%error, "a connection's token is not renewed");
        }
    }));
    Ok(BrowserConnection { cdp: connection, closed, keepalive })
}

fn listener(socket: std::os::unix::net::UnixListener) -> Result<UnixListener, Fault> {
    socket
        .set_nonblocking(true)
        .and_then(|()| UnixListener::from_std(socket))
        .map_err(|e| Fault::io(ErrorCode::Internal, "cannot listen on a jail's socket", &e))
}

/// Milliseconds since then, to a tenth.
fn millis(since: Instant) -> f64 {
    (since.elapsed().as_secs_f64() * 10_000.0).round() / 10.0
}
