//! Jails of an ordinary user, and the errors without permission. Root runs these tests and delegates.
#![allow(clippy::unwrap_used, reason = "in tests, helpers included, a panic is the report")]

mod common;

use common::{CONTROLLERS, Host, alive, first_line, host_program, kill, probe_program, wait_until};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const USER: u32 = 61_234;

/// A folder that belongs to the user, with the programs and a template built by them.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        chown(folder.path(), Some(USER), Some(USER)).unwrap();
        for (name, program) in [("host", host_program()), ("probe", probe_program())] {
            fs::copy(program, folder.path().join(name)).unwrap();
        }
        let place = Place { folder };
        let built = place.command().arg("build").arg(place.path("store")).arg(place.path("probe")).output();
        let built = String::from_utf8(built.unwrap().stdout).unwrap();
        assert!(built.starts_with("built "), "{built}");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The small control plane, as this user.
    fn command(&self) -> Command {
        let mut command = Command::new("setpriv");
        let (uid, gid) = (format!("--reuid={USER}"), format!("--regid={USER}"));
        command.args([&uid, &gid, "--clear-groups"]).arg(self.path("host"));
        command.stdout(Stdio::piped());
        command
    }

    fn run(&self, cgroup: &str) -> Command {
        let mut command = self.command();
        command.arg("run").arg(self.path("run")).arg(self.path("store")).args(["2", cgroup]);
        command
    }
}

/// A cgroup that belongs to the user; removed at the end.
struct Delegated {
    path: String,
    folders: Vec<PathBuf>,
}

impl Delegated {
    fn new() -> Delegated {
        let name = format!("stockade-test-{}", std::process::id());
        let mount = Path::new("/sys/fs/cgroup");
        let unified = mount.join("cgroup.controllers").exists();
        let folders: Vec<PathBuf> = if unified {
            fs::write(mount.join("cgroup.subtree_control"), "+memory +cpu +pids").unwrap();
            vec![mount.join(&name)]
        } else {
            // One that is mounted with another is a link.
            let mut mounts =
                CONTROLLERS.map(|controller| mount.join(controller).canonicalize().unwrap()).to_vec();
            mounts.sort();
            mounts.dedup();
            mounts.into_iter().map(|mount| mount.join(&name)).collect()
        };
        for folder in &folders {
            fs::create_dir(folder).unwrap();
            chown(folder, Some(USER), Some(USER)).unwrap();
            if unified {
                for file in ["cgroup.procs", "cgroup.subtree_control"] {
                    chown(folder.join(file), Some(USER), Some(USER)).unwrap();
                }
            }
        }
        Delegated { path: format!("/{name}"), folders }
    }

    /// Version 2 lets a user move processes only within the delegated cgroup, so they must start there.
    fn enter(&self, command: &Command) -> Command {
        let procs =
            self.folders.iter().map(|folder| format!("echo $$ > {}/cgroup.procs; ", folder.display()));
        let script = procs.collect::<String>() + "exec \"$@\"";
        let mut entered = Command::new("sh");
        entered.args(["-c", &script, "sh"]).arg(command.get_program()).args(command.get_args());
        entered
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        for folder in &self.folders {
            for path in [folder.join("stockade-host"), folder.clone()] {
                if path.exists() {
                    wait_until("the delegated cgroup can be removed", || fs::remove_dir(&path).is_ok());
                }
            }
        }
    }
}

