//! Assembles the control plane from the settings.

use crate::approvals::ApprovalStore;
use crate::error::Fault;
use crate::gate::{Gate, LONGEST_ACTION, Supervision};
use crate::logins::{self, Logins};
use crate::provider::sandbox::{self, CpuSettings, SandboxProvider, SandboxSettings};
use crate::provider::{BrowserLimits, Provider};
use crate::record::{Anchors, RetentionRules};
use crate::session::{EffectSettings, RecordMode, Registry, SessionSettings, SiteList};
use crate::settings::{Config, EgressMode, PictureFormat, Recording, ScreenKind};
use crate::state::State;
use crate::storage::Storage;
use browser::{BrowserOptions, SnapshotOptions};
use error_code::ErrorCode;
use jail::RuntimeBackend;
use policy::{ImageFormat, Policy, Scope};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Time limit from creating a jail to a browser that answers.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Size of a headed browser's display and window.
const DISPLAY: (u32, u32) = (1280, 800);

pub struct Control {
    pub gate: Gate,
    /// Questions to people.
    pub approvals: ApprovalStore,
    /// Credentials, and the grants that release them.
    pub logins: Arc<Logins>,
    pub log: audit::Log,
    pub storage: Storage,
    /// Default format of screenshots.
    pub screenshot_format: ImageFormat,
    /// Whether agents may read a page's cleaned HTML.
    pub read_dom: bool,
    provider: Arc<Provider>,
    anchors: Mutex<Option<Anchors>>,
    retention_task: JoinHandle<()>,
    grant_cleanup_task: JoinHandle<()>,
}

impl Control {
    /// Starts the configured runtime, then the rest. Nothing is half-started on failure.
    pub async fn start(config: &Config, state: &State, storage: Storage) -> Result<Control, Fault> {
        let backend = sandbox::backend(config, sandbox::native)?;
        Control::start_on(backend, config, state, storage).await
    }

    /// Starts a runtime and opens the record. Nothing is half-started on failure.
    pub async fn start_on(
        backend: Arc<dyn RuntimeBackend>,
        config: &Config,
        state: &State,
        storage: Storage,
    ) -> Result<Control, Fault> {
        raise_open_files();
        let sandbox = SandboxProvider::start(backend, sandbox_settings(config)?).await?;
        let provider = Arc::new(Provider::Sandbox(sandbox));
        crate::memory::close()?;
        let (log, authority) = crate::record::open_log(&config.audit, state, &provider.instance())?;
        crate::record::close_interrupted_sessions(&log).await?;
        let approvals =
            ApprovalStore::open(storage.clone(), (log.clone(), authority), config.approvals()).await?;
        let logins = Arc::new(Logins::open(&config.credentials, state)?);
        let rules = Arc::new(crate::egress_setup::rules(config, &logins).await?);
        let settings = settings(config, state, &log, rules)?;
        let policy = Policy::new(config.policy());
        let effects = EffectSettings { policy: policy.clone(), log: log.clone() };
        let registry = Arc::new(Registry::new(settings, provider.clone(), logins.clone(), effects));
        let anchors = Mutex::new(Anchors::start(&config.audit.anchor, &log));
        let retention_task = crate::record::sweep_periodically(
            state.folder().to_owned(),
            RetentionRules::of(config),
            log.clone(),
            {
                let registry = registry.clone();
                move || registry.open_ids()
            },
        );
        let retention_task = tokio::spawn(retention_task);
        let grant_cleanup_task =
            tokio::spawn(logins::remove_expired_periodically(logins.clone(), log.clone()));
        // Without approvals there is no guidance either.
        let pause_after = if config.hitl.enabled { config.hitl.failures_before_pause } else { 0 };
        let supervision = Supervision { pause_after, halts_on_credentials: config.hitl.enabled };
        let gate = Gate::new(policy, log.clone(), registry, approvals.clone(), supervision);
        Ok(Control {
            gate,
            approvals,
            logins,
            log,
            storage,
            screenshot_format: config.screenshot.format,
            read_dom: config.read_dom,
            provider,
            anchors,
            retention_task,
            grant_cleanup_task,
        })
    }

    /// The scope of callers that need no key: a pipe of the state folder's owner, or an open server.
    pub fn default_scope(&self) -> Result<Scope, Fault> {
        Ok(crate::storage::default_scope()?)
    }

    pub fn browser_version(&self) -> &str {
        self.provider.browser_version()
    }

    /// The limits of each session's browser.
    pub fn limits(&self) -> BrowserLimits {
        self.provider.limits()
    }

    /// Whether jails run without enforced limits, by the operator's setting.
    pub fn is_weaker(&self) -> bool {
        self.provider.is_weaker()
    }

