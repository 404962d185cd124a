//! The processes of one jail: launch, supervision, end.

use super::instance::ignore_missing;
use super::log::LogTail;
use crate::bwrap::{self, PassedFds};
use crate::cgroup::{Cgroups, Group};
use crate::jail_user::JAIL_USERS;
use crate::spawn::{Launch, launch};
use crate::wait::{pidfd, wait_readable};
use crate::{JailError, JailId, JailSpec, JailState, JailStats, seccomp};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, geteuid, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// Timeout from fork to the jail's first instruction; usually 20 ms.
const START_WAIT: Duration = Duration::from_secs(5);

/// Timeout from SIGKILL to the end of the last process; usually 10 ms.
const END_WAIT: Duration = Duration::from_secs(2);

/// Everything needed to launch jails into an instance. Can be sent to another process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launcher {
    dir: PathBuf,
    cgroups: Option<Cgroups>,
    bwrap: PathBuf,
}

impl Launcher {
    pub(super) fn new(dir: PathBuf, cgroups: Option<Cgroups>, bwrap: PathBuf) -> Launcher {
        Launcher { dir, cgroups, bwrap }
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn cgroups(&self) -> Option<&Cgroups> {
        self.cgroups.as_ref()
    }

    /// Starts a prepared jail from the file tree at `root`, and waits until its program runs. The jail dies with
    /// the calling thread.
    pub fn launch(&self, spec: &JailSpec, root: &Path) -> Result<JailProcess, JailError> {
        let dir = self.dir.join(spec.id.as_str());
        let group = self.cgroups.as_ref().map(|groups| groups.create(&spec.id, &spec.limits)).transpose()?;
        let mut jail = match self.spawn(spec, root, dir, group.clone()) {
            Ok(jail) => jail,
            Err(error) => {
                // The caller gets the first error; removing the instance removes the rest.
                if let Some(Err(error)) = group.map(|group| group.remove()) {
                    tracing::warn!(%error, jail = %spec.id, "cannot remove the cgroup of a jail that did not start");
                }
                return Err(error);
            }
        };
        if jail.wait_for_start()? {
            return Ok(jail);
        }
        jail.log.read_rest().map_err(JailError::system("reading the jail's output"))?;
        let log = jail.log.text();
        jail.end()?;
        Err(JailError::StartFailed { id: spec.id.clone(), log: log.trim().to_owned() })
    }

    fn spawn(
        &self,
        spec: &JailSpec,
        root: &Path,
        dir: PathBuf,
        group: Option<Group>,
    ) -> Result<JailProcess, JailError> {
        let owner = fs::symlink_metadata(&dir).map_err(JailError::file("looking at", &dir))?.uid();
        let user = jail_user(owner, &dir)?;
        let root = open_folder(root)?;
        let sockets = open_folder(&dir)?;
        let filter = seccomp::filter_file()?;
        let (status_in, status_out) = pipe()?;
        let (log_in, log_out) = pipe()?;

        let passed = PassedFds {
            root: root.as_fd(),
            sockets: sockets.as_fd(),
            filter: filter.as_fd(),
            status: status_out.as_fd(),
        };
        let mut command = Command::new(&self.bwrap);
        command.args(bwrap::arguments(&passed, &spec.limits, &spec.env, &spec.command));
        let bwrap = launch(Launch {
            command,
            join: group.as_ref().map_or(Ok(Vec::new()), Group::join_files)?,
            pass: vec![root, sockets, filter, status_out],
            user,
            open_files: spec.limits.open_files,
            // Only if the jail has a user of its own: other processes of that user would count too.
            processes: user.filter(|_| group.is_none()).map(|_| spec.limits.pids),
            output: log_out,
        })?;
        let bwrap_fd = pidfd(bwrap.id()).map_err(JailError::system("watching a jail"))?;
        let (log, status) = (LogTail::new(log_in), Status::new(status_in));
        Ok(JailProcess {
            id: spec.id.clone(),
            pid: 0,
            uid: owner,
            dir,
            group,
            bwrap,
            bwrap_fd,
            init_fd: None,
            log,
            exit: None,
            status,
        })
    }
}

/// A launched jail: bubblewrap, the jail's PID 1, its cgroup and its output.
#[derive(Debug)]
pub struct JailProcess {
    id: JailId,
    pid: u32,
    uid: u32,
    dir: PathBuf,
    group: Option<Group>,
    /// bubblewrap, which waits for the jail's PID 1 and ends with it.
    bwrap: Child,
    bwrap_fd: OwnedFd,
    /// The jail's PID 1; `None` if bubblewrap failed before it existed.
    init_fd: Option<OwnedFd>,
    log: LogTail,
    exit: Option<ExitStatus>,
    /// Kept open: bubblewrap reports its exit here, and a closed pipe would kill it.
    status: Status,
}

impl JailProcess {
    /// `false` if bubblewrap failed or took too long.
    fn wait_for_start(&mut self) -> Result<bool, JailError> {
        let deadline = Instant::now() + START_WAIT;
        while Instant::now() < deadline {
            let tick = Instant::now() + Duration::from_millis(1);
            let ended =
                wait_readable(&self.bwrap_fd, tick).map_err(JailError::system("waiting for a jail"))?;
            self.status.read()?;
            if self.init_fd.is_none()
                && let Some(pid) = self.status.child_pid()
            {
                self.pid = pid;
                self.init_fd = match pidfd(pid) {
                    // It has ended; bubblewrap's exit status says why.
                    Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => None,
                    other => Some(other.map_err(JailError::system("watching a jail"))?),
                };
            }
            if ended {
                self.reap()?;
                return Ok(self.status.program_ran());
            }
            if self.init_fd.is_some() && runs_its_program(self.pid) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The jail's PID 1, seen from the host.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The jail's user on the host.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    pub fn state(&self) -> JailState {
        match self.exit {
            None => JailState::Running,
            // bubblewrap returns its child's code, and 128 + n for signal n.
            Some(status) => JailState::Exited { code: status.code(), signal: status.signal() },
        }
    }

    pub fn stats(&self) -> Result<Option<JailStats>, JailError> {
        self.group.as_ref().map(Group::stats).transpose()
    }

    pub fn log_text(&mut self) -> Result<String, JailError> {
        self.log.read_rest().map_err(JailError::system("reading the jail's output"))?;
        Ok(self.log.text())
    }

    /// Descriptors that become readable when there is output, or at the end.
    pub fn event_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let end = self.exit.is_none().then_some(self.bwrap_fd.as_fd());
        self.log.pipe().into_iter().chain(end)
    }

    /// Reads one piece of output, and notices the end.
    pub fn read_events(&mut self) -> Result<(), JailError> {
        self.log.read().map_err(JailError::system("reading the jail's output"))?;
        self.reap()
    }

    fn reap(&mut self) -> Result<(), JailError> {
        if self.exit.is_none() {
            self.exit = self.bwrap.try_wait().map_err(JailError::system("waiting for a jail"))?;
        }
        Ok(())
    }

    /// Kills all processes in the jail by killing its PID 1; does not wait. bubblewrap notices and ends by itself, so
    /// that PID 1 does not become a zombie of the host's init.
    pub fn kill(&self) -> Result<(), JailError> {
        match &self.init_fd {
            Some(init) => kill(init),
            None if self.exit.is_none() => kill(&self.bwrap_fd),
            None => Ok(()),
        }
    }

    /// Kills the remaining processes and removes the cgroup; returns the last statistics. May be repeated after a
    /// failure.
    pub fn end(&mut self) -> Result<Option<JailStats>, JailError> {
        // If an earlier attempt removed the cgroup, there are no statistics.
        let existing = self.group.as_ref().filter(|group| group.exists());
        let stats = existing.map(Group::stats).transpose()?;
        self.kill()?;
        self.wait_for_end()?;
        if let Some(group) = &self.group {
            group.kill_all()?.ok_or_else(|| JailError::StillAlive { id: self.id.clone() })?;
            group.remove()?;
        }
        fs::remove_dir_all(&self.dir)
            .or_else(ignore_missing)
            .map_err(JailError::file("removing", &self.dir))?;
        Ok(stats)
    }

    fn wait_for_end(&mut self) -> Result<(), JailError> {
        let ended = |fd: &OwnedFd, wait| {
            wait_readable(fd, Instant::now() + wait).map_err(JailError::system("waiting for a jail"))
        };
        let init_ended = self.init_fd.as_ref().map_or(Ok(true), |init| ended(init, END_WAIT))?;
        if !ended(&self.bwrap_fd, END_WAIT / 2)? {
            kill(&self.bwrap_fd)?;
        }
        if !init_ended || !ended(&self.bwrap_fd, END_WAIT / 2)? {
            return Err(JailError::StillAlive { id: self.id.clone() });
        }
        self.reap()
    }
}

/// bubblewrap's reports: the PID of its child, and finally its exit code, if the program ran.
#[derive(Debug)]
struct Status {
    pipe: OwnedFd,
    text: Vec<u8>,
}

impl Status {
    /// A few hundred bytes are usual; more is ignored.
    const MAX_BYTES: usize = 4096;

