//! Limits on memory, CPU and processes by cgroup, version 1 or 2.
//!
//! A jail's cgroup is `<parent>/stockade/<instance>/<jail>`, once in each of up to four hierarchies in version 1, and
//! once in version 2. [`find`] finds the parent; this file and [`group`] do the rest.

mod find;
mod group;
#[cfg(test)]
mod tests;

pub(crate) use group::Group;

use crate::{InstanceId, JailError, JailId, Limits};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The location of the cgroups of jails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CgroupChoice {
    /// Root: under the mount. Anyone else: under their own cgroup, if it was delegated to them.
    Auto,
    /// Under this cgroup (a path as in /proc/self/cgroup), which the user may write to.
    Under(PathBuf),
    /// No cgroups: rlimits and tmpfs sizes only. Neither memory nor CPU is limited.
    Weaker,
}

/// The limits that are in force for jails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    CgroupV1,
    CgroupV2,
    Weaker,
}

/// The kernel's statistics of one jail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JailStats {
    pub memory_bytes: u64,
    /// Processes that the kernel killed because the jail was at its memory limit.
    pub oom_kills: u64,
    pub pids: u64,
    /// Times that a fork or a thread failed at the pids limit.
    pub pids_limit_hits: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Version {
    V1,
    V2,
}

/// The same cgroup in each hierarchy in use; in version 2 all are one folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Folders {
    pub memory: PathBuf,
    pub cpu: PathBuf,
    pub pids: PathBuf,
    /// The hierarchy that counts CPU time in version 1, if not `cpu`. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpuacct: Option<PathBuf>,
}

/// The cgroups of one instance. Recorded in its folder for reapers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cgroups {
    version: Version,
    instance: InstanceId,
    /// `<parent>/stockade`, shared with other instances.
    shared: Folders,
}

/// The common ancestor of all our cgroups, so that they are easy to see.
const SHARED: &str = "stockade";

/// The child that the control plane moves to, because its own cgroup may then have no processes (version 2).
const OWN_LEAF: &str = "stockade-host";

const CONTROLLERS: [&str; 3] = ["memory", "cpu", "pids"];

/// Counts CPU time in version 1. In version 2 every cgroup does.
const CPU_ACCOUNTING: &str = "cpuacct";

/// Timeout: a cgroup can be removed only some time after its last process died.
const REMOVE_WAIT: Duration = Duration::from_secs(2);

/// Timeout for moving processes that keep forking new ones.
const MOVE_WAIT: Duration = Duration::from_secs(2);

impl Cgroups {
    /// The planned location; `None` in the weaker mode. Changes nothing.
    pub fn find(choice: &CgroupChoice, instance: InstanceId) -> Result<Option<Cgroups>, JailError> {
        let Some((version, parent)) = find::parent(choice)? else { return Ok(None) };
        Ok(Some(Cgroups { version, instance, shared: parent.join(SHARED) }))
    }

    pub fn enforcement(&self) -> Enforcement {
        match self.version {
            Version::V1 => Enforcement::CgroupV1,
            Version::V2 => Enforcement::CgroupV2,
        }
    }

    /// Whether these cgroups belong to that instance. A reaper kills everything in them.
    pub fn belongs_to(&self, instance: &InstanceId) -> bool {
        self.instance == *instance && self.shared.each().iter().all(|folder| folder.ends_with(SHARED))
    }

    fn own(&self) -> Folders {
        self.shared.join(self.instance.as_str())
    }

    /// Makes the instance's cgroup and its ancestors; on failure removes them again.
    pub fn make(&self) -> Result<(), JailError> {
        let made = self.try_make();
        if made.is_err() {
            // The caller gets the first error. Anything left here is an empty cgroup.
            if let Err(error) = self.remove() {
                tracing::warn!(%error, instance = %self.instance, "cannot remove the cgroup of an instance that was not made");
            }
        }
        made
    }

    fn try_make(&self) -> Result<(), JailError> {
        let own = self.own();
        for (shared, own) in self.shared.each().into_iter().zip(own.each()) {
            make_both(shared, own)?;
            if self.version == Version::V2 {
                let parent = shared.parent().unwrap_or(shared);
                [parent, shared, own].into_iter().try_for_each(enable_controllers)?;
            }
        }
        Ok(())
    }

    pub fn create(&self, jail: &JailId, limits: &Limits) -> Result<Group, JailError> {
        let group = self.group(jail);
        for folder in group.folders().each() {
            fs::create_dir(folder).map_err(JailError::file("making the cgroup", folder))?;
        }
        group.set_limits(limits)?;
        Ok(group)
    }

    pub fn group(&self, jail: &JailId) -> Group {
        Group::new(self.version, self.own().join(jail.as_str()))
    }

