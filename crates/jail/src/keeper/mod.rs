//! The keeper: one process for each control plane, which starts its jails and outlives it just long enough
//! to clear them away. This file is the control plane's handle on it.

mod jail;
mod log;
mod process;
mod types;
mod wire;

pub use process::main;
pub use types::{JailInfo, JailSpec, JailState, KeeperInfo, KeeperOptions, Prepared};

use crate::instance::{self, Instance};
use crate::wait::{pidfd, wait_readable};
use crate::{Enforcement, Id, JailError, Stats, bwrap, probe, spawn};
use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown, lchown};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wire::{Packet, Reply, Request, Setup, receive_packet, send_packet};

/// Users that no distribution, no container tool and no systemd hands out. A jail gets one at random: the
/// odds that two of a thousand jails on a machine share one are 1 in 200.
const JAIL_USERS: Range<u32> = 1_900_000_000..2_000_000_000;

/// Every request is answered within this, or the keeper counts as lost. Ending a jail that does not want
/// to die takes the longest, at 4 s.
const ANSWER_WAIT: Duration = Duration::from_secs(10);

/// One keeper process, and through it all jails of this control plane. Dropping it ends them all.
#[derive(Debug)]
pub struct Keeper {
    info: KeeperInfo,
    instance: Instance,
    child: Mutex<Child>,
    pidfd: OwnedFd,
    /// `None` once closed, which is what tells the keeper to end.
    channel: Mutex<Option<Channel>>,
}

#[derive(Debug)]
struct Channel {
    socket: OwnedFd,
    asked: u64,
}

impl Keeper {
    /// Reaps dead instances, makes a new one and starts its keeper.
    pub fn start(options: KeeperOptions) -> Result<Keeper, JailError> {
        let bwrap = bwrap::find()?;
        bwrap::check(&bwrap)?;
        probe::try_namespaces(&bwrap)?;
        let (instance, reaped) = Instance::make(&options.runtime_dir, &options.cgroup)?;
        let started = spawn_keeper(&options, &instance);
        let (child, pidfd, socket) = match started {
            Ok(started) => started,
            Err(error) => {
                instance::clear(&instance.dir, instance.cgroups.as_ref())?;
                return Err(error);
            }
        };
        let info = KeeperInfo {
            instance: instance.id.clone(),
            instance_dir: instance.dir.clone(),
            pid: child.id(),
            enforcement: instance.cgroups.as_ref().map_or(Enforcement::Weaker, |groups| groups.enforcement()),
            reaped,
        };
        let setup =
            Setup { dir: instance.dir.clone(), cgroups: instance.cgroups.clone(), bwrap: bwrap.clone() };
        let channel = Mutex::new(Some(Channel { socket, asked: 0 }));
        let keeper = Keeper { info, instance, child: Mutex::new(child), pidfd, channel };
        keeper.ask(Request::Setup(setup))?;
        Ok(keeper)
    }

    pub fn info(&self) -> &KeeperInfo {
        &self.info
    }

