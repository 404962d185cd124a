//! The cgroup of one jail: limits, statistics, removal.

use super::{Folders, JailStats, REMOVE_WAIT, Version, read_pids, remove_folder};
use crate::{CpuWeight, JailError, Limits};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The period of a jail's CPU quota. Pages work in bursts: in the kernel's default period of a tenth of a second a
/// burst of 60 ms is interrupted by a pause; in a quarter of a second it is not, at the same share.
const CPU_PERIOD_US: u64 = 250_000;

/// The smallest quota that the kernel accepts.
const CPU_QUOTA_MIN_US: u64 = 1_000;

/// The kernel's default for a new cgroup in version 1 and 2: the weight of a jail with [`CpuWeight::FULL`].
const CPU_SHARES: u32 = 1024;
const CPU_WEIGHT: u32 = 100;

#[derive(Clone, Debug)]
pub(crate) struct Group {
    version: Version,
    folders: Folders,
}

impl Group {
    pub fn new(version: Version, folders: Folders) -> Group {
        Group { version, folders }
    }

    pub fn folders(&self) -> &Folders {
        &self.folders
    }

    pub fn set_limits(&self, limits: &Limits) -> Result<(), JailError> {
        let memory = limits.memory_bytes.to_string();
        match self.version {
            Version::V1 => {
                write(&self.folders.memory, "memory.limit_in_bytes", &memory)?;
                // Memory and swap together: equal means no swap. Absent where the kernel does not count swap.
                write_if_exists(&self.folders.memory, "memory.memsw.limit_in_bytes", &memory)?;
            }
            Version::V2 => {
                write(&self.folders.memory, "memory.max", &memory)?;
                write_if_exists(&self.folders.memory, "memory.swap.max", "0")?;
            }
        }
        write(&self.folders.pids, "pids.max", &limits.pids.to_string())
    }

    /// Sets the CPU quota; `None` lifts it. Unused quota of one period is carried over to the next, if the kernel can
    /// (from 5.14): a jail that was idle while its agent thought shows the next page without a pause, and its share
    /// stays the same.
    pub fn set_cpu(&self, cpu: Option<f64>) -> Result<(), JailError> {
        let quota = cpu.map(|share| ((share * CPU_PERIOD_US as f64) as u64).max(CPU_QUOTA_MIN_US));
        // The kernel refuses a quota below the burst.
        self.set_burst(0);
        self.set_quota(quota)?;
        self.set_burst(quota.unwrap_or(0));
        Ok(())
    }

    /// Sets the jail's weight against other jails on a busy machine.
    pub fn set_cpu_weight(&self, weight: CpuWeight) -> Result<(), JailError> {
        let (name, full) = match self.version {
            Version::V1 => ("cpu.shares", CPU_SHARES),
            Version::V2 => ("cpu.weight", CPU_WEIGHT),
        };
        write(&self.folders.cpu, name, &weight.part_of(full).to_string())
    }

    /// The CPU time that all processes of the jail have used, ended ones included.
    pub fn cpu_usage(&self) -> Result<Duration, JailError> {
        match self.version {
            Version::V1 => {
                let folder = self.folders.cpuacct.as_ref().unwrap_or(&self.folders.cpu);
                read_number(folder, "cpuacct.usage").map(Duration::from_nanos)
            }
            Version::V2 => read_keyed(&self.folders.cpu, "cpu.stat", "usage_usec").map(Duration::from_micros),
        }
    }

    /// Failure is not an error: without burst pages are slower, at the same share.
    fn set_burst(&self, max_us: u64) {
        let name = match self.version {
            Version::V1 => "cpu.cfs_burst_us",
            Version::V2 => "cpu.max.burst",
        };
        if let Err(error) = write_if_exists(&self.folders.cpu, name, &max_us.to_string()) {
            tracing::debug!(%error, "unused CPU time is not carried over");
        }
    }

