//! The interface of runtimes, which run jails on this machine or elsewhere.
//!
//! A [`RuntimeBackend`] is a configured runtime that is not started: it checks its host and starts a [`Runtime`]. A
//! jail is named by its id and reached through its two Unix sockets. How it runs is internal: no call takes or returns
//! a process, a cgroup or a folder of the host. Reports list process ids where there are any. All calls block; callers
//! with an event loop use a blocking thread.

use crate::{CpuWeight, Enforcement, InstanceId, JailError, JailId, JailStats, Limits};
use error_code::ErrorCode;
use serde::{Deserialize, Serialize};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

/// Path of the CDP socket in every jail.
pub const CDP_SOCKET: &str = "/run/stockade/cdp.sock";

/// Path of the egress socket in every jail.
pub const EGRESS_SOCKET: &str = "/run/stockade/egress.sock";

/// Runs jails for one control plane, and ends them with it.
///
/// A jail goes through [`prepare`](Runtime::prepare), [`start`](Runtime::start) and
/// [`destroy`](Runtime::destroy). Every implementation contains a jail equally: no network, a read-only file tree,
/// memory-backed writable folders of a fixed size, no privileges, and [`Limits`] enforced unless
/// [`RuntimeInfo::enforcement`] says otherwise. Dropping the last reference shuts the runtime down.
pub trait Runtime: Send + Sync {
    fn info(&self) -> &RuntimeInfo;

    /// Reserves the id and opens the jail's two sockets, which the jail finds at [`CDP_SOCKET`] and
    /// [`EGRESS_SOCKET`]. No other user of the host can connect to them.
    fn prepare(&self, jail: &JailId) -> Result<PreparedJail, JailError>;

    /// Starts a prepared jail; its program runs when this returns. The CPU is not limited: see
    /// [`set_cpu`](Runtime::set_cpu).
    fn start(&self, spec: &JailSpec) -> Result<(), JailError>;

    /// `None` if there is no such jail.
    fn state(&self, jail: &JailId) -> Result<Option<JailState>, JailError>;

    /// `None` without statistics, as with [`Enforcement::Weaker`].
    fn stats(&self, jail: &JailId) -> Result<Option<JailStats>, JailError>;

    /// The CPU time that the jail has used. `None` without statistics.
    fn cpu_usage(&self, jail: &JailId) -> Result<Option<Duration>, JailError>;

    /// Limits the jail to a number of processors, such as 0.5; `None` lifts the limit. Unused time of a quarter of a
    /// second is carried over to the next. Each call hands out the time of a new quarter: call it to change something.
    fn set_cpu(&self, jail: &JailId, processors: Option<f64>) -> Result<(), JailError>;

    /// Sets the jail's weight against others on a busy machine. A new jail has [`CpuWeight::FULL`].
    fn set_cpu_weight(&self, jail: &JailId, weight: CpuWeight) -> Result<(), JailError>;

    /// The end of what the jail printed, as plain text. The jail wrote it: show it, never interpret it.
    fn log_tail(&self, jail: &JailId) -> Result<String, JailError>;

    /// Ends a jail, prepared or started, and discards its writable layer. Returns its last statistics if it had any.
    /// Destroying a jail that has ended succeeds.
    fn destroy(&self, jail: &JailId) -> Result<Option<JailStats>, JailError>;

    /// Removes the remains of dead control planes of this kind of runtime. Never touches a live one.
    fn reap(&self) -> Result<Reaped, JailError>;

    /// Calls `notify` from another thread when the runtime is lost, with all its jails. Drops it uncalled on
    /// [`shutdown`](Runtime::shutdown). Does not keep the runtime alive.
    fn on_lost(&self, notify: LossNotifier) -> Result<(), JailError>;

    /// Ends all jails and waits for their end; later calls fail with [`JailError::RuntimeLost`]. May be called
    /// again, and by several callers at once.
    fn shutdown(&self) -> Result<(), JailError>;
}

/// The callback of [`Runtime::on_lost`], with the reason.
pub type LossNotifier = Box<dyn FnOnce(&str) + Send>;

