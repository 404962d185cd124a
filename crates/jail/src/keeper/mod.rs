//! The control plane's handle on its keeper process.

mod types;

pub use types::{JailInfo, JailSpec, JailState, KeeperInfo, KeeperOptions, Prepared};

use crate::{Id, JailError, Stats};
use std::os::fd::BorrowedFd;
use std::process::ExitCode;

/// One keeper process, and through it all jails of this control plane. Dropping it ends them all.
pub struct Keeper {}

impl Keeper {
    /// Reaps dead instances, makes a new one and starts its keeper.
    pub fn start(_options: KeeperOptions) -> Result<Keeper, JailError> {
        todo!()
    }

    pub fn info(&self) -> &KeeperInfo {
        todo!()
    }

    /// Readable once the keeper is dead.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        todo!()
    }

    pub fn prepare(&self, _id: &Id) -> Result<Prepared, JailError> {
        todo!()
    }

    pub fn create(&self, _spec: &JailSpec) -> Result<JailInfo, JailError> {
        todo!()
    }

    /// `None` when there is no such jail.
    pub fn state(&self, _id: &Id) -> Result<Option<JailState>, JailError> {
        todo!()
    }

    /// `None` in the weaker mode, where nothing counts.
    pub fn stats(&self, _id: &Id) -> Result<Option<Stats>, JailError> {
        todo!()
    }

    pub fn set_cpu(&self, _id: &Id, _cpu: Option<f64>) -> Result<(), JailError> {
        todo!()
    }

    /// The end of what the jail's PID 1 (and bubblewrap) printed.
    pub fn log_tail(&self, _id: &Id) -> Result<String, JailError> {
        todo!()
    }

    /// Ends a jail and removes its folder; the last stats, if it was there. Fine when already gone.
    pub fn destroy(&self, _id: &Id) -> Result<Option<Stats>, JailError> {
        todo!()
    }

    /// Ends all jails and the keeper, and waits for it. Dropping does the same, without a word.
    pub fn shutdown(self) -> Result<(), JailError> {
        todo!()
    }
}

/// What the binary calls when started with the hidden argument.
pub fn main() -> ExitCode {
    todo!()
}
