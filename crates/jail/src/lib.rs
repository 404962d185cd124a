//! Runtimes behind one interface, templates, limits, the keeper and the reaper.
//!
//! A [`Runtime`] runs jails. [`NativeRuntime`] is the one for this machine: it owns a verified [`template::Template`],
//! the read-only file tree of its jails, and the keeper, a process that supervises them and outlives the control plane
//! just long enough to remove them. [`launch`] has the parts it consists of. All calls block; callers with an event
//! loop use a blocking thread.

mod bwrap;
mod cgroup;
mod disk_full;
mod error;
mod folder;
mod id;
mod jail_user;
pub mod keeper;
pub mod launch;
mod limits;
mod lock;
mod native;
mod probe;
mod runtime;
mod seccomp;
mod spawn;
pub mod template;
mod wait;

pub use cgroup::{CgroupChoice, Enforcement, JailStats};
pub use error::JailError;
pub use id::{InstanceId, InvalidId, JailId};
pub use keeper::{KeeperCommand, ProcessInfo};
pub use launch::{default_runtime_dir, list, reap};
pub use limits::{CpuWeight, Limits};
pub use native::{NativeOptions, NativeRuntime, verified_template};
pub use probe::{HostProbe, probe_host};
pub use runtime::{
    CDP_SOCKET, EGRESS_SOCKET, Finding, InstanceReport, JailReport, JailSpec, JailState, LossNotifier,
    Outcome, PreparedJail, Reaped, Runtime, RuntimeBackend, RuntimeInfo, RuntimeReport,
};
pub use template::BRIDGE;
