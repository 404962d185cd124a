//! Settings: S1's YAML under `security.browser`, checked, with the origin of every value.
//!
//! [`load`] finds the file, reads it and answers with a [`Loaded`]: the typed [`Config`] and the list that
//! `stockade config show` prints. A file that cannot be read or has one wrong key gives no settings at all.

mod credentials;
mod error;
mod find;
mod reader;
mod rules;
mod schema;
mod values;
mod yaml;

#[cfg(test)]
mod tests;

pub use engine::settings::*;
pub use error::{ConfigError, ConfigErrors};
pub use find::{Loaded, Places, load};
pub use reader::{Entry, Origin, Override};
pub use yaml::{YamlError, read as read_yaml};
