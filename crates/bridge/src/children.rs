//! Starting processes and reaping all that end, as process 1 must.

use crate::log::{Log, to_stderr};
use bridge::wire::ProcessState;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Children whose end is waited for: Chromium and Xvfb, so never more than a few.
#[derive(Clone, Default)]
pub struct Children {
    awaited: Arc<Mutex<HashMap<i32, oneshot::Sender<ProcessState>>>>,
}

/// A started child, at the head of a process group of its own.
pub struct Child {
    group: Pid,
    pub end: oneshot::Receiver<ProcessState>,
    pub output: JoinHandle<()>,
}

impl Children {
    /// Starts the reaper. Everything here runs on one thread, so a child is registered before it can
    /// be reaped, and never while `spawn` waits for it.
    pub fn watch() -> io::Result<Children> {
        let children = Children::default();
        let mut ended = signal(SignalKind::child())?;
        let reaper = children.clone();
        tokio::spawn(async move {
            while ended.recv().await.is_some() {
                reaper.reap();
            }
        });
        Ok(children)
    }

    /// Signals coalesce, so each takes all that there is, orphans of others included.
    fn reap(&self) {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            let Some(state) = final_state(status) else { continue };
            let waiting = self.lock().remove(&pid.as_raw_nonzero().get());
            if let Some(waiting) = waiting {
                // The receiver may have gone already.
                waiting.send(state).ok();
            }
        }
    }

    /// Starts a program with nothing to read and its output in the log. The command is used up, because
    /// it holds our copies of the descriptors that it passes on.
    pub fn spawn(&self, mut command: Command, log: &Log) -> io::Result<Child> {
        let (output, into_log) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(into_log.try_clone()?).stderr(into_log).process_group(0);
        let output = log.follow(pipe::Receiver::from_owned_fd(OwnedFd::from(output))?);
        let child = command.spawn()?;
        let group = Pid::from_child(&child);
        let (sender, end) = oneshot::channel();
        self.lock().insert(group.as_raw_nonzero().get(), sender);
        Ok(Child { group, end, output })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i32, oneshot::Sender<ProcessState>>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Child {
    /// Ends it and what it started.
    pub fn kill(&self) {
        match rustix::process::kill_process_group(self.group, Signal::KILL) {
            // ESRCH: the group is empty already.
            Ok(()) | Err(Errno::SRCH) => {}
            Err(error) => to_stderr(&format!("bridge: cannot kill a process group: {error}\n")),
        }
    }

    pub fn is_running(&mut self) -> bool {
        matches!(self.end.try_recv(), Err(oneshot::error::TryRecvError::Empty))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

fn final_state(status: WaitStatus) -> Option<ProcessState> {
    let exited = status.exit_status().map(ProcessState::Exited);
    exited.or_else(|| status.terminating_signal().map(ProcessState::Signalled))
}