    fn new(pipe: OwnedFd) -> Status {
        Status { pipe, text: Vec::new() }
    }

    fn read(&mut self) -> Result<(), JailError> {
        let mut chunk = [0; 1024];
        while self.text.len() < Status::MAX_BYTES {
            match rustix::io::read(&self.pipe, &mut chunk) {
                Ok(0) | Err(Errno::AGAIN) => break,
                Ok(length) => self.text.extend(chunk.iter().take(length)),
                Err(Errno::INTR) => {}
                Err(error) => return Err(JailError::system("reading bubblewrap's status")(error)),
            }
        }
        Ok(())
    }

    fn value(&self, key: &str) -> Option<i64> {
        let documents = serde_json::Deserializer::from_slice(&self.text).into_iter::<serde_json::Value>();
        documents.filter_map(Result::ok).find_map(|document| document.get(key)?.as_i64())
    }

    fn child_pid(&self) -> Option<u32> {
        u32::try_from(self.value("child-pid")?).ok()
    }

    /// bubblewrap omits the exit code if it could not set the jail up or execute its program.
    fn program_ran(&self) -> bool {
        self.value("exit-code").is_some()
    }
}

/// Whether bubblewrap's child has executed the jail's program.
fn runs_its_program(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() != "bwrap")
}

/// Root switches to the user that `prepare` gave the folder to; other users stay who they are.
fn jail_user(owner: u32, dir: &Path) -> Result<Option<u32>, JailError> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    if JAIL_USERS.contains(&owner) {
        return Ok(Some(owner));
    }
    Err(JailError::UnsafeRuntimeDir { path: dir.to_owned(), why: "it does not belong to a jail's user" })
}

fn kill(process: &OwnedFd) -> Result<(), JailError> {
    match pidfd_send_signal(process, Signal::KILL) {
        Ok(()) | Err(Errno::SRCH) => Ok(()),
        Err(error) => Err(JailError::system("killing a jail")(error)),
    }
}

fn open_folder(path: &Path) -> Result<OwnedFd, JailError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    opened.map_err(|error| JailError::file("opening", path)(error.into()))
}

/// Both ends close on exec; reading does not block.
fn pipe() -> Result<(OwnedFd, OwnedFd), JailError> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).map_err(JailError::system("making a pipe"))?;
    rustix::io::ioctl_fionbio(&read, true).map_err(JailError::system("making a pipe"))?;
    Ok((read, write))
}
