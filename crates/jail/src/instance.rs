//! Instances: one folder with a lock for each control plane.

use crate::{Id, JailError};
use serde::Serialize;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reaped {
    pub instances: Vec<Id>,
    pub jails: usize,
    pub processes: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct InstanceReport {
    pub id: Id,
    /// Whether its control plane or keeper still holds the lock.
    pub alive: bool,
    pub control_plane_pid: u32,
    pub jails: Vec<JailReport>,
}

#[derive(Clone, Debug, Serialize)]
pub struct JailReport {
    pub id: Id,
    pub pids: Vec<u32>,
    pub memory_bytes: Option<u64>,
}

/// `/run/stockade` for root, else `$XDG_RUNTIME_DIR/stockade`, else `/tmp/stockade-<uid>`.
pub fn default_runtime_dir() -> PathBuf {
    todo!()
}

/// Clears what dead instances left: processes, cgroups, folders. Never touches a live one.
pub fn reap(_runtime_dir: &Path) -> Result<Reaped, JailError> {
    todo!()
}

/// Every instance, dead ones included.
pub fn list(_runtime_dir: &Path) -> Result<Vec<InstanceReport>, JailError> {
    todo!()
}
