//! Resource limits of one jail.

use serde::{Deserialize, Serialize};

const MIB: u64 = 1024 * 1024;

/// The limits of a new jail. CPU is limited later, see [`set_cpu`](crate::Runtime::set_cpu).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Memory of all processes, tmpfs contents included. Beyond it the kernel kills one of them.
    pub memory_bytes: u64,
    /// Processes and threads. Beyond it `fork` fails with EAGAIN.
    pub pids: u64,
    /// Open files of each process. Beyond it `open` fails with EMFILE.
    pub open_files: u64,
    /// Size of /tmp, the browser's profile included. Beyond it writes fail with ENOSPC.
    pub tmp_bytes: u64,
    /// Size of /dev/shm. Beyond it writes fail with ENOSPC.
    pub shm_bytes: u64,
}

/// A jail's weight against other jails when the machine is full, in sixteenths of a full one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuWeight(u8);

impl CpuWeight {
    const STEPS: u8 = 16;

    /// The weight of a new jail.
    pub const FULL: CpuWeight = CpuWeight(CpuWeight::STEPS);
    pub const LEAST: CpuWeight = CpuWeight(1);

    /// The weight for a fraction from 0 to 1, in steps.
    pub fn of_part(part: f64) -> CpuWeight {
        // The cast saturates for values out of range and for NaN.
        let steps = (part * f64::from(CpuWeight::STEPS)).ceil() as u8;
        CpuWeight(steps).clamp(CpuWeight::LEAST, CpuWeight::FULL)
    }

    pub(crate) fn part_of(self, full: u32) -> u32 {
        full * u32::from(self.0) / u32::from(CpuWeight::STEPS)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory_bytes: 512 * MIB,
            pids: 1024,
            open_files: 1024,
            tmp_bytes: 128 * MIB,
            shm_bytes: 64 * MIB,
        }
    }
}