/// A runtime that is configured and not started.
pub trait RuntimeBackend: Send + Sync {
    /// Starts it. Nothing is left behind on failure.
    fn start(&self) -> Result<Arc<dyn Runtime>, JailError>;

    /// Checks whether it could start on this host, by trying. Blocks for a second or two, starts no jail.
    fn doctor(&self) -> RuntimeReport;

    /// Lists the control planes of this user and their jails, dead ones included.
    fn list(&self) -> Result<Vec<InstanceReport>, JailError>;

    /// Removes the remains of dead control planes. Never touches a live one, and starts nothing.
    fn reap(&self) -> Result<Reaped, JailError>;
}

/// Properties of a running runtime.
#[derive(Clone, Debug)]
pub struct RuntimeInfo {
    /// Such as `native`.
    pub kind: &'static str,
    /// Unique for each start on each machine.
    pub instance: InstanceId,
    pub enforcement: Enforcement,
    /// Identity of the file tree that jails run from.
    pub template: String,
    /// The browser's program, as a path in the jail.
    pub browser_program: String,
    pub browser_version: String,
    /// What was removed of dead control planes before this runtime started.
    pub reaped: Reaped,
}

/// What a reaper removed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reaped {
    pub instances: Vec<InstanceId>,
    pub jails: usize,
    pub processes: usize,
}

#[derive(Clone, Debug, Serialize)]
pub struct InstanceReport {
    pub id: InstanceId,
    /// Whether its control plane or keeper still holds the lock.
    pub alive: bool,
    /// `None` if the record cannot be read.
    pub control_plane_pid: Option<u32>,
    pub jails: Vec<JailReport>,
}

#[derive(Clone, Debug, Serialize)]
pub struct JailReport {
    pub id: JailId,
    /// Empty in the weaker mode, which has no statistics.
    pub pids: Vec<u32>,
    pub memory_bytes: Option<u64>,
}

/// A jail's sockets, listening on the host's side.
#[derive(Debug)]
pub struct PreparedJail {
    pub id: JailId,
    /// Non-blocking, for an event loop.
    pub cdp: UnixListener,
    /// Non-blocking, for an event loop.
    pub egress: UnixListener,
}

/// The program of a jail. Its file tree is chosen by the runtime.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JailSpec {
    pub id: JailId,
    pub limits: Limits,
    /// The program and its arguments, as paths in the jail.
    pub command: Vec<String>,
    /// The whole environment. Process lists of the host show it, so it must not hold secrets.
    pub env: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JailState {
    Running,
    /// PID 1 has ended, and every other process with it.
    Exited {
        code: Option<i32>,
        signal: Option<i32>,
    },
}

/// Findings of [`RuntimeBackend::doctor`], in display order.
#[derive(Debug)]
pub struct RuntimeReport {
    pub findings: Vec<Finding>,
}

/// One requirement of a runtime.
#[derive(Debug)]
pub struct Finding {
    pub name: &'static str,
    pub outcome: Outcome,
}

#[derive(Debug)]
pub enum Outcome {
    Good {
        found: String,
    },
    /// It works, and would work better with `fix`.
    Advice {
        found: String,
        fix: String,
    },
    /// It works with less protection because of a setting.
    Weaker {
        found: String,
        code: ErrorCode,
        fix: String,
    },
    /// No jail can start.
    Failed {
        error: JailError,
    },
}

impl Finding {
    pub fn good(name: &'static str, found: impl Into<String>) -> Finding {
        Finding { name, outcome: Outcome::Good { found: found.into() } }
    }

    pub fn advice(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { name, outcome: Outcome::Advice { found: found.into(), fix: fix.into() } }
    }

    pub fn failed(name: &'static str, error: impl Into<JailError>) -> Finding {
        Finding { name, outcome: Outcome::Failed { error: error.into() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_traits_are_object_safe() {
        fn takes(_: Option<&dyn Runtime>, _: Option<&dyn RuntimeBackend>) {}
        takes(None, None);
    }
}
