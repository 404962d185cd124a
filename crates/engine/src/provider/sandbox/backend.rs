//! The runtime backend that the configuration asks for.

use crate::error::Fault;
use crate::settings::{Config, ScreenKind};
use crate::state;
use jail::template::Flavour;
use jail::{CgroupChoice, KeeperCommand, NativeOptions, RuntimeBackend};
use std::path::PathBuf;
use std::sync::Arc;

/// Makes a backend of the native runtime's options. The product uses [`native`]; tests pass another.
pub type BackendFactory = fn(NativeOptions) -> Arc<dyn RuntimeBackend>;

/// The native runtime's backend.
pub fn native(options: NativeOptions) -> Arc<dyn RuntimeBackend> {
    Arc::new(options)
}

/// The configured backend.
pub fn backend(config: &Config, factory: BackendFactory) -> Result<Arc<dyn RuntimeBackend>, Fault> {
    Ok(factory(NativeOptions {
        runtime_dir: state::runtime_dir(),
        templates: state::templates_dir()?,
        flavour: match config.container.display {
            ScreenKind::Headless => Flavour::Headless,
            ScreenKind::Xvfb => Flavour::Xvfb,
        },
        bridge: state::bridge_program()?,
        cgroup: cgroup_choice(config),
        keeper: KeeperCommand::default(),
    }))
}

/// A backend to list and reap with, which works without a configuration and without folders for templates.
pub fn maintenance_backend(factory: BackendFactory) -> Arc<dyn RuntimeBackend> {
    factory(NativeOptions {
        runtime_dir: state::runtime_dir(),
        templates: PathBuf::new(),
        flavour: Flavour::Headless,
        bridge: PathBuf::new(),
        cgroup: CgroupChoice::Auto,
        keeper: KeeperCommand::default(),
    })
}

fn cgroup_choice(config: &Config) -> CgroupChoice {
    match (&config.container.cgroup_parent, config.container.weaker_limits) {
        (_, true) => CgroupChoice::Weaker,
        (Some(parent), false) => CgroupChoice::Under(PathBuf::from(parent)),
        (None, false) => CgroupChoice::Auto,
    }
}
