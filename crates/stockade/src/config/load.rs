//! Finds the configuration file, reads it with a size limit, and applies flags over it.

use crate::config::error::{ConfigError, ConfigErrors, LARGEST_FILE};
use crate::config::reader::{Override, Setting, SettingsReader, ValueOrigin};
use crate::config::schema::read_root;
use crate::config::yaml::{self, Node, YamlError};
use engine::settings::Config;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The name of the file in the current folder.
const FILE_NAME: &str = "stockade.yaml";

/// Candidate paths of the configuration file, in order of precedence.
#[derive(Clone, Debug, Default)]
pub struct ConfigPaths {
    /// `--config`: must exist if given.
    pub flag: Option<PathBuf>,
    /// `$STOCKADE_CONFIG`: must exist if given.
    pub env: Option<PathBuf>,
    /// `./stockade.yaml`
    pub current_dir: Option<PathBuf>,
    /// In the user's configuration folder.
    pub user: Option<PathBuf>,
}

impl ConfigPaths {
    pub fn for_process(flag: Option<PathBuf>) -> ConfigPaths {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
        ConfigPaths {
            flag,
            env: variable("STOCKADE_CONFIG"),
            current_dir: Some(PathBuf::from(FILE_NAME)),
            user: folder.map(|folder| folder.join("stockade").join(FILE_NAME)),
        }
    }

    /// Without `./stockade.yaml`. MCP clients start servers in the open project's folder; a project, or an agent that
    /// writes files there, must not configure its own jail.
    #[must_use]
    pub fn without_current_dir(mut self) -> ConfigPaths {
        self.current_dir = None;
        self
    }

    /// The file in force, if any. A path from `--config` or the environment is in force even if no file exists there.
    pub fn file(&self) -> Option<&Path> {
        let named = self.flag.as_deref().or(self.env.as_deref());
        let found = || [&self.current_dir, &self.user].into_iter().flatten().find(|file| exists(file));
        named.or_else(|| found().map(PathBuf::as_path))
    }
}

/// A file whose metadata cannot be read counts as existing: reading it fails loudly instead of falling back to defaults.
fn exists(file: &Path) -> bool {
    match std::fs::symlink_metadata(file) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

/// The settings in force, and the origin of each.
#[derive(Debug)]
pub struct LoadedConfig {
    pub config: Config,
    pub file: Option<PathBuf>,
    pub settings: Vec<Setting>,
}

impl LoadedConfig {
    /// The settings for a command that starts a browser; an error if `enabled` is false.
    pub fn enabled(self) -> Result<Config, ConfigError> {
        if self.config.enabled {
            return Ok(self.config);
        }
        let setting = self.settings.into_iter().find(|setting| setting.key == "security.browser.enabled");
        Err(ConfigError::Disabled { origin: setting.map_or(ValueOrigin::Default, |setting| setting.origin) })
    }

    /// Warnings for the author of the configuration. An unused key gets one only if its value differs from the default.
    pub fn notices(&self) -> Vec<String> {
        let idle =
            self.settings.iter().filter(|setting| !setting.in_use && setting.origin != ValueOrigin::Default);
        idle.filter_map(|setting| match setting.key.as_str() {
            "security.browser.runtime_required" => Some(format!(
                "{}: '{}' is accepted and ignored: a browser always runs in a jail",
                setting.origin, setting.key
            )),
            _ if setting.value == setting.default => None,
            key => Some(format!(
                "{}: '{key}' is checked, but nothing acts on it in this version",
                setting.origin
            )),
        })
        .collect()
    }
}

/// Loads the configuration file in force, with `overrides` over it; without a file, the defaults.
pub fn load(paths: &ConfigPaths, overrides: &[Override]) -> Result<LoadedConfig, ConfigErrors> {
    match paths.file() {
        None => read(None, "", overrides),
        Some(file) => {
            let text = read_bounded(file)?;
            read(Some(file), &text, overrides)
        }
    }
}

impl Override {
    /// A value from a flag; `key` may omit the leading `security.browser.`.
    pub fn new(flag: &'static str, key: &str, value: &str) -> Result<Override, ConfigError> {
        let origin = ValueOrigin::Flag(flag);
        let key =
            if key.starts_with("security.") { key.to_owned() } else { format!("security.browser.{key}") };
        match yaml::parse(value) {
            Ok(Some(node)) => Ok(Override { key, node, origin }),
            Ok(None) => Err(ConfigError::Value {
                key,
                origin,
                found: "empty".to_owned(),
                expected: "a value".to_owned(),
            }),
            Err(YamlError::Syntax { reason, .. }) => Err(ConfigError::Malformed { origin, reason }),
            Err(YamlError::DuplicateKey { key: inner, first, .. }) => {
                Err(ConfigError::DuplicateKey { key: format!("{key}.{inner}"), origin, first })
            }
        }
    }
}

fn read(file: Option<&Path>, text: &str, overrides: &[Override]) -> Result<LoadedConfig, ConfigErrors> {
    let name = file.map(Path::to_path_buf).unwrap_or_default();
    let at = |line| ValueOrigin::File { file: name.clone(), line };
    let root: Option<Rc<Node>> = yaml::parse(text).map_err(|error| match error {
        YamlError::Syntax { line, reason } => ConfigError::Malformed { origin: at(line), reason },
        YamlError::DuplicateKey { line, key, first } => {
            ConfigError::DuplicateKey { key, origin: at(line), first }
        }
    })?;
    let mut reader = SettingsReader::new(name.clone(), overrides);
    let config = reader.read(root.as_deref(), read_root);
    ConfigErrors::from_found(reader.problems)?;
    Ok(LoadedConfig { config, file: file.map(Path::to_path_buf), settings: reader.settings })
}

fn read_bounded(file: &Path) -> Result<String, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { file: file.to_owned(), source };
    let metadata = std::fs::metadata(file).map_err(unreadable)?;
    if !metadata.is_file() {
        // Reading a pipe or a device could block for ever.
        return Err(unreadable(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")));
    }
    if metadata.permissions().mode() & 0o022 != 0 {
        return Err(ConfigError::WritableByAll { file: file.to_owned() });
    }
    let us = rustix::process::geteuid().as_raw();
    if metadata.uid() != us && metadata.uid() != 0 {
        return Err(ConfigError::NotOurs { file: file.to_owned(), owner: metadata.uid() });
    }
    let mut text = Vec::new();
    File::open(file)
        .and_then(|open| open.take(LARGEST_FILE + 1).read_to_end(&mut text))
        .map_err(unreadable)?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(ConfigError::TooLarge { file: file.to_owned() });
    }
    String::from_utf8(text).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..good].iter().filter(|byte| **byte == b'\n').count();
        let origin = ValueOrigin::File { file: file.to_owned(), line };
        ConfigError::Malformed { origin, reason: "this is not UTF-8 text".to_owned() }
    })
}
