//! Templates, the native runtime, limits, the keeper and the reaper.
//!
//! A [`template::Template`] is the read-only file tree that a jail is made of. A [`Keeper`] is the one
//! process that starts jails from it and that outlives the control plane just long enough to clear them
//! away. Everything here blocks; callers with an event loop use it from a blocking thread.

mod bwrap;
mod cgroup;
mod error;
mod folder;
mod id;
mod instance;
pub mod keeper;
mod limits;
mod lock;
mod probe;
mod seccomp;
mod spawn;
pub mod template;
mod wait;

pub use cgroup::{CgroupChoice, Enforcement, Stats};
pub use error::JailError;
pub use id::Id;
pub use instance::{InstanceReport, JailReport, Reaped, default_runtime_dir, list, reap};
pub use keeper::{JailInfo, JailSpec, JailState, Keeper, KeeperInfo, KeeperOptions, Prepared};
pub use limits::Limits;
pub use probe::{Finding, HostProbe, probe_host};
