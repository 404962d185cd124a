//! Settings: S1's YAML under `security.browser`, validated, with the origin of every value.
//!
//! [`load`] finds and reads the file and returns a [`LoadedConfig`]: the typed [`Config`] and the list that
//! `stockade config show` prints. A file that cannot be read or has one wrong key yields no settings at all.

mod credentials;
mod error;
mod load;
mod reader;
mod rules;
mod schema;
mod values;
mod yaml;

#[cfg(test)]
mod tests;

pub use engine::settings::*;
pub use error::{ConfigError, ConfigErrors};
pub use load::{ConfigPaths, LoadedConfig, load};
pub use reader::{Override, Setting, ValueOrigin};
pub use yaml::{YamlError, read as read_yaml};
