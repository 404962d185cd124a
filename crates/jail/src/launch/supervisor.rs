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

/// Starts, watches and ends jails. Must stay on one thread, because its jails die with that thread.
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

    pub fn log_tail(&mut self, id: &JailId) -> Result<String, JailError> {
        self.jail(id)?.log_text()
    }

    fn jail(&mut self, id: &JailId) -> Result<&mut JailProcess, JailError> {
        self.jails.get_mut(id).ok_or_else(|| JailError::UnknownJail { id: id.clone() })
    }

    /// Ends a jail and removes its folder; returns its last statistics, if it ran.
    pub fn destroy(&mut self, id: &JailId) -> Result<Option<JailStats>, JailError> {
        let Some(jail) = self.jails.get_mut(id) else {
            // It has ended already, or was never started.
            let dir = self.launcher.dir().join(id.as_str());
            fs::remove_dir_all(&dir).or_else(ignore_missing).map_err(JailError::file("removing", &dir))?;
            return Ok(None);
        };
        let stats = jail.end()?;
        self.jails.remove(id);
        Ok(stats)
    }

    /// Waits until a jail prints or ends, or `requests` is readable; `true` for the latter. Reads the output of jails,
    /// which would block otherwise.
    pub fn wait(&mut self, requests: BorrowedFd<'_>) -> Result<bool, JailError> {
        let mut fds = vec![PollFd::from_borrowed_fd(requests, PollFlags::IN)];
        let mut owners = vec![None];
        for (id, jail) in &self.jails {
            for fd in jail.event_fds() {
                fds.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
                owners.push(Some(id));
            }
        }
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(false),
            Err(error) => return Err(JailError::system("waiting for events")(error)),
        }
        let ready = fds.iter().zip(owners).filter(|(fd, _)| !fd.revents().is_empty());
        let ready: Vec<Option<JailId>> = ready.map(|(_, owner)| owner.cloned()).collect();
        let mut requested = false;
        for owner in ready {
            match owner.map(|id| self.jails.get_mut(&id)) {
                None => requested = true,
                Some(jail) => jail.map_or(Ok(()), JailProcess::read_events)?,
            }
        }
        Ok(requested)
    }

    /// Ends all jails and removes the instance. All are killed before the first is waited for.
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
