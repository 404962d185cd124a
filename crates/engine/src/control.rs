//! The control plane, put together: settings in, a gate with everything behind it out.

use crate::approvals::Book;
use crate::error::Fault;
use crate::gate::{Gate, LONGEST_ACTION};
use crate::logins::{self, Logins};
use crate::record::{Anchors, RetentionRules};
use crate::session::{RecordMode, Registry, SessionSettings};
use crate::settings::{Config, PictureFormat, Recording, ScreenKind};
use crate::state::{self, State};
use crate::storage::Storage;
use browser::{BrowserOptions, SnapshotOptions};
use error_code::ErrorCode;
use jail::template::Flavour;
use jail::{CgroupChoice, Enforcement, KeeperCommand, NativeOptions, Runtime, RuntimeBackend};
use policy::{ImageFormat, Policy, Scope};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;

/// How long a jail may take from nothing to a browser that speaks.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The window of a headed browser, and its display.
const DISPLAY: (u32, u32) = (1280, 800);

pub struct Control {
    pub gate: Gate,
    /// What waits for a person.
    pub approvals: Book,
    /// Credentials, and the grants that release them.
    pub logins: Arc<Logins>,
    pub log: audit::Log,
    pub storage: Storage,
    /// What a screenshot is unless its caller says otherwise.
    pub screenshot_format: ImageFormat,
    /// Whether agents may read a page's cleaned HTML.
    pub read_dom: bool,
    runtime: Arc<dyn Runtime>,
    anchors: Mutex<Option<Anchors>>,
    sweeping: JoinHandle<()>,
    collecting: JoinHandle<()>,
    browser_version: String,
    weaker: bool,
}

impl Control {
    /// Starts the configured runtime, then the rest. Nothing is half-started on failure.
    pub async fn start(config: &Config, state: &State, storage: Storage) -> Result<Control, Fault> {
        let backend = Arc::new(native_options(config)?);
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
        let runtime = tokio::task::spawn_blocking(move || backend.start())
            .await
            .map_err(|e| Fault::caused(ErrorCode::Internal, &e))??;
        crate::memory::close()?;
        let instance = runtime.info().instance.to_string();
        let (log, authority) = crate::record::open_log(&config.audit, state, &instance)?;
        let browser_version = runtime.info().browser_version.clone();
        let weaker = runtime.info().enforcement == Enforcement::Weaker;
        if weaker {
            tracing::warn!("limits are NOT enforced: `container.weaker_limits` is on");
        }
        let approvals = Book::open(storage.clone(), (log.clone(), authority), config.approvals()).await?;
        let settings = settings(config, state, &log)?;
        let logins = Arc::new(Logins::open(&config.credentials, state)?);
        let registry = Arc::new(Registry::new(settings, runtime.clone(), log.clone(), logins.clone())?);
        let anchors = Mutex::new(Anchors::start(&config.audit.anchor, &log));
        let sweeping = crate::record::keep_sweeping(
            state.folder().to_owned(),
            RetentionRules::of(config),
            log.clone(),
            {
                let registry = registry.clone();
                move || registry.open_ids()
            },
        );
        let sweeping = tokio::spawn(sweeping);
        let collecting = tokio::spawn(logins::keep_collecting(logins.clone(), log.clone()));
        // Where nobody is asked, nobody guides.
        let pause_after = if config.hitl.enabled { config.hitl.failures_before_pause } else { 0 };
        let policy = Policy::new(config.policy());
        let gate = Gate::new(policy, log.clone(), registry, approvals.clone(), pause_after);
        Ok(Control {
            gate,
            approvals,
            logins,
            log,
            storage,
            screenshot_format: config.screenshot.format,
            read_dom: config.read_dom,
            runtime,
            anchors,
            sweeping,
            collecting,
            browser_version,
            weaker,
        })
    }

    /// The scope of callers that need no key: a pipe of the state folder's owner, or an open server.
    pub fn default_scope(&self) -> Result<Scope, Fault> {
        Ok(crate::storage::default_scope()?)
    }

    pub fn browser_version(&self) -> &str {
        &self.browser_version
    }

    /// Whether jails run without enforced limits, by the operator's setting.
    pub fn is_weaker(&self) -> bool {
        self.weaker
    }

