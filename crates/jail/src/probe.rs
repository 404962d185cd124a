//! What this machine offers for jails, for `doctor`.

use crate::{CgroupChoice, Enforcement, JailError};

/// One thing looked at: what was found, or what is wrong (with its hint).
pub type Finding<T> = Result<T, JailError>;

#[derive(Debug)]
pub struct HostProbe {
    /// bubblewrap's version.
    pub bubblewrap: Finding<String>,
    /// Found by trying.
    pub namespaces: Finding<()>,
    pub limits: Finding<Enforcement>,
}

pub fn probe_host(_cgroup: &CgroupChoice) -> HostProbe {
    todo!()
}
