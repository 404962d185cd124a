//! Errors of jails and runtimes, each with a stable code and the next command to run.

use crate::disk_full::is_disk_full;
use crate::id::{InvalidId, JailId};
use crate::template::TemplateError;
use error_code::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum JailError {
    #[error(transparent)]
    BadId(#[from] InvalidId),
    #[error("bubblewrap is not installed")]
    BubblewrapMissing,
    #[error("bubblewrap {version} is too old: it has no --ro-bind-fd")]
    BubblewrapOld { version: String },
    #[error("this machine does not let ordinary users create namespaces: {why}")]
    NamespacesForbidden { why: String, fix: String },
    #[error("the limits of a jail cannot be set: {why}")]
    LimitsUnavailable { why: String, fix: String },
    #[error("the keeper process, which holds the jails, has ended: {why}")]
    RuntimeLost { why: String },
    #[error("jail {id} did not start: {log}")]
    StartFailed { id: JailId, log: String },
    #[error("there is no jail {id}")]
    UnknownJail { id: JailId },
    #[error("there is a jail {id} already")]
    JailExists { id: JailId },
    #[error("processes of jail {id} survived being killed")]
    StillAlive { id: JailId },
    #[error("{path} is not safe for sockets: {why}")]
    UnsafeRuntimeDir { path: PathBuf, why: &'static str },
    #[error("the keeper failed: {what}")]
    InKeeper { what: String, source: io::Error },
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("the system returned no random numbers")]
    NoRandomness { source: getrandom::Error },
    #[error("the seccomp filter does not compile")]
    Filter { source: seccompiler::BackendError },
    #[error("{what} {path}")]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{what}")]
    System { what: &'static str, source: io::Error },
}

impl JailError {
    pub fn code(&self) -> ErrorCode {
        match self {
            JailError::BadId(_) => ErrorCode::BadJailId,
            JailError::BubblewrapMissing => ErrorCode::BubblewrapMissing,
            JailError::BubblewrapOld { .. } => ErrorCode::BubblewrapOld,
            JailError::NamespacesForbidden { .. } => ErrorCode::NamespacesForbidden,
            JailError::LimitsUnavailable { .. } => ErrorCode::LimitsUnavailable,
            JailError::RuntimeLost { .. } => ErrorCode::KeeperLost,
            JailError::StartFailed { .. } => ErrorCode::JailStartFailed,
            JailError::UnknownJail { .. } => ErrorCode::JailUnknown,
            JailError::JailExists { .. } => ErrorCode::JailExists,
            JailError::StillAlive { .. } => ErrorCode::JailStillAlive,
            JailError::UnsafeRuntimeDir { .. } => ErrorCode::RuntimeDirUnsafe,
            JailError::Template(error) => error.code(),
            JailError::File { source, .. }
            | JailError::System { source, .. }
            | JailError::InKeeper { source, .. }
                if is_disk_full(source) =>
            {
                ErrorCode::DiskFull
            }
            JailError::NoRandomness { .. }
            | JailError::Filter { .. }
            | JailError::InKeeper { .. }
            | JailError::File { .. }
            | JailError::System { .. } => ErrorCode::JailSystemError,
        }
    }

    /// Whether no jail can start until a person fixes the host, the template or the runtime. False for errors of a
    /// single jail and for temporary ones.
    pub fn is_runtime_unavailable(&self) -> bool {
        match self {
            JailError::BubblewrapMissing
            | JailError::BubblewrapOld { .. }
            | JailError::NamespacesForbidden { .. }
            | JailError::LimitsUnavailable { .. }
            | JailError::RuntimeLost { .. }
            | JailError::UnsafeRuntimeDir { .. }
            | JailError::Filter { .. } => true,
            JailError::Template(error) => error.is_runtime_unavailable(),
            JailError::BadId(_)
            | JailError::StartFailed { .. }
            | JailError::UnknownJail { .. }
            | JailError::JailExists { .. }
            | JailError::StillAlive { .. }
            | JailError::InKeeper { .. }
            | JailError::NoRandomness { .. }
            | JailError::File { .. }
            | JailError::System { .. } => false,
        }
    }

    /// The next step, as a command where there is one.
    pub fn hint(&self) -> String {
        match self {
            JailError::BadId(_) => "Choose another id.".to_owned(),
            JailError::BubblewrapMissing => {
                "Install bubblewrap: apt-get install bubblewrap (Fedora: dnf install bubblewrap; Arch: pacman -S bubblewrap)".to_owned()
            }
            JailError::BubblewrapOld { .. } => {
                "Update bubblewrap: apt-get update && apt-get install bubblewrap (the security updates of Debian 12 and \
                 Ubuntu 22.04 have it; Fedora: dnf upgrade bubblewrap; Arch: pacman -Syu bubblewrap)"
                    .to_owned()
            }
            JailError::NamespacesForbidden { fix, .. } | JailError::LimitsUnavailable { fix, .. } => {
                fix.clone()
            }
            JailError::RuntimeLost { .. } => {
                "Every jail ended with it. Restart the server, then run: stockade jail reap"
                    .to_owned()
            }
            JailError::StartFailed { .. } => "Run: stockade doctor".to_owned(),
            JailError::UnknownJail { .. } => "Run: stockade jail list".to_owned(),
            JailError::JailExists { .. } => "Destroy it first, or choose another id.".to_owned(),
            JailError::StillAlive { .. } => "Run: stockade jail reap".to_owned(),
            JailError::UnsafeRuntimeDir { path, .. } => {
                format!("Find out who made it, then run: rm -r {}", path.display())
            }
            JailError::Template(error) => error.hint(),
            JailError::File { source, .. }
            | JailError::System { source, .. }
            | JailError::InKeeper { source, .. }
                if is_disk_full(source) =>
            {
                "Free some space (df -h shows where it went) and try again.".to_owned()
            }
            JailError::NoRandomness { .. }
            | JailError::Filter { .. }
            | JailError::InKeeper { .. }
            | JailError::File { .. }
            | JailError::System { .. } => "Run: stockade doctor".to_owned(),
        }
    }

    pub(crate) fn file(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> JailError {
        let path = path.to_owned();
        move |source| JailError::File { what, path, source }
    }

    pub(crate) fn system<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> JailError {
        move |source| JailError::System { what, source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Flavour;

    #[test]
    fn every_failure_has_its_code_and_a_next_step() {
        let id = || JailId::parse("a").unwrap();
        let denied = || io::Error::from(io::ErrorKind::PermissionDenied);
        let full = || io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error());
        let template = |source| TemplateError::file("reading", Path::new("/t"))(source).into();
        for (error, code, is_runtime_unavailable) in [
            (JailError::BadId(InvalidId), "bad_jail_id", false),
            (JailError::BubblewrapOld { version: "0.4".into() }, "bubblewrap_old", true),
            (JailError::RuntimeLost { why: "killed".into() }, "keeper_lost", true),
            (TemplateError::Missing { flavour: Flavour::Headless }.into(), "template_missing", true),
            (template(denied()), "template_build_failed", true),
            (template(full()), "disk_full", false),
            (JailError::StartFailed { id: id(), log: "no".into() }, "jail_start_failed", false),
            (JailError::UnknownJail { id: id() }, "jail_unknown", false),
            (JailError::JailExists { id: id() }, "jail_exists", false),
            (JailError::StillAlive { id: id() }, "jail_still_alive", false),
            (JailError::System { what: "waiting", source: denied() }, "jail_system_error", false),
            (JailError::System { what: "writing", source: full() }, "disk_full", false),
        ] {
            assert_eq!(error.code().to_string(), code);
            assert_eq!(error.is_runtime_unavailable(), is_runtime_unavailable, "{code}");
            assert!(!error.hint().is_empty(), "{code}");
        }
    }
}
