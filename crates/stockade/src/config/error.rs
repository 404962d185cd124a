//! Configuration errors, each with its file and line.

use crate::config::reader::ValueOrigin;
use engine::error::{Fault, with_causes};
use error_code::ErrorCode;
use redact::{Redacted, redacted};
use std::io;
use std::path::PathBuf;

/// The largest configuration file that is read.
pub const LARGEST_FILE: u64 = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{origin}: unknown key '{key}'")]
    UnknownKey {
        key: String,
        origin: ValueOrigin,
        /// The key that was probably meant.
        nearest: Option<String>,
    },
    #[error("{origin}: '{key}' is {found}, but {expected} is needed")]
    Value { key: String, origin: ValueOrigin, found: String, expected: String },
    #[error("{origin}: '{key}' is set a second time, after line {first}")]
    DuplicateKey { key: String, origin: ValueOrigin, first: usize },
    #[error("{origin}: {reason}")]
    Malformed { origin: ValueOrigin, reason: String },
    #[error("cannot read the configuration file {}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("the configuration file {} has more than {LARGEST_FILE} bytes", file.display())]
    TooLarge { file: PathBuf },
    #[error("others may write to the configuration file {}", file.display())]
    WritableByAll { file: PathBuf },
    #[error("the configuration file {} belongs to user {owner}, who could change it at any time", file.display())]
    NotOurs { file: PathBuf, owner: u32 },
    #[error("{origin}: 'security.browser.enabled' is false, so Stockade does not start")]
    Disabled { origin: ValueOrigin },
}

impl ConfigError {
    pub fn code(&self) -> ErrorCode {
        match self {
            ConfigError::UnknownKey { .. } => ErrorCode::ConfigUnknownKey,
            ConfigError::Value { .. } => ErrorCode::ConfigValue,
            ConfigError::DuplicateKey { .. } => ErrorCode::ConfigDuplicateKey,
            ConfigError::Malformed { .. } => ErrorCode::ConfigMalformed,
            ConfigError::Unreadable { .. } => ErrorCode::ConfigUnreadable,
            ConfigError::TooLarge { .. } => ErrorCode::ConfigTooLarge,
            ConfigError::WritableByAll { .. } => ErrorCode::ConfigWritableByAll,
            ConfigError::NotOurs { .. } => ErrorCode::ConfigNotOurs,
            ConfigError::Disabled { .. } => ErrorCode::Disabled,
        }
    }

    /// The full path of the wrong key, if the error is about one.
    pub fn key(&self) -> Option<&str> {
        match self {
            ConfigError::UnknownKey { key, .. }
            | ConfigError::Value { key, .. }
            | ConfigError::DuplicateKey { key, .. } => Some(key),
            _ => None,
        }
    }

    /// Whether a flag of the command line caused it.
    pub fn is_of_flag(&self) -> bool {
        matches!(self.origin(), Some(ValueOrigin::Flag(_)))
    }

    pub fn line(&self) -> Option<usize> {
        self.origin().and_then(ValueOrigin::line)
    }

    fn origin(&self) -> Option<&ValueOrigin> {
        match self {
            ConfigError::UnknownKey { origin, .. }
            | ConfigError::Value { origin, .. }
            | ConfigError::DuplicateKey { origin, .. }
            | ConfigError::Malformed { origin, .. }
            | ConfigError::Disabled { origin } => Some(origin),
            _ => None,
        }
    }

    fn hint(&self) -> String {
        match self {
            ConfigError::UnknownKey { nearest: Some(nearest), .. } => format!("Did you mean '{nearest}'?"),
            ConfigError::UnknownKey { nearest: None, .. } => {
                "`stockade config show` lists every key.".to_owned()
            }
            ConfigError::Value { origin: ValueOrigin::Default, .. } => {
                "The default conflicts with your other settings: set this one too.".to_owned()
            }
            ConfigError::Value { .. } => {
                "Change the value, or remove the line to get the default.".to_owned()
            }
            ConfigError::DuplicateKey { .. } => "Remove one of the two lines.".to_owned(),
            ConfigError::Malformed { .. } => {
                "The file is YAML: `key: value`, with two spaces of indentation per level.".to_owned()
            }
            ConfigError::Unreadable { .. } => {
                "Check the path and the permissions; `stockade config path` shows where Stockade looks."
                    .to_owned()
            }
            ConfigError::TooLarge { .. } => {
                "A configuration has a few dozen lines: is this the right file?".to_owned()
            }
            ConfigError::WritableByAll { file } => format!("chmod go-w {}", file.display()),
            ConfigError::NotOurs { file, .. } => format!("chown \"$(id -u)\" {}", file.display()),
            ConfigError::Disabled { .. } => "Set it to true, or remove the line.".to_owned(),
        }
    }
}

impl From<ConfigError> for Fault {
    fn from(error: ConfigError) -> Fault {
        Fault::outside_sessions(error.code(), with_causes(&error))
            .hint(Redacted::outside_sessions(error.hint()))
    }
}

/// All errors of one configuration, in the order of the file; never empty.
#[derive(Debug, thiserror::Error)]
#[error("{first}")]
pub struct ConfigErrors {
    pub first: Box<ConfigError>,
    pub rest: Vec<ConfigError>,
}

impl ConfigErrors {
    /// `Ok` if there are none.
    pub(super) fn from_found(mut found: Vec<ConfigError>) -> Result<(), ConfigErrors> {
        found.sort_by_key(|error| error.line().unwrap_or(usize::MAX));
        let mut found = found.into_iter();
        match found.next() {
            None => Ok(()),
            Some(first) => Err(ConfigErrors { first: Box::new(first), rest: found.collect() }),
        }
    }
}

impl From<ConfigError> for ConfigErrors {
    fn from(first: ConfigError) -> ConfigErrors {
        ConfigErrors { first: Box::new(first), rest: Vec::new() }
    }
}

impl IntoIterator for ConfigErrors {
    type Item = ConfigError;
    type IntoIter = std::iter::Chain<std::iter::Once<ConfigError>, std::vec::IntoIter<ConfigError>>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(*self.first).chain(self.rest)
    }
}

impl From<ConfigErrors> for Fault {
    fn from(errors: ConfigErrors) -> Fault {
        let more = errors.rest.len();
        let mut fault = Fault::from(*errors.first);
        if more > 0 {
            fault.message = redacted!("{} ({} more)", fault.message, more);
            fault.hint = redacted!("{} `stockade config check` lists all that is wrong.", fault.hint);
        }
        fault
    }
}
