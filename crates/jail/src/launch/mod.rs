//! Launches jails on this machine: the parts that every local runtime consists of.
//!
//! A [`LocalInstance`] is a folder with a lock, sockets and cgroups for one control plane. Its [`Launcher`] starts
//! bubblewrap with the namespaces, the seccomp filter, the user and the limits of a jail. A [`Supervisor`] owns the
//! started jails: it collects their output, notices their end and removes what they leave.
//!
//! A jail dies with the thread that launched it (parent-death signal), so a supervisor stays on one thread that lasts
//! as long as its runtime. In the native runtime this is a process, the keeper.

mod instance;
mod log;
mod process;
mod sockets;
mod supervisor;

pub use instance::{LocalInstance, default_runtime_dir, list, reap};
pub use process::{JailProcess, Launcher};
pub use supervisor::Supervisor;
