//! Waits for other processes, always with a time limit.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Timeout of a small host program on a slow disk. Then it is killed and counts as failed.
const TOOL_WAIT: Duration = Duration::from_secs(30);

/// Waits until a descriptor is readable or closed; `false` at the deadline.
pub(crate) fn wait_readable(fd: impl AsFd, deadline: Instant) -> io::Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        match poll(&mut fds, Some(&timespec(left))) {
            Ok(0) if left.is_zero() => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

/// A descriptor that is readable once the process has ended.
pub(crate) fn pidfd(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Waits for a host program to end.
pub(crate) fn wait_for_tool(child: &mut Child) -> io::Result<ExitStatus> {
    if !wait_readable(pidfd(child.id())?, Instant::now() + TOOL_WAIT)? {
        child.kill()?;
        child.wait()?;
        return Err(io::ErrorKind::TimedOut.into());
    }
    child.wait()
}

/// Finds a program in the absolute folders of `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"));
    std::env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| program.is_file())
}

/// The output of a host program, and whether it succeeded.
pub(crate) struct ToolOutput {
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a host program that prints little. One that fills the pipe (64 KiB) blocks, and is killed at its timeout.
pub(crate) fn run_tool(command: &mut Command) -> io::Result<ToolOutput> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let status = wait_for_tool(&mut child)?;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_end(&mut out)?;
    }
    if let Some(mut pipe) = child.stderr.take() {
        pipe.read_to_end(&mut err)?;
    }
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(ToolOutput { success: status.success(), stdout: text(out), stderr: text(err) })
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}
