//! bubblewrap: finds it, and builds its arguments for a jail.

use crate::wait::{find_program, run_tool};
use crate::{JailError, Limits};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The jail's user and group, seen from inside.
pub(crate) const INNER_USER: &str = "1000";

/// The mount point of a jail's folder with its two sockets.
const SOCKETS: &str = "/run/stockade";

/// Descriptors that bubblewrap inherits and closes before it runs the jail's program.
pub(crate) struct PassedFds<'a> {
    pub root: BorrowedFd<'a>,
    pub sockets: BorrowedFd<'a>,
    pub filter: BorrowedFd<'a>,
    pub status: BorrowedFd<'a>,
}

pub(crate) fn find() -> Result<PathBuf, JailError> {
    find_program("bwrap").ok_or(JailError::BubblewrapMissing)
}

/// The version, if it has the features that jails need.
pub(crate) fn check(program: &Path) -> Result<String, JailError> {
    let run = |argument: &str| run_tool(Command::new(program).arg(argument)).map(|tool| tool.stdout);
    let version = run("--version").map_err(JailError::file("running", program))?;
    let version = version.trim().trim_start_matches("bubblewrap ").to_owned();
    let help = run("--help").map_err(JailError::file("running", program))?;
    if help.contains("--ro-bind-fd") { Ok(version) } else { Err(JailError::BubblewrapOld { version }) }
}

/// All namespaces unshared, no capabilities, and death with the parent.
pub(crate) fn isolation() -> Vec<&'static str> {
    vec![
        "--unshare-user",
        "--unshare-pid",
        "--unshare-net",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup",
        "--uid",
        INNER_USER,
        "--gid",
        INNER_USER,
        "--cap-drop",
        "ALL",
        "--die-with-parent",
        // Without a controlling terminal of the host, into which it could push keys.
        "--new-session",
    ]
}

/// Folders are passed as descriptors: the jail's user need not be able to reach their paths on the host, and nobody can
/// replace a path between our check and the mount.
pub(crate) fn arguments(
    passed: &PassedFds<'_>,
    limits: &Limits,
    env: &[(String, String)],
    command: &[String],
) -> Vec<String> {
    let mut arguments: Vec<String> = isolation().into_iter().map(str::to_owned).collect();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|&word| word.to_owned()));
    let number = |fd: BorrowedFd<'_>| fd.as_raw_fd().to_string();

    add(&["--as-pid-1", "--hostname", "jail", "--chdir", "/", "--clearenv"]);
    for (name, value) in env {
        add(&["--setenv", name, value]);
    }
    add(&["--ro-bind-fd", &number(passed.root), "/"]);
    add(&["--proc", "/proc", "--dev", "/dev"]);
    // A tmpfs without a size may take half of the machine's memory.
    add(&["--size", &limits.shm_bytes.to_string(), "--tmpfs", "/dev/shm"]);
    add(&["--size", &limits.tmp_bytes.to_string(), "--tmpfs", "/tmp"]);
    add(&["--ro-bind-fd", &number(passed.sockets), SOCKETS]);
    // /dev is a tmpfs too; the mounts below it, such as /dev/shm, keep their own flags.
    add(&["--remount-ro", "/dev"]);
    add(&["--seccomp", &number(passed.filter), "--json-status-fd", &number(passed.status), "--"]);
    add(&command.iter().map(String::as_str).collect::<Vec<_>>());
    arguments
}
