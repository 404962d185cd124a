//! What this machine offers for jails, for `doctor` and for the start of a keeper.

use crate::cgroup::Cgroups;
use crate::keeper::random_user;
use crate::spawn::{Launch, launch};
use crate::wait::wait_for_tool;
use crate::{CgroupChoice, Enforcement, Id, JailError, bwrap};
use rustix::process::geteuid;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

/// One thing looked at: what was found, or what is wrong (with its hint).
pub type Finding<T> = Result<T, JailError>;

#[derive(Debug)]
pub struct HostProbe {
    /// bubblewrap's version.
    pub bubblewrap: Finding<String>,
    /// Found out by trying, as the user that a jail would have.
    pub namespaces: Finding<()>,
    pub limits: Finding<Enforcement>,
}

/// Changes nothing, and leaves nothing behind.
pub fn probe_host(cgroup: &CgroupChoice) -> HostProbe {
    let program = bwrap::find();
    let namespaces = match &program {
        Ok(program) => try_namespaces(program),
        Err(_) => Err(JailError::BubblewrapMissing),
    };
    let limits = Id::random().and_then(|id| Cgroups::find(cgroup, id));
    HostProbe {
        bubblewrap: program.and_then(|program| bwrap::check(&program)),
        namespaces,
        limits: limits.map(|groups| groups.map_or(Enforcement::Weaker, |groups| groups.enforcement())),
    }
}

/// Makes the namespaces of a jail, around a program that does nothing.
pub(crate) fn try_namespaces(program: &Path) -> Result<(), JailError> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(JailError::system("making a pipe"))?;
    let mut command = Command::new(program);
    command.args(bwrap::isolation()).args(["--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/true"]);
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
    let mut complaint = Vec::new();
    fs::File::from(read)
        .take(4096)
        .read_to_end(&mut complaint)
        .map_err(JailError::system("hearing bubblewrap"))?;
    if status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&complaint);
    Err(forbidden(complaint.trim(), |path| fs::read_to_string(path).ok()))
}

/// The setting that most likely stands in the way, with the command that changes it.
fn forbidden(complaint: &str, read: impl Fn(&str) -> Option<String>) -> JailError {
    const BARS: [(&str, &str, &str); 3] = [
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("user.max_user_namespaces", "0", "15000"),
    ];
    for (name, bad, good) in BARS {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        if read(&path).is_some_and(|value| value.trim() == bad) {
            return JailError::NamespacesForbidden {
                why: format!("{name} is {bad} ({complaint})"),
                mend: format!(
                    "Run: echo {name}={good} | sudo tee /etc/sysctl.d/60-stockade.conf && sudo sysctl --system"
                ),
            };
        }
    }
    JailError::NamespacesForbidden {
        why: complaint.to_owned(),
        mend: "In a container, allow user namespaces (Docker: --security-opt seccomp=unconfined \
               --security-opt apparmor=unconfined); elsewhere, look at the kernel's log: dmesg | tail"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for (file, value, mend) in cases {
            let error = forbidden("no", |path| (path == file).then(|| value.to_owned()));
            assert_eq!(error.code(), "namespaces_forbidden");
            assert!(error.hint().contains(mend), "{file}: {}", error.hint());
        }
    }
}