    /// Resolves when the runtime is lost; no jail survives it, so neither does this control plane.
    pub async fn keeper_lost(&self) {
        let (sender, lost) = tokio::sync::oneshot::channel::<()>();
        let notify = move |why: &str| {
            tracing::debug!(why, "the runtime is lost");
            // Nobody waits any more: then nobody needs to know.
            if sender.send(()).is_err() {}
        };
        if let Err(error) = self.runtime.on_lost(Box::new(notify)) {
            tracing::warn!(%error, "the keeper cannot be watched; its loss will show at the next session");
        }
        // One that we ended ourselves, or that cannot be watched, is not lost.
        if lost.await.is_err() {
            std::future::pending().await
        }
    }

    /// Ends every session, then the keeper, and waits until it has cleared up.
    pub async fn shut_down(&self) {
        self.sweeping.abort();
        self.collecting.abort();
        self.gate.sessions.shut_down().await;
        let anchors = self.anchors.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(anchors) = anchors {
            anchors.finish().await;
        }
        let runtime = self.runtime.clone();
        match tokio::task::spawn_blocking(move || runtime.shutdown()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "the keeper left something; `stockade jail reap` clears it")
            }
            Err(error) => tracing::error!(%error, "the keeper was not waited for"),
        }
    }
}

/// A session takes some ten descriptors, and the usual soft limit is meant for programs of another age.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::debug!(%error, "the limit on open files stays as it is");
    }
}

fn cgroup_choice(config: &Config) -> CgroupChoice {
    match (&config.container.cgroup_parent, config.container.weaker_limits) {
        (_, true) => CgroupChoice::Weaker,
        (Some(parent), false) => CgroupChoice::Under(PathBuf::from(parent)),
        (None, false) => CgroupChoice::Auto,
    }
}

/// The native runtime, as configured.
pub fn native_options(config: &Config) -> Result<NativeOptions, Fault> {
    Ok(NativeOptions {
        runtime_dir: state::runtime_dir(),
        templates: state::templates_dir()?,
        flavour: match config.container.display {
            ScreenKind::Headless => Flavour::Headless,
            ScreenKind::Xvfb => Flavour::Xvfb,
        },
        bridge: state::bridge_program()?,
        cgroup: cgroup_choice(config),
        keeper: KeeperCommand::default(),
    })
}

fn record_mode(recording: Recording) -> RecordMode {
    match recording {
        Recording::Off => RecordMode::Off,
        Recording::Transient => RecordMode::Transient,
        Recording::Audit => RecordMode::Audit,
    }
}

/// A folder of this log's own: whoever holds its chain is alone in it, so what is there was left by a crash.
fn transient_folder(state: &State, log: &audit::Log) -> Result<PathBuf, Fault> {
    let chain = log.folder().file_name().unwrap_or_default();
    let folder = state.folder().join("transient").join(chain);
    match std::fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Fault::unwritable("cannot remove pictures that a crash left", &error))
        }
        _ => Ok(folder),
    }
}

fn settings(config: &Config, state: &State, log: &audit::Log) -> Result<SessionSettings, Fault> {
    let container = &config.container;
    let hosts = egress::HostMap::parse(
        config.egress.hosts.0.iter().map(|(host, to)| (host.as_str(), to.to_string())),
    )
    .map_err(|e| Fault::caused(ErrorCode::ConfigValue, &e))?;
    let folder = state.folder();
    Ok(SessionSettings {
        lifetime: Duration::from_secs(config.session_timeout.0.min(config.max_session_minutes * 60).into()),
        most_actions: config.max_actions_per_session,
        most_sessions: config.max_concurrent_sessions as usize,
        limits: jail::Limits {
            memory_bytes: container.memory_limit.bytes(),
            cpu: container.cpu_shares,
            pids: container.pids.into(),
            open_files: container.open_files.into(),
            tmp_bytes: container.tmp_size.bytes(),
            shm_bytes: container.shm_size.bytes(),
        },
        restarts: config.runtime_restart_attempts,
        token_lifetime: Duration::from_secs(config.bridge_token_seconds.0.into()),
        start_timeout: START_TIMEOUT,
        action_timeout: Duration::from_secs(config.action_timeout.0.into()),
        health_interval: config.health_interval.duration(),
        display: matches!(container.display, ScreenKind::Xvfb).then_some(DISPLAY),
        egress: Arc::new(egress::Rules::new(hosts)),
        also_home: config.credentials.egress.clone(),
        // Each call brings a limit of its own; this one is for taking over a browser.
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
