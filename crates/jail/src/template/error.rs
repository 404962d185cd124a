//! Errors of templates, each with a stable code and the next command.

use super::Flavour;
use crate::disk_full::is_disk_full;
use error_code::ErrorCode;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    #[error("{} is not installed", what_is_missing(.flavour))]
    ChromiumMissing { flavour: Flavour },
    #[error("{program} is not installed")]
    ProgramMissing { program: &'static str, package: &'static str },
    #[error("{path} is not a binary; a template cannot hold a wrapper script")]
    NotAProgram { path: PathBuf },
    #[error("there is no bridge at {path}")]
    BridgeMissing { path: PathBuf },
    #[error("{program} needs libraries that are not installed: {library}")]
    LibraryMissing { program: PathBuf, library: String },
    #[error("template {id} was changed after it was built: {}", summary(.differences))]
    Altered { id: String, differences: Vec<Difference> },
    #[error("{path} is not safe for templates: {why}")]
    Unsafe { path: PathBuf, why: &'static str },
    #[error("there is no {flavour} template")]
    Missing { flavour: Flavour },
    #[error("the manifest of {path} cannot be read")]
    BadManifest { path: PathBuf, source: serde_json::Error },
    #[error("the system returned no random numbers")]
    NoRandomness { source: getrandom::Error },
    #[error("{program} failed: {output}")]
    Tool { program: &'static str, output: String },
    #[error("{what} {path}")]
    File { what: &'static str, path: PathBuf, source: io::Error },
}

/// A difference between a tree and its manifest. Paths are relative to the template's folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    Changed { path: String },
    Added { path: String },
    Missing { path: String },
}

impl TemplateError {
    pub fn code(&self) -> ErrorCode {
        match self {
            TemplateError::ChromiumMissing { .. } => ErrorCode::ChromiumMissing,
            TemplateError::ProgramMissing { .. } => ErrorCode::ProgramMissing,
            TemplateError::NotAProgram { .. } => ErrorCode::ChromiumNotAProgram,
            TemplateError::BridgeMissing { .. } => ErrorCode::BridgeMissing,
            TemplateError::LibraryMissing { .. } => ErrorCode::LibraryMissing,
            TemplateError::Altered { .. } | TemplateError::BadManifest { .. } => ErrorCode::TemplateAltered,
            TemplateError::Unsafe { .. } => ErrorCode::TemplateStoreUnsafe,
            TemplateError::Missing { .. } => ErrorCode::TemplateMissing,
            TemplateError::File { source, .. } if is_disk_full(source) => ErrorCode::DiskFull,
            TemplateError::NoRandomness { .. } | TemplateError::Tool { .. } | TemplateError::File { .. } => {
                ErrorCode::TemplateBuildFailed
            }
        }
    }

    /// Whether no jail can start from the template until a person fixes it. A full disk may have space later.
    pub fn is_runtime_unavailable(&self) -> bool {
        match self {
            TemplateError::ChromiumMissing { .. }
            | TemplateError::ProgramMissing { .. }
            | TemplateError::NotAProgram { .. }
            | TemplateError::BridgeMissing { .. }
            | TemplateError::LibraryMissing { .. }
            | TemplateError::Altered { .. }
            | TemplateError::Unsafe { .. }
            | TemplateError::Missing { .. }
            | TemplateError::BadManifest { .. }
            | TemplateError::NoRandomness { .. }
            | TemplateError::Tool { .. } => true,
            TemplateError::File { source, .. } => !is_disk_full(source),
        }
    }

    /// The next step, as a command where there is one.
    pub fn hint(&self) -> String {
        match self {
            TemplateError::ChromiumMissing { flavour: Flavour::Headless } => {
                "Run: apt-get install chromium-headless-shell (Fedora: dnf install chromium-headless; Arch: pacman \
                 -S chromium); or name one that is here: stockade template build --browser FILE"
                    .to_owned()
            }
            TemplateError::ChromiumMissing { flavour: Flavour::Xvfb } => {
                "Install full Chromium: apt-get install chromium (Fedora: dnf install chromium; Arch: pacman -S chromium)"
                    .to_owned()
            }
            TemplateError::ProgramMissing { package, .. } => format!("Install it: apt-get install {package} (other systems may name the package differently)"),
            TemplateError::NotAProgram { .. } => {
                "Name the program that the script starts, often below /usr/lib/chromium."
                    .to_owned()
            }
            TemplateError::BridgeMissing { .. } => {
                "Run: cargo build -p bridge (or give --bridge PATH)".to_owned()
            }
            TemplateError::LibraryMissing { library, .. } => {
                format!(
                    "Install the packages that contain {library}. On Debian and Ubuntu, `apt-get install libnss3` \
                     brings libnss3.so, libnssutil3.so and libnspr4.so."
                )
            }
            TemplateError::Altered { id, .. } => {
                format!("Find out who changed it. Then run: stockade template build (it replaces {id})")
            }
            TemplateError::BadManifest { path, .. } => {
                format!("Find out who changed it. Then run: rm -r {}", path.display())
            }
            TemplateError::Unsafe { path, .. } => {
                format!("Find out who made it, then run: rm -r {}; stockade template build", path.display())
            }
            TemplateError::Missing { flavour: Flavour::Headless } => {
                "Run: stockade template build".to_owned()
            }
            TemplateError::Missing { flavour: Flavour::Xvfb } => {
                "Run: stockade template build --display xvfb".to_owned()
            }
            TemplateError::File { source, .. } if is_disk_full(source) => {
                "A template takes about 400 MB. Free some space (df -h shows where it went) and try again."
                    .to_owned()
            }
            TemplateError::NoRandomness { .. } | TemplateError::Tool { .. } | TemplateError::File { .. } => {
                "Run: stockade doctor".to_owned()
            }
        }
    }

    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TemplateError {
        let path = path.to_owned();
        move |source| TemplateError::File { what, path, source }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Changed { path } => write!(f, "{path} changed"),
            Difference::Added { path } => write!(f, "{path} added"),
            Difference::Missing { path } => write!(f, "{path} missing"),
        }
    }
}

fn what_is_missing(flavour: &Flavour) -> &'static str {
    match flavour {
        Flavour::Headless => "Chromium's headless shell",
        Flavour::Xvfb => "Chromium",
    }
}

fn summary(differences: &[Difference]) -> String {
    const SHOWN: usize = 5;
    let mut text: Vec<String> = differences.iter().take(SHOWN).map(Difference::to_string).collect();
    if differences.len() > SHOWN {
        text.push(format!("and {} more", differences.len() - SHOWN));
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_its_code_and_a_next_step() {
        for (error, code) in [
            (TemplateError::ProgramMissing { program: "Xvfb", package: "xvfb" }, "program_missing"),
            (TemplateError::Tool { program: "ldd", output: "no".into() }, "template_build_failed"),
            (TemplateError::Missing { flavour: Flavour::Headless }, "template_missing"),
        ] {
            assert_eq!(error.code().to_string(), code);
            assert!(!error.hint().is_empty(), "{code}");
        }
    }
}
