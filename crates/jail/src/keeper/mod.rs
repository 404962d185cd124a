//! The keeper: one process per control plane that supervises its jails and outlives it just long enough to remove them.
//! This file is the control plane's handle.

mod process;
mod wire;

pub use process::main;

use crate::launch::LocalInstance;
use crate::runtime::Reaped;
use crate::wait::{pidfd, wait_readable};
use crate::{CgroupChoice, JailError, JailId, JailSpec, JailState, JailStats, LossNotifier, spawn};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wire::{Packet, Reply, Request, receive_packet, send_packet};

/// Timeout of every request; after it the keeper counts as lost. Ending a jail that resists takes the longest, 4 s.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);

/// The program that calls [`keeper::main`](main) when started with these arguments.
#[derive(Clone, Debug)]
pub struct KeeperCommand {
    pub program: PathBuf,
    pub arguments: Vec<String>,
}

impl Default for KeeperCommand {
    /// The running program, started again with the hidden argument `jail-keeper`.
    fn default() -> KeeperCommand {
        KeeperCommand { program: PathBuf::from("/proc/self/exe"), arguments: vec!["jail-keeper".to_owned()] }
    }
}

/// The first process of a jail, as seen from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessInfo {
    pub pid: u32,
    pub uid: u32,
}

/// A keeper process and the jails that it supervises. Dropping it ends them all.
#[derive(Debug)]
pub(crate) struct Keeper {
    instance: LocalInstance,
    reaped: Reaped,
    pid: u32,
    child: Mutex<Child>,
    pidfd: OwnedFd,
    /// `None` once closed, which ends the keeper.
    channel: Mutex<Option<Channel>>,
    /// Set before the keeper is asked to end, so that its end does not count as a loss.
    shut_down: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Channel {
    socket: OwnedFd,
    requests: u64,
}

impl Keeper {
    /// Reaps dead instances, makes a new one and starts its keeper.
    pub fn start(
        runtime_dir: &Path,
        cgroup: &CgroupChoice,
        command: &KeeperCommand,
    ) -> Result<Keeper, JailError> {
        let (instance, reaped) = LocalInstance::create(runtime_dir, cgroup)?;
        let (child, pidfd, socket) = match spawn_keeper(command, &instance) {
            Ok(spawned) => spawned,
            Err(error) => {
                instance.clear()?;
                return Err(error);
            }
        };
        let launcher = instance.launcher();
        let keeper = Keeper {
            instance,
            reaped,
            pid: child.id(),
            child: Mutex::new(child),
            pidfd,
            channel: Mutex::new(Some(Channel { socket, requests: 0 })),
            shut_down: Arc::default(),
        };
        keeper.send(Request::Setup(launcher))?;
        Ok(keeper)
    }

    pub fn instance(&self) -> &LocalInstance {
        &self.instance
    }