    fn set_quota(&self, quota: Option<u64>) -> Result<(), JailError> {
        match self.version {
            Version::V1 => {
                write(&self.folders.cpu, "cpu.cfs_period_us", &CPU_PERIOD_US.to_string())?;
                let quota = quota.map_or("-1".to_owned(), |quota| quota.to_string());
                write(&self.folders.cpu, "cpu.cfs_quota_us", &quota)
            }
            Version::V2 => {
                let quota = quota.map_or("max".to_owned(), |quota| quota.to_string());
                write(&self.folders.cpu, "cpu.max", &format!("{quota} {CPU_PERIOD_US}"))
            }
        }
    }

    /// The file that a child writes its pid to, before it does anything else.
    pub fn join_files(&self) -> Result<Vec<File>, JailError> {
        let open = |folder: &Path| {
            let path = folder.join("cgroup.procs");
            OpenOptions::new().write(true).open(&path).map_err(JailError::file("opening", &path))
        };
        self.folders.each().into_iter().map(open).collect()
    }

    pub fn exists(&self) -> bool {
        self.folders.each().into_iter().all(Path::is_dir)
    }

    pub fn stats(&self) -> Result<JailStats, JailError> {
        let (usage, oom_file) = match self.version {
            Version::V1 => ("memory.usage_in_bytes", "memory.oom_control"),
            Version::V2 => ("memory.current", "memory.events"),
        };
        Ok(JailStats {
            memory_bytes: read_number(&self.folders.memory, usage)?,
            oom_kills: read_keyed(&self.folders.memory, oom_file, "oom_kill")?,
            pids: read_number(&self.folders.pids, "pids.current")?,
            pids_limit_hits: read_keyed(&self.folders.pids, "pids.events", "max")?,
        })
    }

    pub fn pids(&self) -> Result<Vec<u32>, JailError> {
        let mut pids = Vec::new();
        for folder in self.folders.each() {
            pids.extend(read_pids(folder)?);
        }
        pids.sort_unstable();
        pids.dedup();
        Ok(pids)
    }

    /// Kills all processes in it until none is left. Returns how many there were; `None` if some did not die.
    pub fn kill_all(&self) -> Result<Option<usize>, JailError> {
        let deadline = Instant::now() + REMOVE_WAIT;
        let mut first = None;
        loop {
            let pids = self.pids()?;
            let count = *first.get_or_insert(pids.len());
            if pids.is_empty() {
                return Ok(Some(count));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            // Where the kernel kills by cgroup, no pid is used that another process may have by now.
            if self.version == Version::V2 && self.folders.pids.join("cgroup.kill").exists() {
                write(&self.folders.pids, "cgroup.kill", "1")?;
            } else {
                pids.into_iter().try_for_each(kill)?;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn remove(&self) -> Result<(), JailError> {
        self.folders.each().into_iter().try_for_each(remove_folder)
    }
}

fn kill(pid: u32) -> Result<(), JailError> {
    // 0 is a process of another PID namespace, which has no pid here.
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    match kill_process(pid, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(JailError::system("killing a process of a jail")(error)),
    }
}

fn write(folder: &Path, name: &str, value: &str) -> Result<(), JailError> {
    let path = folder.join(name);
    open_existing(&path)
        .and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()))
        .map_err(JailError::file("setting", &path))
}

fn write_if_exists(folder: &Path, name: &str, value: &str) -> Result<(), JailError> {
    if folder.join(name).exists() { write(folder, name, value) } else { Ok(()) }
}

/// Never creates the file: a limit written to an ordinary file would limit nothing.
fn open_existing(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new().write(true).truncate(true).open(path)
}

fn read_number(folder: &Path, name: &str) -> Result<u64, JailError> {
    let path = folder.join(name);
    let text = fs::read_to_string(&path).map_err(JailError::file("reading", &path))?;
    text.trim().parse().map_err(|_| unexpected(&path))
}

/// The number after `key` in lines of `key number`.
fn read_keyed(folder: &Path, name: &str, key: &str) -> Result<u64, JailError> {
    let path = folder.join(name);
    let text = fs::read_to_string(&path).map_err(JailError::file("reading", &path))?;
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(found, _)| *found == key)
        .and_then(|(_, number)| number.trim().parse().ok())
        .ok_or_else(|| unexpected(&path))
}

fn unexpected(path: &Path) -> JailError {
    JailError::file("making sense of", path)(io::ErrorKind::InvalidData.into())
}
