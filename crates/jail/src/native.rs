//! The native runtime: jails by bubblewrap from a template on this machine, supervised by a keeper process.

use crate::keeper::{Keeper, KeeperCommand, ProcessInfo};
use crate::launch;
use crate::probe::probe_host;
use crate::runtime::{Finding, InstanceReport, Outcome, Reaped};
use crate::template::{self, BuildOptions, Flavour, Store, Template, TemplateError};
use crate::{
    CgroupChoice, CpuWeight, Enforcement, JailError, JailId, JailSpec, JailState, JailStats, LossNotifier,
    PreparedJail, Runtime, RuntimeBackend, RuntimeInfo, RuntimeReport,
};
use error_code::ErrorCode;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Settings of the native runtime.
#[derive(Clone, Debug)]
pub struct NativeOptions {
    /// The folder of instances; see [`default_runtime_dir`](crate::default_runtime_dir).
    pub runtime_dir: PathBuf,
    /// The folder of templates.
    pub templates: PathBuf,
    pub flavour: Flavour,
    /// The bridge's program on this host, in case a template has to be built.
    pub bridge: PathBuf,
    pub cgroup: CgroupChoice,
    pub keeper: KeeperCommand,
}

/// A verified template and the keeper that runs jails from it.
#[derive(Debug)]
pub struct NativeRuntime {
    info: RuntimeInfo,
    runtime_dir: PathBuf,
    /// Kept because it protects the template from removal.
    template: Template,
    keeper: Keeper,
}

impl NativeRuntime {
    /// Verifies the newest template, building one if there is none, then starts the keeper.
    pub fn start(options: &NativeOptions) -> Result<NativeRuntime, JailError> {
        NativeRuntime::start_from(verified_template(options)?, options)
    }

    /// Starts the keeper with a template that the caller has verified.
    pub fn start_from(template: Template, options: &NativeOptions) -> Result<NativeRuntime, JailError> {
        let keeper = Keeper::start(&options.runtime_dir, &options.cgroup, &options.keeper)?;
        let info = RuntimeInfo {
            kind: "native",
            instance: keeper.instance().id().clone(),
            enforcement: keeper.instance().enforcement(),
            template: template.id().to_owned(),
            browser_program: template.browser().to_owned(),
            browser_version: template.browser_version().to_owned(),
            reaped: keeper.reaped().clone(),
        };
        Ok(NativeRuntime { info, runtime_dir: options.runtime_dir.clone(), template, keeper })
    }

    /// Like [`Runtime::start`], and returns the jail's first process.
    pub fn start_jail(&self, spec: &JailSpec) -> Result<ProcessInfo, JailError> {
        self.keeper.start_jail(spec, self.template.root())
    }

    pub fn keeper_pid(&self) -> u32 {
        self.keeper.pid()
    }

    pub fn instance_dir(&self) -> &Path {
        self.keeper.instance().dir()
    }
}

impl Runtime for NativeRuntime {
    fn info(&self) -> &RuntimeInfo {
        &self.info
    }

    fn prepare(&self, jail: &JailId) -> Result<PreparedJail, JailError> {
        self.keeper.instance().prepare(jail)
    }

    fn start(&self, spec: &JailSpec) -> Result<(), JailError> {
        self.start_jail(spec).map(drop)
    }

    fn state(&self, jail: &JailId) -> Result<Option<JailState>, JailError> {
        self.keeper.state(jail)
    }

    fn stats(&self, jail: &JailId) -> Result<Option<JailStats>, JailError> {
        self.keeper.stats(jail)
    }

    fn cpu_usage(&self, jail: &JailId) -> Result<Option<Duration>, JailError> {
        self.keeper.instance().cpu_usage(jail)
    }

    fn set_cpu(&self, jail: &JailId, processors: Option<f64>) -> Result<(), JailError> {
        self.keeper.instance().set_cpu(jail, processors)
    }

    fn set_cpu_weight(&self, jail: &JailId, weight: CpuWeight) -> Result<(), JailError> {
        self.keeper.instance().set_cpu_weight(jail, weight)
    }

    fn log_tail(&self, jail: &JailId) -> Result<String, JailError> {
        self.keeper.log_tail(jail)
    }

    fn destroy(&self, jail: &JailId) -> Result<Option<JailStats>, JailError> {
        self.keeper.destroy(jail)
    }

    fn reap(&self) -> Result<Reaped, JailError> {
        launch::reap(&self.runtime_dir)
    }

