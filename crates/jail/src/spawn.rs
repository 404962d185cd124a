//! Starts bubblewrap: the steps of the child between fork and exec.

use crate::JailError;
use rustix::process::{
    Resource, Rlimit, Signal, getpid, getppid, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The kernel writes no core file below one page, and gives nothing to a `|handler` in core_pattern when
/// the limit is exactly 1; with 0 it would still feed the jail's memory to that handler on the host.
const CORE_LIMIT: u64 = 1;

/// Signals that a keeper ignores. exec keeps that, so a child must undo it.
pub(crate) const KEEPER_IGNORES: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

pub(crate) struct Launch {
    pub command: Command,
    /// `cgroup.procs` files, opened for writing.
    pub join: Vec<File>,
    /// Descriptors that the program inherits; their numbers are passed to it.
    pub pass: Vec<OwnedFd>,
    /// The user and group to become.
    pub user: Option<u32>,
    pub open_files: u64,
    /// Limit on the processes of `user`, if no cgroup counts them.
    pub processes: Option<u64>,
    pub output: OwnedFd,
}

/// Starts the program in its cgroups, with its limits and its user. It dies with this process.
pub(crate) fn launch(launch: Launch) -> Result<Child, JailError> {
    let Launch { mut command, join, pass, user, open_files, processes, output } = launch;
    let errors = output.try_clone().map_err(JailError::system("sharing the log pipe"))?;
    command.env_clear().stdin(Stdio::null()).stdout(output).stderr(errors);

    let parent = getpid();
    let between = move || -> io::Result<()> {
        // First, so that no memory and no process goes uncounted.
        for procs in &join {
            rustix::io::write(procs, b"0")?;
        }
        limit(Resource::Nofile, open_files)?;
        limit(Resource::Core, CORE_LIMIT)?;
        if let Some(processes) = processes {
            limit(Resource::Nproc, processes)?;
        }
        for signal in KEEPER_IGNORES {
            default_signal(signal)?;
        }
        if let Some(id) = user {
            let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
            set_thread_groups(&[])?;
            set_thread_res_gid(gid, gid, gid)?;
            set_thread_res_uid(uid, uid, uid)?;
        }
        // After the change of user, which clears it. Then checks whether the parent has died before.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // No other descriptor of this process, inherited or its own, may enter the jail.
        close_on_exec_from(FIRST_INHERITED)?;
        for fd in &pass {
            rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: the closure runs after fork and makes system calls only: no allocation, no locks.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(between);
    }
    command.spawn().map_err(JailError::system("starting bubblewrap"))
}

/// Ignores the signals that a terminal or a service manager sends to the control plane.
pub(crate) fn ignore_signals() -> io::Result<()> {
    KEEPER_IGNORES.iter().try_for_each(|&signal| set_signal(signal, libc::SIG_IGN))
}

/// The first descriptor after the standard three.
const FIRST_INHERITED: libc::c_uint = 3;

/// Closes every descriptor but the standard three. For the start of a process, before it opens any.
pub(crate) fn close_inherited() -> io::Result<()> {
    // SAFETY: nothing in this process owns a descriptor from 3 up yet.
    #[allow(unsafe_code)]
    let closed = unsafe { libc::syscall(libc::SYS_close_range, FIRST_INHERITED, libc::c_uint::MAX, 0) };
    if closed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Marks every descriptor from `first` up to be closed by exec. A plain system call, so usable after fork.
fn close_on_exec_from(first: libc::c_uint) -> io::Result<()> {
    // SAFETY: no descriptor is closed before exec, where none of this process's memory remains.
    #[allow(unsafe_code)]
    let marked =
        unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if marked == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Starts a session of its own, so that Ctrl-C at a terminal does not reach the child.
pub(crate) fn in_own_session(command: &mut Command) -> &mut Command {
    // SAFETY: setsid is a plain system call.
    #[allow(unsafe_code)]
    unsafe {
        command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?))
    }
}

fn default_signal(signal: libc::c_int) -> io::Result<()> {
    set_signal(signal, libc::SIG_DFL)
}

fn set_signal(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: SIG_IGN and SIG_DFL are handlers without code.
    #[allow(unsafe_code)]
    let before = unsafe { libc::signal(signal, handler) };
    if before == libc::SIG_ERR { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn limit(resource: Resource, value: u64) -> io::Result<()> {
    // Never above the current hard limit, which an ordinary user may only lower.
    let value = rustix::process::getrlimit(resource).maximum.map_or(value, |most| value.min(most));
    Ok(setrlimit(resource, Rlimit { current: Some(value), maximum: Some(value) })?)
}
