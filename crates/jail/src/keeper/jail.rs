//! One jail in the hands of the keeper: started, watched, ended.

use super::log::LogTail;
use super::wire::Setup;
use super::{JAIL_USERS, JailInfo, JailSpec, JailState};
use crate::bwrap::{self, Passed};
use crate::cgroup::Group;
use crate::instance::ignore_missing;
use crate::spawn::{Launch, launch};
use crate::wait::{pidfd, wait_readable};
use crate::{JailError, Stats, seccomp};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, geteuid, pidfd_send_signal};
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

/// From fork to the jail's first own instruction; usually 20 ms.
const START_WAIT: Duration = Duration::from_secs(5);

/// From SIGKILL to the last process gone; usually 10 ms.
const END_WAIT: Duration = Duration::from_secs(2);

pub(super) struct Jail {
    info: JailInfo,
    dir: PathBuf,
    group: Option<Group>,
    /// bubblewrap, which waits for PID 1 and dies with it.
    bwrap: Child,
    bwrap_fd: OwnedFd,
    /// The jail's PID 1. `None`: bubblewrap failed before there was one.
    init_fd: Option<OwnedFd>,
    log: LogTail,
    exit: Option<ExitStatus>,
    /// Kept open: bubblewrap writes its last word here and must not die of a closed pipe instead.
    status: Status,
}

impl Jail {
    /// Starts a jail and waits until its program runs.
    pub fn start(spec: &JailSpec, setup: &Setup) -> Result<Jail, JailError> {
        let dir = setup.dir.join(spec.id.as_str());
        let group = setup.cgroups.as_ref().map(|groups| groups.create(&spec.id, &spec.limits)).transpose()?;
        let mut jail = match Jail::launch(spec, setup, dir, group.clone()) {
            Ok(jail) => jail,
            Err(error) => {
                if let Some(group) = group {
                    group.remove()?;
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

    fn launch(spec: &JailSpec, setup: &Setup, dir: PathBuf, group: Option<Group>) -> Result<Jail, JailError> {
        let owner = fs::symlink_metadata(&dir).map_err(JailError::file("looking at", &dir))?.uid();
        let user = jail_user(owner, &dir)?;
        let root = open_folder(&spec.root)?;
        let sockets = open_folder(&dir)?;
        let filter = seccomp::filter_file()?;
        let (status_in, status_out) = pipe()?;
        let (log_in, log_out) = pipe()?;

        let passed = Passed {
            root: root.as_fd(),
            sockets: sockets.as_fd(),
            filter: filter.as_fd(),
            status: status_out.as_fd(),
        };
        let mut command = Command::new(&setup.bwrap);
        command.args(bwrap::arguments(&passed, &spec.limits, &spec.env, &spec.command));
        let bwrap = launch(Launch {
            command,
            join: group.as_ref().map_or(Ok(Vec::new()), Group::join_files)?,
            pass: vec![root, sockets, filter, status_out],
            user,
            open_files: spec.limits.open_files,
            // Only where the user is the jail's own: another's processes would count too.
            processes: user.filter(|_| group.is_none()).map(|_| spec.limits.pids),
            output: log_out,
        })?;
        let bwrap_fd = pidfd(bwrap.id()).map_err(JailError::system("watching a jail"))?;
        let info = JailInfo { id: spec.id.clone(), pid: 0, uid: owner };
        let (log, status) = (LogTail::new(log_in), Status::new(status_in));
        Ok(Jail { info, dir, group, bwrap, bwrap_fd, init_fd: None, log, exit: None, status })
    }

    /// `false` when bubblewrap gave up, or took too long.
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
                self.info.pid = pid;
                // Gone already: bubblewrap's end tells which way.
                self.init_fd = pidfd(pid).ok();
            }
            if ended {
                self.reap()?;
                return Ok(self.status.program_ran());
            }
            if self.init_fd.is_some() && runs_its_program(self.info.pid) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub fn info(&self) -> &JailInfo {
        &self.info
    }

    pub fn state(&self) -> JailState {
        match self.exit {
            None => JailState::Running { pid: self.info.pid },
            // bubblewrap hands on its child's code, and 128 + n for signal n.
            Some(status) => JailState::Exited { code: status.code(), signal: status.signal() },
        }
    }

    pub fn stats(&self) -> Result<Option<Stats>, JailError> {
        self.group.as_ref().map(Group::stats).transpose()
    }

    pub fn set_cpu(&self, cpu: Option<f64>) -> Result<(), JailError> {
        self.group.as_ref().map_or(Ok(()), |group| group.set_cpu(cpu))
    }

    pub fn log_text(&mut self) -> Result<String, JailError> {
        self.log.read_rest().map_err(JailError::system("reading the jail's output"))?;
        Ok(self.log.text())
    }

    /// What to wait for: output, and the end.
    pub fn wakers(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let end = self.exit.is_none().then_some(self.bwrap_fd.as_fd());
        self.log.pipe().into_iter().chain(end)
    }

    /// Takes in one piece of output, and notices the end.
    pub fn attend(&mut self) -> Result<(), JailError> {
        self.log.read().map_err(JailError::system("reading the jail's output"))?;
        self.reap()
    }

    fn reap(&mut self) -> Result<(), JailError> {
        if self.exit.is_none() {
            self.exit = self.bwrap.try_wait().map_err(JailError::system("waiting for a jail"))?;
        }
        Ok(())
    }

    /// Kills every process in the jail, by its PID 1, and does not wait. bubblewrap sees that and ends by
    /// itself, so that PID 1 does not become a zombie of the host's init.
    pub fn kill(&self) -> Result<(), JailError> {
        match &self.init_fd {
            Some(init) => kill(init),
            None if self.exit.is_none() => kill(&self.bwrap_fd),
            None => Ok(()),
        }
    }

    /// Kills what runs and removes what is left; the last counts. May be called again if it failed.
    pub fn end(&mut self) -> Result<Option<Stats>, JailError> {
        // A cgroup that an earlier, failed, end removed has no counts any more.
        let there = self.group.as_ref().filter(|group| group.exists());
        let stats = there.map(Group::stats).transpose()?;
        self.kill()?;
        self.wait_for_end()?;
        if let Some(group) = &self.group {
            group.kill_all()?.ok_or_else(|| JailError::StillAlive { id: self.info.id.clone() })?;
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
            return Err(JailError::StillAlive { id: self.info.id.clone() });
        }
        self.reap()
    }
}

/// What bubblewrap reports: the PID of its child, and at the end its exit code, if the program ever ran.
struct Status {
    pipe: OwnedFd,
    text: Vec<u8>,
}

impl Status {
    /// A few hundred bytes are usual; what comes after this is not looked at.
    const MOST: usize = 4096;

    fn new(pipe: OwnedFd) -> Status {
        Status { pipe, text: Vec::new() }
    }

    fn read(&mut self) -> Result<(), JailError> {
        let mut chunk = [0; 1024];
        while self.text.len() < Status::MOST {
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

    /// bubblewrap leaves the exit code out when it could not set the jail up or execute its program.
    fn program_ran(&self) -> bool {
        self.value("exit-code").is_some()
    }
}

/// Whether the child of bubblewrap has become the jail's program.
fn runs_its_program(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() != "bwrap")
}

/// Root becomes the user that `prepare` gave the folder to; anyone else stays who they are.
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
