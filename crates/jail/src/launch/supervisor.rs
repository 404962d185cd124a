//! All jails of one instance, owned by the thread that launches them.

use super::instance::{self, ignore_missing};
use super::{JailProcess, Launcher};
use crate::{JailError, JailId, JailSpec, JailState, JailStats};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Starts, watches and ends jails. Stays on one thread: its jails die with that thread.
#[derive(Debug)]
pub struct Supervisor {
    launcher: Launcher,
    jails: BTreeMap<JailId, JailProcess>,
}

impl Supervisor {
    pub fn new(launcher: Launcher) -> Supervisor {
        Supervisor { launcher, jails: BTreeMap::new() }
    }

    /// Starts a prepared jail from the file tree at `root`, and waits until its program runs.
    pub fn start(&mut self, spec: JailSpec, root: &Path) -> Result<&JailProcess, JailError> {
        if self.jails.contains_key(&spec.id) {
            return Err(JailError::JailExists { id: spec.id });
        }
        let jail = self.launcher.launch(&spec, root)?;
        Ok(self.jails.entry(spec.id).or_insert(jail))
    }

    pub fn state(&self, id: &JailId) -> Option<JailState> {
        self.jails.get(id).map(JailProcess::state)
    }

    pub fn stats(&mut self, id: &JailId) -> Result<Option<JailStats>, JailError> {
        self.jail(id)?.stats()
    }

    pub fn set_cpu(&mut self, id: &JailId, share: Option<f64>) -> Result<(), JailError> {
        self.jail(id)?.set_cpu(share)
    }

    pub fn log_tail(&mut self, id: &JailId) -> Result<String, JailError> {
        self.jail(id)?.log_text()
    }

    fn jail(&mut self, id: &JailId) -> Result<&mut JailProcess, JailError> {
        self.jails.get_mut(id).ok_or_else(|| JailError::UnknownJail { id: id.clone() })
    }

    /// Ends a jail and removes its folder; its last counts, if it ran.
    pub fn destroy(&mut self, id: &JailId) -> Result<Option<JailStats>, JailError> {
        let Some(jail) = self.jails.get_mut(id) else {
            // Gone already, or prepared and never started.
            let dir = self.launcher.dir().join(id.as_str());
            fs::remove_dir_all(&dir).or_else(ignore_missing).map_err(JailError::file("removing", &dir))?;
            return Ok(None);
        };
        let stats = jail.end()?;
        self.jails.remove(id);
        Ok(stats)
    }

    /// Sleeps until a jail prints or ends, or `requests` is readable; `true` for the latter. Takes in what the jails
    /// printed meanwhile: one whose output nobody reads would block.
    pub fn wait(&mut self, requests: BorrowedFd<'_>) -> Result<bool, JailError> {
        let mut fds = vec![PollFd::from_borrowed_fd(requests, PollFlags::IN)];
        let events = self.jails.values().flat_map(JailProcess::event_fds);
        fds.extend(events.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let requested = match poll(&mut fds, None) {
            Ok(_) => fds.first().is_some_and(|fd| !fd.revents().is_empty()),
            Err(Errno::INTR) => false,
            Err(error) => return Err(JailError::system("waiting for events")(error)),
        };
        for jail in self.jails.values_mut() {
            jail.read_events()?;
        }
        Ok(requested)
    }

    /// Ends everything and removes the instance. All jails are killed before the first is waited for.
    pub fn clear(&mut self) -> Result<(), JailError> {
        let mut first = Ok(());
        for jail in self.jails.values() {
            first = first.and(jail.kill());
        }
        for jail in self.jails.values_mut() {
            first = first.and(jail.end().map(drop));
        }
        let cleared = instance::clear(self.launcher.dir(), self.launcher.cgroups()).map(drop);
        first.and(cleared)
    }
}
