//! Protects this process's memory: no core file, no debugger of the same user, and no swap where memory can be locked.

use crate::error::Fault;
use error_code::ErrorCode;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};

/// Makes this process undumpable. Called before any secret is in memory, and after starting children that must stay
/// inspectable: a child inherits this until it executes another program.
pub fn close() -> Result<(), Fault> {
    // The limit is 1 and not 0, because only 1 also keeps a machine's core handler from being run.
    let most = getrlimit(Resource::Core).maximum.map_or(1, |most| most.min(1));
    let core = setrlimit(Resource::Core, Rlimit { current: Some(most), maximum: Some(most) });
    core.and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable)).map_err(|errno| {
        Fault::io(ErrorCode::Internal, "cannot keep this process from being dumped", &errno.into())
    })?;
    if may_lock() {
        let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
        if let Err(errno) = mlockall(flags) {
            tracing::debug!(%errno, "memory cannot be locked");
        }
    }
    Ok(())
}

/// Whether this machine could write our memory to its swap. With a limit on locked memory nothing is locked: at the
/// limit the program itself would get no more.
pub fn may_be_swapped() -> bool {
    let has_swap = std::fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() > 1);
    has_swap && !may_lock()
}

fn may_lock() -> bool {
    rustix::process::geteuid().is_root() || getrlimit(Resource::Memlock).current.is_none()
}
