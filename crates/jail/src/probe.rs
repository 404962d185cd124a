//! Checks whether this machine can run jails, for `doctor` and for the start of an instance.

use crate::cgroup::Cgroups;
use crate::jail_user::random_user;
use crate::spawn::{Launch, launch};
use crate::wait::wait_for_tool;
use crate::{CgroupChoice, Enforcement, InstanceId, JailError, bwrap};
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

/// Results of checks of this machine.
#[derive(Debug)]
pub struct HostProbe {
    /// bubblewrap's version.
    pub bubblewrap: Result<String, JailError>,
    /// Tried as the user that a jail would have.
    pub namespaces: Result<(), JailError>,
    pub limits: Result<Enforcement, JailError>,
}

/// Leaves nothing behind.
pub fn probe_host(cgroup: &CgroupChoice) -> HostProbe {
    let program = bwrap::find();
    let namespaces = match &program {
        Ok(program) => try_namespaces(program),
        Err(_) => Err(JailError::BubblewrapMissing),
    };
    let limits = InstanceId::random()
        .map_err(|source| JailError::NoRandomness { source })
        .and_then(|id| Cgroups::find(cgroup, id));
    HostProbe {
        bubblewrap: program.and_then(|program| bwrap::check(&program)),
        namespaces,
        limits: limits.map(|groups| groups.map_or(Enforcement::Weaker, |groups| groups.enforcement())),
    }
}

/// Makes the namespaces of a jail, and inside them those of Chromium's own sandbox, around a program that does nothing.
/// Some machines allow only the outer ones.
pub(crate) fn try_namespaces(program: &Path) -> Result<(), JailError> {
    let chromium: [&OsStr; 7] = [
        program.as_os_str(),
        OsStr::new("--unshare-user"),
        OsStr::new("--unshare-pid"),
        OsStr::new("--unshare-net"),
        OsStr::new("--ro-bind"),
        OsStr::new("/"),
        OsStr::new("/"),
    ];
    let read = |path: &str| fs::read_to_string(path).ok();
    if let Some(stderr) = run_isolated(program, &[])? {
        return Err(forbidden(&stderr, read));
    }
    match run_isolated(program, &chromium)? {
        Some(stderr) => {
            let stderr = format!("inside a jail, where Chromium's own sandbox needs them: {stderr}");
            Err(forbidden(&stderr, read))
        }
        None => Ok(()),
    }
}

/// Runs a program that does nothing in the namespaces of a jail, behind `prefix`; returns bubblewrap's message on
/// failure.
fn run_isolated(program: &Path, prefix: &[&OsStr]) -> Result<Option<String>, JailError> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(JailError::system("making a pipe"))?;
    let mut command = Command::new(program);
    command.args(bwrap::isolation()).args(["--ro-bind", "/", "/", "--proc", "/proc", "--"]);
    command.args(prefix).arg("/bin/true");
    let user = if geteuid().is_root() { Some(random_user()?) } else { None };
    let mut child = launch(Launch {
        command,
        join: Vec::new(),
        pass: Vec::new(),
        user,
        open_files: 1024,
        processes: None,
        output: write,
    })?;
    let status = wait_for_tool(&mut child).map_err(JailError::system("waiting for bubblewrap"))?;
    let mut stderr = Vec::new();
    fs::File::from(read)
        .take(4096)
        .read_to_end(&mut stderr)
        .map_err(JailError::system("hearing bubblewrap"))?;
    Ok((!status.success()).then(|| String::from_utf8_lossy(&stderr).trim().to_owned()))
}

/// The setting that most likely prevents it, with the command that changes it.
fn forbidden(stderr: &str, read: impl Fn(&str) -> Option<String>) -> JailError {
    const SETTINGS: [(&str, &str, &str); 3] = [
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "15000"),
    ];
    for (name, bad, good) in SETTINGS {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        if read(&path).is_some_and(|value| value.trim() == bad) {
            return JailError::NamespacesForbidden {
                why: format!("{name} is {bad} ({stderr})"),
                fix: format!(
                    "Run: echo {name}={good} | sudo tee /etc/sysctl.d/60-stockade.conf && sudo sysctl --system"
                ),
            };
        }
    }
    JailError::NamespacesForbidden {
        why: stderr.to_owned(),
        fix: "In a container, allow user namespaces (Docker: --security-opt seccomp=unconfined \
               --security-opt apparmor=unconfined); in a chroot the kernel allows none; elsewhere, look at the kernel's log: dmesg | tail"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use error_code::ErrorCode;

    #[test]
    fn the_setting_in_the_way_is_named_with_the_command_that_changes_it() {
        let cases = [
            (
                "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
                "1\n",
                "restrict_unprivileged_userns=0",
            ),
            ("/proc/sys/kernel/unprivileged_userns_clone", "0\n", "unprivileged_userns_clone=1"),
            ("/proc/sys/user/max_user_namespaces", "0\n", "max_user_namespaces=15000"),
            ("/proc/sys/user/max_user_namespaces", "9\n", "dmesg"),
        ];
        for (file, value, fix) in cases {
            let error = forbidden("no", |path| (path == file).then(|| value.to_owned()));
            assert_eq!(error.code(), ErrorCode::NamespacesForbidden);
            assert!(error.hint().contains(fix), "{file}: {}", error.hint());
        }
    }
}