    /// All jails that have a cgroup, even if their folder is gone.
    pub fn jails(&self) -> Result<Vec<JailId>, JailError> {
        let own = self.own();
        let mut jails = Vec::new();
        for folder in own.each() {
            let entries = match fs::read_dir(folder) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(JailError::file("reading the cgroup", folder)(error)),
            };
            for entry in entries {
                let entry = entry.map_err(JailError::file("reading the cgroup", folder))?;
                if entry.path().is_dir()
                    && let Ok(id) = JailId::parse(&entry.file_name().to_string_lossy())
                {
                    jails.push(id);
                }
            }
        }
        jails.sort();
        jails.dedup();
        Ok(jails)
    }

    /// Removes the instance's empty cgroup, and the shared one if no other instance uses it.
    pub fn remove(&self) -> Result<(), JailError> {
        for folder in self.own().each() {
            remove_folder(folder)?;
        }
        for folder in self.shared.each() {
            match fs::remove_dir(folder) {
                Ok(()) => {}
                Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::BUSY | Errno::NOTEMPTY)) => {
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(JailError::file("removing the cgroup", folder)(error)),
            }
        }
        Ok(())
    }
}

impl Folders {
    #[cfg(test)]
    pub fn one(folder: PathBuf) -> Folders {
        Folders { memory: folder.clone(), cpu: folder.clone(), pids: folder, cpuacct: None }
    }

    pub fn join(&self, name: &str) -> Folders {
        Folders {
            memory: self.memory.join(name),
            cpu: self.cpu.join(name),
            pids: self.pids.join(name),
            cpuacct: self.cpuacct.as_ref().map(|folder| folder.join(name)),
        }
    }

    /// Each distinct folder once, because version 1 may mount several controllers together.
    pub fn each(&self) -> Vec<&Path> {
        let mut all: Vec<&Path> = vec![&self.memory, &self.cpu, &self.pids];
        all.extend(self.cpuacct.as_deref());
        all.sort();
        all.dedup();
        all
    }
}

/// Makes the shared cgroup and the one in it. Tries again if the last other instance just removed the shared one.
fn make_both(shared: &Path, own: &Path) -> Result<(), JailError> {
    const ATTEMPTS: usize = 100;
    for _ in 1..ATTEMPTS {
        make_folder(shared)?;
        match make_folder(own) {
            Err(JailError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
    }
    make_folder(shared)?;
    make_folder(own)
}

fn make_folder(folder: &Path) -> Result<(), JailError> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(JailError::file("making the cgroup", folder)(error))
        }
        _ => Ok(()),
    }
}

/// Enables controllers for the children of a version 2 cgroup.
fn enable_controllers(folder: &Path) -> Result<(), JailError> {
    let file = folder.join("cgroup.subtree_control");
    let enabled = fs::read_to_string(&file).map_err(JailError::file("reading", &file))?;
    let missing: Vec<String> = CONTROLLERS
        .iter()
        .filter(|name| !enabled.split_whitespace().any(|word| word == **name))
        .map(|name| format!("+{name}"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    enable_or_move_processes(folder, || {
        fs::write(&file, missing.join(" ")).map_err(JailError::file("enabling controllers in", &file))
    })
}

/// A cgroup whose children are limited may not have processes itself, so they are moved one level down. A process that
/// forks meanwhile leaves its child for the next round.
fn enable_or_move_processes(
    folder: &Path,
    enable: impl Fn() -> Result<(), JailError>,
) -> Result<(), JailError> {
    let deadline = Instant::now() + MOVE_WAIT;
    loop {
        match enable() {
            Err(JailError::File { source, .. })
                if Errno::from_io_error(&source) == Some(Errno::BUSY) && Instant::now() < deadline =>
            {
                move_processes(folder, &folder.join(OWN_LEAF))?;
                std::thread::sleep(Duration::from_millis(2));
            }
            other => return other,
        }
    }
}

fn move_processes(from: &Path, to: &Path) -> Result<(), JailError> {
    make_folder(to)?;
    let target = to.join("cgroup.procs");
    for pid in read_pids(from)? {
        match fs::write(&target, pid.to_string()) {
            // It ended in between.
            Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => {}
            other => other.map_err(JailError::file("moving a process to", &target))?,
        }
    }
    Ok(())
}

/// The processes in a cgroup; none if it does not exist.
fn read_pids(folder: &Path) -> Result<Vec<u32>, JailError> {
    let file = folder.join("cgroup.procs");
    match fs::read_to_string(&file) {
        Ok(text) => Ok(text.lines().filter_map(|line| line.parse().ok()).collect()),
        // ENODEV: removed between open and read.
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || Errno::from_io_error(&error) == Some(Errno::NODEV) =>
        {
            Ok(Vec::new())
        }
        Err(error) => Err(JailError::file("reading", &file)(error)),
    }
}

/// Removes an empty cgroup. Waits while the kernel still counts a dead process.
fn remove_folder(folder: &Path) -> Result<(), JailError> {
    let deadline = Instant::now() + REMOVE_WAIT;
    loop {
        match fs::remove_dir(folder) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::BUSY) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(error) => return Err(JailError::file("removing the cgroup", folder)(error)),
        }
    }
}
