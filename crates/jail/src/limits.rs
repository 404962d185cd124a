//! Resource limits of one jail.

use serde::{Deserialize, Serialize};

const MIB: u64 = 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of all its processes, tmpfs contents included. Beyond it the kernel kills one of them.
    pub memory_bytes: u64,
    /// Processors, as a share: 0.5 is half of one. Not set by [`start`](crate::Runtime::start) but by
    /// [`set_cpu`](crate::Runtime::set_cpu) once the browser is ready, because it doubles the time to start.
    pub cpu: f64,
    /// Processes and threads. Beyond it `fork` fails with EAGAIN.
    pub pids: u64,
    /// Open files of each process. Beyond it `open` fails with EMFILE.
    pub open_files: u64,
    /// Size of /tmp, the browser's profile included. Beyond it writes fail with ENOSPC.
    pub tmp_bytes: u64,
    /// Size of /dev/shm. Beyond it writes fail with ENOSPC.
    pub shm_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: 512 * MIB,
            cpu: 0.5,
            pids: 1024,
            open_files: 1024,
            tmp_bytes: 128 * MIB,
            shm_bytes: 64 * MIB,
        }
    }
}