    /// Resolves when the provider is lost; no session survives it, so neither does this control plane.
    pub async fn provider_lost(&self) {
        self.provider.lost().await;
    }

    /// The fault of a control plane whose provider was lost.
    pub fn provider_loss_fault(&self) -> Fault {
        self.provider.loss_fault()
    }

    /// Ends every session, then the provider, and waits until it has cleared up.
    pub async fn shut_down(&self) {
        self.retention_task.abort();
        self.grant_cleanup_task.abort();
        self.gate.sessions.shut_down().await;
        let anchors = self.anchors.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(anchors) = anchors {
            anchors.finish().await;
        }
        self.provider.shut_down().await;
    }
}

/// Raises the soft limit on open files to the hard limit. A session needs about ten descriptors.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!(%error, "the limit on open files stays as it is");
    }
}

fn record_mode(recording: Recording) -> RecordMode {
    match recording {
        Recording::Off => RecordMode::Off,
        Recording::Transient => RecordMode::Transient,
        Recording::Audit => RecordMode::Audit,
    }
}

/// The folder for transient screenshots of this log chain. Only the chain's owner uses it, so existing files are left
/// from a crash and are removed.
fn transient_folder(state: &State, log: &audit::Log) -> Result<PathBuf, Fault> {
    let chain = log.folder().file_name().unwrap_or_default();
    let folder = state.folder().join("transient").join(chain);
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Fault::unwritable("cannot remove screenshots that a crash left", &error))
        }
        _ => Ok(folder),
    }
}

fn sandbox_settings(config: &Config) -> Result<SandboxSettings, Fault> {
    let container = &config.container;
    let upstream_tls = egress::UpstreamTls::system(config.egress.ca_file.as_deref().map(Path::new))
        .map_err(|error| Fault::caused(ErrorCode::ConfigValue, &error))?;
    Ok(SandboxSettings {
        limits: jail::Limits {
            memory_bytes: container.memory_limit.bytes(),
            pids: container.pids.into(),
            open_files: container.open_files.into(),
            tmp_bytes: container.tmp_size.bytes(),
            shm_bytes: container.shm_size.bytes(),
        },
        cpu: CpuSettings {
            share: container.cpu_shares,
            credit: container.cpu_credit.duration(),
            burst: container.cpu_burst,
        },
        restarts: config.runtime_restart_attempts,
        token_lifetime: Duration::from_secs(config.bridge_token_seconds.0.into()),
        start_timeout: START_TIMEOUT,
        egress: crate::egress_setup::options(config),
        display: matches!(container.display, ScreenKind::Xvfb).then_some(DISPLAY),
        upstream_tls,
    })
}

fn settings(
    config: &Config,
    state: &State,
    log: &audit::Log,
    rules: Arc<egress::Rules>,
) -> Result<SessionSettings, Fault> {
    let folder = state.folder();
    Ok(SessionSettings {
        lifetime: Duration::from_secs(config.session_timeout.0.min(config.max_session_minutes * 60).into()),
        most_actions: config.max_actions_per_session,
        most_sessions: config.max_concurrent_sessions as usize,
        restarts: config.runtime_restart_attempts,
        action_timeout: Duration::from_secs(config.action_timeout.0.into()),
        denial_stands: config.hitl.denial_stands.duration(),
        health_interval: config.health_interval.duration(),
        egress: rules,
        sites: matches!(config.egress.mode, EgressMode::Allowlist).then(|| SiteList {
            navigation: config.egress.allow.clone(),
            resources: config.egress.allow_resources.clone(),
        }),
        resources: config.egress.allow_resources.clone(),
        also_home: config.credentials.egress.clone(),
        // Each call has its own timeout; this one applies to attaching to a browser.
        browser: BrowserOptions {
            action_timeout: LONGEST_ACTION,
            max_pixels: config.screenshot.max_pixels,
            snapshot: SnapshotOptions {
                max_depth: config.snapshot.max_depth as usize,
                exclude_hidden_elements: config.snapshot.exclude_hidden_elements,
                exclude_password_fields: config.snapshot.exclude_password_fields,
                values: config.snapshot.values,
            },
            ..BrowserOptions::default()
        },
        record: record_mode(config.recording),
        record_floor: record_mode(config.recording_floor),
        recordings: folder.join("recordings"),
        transient: transient_folder(state, log)?,
        archives: folder.join("archive"),
        most_images: config.screenshot.ring as usize,
        picture_format: match config.audit.image_format {
            PictureFormat::Webp => ImageFormat::Webp,
            PictureFormat::Png => ImageFormat::Png,
        },
        key: Arc::new(crate::record::load_key(&config.audit, state)?),
        audit: state.audit(),
    })
}
