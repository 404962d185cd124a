//! Chromium's lifecycle: started on a pipe, watched, and restarted when the host asks for it.

use crate::args::{Args, Screen};
use crate::children::{Child, Children};
use crate::display;
use crate::log::{Log, with_causes};
use crate::pipe::{BrowserVersion, Ending, Pipe};
use crate::state::{Run, Stage, State};
use bridge::wire::{PhaseName, ProcessState};
use command_fds::{CommandFdExt, FdMapping};
use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::oneshot::error::RecvError;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long the output of a dead Chromium is read: helpers of its own can hold it open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
/// How long Chromium may keep running after it closed its pipe. Then it is killed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
const ID_LENGTH: usize = 16;

pub struct Supervisor {
    pub args: Arc<Args>,
    pub children: Children,
    pub log: Log,
    pub state: watch::Sender<State>,
}

struct Started {
    child: Child,
    pipe: Pipe,
    reader: JoinHandle<()>,
}

impl Supervisor {
    /// Runs until the bridge ends.
    pub async fn supervise(self) {
        let mut display = None;
        let mut states = self.state.subscribe();
        while states.wait_for(State::is_starting).await.is_ok() {
            self.log.clear();
            match self.start(&mut display).await {
                Ok(mut started) => self.run(&mut started).await,
                Err(error) => self.log.note(format_args!("{}", with_causes(&error))),
            }
            self.state.send_modify(|state| state.stage = Stage::Down);
        }
    }

    /// The phase after `bridge`: what a restart begins with.
    pub fn first_phase(args: &Args) -> PhaseName {
        if args.display.is_some() { PhaseName::Display } else { PhaseName::Process }
    }

    /// Starts the display, when there is to be one and it is not there, and Chromium.
    async fn start(&self, display: &mut Option<Child>) -> Result<Started, StartError> {
        if let Some(screen) = self.args.display {
            if !display.as_mut().is_some_and(Child::is_running) {
                *display = Some(self.start_display(screen).await?);
            }
            self.state.send_modify(|state| state.pass(PhaseName::Process));
        }
        let started = self.start_chromium().map_err(|source| StartError::Chromium { source })?;
        self.state.send_modify(|state| {
            state.process = ProcessState::Running;
            state.pass(PhaseName::Http);
        });
        Ok(started)
    }

    async fn start_display(&self, screen: Screen) -> Result<Child, StartError> {
        let started = display::start(screen, &self.children, &self.log).await;
        started.map_err(|source| StartError::Display { source })
    }

    /// Chromium reads commands from descriptor 3 and answers on 4; one socket pair is both.
    fn start_chromium(&self) -> io::Result<Started> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut command = Command::new(&self.args.program);
        command.args(&self.args.program_args);
        if self.args.display.is_some() {
            command.env("DISPLAY", display::DISPLAY);
        }
        let mappings = vec![
            FdMapping { parent_fd: theirs.try_clone()?.into(), child_fd: 3 },
            FdMapping { parent_fd: theirs.into(), child_fd: 4 },
        ];
        command.fd_mappings(mappings).map_err(io::Error::other)?;
        let child = self.children.spawn(command, &self.log)?;
        let (pipe, reader) = Pipe::over(UnixStream::from_std(ours)?, self.log.clone());
        Ok(Started { child, pipe, reader })
    }

    /// From a started process to its end.
    async fn run(&self, started: &mut Started) {
        let early_end = tokio::select! {
            version = started.pipe.version() => {
                if let Some(version) = version {
                    self.mark_ready(started, version);
                }
                None
            }
            end = &mut started.child.end => Some(end),
        };
        let end = match early_end {
            Some(end) => end,
            None => self.wait_for_end(started).await,
        };
        self.drain_output(started).await;
        // The sender is with the reaper, which outlives every child.
        let process = end.unwrap_or(ProcessState::NotStarted);
        started.pipe.detach(Ending::BrowserGone { what: format!("chromium ended: {process}") });
        self.state.send_modify(|state| state.process = process);
    }

    fn mark_ready(&self, started: &Started, version: BrowserVersion) {
        match new_id() {
            Ok(id) => {
                let run = Arc::new(Run { id, version, pipe: started.pipe.clone() });
                self.state.send_modify(|state| {
                    state.pass(PhaseName::Http);
                    state.stage = Stage::Ready(run);
                });
            }
            // Without an id nobody can attach, so this run is useless.
            Err(error) => {
                self.log.note(format_args!("no random bytes for an id: {error}"));
                started.child.kill();
            }
        }
    }

    async fn wait_for_end(&self, started: &mut Started) -> Result<ProcessState, RecvError> {
        let Started { child, reader, .. } = started;
        tokio::select! {
            end = &mut child.end => return end,
            () = ended(reader) => {}
        }
        if let Ok(end) = timeout(EXIT_TIMEOUT, &mut child.end).await {
            return end;
        }
        self.log.note(format_args!("chromium closed its pipe and lived on; killed"));
        child.kill();
        (&mut child.end).await
    }

    /// Kills its helpers, so that a restart begins clean, and reads pipe and log to their ends.
    async fn drain_output(&self, started: &mut Started) {
        started.child.kill();
        let drained = async {
            ended(&mut started.reader).await;
            ended(&mut started.child.output).await;
        };
        if timeout(DRAIN_TIMEOUT, drained).await.is_err() {
            self.log.note(format_args!("something still holds chromium's output; not waited for"));
        }
    }
}

/// Waits for a reading task, which may have been waited for before.
async fn ended(task: &mut JoinHandle<()>) {
    if !task.is_finished() {
        // It can only end by returning: nothing aborts it.
        task.await.ok();
    }
}

fn new_id() -> Result<String, getrandom::Error> {
    let mut bytes = [0; ID_LENGTH];
    getrandom::fill(&mut bytes)?;
    Ok(hex::encode(bytes))
}

#[derive(Debug, thiserror::Error)]
enum StartError {
    #[error("no display")]
    Display { source: display::DisplayError },
    #[error("cannot start chromium")]
    Chromium { source: io::Error },
}