    fn on_lost(&self, notify: LossNotifier) -> Result<(), JailError> {
        self.keeper.on_lost(notify)
    }

    fn shutdown(&self) -> Result<(), JailError> {
        self.keeper.shutdown()
    }
}

impl RuntimeBackend for NativeOptions {
    fn start(&self) -> Result<Arc<dyn Runtime>, JailError> {
        Ok(Arc::new(NativeRuntime::start(self)?))
    }

    fn doctor(&self) -> RuntimeReport {
        let host = probe_host(&self.cgroup);
        let bubblewrap = match host.bubblewrap {
            Ok(version) => Finding::good("bubblewrap", version),
            Err(error) => Finding::failed("bubblewrap", error),
        };
        let namespaces = match host.namespaces {
            Ok(()) => Finding::good("namespaces", "a jail's namespaces can be made"),
            Err(error) => Finding::failed("namespaces", error),
        };
        let chromium = match template::host_version(Flavour::Headless) {
            Ok(version) => Finding::good("chromium", version),
            Err(error) => Finding::failed("chromium", error),
        };
        let findings = vec![
            bubblewrap,
            namespaces,
            check_limits(host.limits),
            chromium,
            check_template(&self.templates, self.flavour),
            check_fonts(),
        ];
        RuntimeReport { findings }
    }

    fn list(&self) -> Result<Vec<InstanceReport>, JailError> {
        launch::list(&self.runtime_dir)
    }

    fn reap(&self) -> Result<Reaped, JailError> {
        launch::reap(&self.runtime_dir)
    }
}

/// The newest template. Built if there is none; verified file by file if any file was changed since the last time.
pub fn verified_template(options: &NativeOptions) -> Result<Template, TemplateError> {
    let store = Store::open(&options.templates)?;
    let flavour = options.flavour;
    let template = match store.newest(flavour) {
        Err(TemplateError::Missing { .. }) => {
            tracing::info!("there is no template yet; building one");
            let options = BuildOptions { flavour, bridge: options.bridge.clone(), browser: None };
            store.build(&options, &mut |step| tracing::info!(step, "building the template"))?
        }
        found => found?,
    };
    template.verify_if_changed()?;
    Ok(template)
}

fn check_limits(limits: Result<Enforcement, JailError>) -> Finding {
    match limits {
        Ok(Enforcement::CgroupV1) => Finding::good("limits", "enforced by cgroup v1"),
        Ok(Enforcement::CgroupV2) => Finding::good("limits", "enforced by cgroup v2"),
        Ok(Enforcement::Weaker) => Finding {
            name: "limits",
            outcome: Outcome::Weaker {
                found: "NOT enforced: container.weaker_limits is on, so memory and CPU are unlimited"
                    .to_owned(),
                code: ErrorCode::LimitsWeaker,
                fix: "Remove container.weaker_limits from the configuration.".to_owned(),
            },
        },
        Err(error) => Finding::failed("limits", error),
    }
}

fn check_template(folder: &Path, flavour: Flavour) -> Finding {
    let template = match Store::open(folder).and_then(|store| store.newest(flavour)) {
        Ok(template) => template,
        Err(TemplateError::Missing { .. }) => {
            let fix = format!("stockade template build --display {flavour}");
            return Finding::advice("template", "not built yet; the first start builds it", fix);
        }
        Err(error) => return Finding::failed("template", error),
    };
    if let Err(error) = template.verify() {
        return Finding::failed("template", error);
    }
    let found = format!("{}, {}, unchanged", template.id(), template.browser_version());
    match template::host_version(flavour) {
        Ok(version) if version != template.browser_version() => {
            let newer = format!("{found}; this machine now has {version}");
            Finding::advice("template", newer, format!("stockade template build --display {flavour}"))
        }
        _ => Finding::good("template", found),
    }
}

fn check_fonts() -> Finding {
    let missing = template::font_coverage();
    if missing.is_empty() {
        return Finding::good("fonts", "Latin, Greek, Cyrillic, CJK and emoji are covered");
    }
    let scripts: Vec<&str> = missing.iter().map(|gap| gap.script).collect();
    let mut packages: Vec<&str> = missing.iter().map(|gap| gap.package).collect();
    packages.sort_unstable();
    packages.dedup();
    let fix = format!(
        "Run: apt-get install {} (docs/install.md has the names for dnf and pacman). Then run: stockade template build",
        packages.join(" ")
    );
    Finding::advice("fonts", format!("no font for {}", scripts.join(", ")), fix)
}
