//! Templates: the read-only file trees that jails are made of.

mod error;
pub use error::{Difference, TemplateError};

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flavour {
    /// Chromium's headless shell and the bridge.
    Headless,
    /// Full Chromium, Xvfb, xkbcomp and the bridge.
    Xvfb,
}

impl std::fmt::Display for Flavour {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Flavour::Headless => "headless",
            Flavour::Xvfb => "xvfb",
        })
    }
}

#[derive(Clone, Debug)]
pub struct BuildOptions {
    pub flavour: Flavour,
    /// The bridge's program on this host.
    pub bridge: PathBuf,
    /// The browser's real program (not a wrapper script); looked for when not given.
    pub browser: Option<PathBuf>,
}

/// Path of the bridge in every template.
pub const BRIDGE: &str = "/stockade/bridge";

pub struct Store {}

impl Store {
    pub fn open(_dir: &Path) -> Result<Store, TemplateError> {
        todo!()
    }
    pub fn build(
        &self,
        _options: &BuildOptions,
        _progress: &mut dyn FnMut(&str),
    ) -> Result<Template, TemplateError> {
        todo!()
    }
    /// Most recently built first.
    pub fn list(&self) -> Result<Vec<Template>, TemplateError> {
        todo!()
    }
    /// `template_missing` when there is none.
    pub fn newest(&self, _flavour: Flavour) -> Result<Template, TemplateError> {
        todo!()
    }
}

#[derive(Clone, Debug)]
pub struct Template {}

impl Template {
    pub fn id(&self) -> &str {
        todo!()
    }
    pub fn flavour(&self) -> Flavour {
        todo!()
    }
    pub fn root(&self) -> &Path {
        todo!()
    }
    /// The browser's program, as a path in the jail.
    pub fn browser(&self) -> &str {
        todo!()
    }
    pub fn browser_version(&self) -> &str {
        todo!()
    }
    pub fn files(&self) -> usize {
        todo!()
    }
    pub fn bytes(&self) -> u64 {
        todo!()
    }
    /// `template_altered`, with every difference, unless the tree is what the manifest says.
    pub fn verify(&self) -> Result<(), TemplateError> {
        todo!()
    }
}

/// A script that no font on this host covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingScript {
    pub script: &'static str,
    /// The Debian package that mends it.
    pub package: &'static str,
}

pub fn font_coverage() -> Vec<MissingScript> {
    todo!()
}
