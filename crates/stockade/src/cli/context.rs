//! Global flags, and what commands open with them: configuration, state, log.

use crate::cli::client_snippet::McpLaunch;
use crate::config::{self, Config, ConfigErrors, ConfigPaths, LoadedConfig, Override};
use clap::Args;
use engine::error::Fault;
use engine::logins::Logins;
use engine::provider::sandbox::{self, BackendFactory};
use engine::record;
use engine::state::{self, State};
use engine::storage::Storage;
use error_code::ErrorCode;
use jail::RuntimeBackend;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// The configuration file [default: $STOCKADE_CONFIG, ./stockade.yaml, or the user's]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A setting for this run, such as session_timeout=60
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = key_and_value)]
    set: Vec<(String, String)>,
    /// The state folder [default: $STOCKADE_STATE, or ~/.local/share/stockade]
    #[arg(long, global = true, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Print JSON, for programs
    #[arg(long, global = true)]
    json: bool,
    /// Log more to standard error; twice for details [or set STOCKADE_LOG]
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// No colours [or set NO_COLOR]
    #[arg(long, global = true)]
    no_color: bool,
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("it is KEY=VALUE, such as session_timeout=60")?;
    Ok((key.to_owned(), value.to_owned()))
}

/// The global flags of one run.
#[derive(Debug)]
pub struct Context {
    global: GlobalArgs,
    factory: BackendFactory,
    /// A value of a flag did not fit: the command line is wrong, not the configuration file.
    flags_are_wrong: AtomicBool,
}

impl Context {
    pub(super) fn new(global: GlobalArgs, factory: BackendFactory) -> Context {
        Context { global, factory, flags_are_wrong: AtomicBool::new(false) }
    }

    /// Whether the settings could not be loaded because of `--set` or another flag.
    pub(super) fn flags_are_wrong(&self) -> bool {
        self.flags_are_wrong.load(Ordering::Relaxed)
    }

    /// The runtime backend that the configuration asks for.
    pub(super) fn backend(&self, config: &Config) -> Result<Arc<dyn RuntimeBackend>, Fault> {
        sandbox::backend(config, self.factory)
    }

    /// A runtime backend to list and reap with; it needs no configuration.
    pub(super) fn maintenance_backend(&self) -> Arc<dyn RuntimeBackend> {
        sandbox::maintenance_backend(self.factory)
    }

    pub fn json(&self) -> bool {
        self.global.json
    }

    /// How another program starts `stockade mcp` with the configuration, settings and state of this process. A file that
    /// was found in the current folder is named: `stockade mcp` does not look there.
    pub(super) fn mcp_launch(&self) -> Result<McpLaunch, Fault> {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut args = vec!["mcp".to_owned()];
        let mut add = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
        let state = state::state_dir(self.global.state.clone())?;
        add("--state", absolute(&state).display().to_string());
        if let Some(file) = self.config_paths().file() {
            add("--config", absolute(file).display().to_string());
        }
        for (key, value) in &self.global.set {
            add("--set", format!("{key}={value}"));
        }
        let program =
            std::env::current_exe().map_or_else(|_| "stockade".into(), |path| path.display().to_string());
        Ok(McpLaunch { program, args, environment: McpLaunch::inherited_environment() })
    }

    pub(super) fn verbosity(&self) -> u8 {
        self.global.verbose
    }

    pub(super) fn choose_colors(&self) {
        if self.global.no_color {
            anstream::ColorChoice::Never.write_global();
        }
    }

    pub(super) fn config_paths(&self) -> ConfigPaths {
        ConfigPaths::for_process(self.global.config.clone())
    }

    /// Loads the settings in force. The command's own `flags` override `--set`, which overrides the file.
    pub fn load_config(&self, flags: Vec<Override>) -> Result<LoadedConfig, Fault> {
        self.load_from(&self.config_paths(), flags)
    }

    /// The same without `./stockade.yaml`: for a command that a client starts in any folder.
    pub fn load_config_without_current_dir(&self, flags: Vec<Override>) -> Result<LoadedConfig, Fault> {
        self.load_from(&self.config_paths().without_current_dir(), flags)
    }

    fn load_from(&self, paths: &ConfigPaths, flags: Vec<Override>) -> Result<LoadedConfig, Fault> {
        let loaded = self.check_config(paths, flags)?;
        for notice in loaded.notices() {
            tracing::warn!("{notice}");
        }
        Ok(loaded)
    }

    /// The settings that these files, `--set` and `flags` give, or everything that is wrong with them.
    pub(super) fn check_config(
        &self,
        paths: &ConfigPaths,
        flags: Vec<Override>,
    ) -> Result<LoadedConfig, ConfigErrors> {
        let set = self.global.set.iter().map(|(key, value)| Override::new("--set", key, value));
        let loaded = set.collect::<Result<Vec<_>, _>>().map_err(ConfigErrors::from).and_then(|set| {
            let overrides: Vec<Override> = set.into_iter().chain(flags).collect();
            config::load(paths, &overrides)
        });
        loaded.inspect_err(|errors| {
            self.flags_are_wrong.fetch_or(errors.first.is_of_flag(), Ordering::Relaxed);
        })
    }

    pub fn open_state(&self) -> Result<State, Fault> {
        let folder = state::state_dir(self.global.state.clone())?;
        Ok(State::open(&folder)?)
    }

    pub async fn open_storage(&self) -> Result<Storage, Fault> {
        Ok(Storage::open(&self.open_state()?.database()).await?)
    }

    /// Opens the audit log for a command that changes something. This process writes a chain of its own; a running
    /// server has another.
    pub fn open_log(&self) -> Result<audit::Log, Fault> {
        let config = self.load_config(Vec::new())?.config;
        record::open_log(&config.audit, &self.open_state()?, "command-line").map(|(log, _)| log)
    }

    /// Credentials and grants.
    pub fn open_logins(&self) -> Result<Logins, Fault> {
        Logins::for_command(&self.load_config(Vec::new())?.config.credentials, &self.open_state()?)
    }

    /// Runs an asynchronous command.
    pub fn block_on<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(|error| Fault::io(ErrorCode::Internal, "cannot start", &error))?;
        runtime.block_on(work)
    }
}
