//! Instances: one locked folder per control plane, and the reaper for those whose control plane died.
//!
//! ```text
//! <runtime dir>/<instance>/lock           held by the control plane and its keeper
//!                          instance.json  what a reaper needs to know
//!                          <jail>/        cdp.sock and egress.sock, mounted into the jail
//! ```

use super::{Launcher, sockets};
use crate::cgroup::{Cgroups, Group};
use crate::lock::Lock;
use crate::probe::try_namespaces;
use crate::runtime::{InstanceReport, JailReport, Reaped};
use crate::{
    CgroupChoice, CpuWeight, Enforcement, InstanceId, JailError, JailId, PreparedJail, bwrap, folder,
};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const LOCK: &str = "lock";
const RECORD: &str = "instance.json";

/// Other users may traverse these folders and not list them, because jails run as other users.
const PASSABLE: u32 = 0o711;

/// A live instance on this machine. No reaper touches it while this value, or a shared lock of it, exists.
#[derive(Debug)]
pub struct LocalInstance {
    id: InstanceId,
    dir: PathBuf,
    cgroups: Option<Cgroups>,
    lock: Lock,
    bwrap: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    control_plane_pid: u32,
    cgroups: Option<Cgroups>,
}

/// `/run/stockade` for root, else `$XDG_RUNTIME_DIR/stockade`, else `/tmp/stockade-<uid>`.
pub fn default_runtime_dir() -> PathBuf {
    let user = geteuid();
    if user.is_root() {
        return PathBuf::from("/run/stockade");
    }
    match std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(dir) if dir.is_absolute() => dir.join("stockade"),
        _ => PathBuf::from(format!("/tmp/stockade-{}", user.as_raw())),
    }
}

/// Removes processes, cgroups and folders of dead instances. Never touches a live one.
pub fn reap(runtime_dir: &Path) -> Result<Reaped, JailError> {
    match fs::symlink_metadata(runtime_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Reaped::default()),
        _ => check_dir(runtime_dir)?,
    }
    let _held = hold(runtime_dir)?;
    reap_held(runtime_dir)
}

/// Every instance, dead ones included.
pub fn list(runtime_dir: &Path) -> Result<Vec<InstanceReport>, JailError> {
    match fs::symlink_metadata(runtime_dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        _ => check_dir(runtime_dir)?,
    }
    // Held, so that a reaper does not take the lock tried here for a live instance.
    let _held = hold(runtime_dir)?;
    folders::<InstanceId>(runtime_dir)?
        .into_iter()
        .map(|id| report(&runtime_dir.join(id.as_str()), id))
        .collect()
}

impl LocalInstance {
    /// Checks that this host can run jails, reaps dead instances, then makes a new one.
    pub fn create(runtime_dir: &Path, choice: &CgroupChoice) -> Result<(LocalInstance, Reaped), JailError> {
        let bwrap = bwrap::find()?;
        bwrap::check(&bwrap)?;
        try_namespaces(&bwrap)?;
        make_dir(runtime_dir)?;
        // Until the new lock is taken and the record is written, a reaper would take this one for dead.
        let _held = hold(runtime_dir)?;
        let reaped = reap_held(runtime_dir)?;

        let id = InstanceId::random().map_err(|source| JailError::NoRandomness { source })?;
        let dir = runtime_dir.join(id.as_str());
        let cgroups = Cgroups::find(choice, id.clone())?;
        let made = LocalInstance::fill(id, dir.clone(), cgroups, bwrap);
        if made.is_err() {
            // The caller gets the first error; a reaper gets what this leaves.
            if let Err(error) = fs::remove_dir_all(&dir).or_else(ignore_missing) {
                tracing::warn!(%error, "cannot remove the folder of an instance that was not made");
            }
        }
        Ok((made?, reaped))
    }

    fn fill(
        id: InstanceId,
        dir: PathBuf,
        cgroups: Option<Cgroups>,
        bwrap: PathBuf,
    ) -> Result<LocalInstance, JailError> {
        make_dir(&dir)?;
        let path = dir.join(LOCK);
        let lock = Lock::new_file(&path).map_err(JailError::file("locking", &path))?;
        // Before the cgroups themselves: a reaper can clear what is written here, and only that.
        let record = Record { control_plane_pid: std::process::id(), cgroups };
        let path = dir.join(RECORD);
        serde_json::to_vec(&record)
            .map_err(io::Error::from)
            .and_then(|json| {
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?.write_all(&json)
            })
            .map_err(JailError::file("writing", &path))?;
        if let Some(cgroups) = &record.cgroups {
            cgroups.make()?;
        }
        Ok(LocalInstance { id, dir, cgroups: record.cgroups, lock, bwrap })
    }