#[test]
fn an_ordinary_user_with_a_delegated_cgroup_runs_jails_that_leave_nothing() {
    let place = Place::new();
    let delegated = Delegated::new();
    let mut host = Host::from(delegated.enter(&place.run(&delegated.path)));
    let groups: Vec<PathBuf> =
        delegated.folders.iter().map(|folder| folder.join("stockade").join(&host.instance)).collect();
    let mut processes = vec![host.keeper];
    for group in &groups {
        assert!(group.join("jail-0").is_dir() && group.join("jail-1").is_dir());
        let procs = fs::read_to_string(group.join("jail-0/cgroup.procs")).unwrap();
        processes.extend(procs.lines().map(|pid| pid.parse::<u32>().unwrap()));
    }
    assert!(processes.contains(&host.jails[0]) && processes.len() > 4);
    let status = fs::read_to_string(format!("/proc/{}/status", host.jails[0])).unwrap();
    assert!(status.contains(&format!("Uid:\t{USER}\t{USER}")), "{status}");

    kill(host.child.id(), "KILL");
    host.child.wait().unwrap();
    wait_until("no process is left", || processes.iter().all(|pid| !alive(*pid)));
    wait_until("no folder is left", || fs::read_dir(place.path("run")).unwrap().next().is_none());
    for folder in &delegated.folders {
        assert!(!folder.join("stockade").exists(), "{folder:?}");
    }
}

#[test]
fn without_delegation_the_start_is_refused_with_the_way_to_get_it() {
    let place = Place::new();
    let mut child = place.run("auto").spawn().unwrap();
    let said = first_line(&mut child);
    assert!(!child.wait().unwrap().success());
    assert!(said.starts_with("refused limits_unavailable "), "{said}");
    assert!(
        said.contains("systemd-run --user --scope") || said.contains("Run once as root: for c in"),
        "{said}"
    );
    assert!(said.contains("weaker_limits: true"), "{said}");
}

#[test]
fn the_weaker_mode_runs_without_delegation_and_leaves_nothing_either() {
    let place = Place::new();
    let mut host = Host::from(place.run("weaker"));
    let processes = [host.keeper, host.jails[0], host.jails[1]];
    assert!(processes.iter().all(|pid| alive(*pid)));
    kill(host.child.id(), "KILL");
    host.child.wait().unwrap();
    wait_until("no process is left", || processes.iter().all(|pid| !alive(*pid)));
    wait_until("no folder is left", || fs::read_dir(place.path("run")).unwrap().next().is_none());
}

/// The results of `probe` and `run` in an environment with a defect.
fn ask(mut command: Command) -> String {
    let output = command.output().unwrap();
    String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
}

#[test]
fn without_bubblewrap_the_error_says_how_to_install_it() {
    common::template();
    let store = common::store_dir();
    let store = store.to_str().unwrap();
    for arguments in [vec!["probe", "auto"], vec!["run", "/nonexistent", store, "0", "auto"]] {
        let mut command = Command::new(host_program());
        command.args(&arguments).env("PATH", "/nonexistent");
        let said = ask(command);
        assert!(
            said.contains("bubblewrap_missing Install bubblewrap: apt-get install bubblewrap"),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn where_namespaces_are_forbidden_the_error_says_so() {
    // One more user namespace is allowed, and the second `unshare` uses it up.
    let script = "echo 1 > /proc/sys/user/max_user_namespaces && exec unshare --user --map-user=1000 \"$@\"";
    common::template();
    let store = common::store_dir();
    let store = store.to_str().unwrap();
    for arguments in [vec!["probe", "weaker"], vec!["run", "/nonexistent", store, "0", "weaker"]] {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "sh", "-c", script, "sh", host_program()])
            .args(&arguments);
        let said = ask(command);
        assert!(said.contains("namespaces_forbidden "), "{arguments:?}: {said}");
    }
}

#[test]
fn where_only_the_outer_namespaces_are_allowed_the_error_names_chromiums_sandbox() {
    // The real bubblewrap, with an option that allows no further user namespaces inside.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let wrapper = folder.path().join("bwrap");
    let script = "#!/bin/sh\ncase $* in *--unshare-user*) set -- --disable-userns \"$@\" ;; esac\nexec /usr/bin/bwrap \"$@\"\n";
    fs::write(&wrapper, script).unwrap();
    fs::set_permissions(&wrapper, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(host_program());
    command.args(["probe", "weaker"]).env("PATH", path);
    let said = ask(command);
    assert!(said.contains("namespaces_forbidden "), "{said}");
    let mut command = Command::new(host_program());
    command.args(["probe", "weaker"]);
    let said = ask(command);
    assert!(!said.contains("namespaces_forbidden"), "the machine itself allows both: {said}");
}