    /// Readable once the keeper is dead, and every jail with it.
    pub fn pidfd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }

    /// Makes a jail's folder, with both sockets listening, that only the jail's user and we can enter.
    pub fn prepare(&self, id: &Id) -> Result<Prepared, JailError> {
        let dir = self.instance.dir.join(id.as_str());
        match DirBuilder::new().mode(0o700).create(&dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(JailError::JailExists { id: id.clone() });
            }
            other => other.map_err(JailError::file("making", &dir))?,
        }
        self.fill(id, &dir).inspect_err(|_| {
            // The first error is the one to tell; destroying the jail removes what this could not.
            fs::remove_dir_all(&dir).unwrap_or_default();
        })
    }

    fn fill(&self, id: &Id, dir: &Path) -> Result<Prepared, JailError> {
        let user = if geteuid().is_root() { Some(random_user()?) } else { None };
        let cdp = listen(dir, "cdp.sock", user)?;
        let egress = listen(dir, "egress.sock", user)?;
        // Last: until now it was ours alone.
        if user.is_some() {
            chown(dir, user, user).map_err(JailError::file("giving away", dir))?;
        }
        Ok(Prepared { id: id.clone(), dir: dir.to_owned(), cdp, egress })
    }

    /// Starts a prepared jail; its program runs when this returns. No CPU limit yet, see
    /// [`set_cpu`](Keeper::set_cpu).
    pub fn create(&self, spec: &JailSpec) -> Result<JailInfo, JailError> {
        match self.ask_about(&spec.id, Request::Create(spec.clone()))? {
            Reply::Created(info) => Ok(info),
            other => Err(out_of_turn(&other)),
        }
    }

    /// `None` when there is no such jail.
    pub fn state(&self, id: &Id) -> Result<Option<JailState>, JailError> {
        match self.ask_about(id, Request::State(id.clone()))? {
            Reply::State(state) => Ok(state),
            other => Err(out_of_turn(&other)),
        }
    }

    /// `None` in the weaker mode, where nothing counts.
    pub fn stats(&self, id: &Id) -> Result<Option<Stats>, JailError> {
        match self.ask_about(id, Request::Stats(id.clone()))? {
            Reply::Stats(stats) => Ok(stats),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Limits the jail's CPU time to a share of one processor, or lifts the limit.
    pub fn set_cpu(&self, id: &Id, cpu: Option<f64>) -> Result<(), JailError> {
        self.ask_about(id, Request::SetCpu(id.clone(), cpu)).map(drop)
    }

    /// The end of what the jail's PID 1 and bubblewrap printed, as plain text.
    pub fn log_tail(&self, id: &Id) -> Result<String, JailError> {
        match self.ask_about(id, Request::LogTail(id.clone()))? {
            Reply::Log(text) => Ok(text),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Ends a jail and removes its folder; its last counts, if it was there. Fine when already gone.
    pub fn destroy(&self, id: &Id) -> Result<Option<Stats>, JailError> {
        match self.ask_about(id, Request::Destroy(id.clone()))? {
            Reply::Stats(stats) => Ok(stats),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Ends all jails and the keeper, and waits for it; what is asked of it later fails. Twice is fine.
    /// Dropping does the same, without a word.
    pub fn shutdown(&self) -> Result<(), JailError> {
        // Held to the end, so that whoever comes second does not return before all is gone either.
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner).take();
        if channel.is_none() {
            return Ok(());
        }
        drop(channel);
        let ended = wait_readable(&self.pidfd, Instant::now() + ANSWER_WAIT)
            .map_err(JailError::system("waiting for the keeper"))?;
        if !ended {
            child.kill().map_err(JailError::system("killing the keeper"))?;
        }
        child.wait().map_err(JailError::system("waiting for the keeper"))?;
        // Nothing is left unless the keeper itself was killed.
        instance::clear(&self.instance.dir, self.instance.cgroups.as_ref()).map(drop)
    }

    /// Whether [`shutdown`](Keeper::shutdown) was called: its end is then no loss.
    pub fn is_shut_down(&self) -> bool {
        self.channel.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn ask_about(&self, id: &Id, request: Request) -> Result<Reply, JailError> {
        match self.ask(request)? {
            Reply::Failed(fault) => Err(fault.about(id)),
            other => Ok(other),
        }
    }

    fn ask(&self, request: Request) -> Result<Reply, JailError> {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = channel.as_mut().ok_or_else(|| lost("it was shut down"))?;
        channel.ask(request)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Nobody is left to tell; what an error leaves behind is the reaper's.
        self.shutdown().unwrap_or_default();
    }
}

impl Channel {
    fn ask(&mut self, request: Request) -> Result<Reply, JailError> {
        self.asked += 1;
        send_packet(&self.socket, &Packet { number: self.asked, body: request }).map_err(
            |error| match error.kind() {
                io::ErrorKind::InvalidInput => JailError::System { what: "asking too much", source: error },
                _ => lost(&error.to_string()),
            },
        )?;
        let deadline = Instant::now() + ANSWER_WAIT;
        while wait_readable(&self.socket, deadline).map_err(|error| lost(&error.to_string()))? {
            match receive_packet::<Reply>(&self.socket) {
                Ok(Some(Packet { number, body })) if number == self.asked => return Ok(body),
                Ok(Some(_)) => {}
                Ok(None) => return Err(lost("it ended")),
                Err(error) => return Err(lost(&error.to_string())),
            }
        }
        Err(lost("it does not answer"))
    }
}

fn spawn_keeper(
    options: &KeeperOptions,
    instance: &Instance,
) -> Result<(Child, OwnedFd, OwnedFd), JailError> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(JailError::system("making a socket pair"))?;
    let lock = instance.lock.share().map_err(JailError::system("sharing the lock"))?;
    let mut command = Command::new(&options.executable);
    command.arg0("jail-keeper").args(&options.arguments).stdin(theirs).stdout(lock);
    let child = spawn::in_own_session(&mut command)
        .spawn()
        .map_err(JailError::file("starting the keeper", &options.executable))?;
    let pidfd = pidfd(child.id()).map_err(JailError::system("watching the keeper"))?;
    Ok((child, pidfd, ours))
}

fn listen(dir: &Path, name: &str, user: Option<u32>) -> Result<UnixListener, JailError> {
    let path = dir.join(name);
    let fail = |source| JailError::File { what: "listening on", path: path.clone(), source };
    // By descriptor: a Unix socket's path has at most 107 bytes, and a folder may lie deep.
    let folder = rustix::fs::open(dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|error| fail(error.into()))?;
    let short = format!("/proc/self/fd/{}/{name}", folder.as_raw_fd());
    let listener = UnixListener::bind(short).map_err(fail)?;
    listener.set_nonblocking(true).map_err(fail)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(fail)?;
    if user.is_some() {
        lchown(&path, user, user).map_err(fail)?;
    }
    Ok(listener)
}

pub(crate) fn random_user() -> Result<u32, JailError> {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).map_err(|source| JailError::NoRandomness { source })?;
    Ok(JAIL_USERS.start + u32::from_ne_bytes(bytes) % (JAIL_USERS.end - JAIL_USERS.start))
}

fn lost(why: &str) -> JailError {
    JailError::KeeperLost { why: why.to_owned() }
}

fn out_of_turn(reply: &Reply) -> JailError {
    lost(&format!("it gave an answer to another question: {reply:?}"))
}