    pub fn id(&self) -> &InstanceId {
        &self.id
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn enforcement(&self) -> Enforcement {
        self.cgroups.as_ref().map_or(Enforcement::Weaker, Cgroups::enforcement)
    }

    /// See [`Runtime::prepare`](crate::Runtime::prepare).
    pub fn prepare(&self, jail: &JailId) -> Result<PreparedJail, JailError> {
        sockets::prepare(&self.dir, jail)
    }

    /// See [`Runtime::cpu_usage`](crate::Runtime::cpu_usage). Like the other CPU calls, works on the cgroup itself: it
    /// does not wait for the thread that launches jails.
    pub fn cpu_usage(&self, jail: &JailId) -> Result<Option<Duration>, JailError> {
        self.in_group(jail, Group::cpu_usage)
    }

    /// See [`Runtime::set_cpu`](crate::Runtime::set_cpu).
    pub fn set_cpu(&self, jail: &JailId, processors: Option<f64>) -> Result<(), JailError> {
        self.in_group(jail, |group| group.set_cpu(processors)).map(drop)
    }

    /// See [`Runtime::set_cpu_weight`](crate::Runtime::set_cpu_weight).
    pub fn set_cpu_weight(&self, jail: &JailId, weight: CpuWeight) -> Result<(), JailError> {
        self.in_group(jail, |group| group.set_cpu_weight(weight)).map(drop)
    }

    /// `None` in the weaker mode. A jail without a cgroup is unknown.
    fn in_group<T>(
        &self,
        jail: &JailId,
        call: impl FnOnce(&Group) -> Result<T, JailError>,
    ) -> Result<Option<T>, JailError> {
        let Some(group) = self.cgroups.as_ref().map(|cgroups| cgroups.group(jail)) else { return Ok(None) };
        match call(&group) {
            Err(_) if !group.exists() => Err(JailError::UnknownJail { id: jail.clone() }),
            result => result.map(Some),
        }
    }

    pub fn launcher(&self) -> Launcher {
        Launcher::new(self.dir.clone(), self.cgroups.clone(), self.bwrap.clone())
    }

    /// Another holder of the lock, for a child process.
    pub(crate) fn share_lock(&self) -> io::Result<OwnedFd> {
        self.lock.share()
    }

    /// Kills every process and removes the instance. Succeeds when it is gone already.
    pub fn clear(&self) -> Result<(), JailError> {
        clear(&self.dir, self.cgroups.as_ref()).map(drop)
    }
}

/// Kills and removes everything of an instance, its folder last. `Reaped` counts what was there.
pub(super) fn clear(dir: &Path, cgroups: Option<&Cgroups>) -> Result<Reaped, JailError> {
    let mut jails: BTreeSet<JailId> = folders(dir)?.into_iter().collect();
    let mut processes = 0;
    if let Some(cgroups) = cgroups {
        for jail in cgroups.jails()? {
            let group = cgroups.group(&jail);
            processes += group.kill_all()?.ok_or_else(|| JailError::StillAlive { id: jail.clone() })?;
            group.remove()?;
            jails.insert(jail);
        }
        cgroups.remove()?;
    }
    fs::remove_dir_all(dir).or_else(ignore_missing).map_err(JailError::file("removing", dir))?;
    Ok(Reaped { instances: Vec::new(), jails: jails.len(), processes })
}

/// The caller holds the runtime folder. One instance that resists does not keep the others from going.
fn reap_held(runtime_dir: &Path) -> Result<Reaped, JailError> {
    let mut reaped = Reaped::default();
    let mut failed = None;
    for id in folders::<InstanceId>(runtime_dir)? {
        let dir = runtime_dir.join(id.as_str());
        match reap_one(&dir, &id) {
            Ok(None) => {}
            Ok(Some(cleared)) => {
                reaped.instances.push(id);
                reaped.jails += cleared.jails;
                reaped.processes += cleared.processes;
            }
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(reaped), Err)
}

fn reap_one(dir: &Path, id: &InstanceId) -> Result<Option<Reaped>, JailError> {
    let Holder::Dead(_lock) = holder(dir)? else { return Ok(None) };
    let cgroups = record(dir, id)?.and_then(|record| record.cgroups);
    clear(dir, cgroups.as_ref()).map(Some)
}

enum Holder {
    Alive,
    /// Nobody, and nobody else while this lock is kept. No lock: its maker died before making the file.
    Dead(Option<Lock>),
}

fn holder(dir: &Path) -> Result<Holder, JailError> {
    let path = dir.join(LOCK);
    match Lock::try_existing(&path) {
        Ok(Some(lock)) => Ok(Holder::Dead(Some(lock))),
        Ok(None) => Ok(Holder::Alive),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Holder::Dead(None)),
        Err(error) => Err(JailError::file("locking", &path)(error)),
    }
}

/// `None` when it was never finished, in which case there are no cgroups either; or when it names cgroups of others.
fn record(dir: &Path, id: &InstanceId) -> Result<Option<Record>, JailError> {
    let path = dir.join(RECORD);
    let json = match fs::read(&path) {
        Ok(json) => json,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(JailError::file("reading", &path)(error)),
    };
    let record: Record = match serde_json::from_slice(&json) {
        Ok(record) => record,
        Err(error) => {
            tracing::warn!(%error, instance = %id, "ignoring the unreadable record of an instance");
            return Ok(None);
        }
    };
    if record.cgroups.as_ref().is_some_and(|groups| !groups.belongs_to(id)) {
        tracing::warn!(instance = %id, "ignoring the record of an instance that names cgroups of another");
        return Ok(None);
    }
    Ok(Some(record))
}

fn report(dir: &Path, id: InstanceId) -> Result<InstanceReport, JailError> {
    let alive = matches!(holder(dir)?, Holder::Alive);
    let record = record(dir, &id)?;
    let cgroups = record.as_ref().and_then(|record| record.cgroups.as_ref());
    let mut ids: BTreeSet<JailId> = folders(dir)?.into_iter().collect();
    if let Some(cgroups) = cgroups {
        ids.extend(cgroups.jails()?);
    }
    let mut jails = Vec::new();
    for jail in ids {
        let group = cgroups.map(|cgroups| cgroups.group(&jail));
        let pids = group.as_ref().map_or(Ok(Vec::new()), |group| group.pids())?;
        // A jail that is prepared but not yet made has no counts; neither has one that just went.
        let memory_bytes = group.and_then(|group| group.stats().ok()).map(|stats| stats.memory_bytes);
        jails.push(JailReport { id: jail, pids, memory_bytes });
    }
    Ok(InstanceReport { id, alive, control_plane_pid: record.map(|record| record.control_plane_pid), jails })
}

/// The folders in `dir` that have the name of an instance or a jail; none when it is gone.
fn folders<T: TryFrom<String> + Ord>(dir: &Path) -> Result<Vec<T>, JailError> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(JailError::file("reading", dir)(error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(JailError::file("reading", dir))?;
        let kind = entry.file_type().map_err(JailError::file("reading", dir))?;
        if kind.is_dir()
            && let Ok(id) = T::try_from(entry.file_name().to_string_lossy().into_owned())
        {
            found.push(id);
        }
    }
    found.sort();
    Ok(found)
}

/// Excludes other makers and reapers. A holder works for a bounded time.
fn hold(runtime_dir: &Path) -> Result<Lock, JailError> {
    Lock::folder(runtime_dir).map_err(JailError::file("locking", runtime_dir))
}

fn make_dir(dir: &Path) -> Result<(), JailError> {
    folder::make(dir, PASSABLE).map_err(JailError::file("making", dir))?;
    check_dir(dir)
}

/// In /tmp another user could have made it first, to listen on our sockets.
fn check_dir(dir: &Path) -> Result<(), JailError> {
    match folder::find_weakness(dir, folder::is_own).map_err(JailError::file("looking at", dir))? {
        Some(why) => Err(JailError::UnsafeRuntimeDir { path: dir.to_owned(), why }),
        None => Ok(()),
    }
}

pub(super) fn ignore_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
