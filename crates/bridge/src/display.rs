//! The X server for a headed Chromium: Xvfb on display 99, reached by its socket in the jail's `/tmp`.

use crate::args::Screen;
use crate::children::{Child, Children};
use crate::log::Log;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep};

/// What Chromium finds the server by.
pub const DISPLAY: &str = ":99";

const PROGRAM: &str = "/usr/bin/Xvfb";
const SOCKET_FOLDER: &str = "/tmp/.X11-unix";
const SOCKET: &str = "/tmp/.X11-unix/X99";
const LOCK: &str = "/tmp/.X99-lock";
/// Past this the start has failed.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(5);

#[derive(Debug, thiserror::Error)]
pub enum DisplayError {
    #[error("cannot prepare {path}")]
    Prepare { path: &'static str, source: io::Error },
    #[error("cannot run {PROGRAM}")]
    Spawn { source: io::Error },
    #[error("Xvfb ended before it accepted a connection")]
    Ended,
    #[error("Xvfb accepted no connection within {} s", PATIENCE.as_secs())]
    Silent,
}

/// Starts Xvfb and waits until it accepts connections.
pub async fn start(screen: Screen, children: &Children, log: &Log) -> Result<Child, DisplayError> {
    // Xvfb makes this folder only when it is root.
    match std::fs::DirBuilder::new().mode(0o1777).create(SOCKET_FOLDER) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
            return Err(DisplayError::Prepare { path: SOCKET_FOLDER, source });
        }
        _ => {}
    }
    // A server that was killed leaves these; the lock's process id may belong to another by now.
    for path in [LOCK, SOCKET] {
        remove_if_there(path).map_err(|source| DisplayError::Prepare { path, source })?;
    }
    let mut command = Command::new(PROGRAM);
    let size = format!("{}x{}x24", screen.width, screen.height);
    command.args([DISPLAY, "-screen", "0", &size, "-nolisten", "tcp", "-noreset"]);
    let mut child = children.spawn(command, log).map_err(|source| DisplayError::Spawn { source })?;
    let deadline = Instant::now() + PATIENCE;
    while UnixStream::connect(SOCKET).await.is_err() {
        if !child.is_running() {
            return Err(DisplayError::Ended);
        }
        if Instant::now() >= deadline {
            return Err(DisplayError::Silent);
        }
        sleep(POLL).await;
    }
    Ok(child)
}

fn remove_if_there(path: &str) -> io::Result<()> {
    match std::fs::remove_file(Path::new(path)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
