//! Memory, processor and process limits by cgroup, version 1 or 2.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where the cgroups of jails go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgroupChoice {
    /// Root: under the mount. Anyone else: under their own cgroup, if it was delegated to them.
    Auto,
    /// Under this cgroup (a path as in /proc/self/cgroup), which the user may write to.
    Under(PathBuf),
    /// No cgroups: rlimits and tmpfs sizes only. Neither memory nor CPU is limited.
    Weaker,
}

/// What really limits a jail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    CgroupV1,
    CgroupV2,
    Weaker,
}

/// The kernel's own counts for one jail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    pub memory_bytes: u64,
    /// Processes that the kernel killed because the jail was at its memory limit.
    pub oom_kills: u64,
    pub pids: u64,
    /// Times that a fork or a thread failed at the pids limit.
    pub pids_limit_hits: u64,
}