    pub fn reaped(&self) -> &Reaped {
        &self.reaped
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn start_jail(&self, spec: &JailSpec, root: &Path) -> Result<ProcessInfo, JailError> {
        let request = Request::Start { spec: spec.clone(), root: root.to_owned() };
        match self.request(&spec.id, request)? {
            Reply::Started(process) => Ok(process),
            other => Err(unexpected_reply(&other)),
        }
    }

    pub fn state(&self, id: &JailId) -> Result<Option<JailState>, JailError> {
        match self.request(id, Request::State(id.clone()))? {
            Reply::State(state) => Ok(state),
            other => Err(unexpected_reply(&other)),
        }
    }

    pub fn stats(&self, id: &JailId) -> Result<Option<JailStats>, JailError> {
        match self.request(id, Request::Stats(id.clone()))? {
            Reply::Stats(stats) => Ok(stats),
            other => Err(unexpected_reply(&other)),
        }
    }

    pub fn log_tail(&self, id: &JailId) -> Result<String, JailError> {
        match self.request(id, Request::LogTail(id.clone()))? {
            Reply::Log(text) => Ok(text),
            other => Err(unexpected_reply(&other)),
        }
    }

    pub fn destroy(&self, id: &JailId) -> Result<Option<JailStats>, JailError> {
        match self.request(id, Request::Destroy(id.clone()))? {
            Reply::Stats(stats) => Ok(stats),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Ends all jails and the keeper, and waits for it. Dropping does the same, and logs an error.
    pub fn shutdown(&self) -> Result<(), JailError> {
        // Held to the end, so that a second caller does not return early.
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        self.shut_down.store(true, Ordering::SeqCst);
        let channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner).take();
        if channel.is_none() {
            return Ok(());
        }
        drop(channel);
        let ended = wait_readable(&self.pidfd, Instant::now() + REPLY_TIMEOUT)
            .map_err(JailError::system("waiting for the keeper"))?;
        if !ended {
            child.kill().map_err(JailError::system("killing the keeper"))?;
        }
        child.wait().map_err(JailError::system("waiting for the keeper"))?;
        // Only a killed keeper leaves anything behind.
        self.instance.clear()
    }

    /// Watches the keeper in a thread of its own, without keeping this handle alive.
    pub fn on_lost(&self, notify: LossNotifier) -> Result<(), JailError> {
        let watching = JailError::system("watching the keeper");
        let pidfd = match self.pidfd.try_clone() {
            Ok(pidfd) => pidfd,
            Err(error) => return Err(watching(error)),
        };
        let shut_down = self.shut_down.clone();
        let watch = move || {
            let mut watched = [PollFd::new(&pidfd, PollFlags::IN)];
            let polled = loop {
                match poll(&mut watched, None) {
                    Err(Errno::INTR) => {}
                    other => break other,
                }
            };
            if shut_down.load(Ordering::SeqCst) {
                return;
            }
            match polled {
                Ok(_) => notify("it ended"),
                Err(error) => notify(&format!("it cannot be watched: {error}")),
            }
        };
        let thread = std::thread::Builder::new().name("keeper-watch".to_owned());
        thread.spawn(watch).map(drop).map_err(watching)
    }

    fn request(&self, id: &JailId, request: Request) -> Result<Reply, JailError> {
        match self.send(request)? {
            Reply::Failed(error) => Err(error.into_error(id)),
            other => Ok(other),
        }
    }

    fn send(&self, request: Request) -> Result<Reply, JailError> {
        let mut channel = self.channel.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = channel.as_mut().ok_or_else(|| lost("it was shut down"))?;
        channel.send(request)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // A reaper removes what remains after an error.
        if let Err(error) = self.shutdown() {
            tracing::warn!(%error, "the keeper was not shut down cleanly; `stockade jail reap` clears what it left");
        }
    }
}

impl Channel {
    fn send(&mut self, request: Request) -> Result<Reply, JailError> {
        self.requests += 1;
        send_packet(&self.socket, &Packet { number: self.requests, body: request }).map_err(|error| {
            match error.kind() {
                io::ErrorKind::InvalidInput => JailError::System { what: "asking too much", source: error },
                _ => lost(&error.to_string()),
            }
        })?;
        let deadline = Instant::now() + REPLY_TIMEOUT;
        while wait_readable(&self.socket, deadline).map_err(|error| lost(&error.to_string()))? {
            match receive_packet::<Reply>(&self.socket) {
                Ok(Some(Packet { number, body })) if number == self.requests => return Ok(body),
                Ok(Some(_)) => {}
                Ok(None) => return Err(lost("it ended")),
                Err(error) => return Err(lost(&error.to_string())),
            }
        }
        Err(lost("it does not answer"))
    }
}

fn spawn_keeper(
    keeper: &KeeperCommand,
    instance: &LocalInstance,
) -> Result<(Child, OwnedFd, OwnedFd), JailError> {
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
        .map_err(JailError::system("making a socket pair"))?;
    let lock = instance.share_lock().map_err(JailError::system("sharing the lock"))?;
    let mut command = Command::new(&keeper.program);
    command.arg0("jail-keeper").args(&keeper.arguments).stdin(theirs).stdout(lock);
    let child = spawn::in_own_session(&mut command)
        .spawn()
        .map_err(JailError::file("starting the keeper", &keeper.program))?;
    let pidfd = pidfd(child.id()).map_err(JailError::system("watching the keeper"))?;
    Ok((child, pidfd, ours))
}

fn lost(why: &str) -> JailError {
    JailError::RuntimeLost { why: why.to_owned() }
}

fn unexpected_reply(reply: &Reply) -> JailError {
    lost(&format!("it gave an answer to another question: {reply:?}"))
}
