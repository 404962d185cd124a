//! Finds the configuration file, reads it within bounds, and puts flags over it.

use crate::config::error::{ConfigError, ConfigErrors, LARGEST_FILE};
use crate::config::reader::{Entry, Origin, Override, Reader};
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

/// Where a configuration is looked for, first to last.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// `--config`: has to exist if given.
    pub flag: Option<PathBuf>,
    /// `$STOCKADE_CONFIG`: has to exist if given.
    pub env: Option<PathBuf>,
    /// `./stockade.yaml`
    pub here: Option<PathBuf>,
    /// In the user's configuration folder.
    pub user: Option<PathBuf>,
}

impl Places {
    pub fn of_this_process(flag: Option<PathBuf>) -> Places {
        let variable =
            |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
        Places {
            flag,
            env: variable("STOCKADE_CONFIG"),
            here: Some(PathBuf::from(FILE_NAME)),
            user: folder.map(|folder| folder.join("stockade").join(FILE_NAME)),
        }
    }

    /// Without `./stockade.yaml`. MCP clients start servers in whatever project is open, and a project, or an
    /// agent that writes files there, must not set the rules of its own jail.
    #[must_use]
    pub fn without_here(mut self) -> Places {
        self.here = None;
        self
    }

    /// The file that counts, if any. One that was named outright counts even if it is not there.
    pub fn file(&self) -> Option<&Path> {
        let named = self.flag.as_deref().or(self.env.as_deref());
        let found = || [&self.here, &self.user].into_iter().flatten().find(|file| is_there(file));
        named.or_else(|| found().map(PathBuf::as_path))
    }
}

/// A file that cannot be looked at counts as there: reading it then fails, instead of quietly taking defaults.
fn is_there(file: &Path) -> bool {
    match std::fs::symlink_metadata(file) {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
    }
}

/// Settings in force, and where each came from.
#[derive(Debug)]
pub struct Loaded {
    pub config: Config,
    pub file: Option<PathBuf>,
    pub entries: Vec<Entry>,
}

impl Loaded {
    /// The settings, for a command that starts something; refused if `enabled` is false.
    pub fn enabled(self) -> Result<Config, ConfigError> {
        if self.config.enabled {
            return Ok(self.config);
        }
        let entry = self.entries.into_iter().find(|entry| entry.key == "security.browser.enabled");
        Err(ConfigError::Disabled { origin: entry.map_or(Origin::Default, |entry| entry.origin) })
    }

    /// What a person who wrote this configuration should know. A key that nothing acts on is worth a word
    /// only where its value asks for something else than what is done anyway.
    pub fn notices(&self) -> Vec<String> {
        let idle = self.entries.iter().filter(|entry| !entry.in_use && entry.origin != Origin::Default);
        idle.filter_map(|entry| match entry.key.as_str() {
            "security.browser.runtime_required" => Some(format!(
                "{}: '{}' is accepted and ignored: a browser always runs in a jail",
                entry.origin, entry.key
            )),
            _ if entry.value == entry.default => None,
            key => {
                Some(format!("{}: '{key}' is checked, but nothing acts on it in this version", entry.origin))
            }
        })
        .collect()
    }
}

/// Reads the configuration that `places` leads to, with `overrides` over it; without a file, the defaults.
pub fn load(places: &Places, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
    match places.file() {
        None => read(None, "", overrides),
        Some(file) => {
            let text = read_bounded(file)?;
            read(Some(file), &text, overrides)
        }
    }
}

impl Override {
    /// A value given by a flag; `key` may leave out the leading `security.browser.`.
    pub fn new(flag: &'static str, key: &str, value: &str) -> Result<Override, ConfigError> {
        let origin = Origin::Flag(flag);
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

fn read(file: Option<&Path>, text: &str, overrides: &[Override]) -> Result<Loaded, ConfigErrors> {
    let name = file.map(Path::to_path_buf).unwrap_or_default();
    let at = |line| Origin::File { file: name.clone(), line };
    let root: Option<Rc<Node>> = yaml::parse(text).map_err(|error| match error {
        YamlError::Syntax { line, reason } => ConfigError::Malformed { origin: at(line), reason },
        YamlError::DuplicateKey { line, key, first } => {
            ConfigError::DuplicateKey { key, origin: at(line), first }
        }
    })?;
    let mut reader = Reader::new(name.clone(), overrides);
    let config = reader.read(root.as_deref(), read_root);
    ConfigErrors::from_found(reader.problems)?;
    Ok(Loaded { config, file: file.map(Path::to_path_buf), entries: reader.entries })
}

fn read_bounded(file: &Path) -> Result<String, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable { file: file.to_owned(), source };
    let metadata = std::fs::metadata(file).map_err(unreadable)?;
    if !metadata.is_file() {
        // A pipe or a device could keep the start waiting for ever.
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
        let origin = Origin::File { file: file.to_owned(), line };
        ConfigError::Malformed { origin, reason: "this is not UTF-8 text".to_owned() }
    })
}
