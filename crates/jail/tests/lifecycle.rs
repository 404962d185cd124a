//! After the end of a jail, its keeper or its control plane, nothing is left.
#![allow(clippy::unwrap_used, reason = "in tests, helpers included, a panic is the report")]

mod common;

use common::seen::seen;
use common::{Home, Host, alive, cgroups_of, id, kill, wait_until};
use jail::{JailState, Limits, NativeRuntime, Runtime, list, reap};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Names of the entries of a folder; none if it does not exist.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn assert_gone(host: &Host, processes: &[u32], runtime: &Path) {
    wait_until("no process is left", || processes.iter().all(|pid| !alive(*pid)));
    wait_until("no folder is left", || names(runtime).is_empty());
    assert_eq!(cgroups_of(&host.instance), [""; 0].map(std::path::PathBuf::from));
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(runtime.to_str().unwrap()));
}

#[test]
fn destroying_a_jail_ends_its_processes_and_removes_its_folder_and_cgroup() {
    let home = Home::new();
    let process = home.launch("one", Limits::default(), &["stay", "3"]);
    let runtime = home.runtime();
    assert_eq!(runtime.state(&id("one")).unwrap(), Some(JailState::Running));
    assert!(runtime.destroy(&id("one")).unwrap().is_some());
    assert!(!alive(process.pid));
    assert_eq!(runtime.state(&id("one")).unwrap(), None);
    assert!(!home.instance_dir().join("one").exists());
    for cgroup in cgroups_of(runtime.info().instance.as_str()) {
        assert!(!cgroup.join("one").exists());
    }
    assert_eq!(runtime.destroy(&id("one")).unwrap(), None, "twice is fine");
    assert_eq!(seen(runtime.stats(&id("one")).unwrap_err().code()), "jail_unknown");
    home.start("one", Limits::default(), &["exit", "0"]);
}

#[test]
fn destroying_a_jail_that_was_only_prepared_removes_its_folder() {
    let home = Home::new();
    home.runtime().prepare(&id("early")).unwrap();
    assert!(home.instance_dir().join("early").exists());
    assert_eq!(seen(home.runtime().prepare(&id("early")).unwrap_err().code()), "jail_exists");
    assert_eq!(home.runtime().destroy(&id("early")).unwrap(), None);
    assert!(!home.instance_dir().join("early").exists());
}

#[test]
fn a_program_that_ends_at_once_has_started_all_the_same() {
    let home = Home::new();
    for (name, code) in [("a", 0), ("b", 7)] {
        home.start(name, Limits::default(), &["exit", &code.to_string()]);
        assert_eq!(home.wait_for_exit(name), JailState::Exited { code: Some(code), signal: None });
    }
}

#[test]
fn ids_as_long_as_they_may_be_still_fit_a_socket() {
    let home = Home::new();
    let name = "x".repeat(64);
    let _listening = home.runtime().prepare(&id(&name)).unwrap();
    home.runtime().start(&common::spec(&name, Limits::default(), &["dial"])).unwrap();
    assert_eq!(home.wait_for_exit(&name), JailState::Exited { code: Some(0), signal: None });
}

#[test]
fn shutting_down_leaves_nothing_and_may_be_asked_for_by_several() {
    let home = Home::new();
    let process = home.launch("one", Limits::default(), &["stay", "3"]);
    let (instance, keeper) = (home.runtime().info().instance.to_string(), home.runtime().keeper_pid());
    let run = home.runtime_dir();
    let (sender, lost) = std::sync::mpsc::channel();
    home.runtime().on_lost(Box::new(move |why| sender.send(why.to_owned()).unwrap())).unwrap();
    let end = || {
        home.runtime().shutdown().unwrap();
        assert!(!alive(process.pid) && !alive(keeper));
        assert_eq!(names(&run), [""; 0]);
        assert!(cgroups_of(&instance).is_empty());
    };
    std::thread::scope(|scope| {
        for caller in [scope.spawn(end), scope.spawn(end)] {
            caller.join().unwrap();
        }
    });
    assert!(lost.recv().is_err(), "an end that was asked for is no loss");
    assert_eq!(seen(home.runtime().state(&id("one")).unwrap_err().code()), "keeper_lost");
}

#[test]
fn killing_the_control_plane_leaves_nothing_however_it_is_killed() {
    // Several signals, SIGKILL most often, because it matters most.
    for signal in ["TERM", "INT", "KILL", "KILL", "KILL", "KILL", "KILL"] {
        let runtime = tempfile::tempdir().unwrap();
        let mut host = Host::start(runtime.path(), 3);
        let processes = host.processes();
        assert!(processes.len() > 3 * 4, "{processes:?}");
        assert!(processes.iter().all(|pid| alive(*pid)));
        kill(host.child.id(), signal);
        host.child.wait().unwrap();
        assert_gone(&host, &processes, runtime.path());
    }
}

#[test]
fn signals_that_a_terminal_sends_do_not_end_the_keeper() {
    let runtime = tempfile::tempdir().unwrap();
    let mut host = Host::start(runtime.path(), 1);
    for signal in ["INT", "TERM", "HUP"] {
        kill(host.keeper, signal);
    }
    // Only its own control plane can end it: the kernel does not even queue an ignored signal.
    let status = fs::read_to_string(format!("/proc/{}/status", host.keeper)).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    let ignored = u64::from_str_radix(ignored, 16).unwrap();
    for number in [1, 2, 15] {
        assert_ne!(ignored & (1 << (number - 1)), 0, "signal {number}");
    }
    assert!(alive(host.keeper) && alive(host.jails[0]));
    let session = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(") ").next().unwrap().split(' ').nth(3).unwrap().to_owned()
    };
    assert_eq!(session(host.keeper), host.keeper.to_string(), "a session of its own");
    // Programs in the jail do not inherit the ignored signals.
    let status = fs::read_to_string(format!("/proc/{}/status", host.jails[0])).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & 0x4003, 0);
    kill(host.child.id(), "KILL");
    host.child.wait().unwrap();
}

#[test]
fn the_keeper_inherits_nothing_but_its_socket_the_lock_and_standard_error() {
    let runtime = tempfile::tempdir().unwrap();
    let mut command = std::process::Command::new("sh");
    common::template();
    command.args(["-c", "exec 9</etc/hostname; exec \"$@\"", "sh", common::host_program(), "run"]);
    command.arg(runtime.path()).arg(common::store_dir()).args(["0", "auto"]);
    let mut host = Host::from(command);
    let open = |pid: u32| names(Path::new(&format!("/proc/{pid}/fd")));
    assert!(open(host.child.id()).contains(&"9".to_owned()), "the leak that this test is about");
    let mut fds = open(host.keeper);
    fds.sort();
    assert_eq!(fds, ["0", "1", "2"]);
    let name = fs::read_to_string(format!("/proc/{}/comm", host.keeper)).unwrap();
    let arguments = fs::read_to_string(format!("/proc/{}/cmdline", host.keeper)).unwrap();
    assert!(!name.contains("stockade") && !arguments.contains("stockade"), "{name} {arguments}");
    kill(host.child.id(), "KILL");
    host.child.wait().unwrap();
}

#[test]
fn a_lost_keeper_takes_its_jails_along_and_is_reported() {
    let mut home = Home::new();
    let process = home.launch("one", Limits::default(), &["stay", "3"]);
    let runtime = home.runtime();
    let instance = runtime.info().instance.to_string();
    let (sender, lost) = std::sync::mpsc::channel();
    runtime.on_lost(Box::new(move |why| sender.send(why.to_owned()).unwrap())).unwrap();
    kill(runtime.keeper_pid(), "KILL");
    assert_eq!(lost.recv().as_deref(), Ok("it ended"));
    wait_until("the jail dies with its keeper", || !alive(process.pid));
    let fails: [(&str, Result<(), jail::JailError>); 3] = [
        ("state", runtime.state(&id("one")).map(drop)),
        ("destroy", runtime.destroy(&id("one")).map(drop)),
        ("start", runtime.start(&common::spec("two", Limits::default(), &["stay", "0"]))),
    ];
    for (what, result) in fails {
        assert_eq!(seen(result.unwrap_err().code()), "keeper_lost", "{what}");
    }
    drop(home.runtime.take());
    assert_eq!(names(&home.runtime_dir()), [""; 0]);
    assert!(cgroups_of(&instance).is_empty());
}

#[test]
fn the_reaper_clears_dead_instances_and_no_live_one() {
    let runtime = tempfile::tempdir().unwrap();
    let mut dead = Host::start(runtime.path(), 2);
    let mut live = Host::start(runtime.path(), 1);
    let processes = dead.processes();
    // A stopped keeper cannot remove anything when its control plane ends.
    kill(dead.keeper, "STOP");
    kill(dead.child.id(), "KILL");
    dead.child.wait().unwrap();
    assert_eq!(reap(runtime.path()).unwrap(), jail::Reaped::default(), "the keeper still holds the lock");
    kill(dead.keeper, "KILL");
    wait_until("the keeper is gone", || !alive(dead.keeper));

    let listed = list(runtime.path()).unwrap();
    let of = |instance: &str| listed.iter().find(|report| report.id.as_str() == instance).unwrap();
    assert!(!of(&dead.instance).alive);
    assert_eq!(of(&dead.instance).jails.len(), 2);
    assert!(of(&live.instance).alive);
    assert_eq!(of(&live.instance).control_plane_pid, Some(live.child.id()));
    assert!(of(&live.instance).jails[0].pids.contains(&live.jails[0]));
    assert!(of(&live.instance).jails[0].memory_bytes.unwrap() > 0);

    let reaped = reap(runtime.path()).unwrap();
    assert_eq!(reaped.instances.iter().map(|id| id.as_str()).collect::<Vec<_>>(), [&dead.instance]);
    assert_eq!(reaped.jails, 2);
    assert_eq!(reap(runtime.path()).unwrap(), jail::Reaped::default(), "again is fine");
    assert_eq!(names(runtime.path()), [live.instance.clone()]);
    assert!(processes.iter().all(|pid| !alive(*pid)));
    assert!(cgroups_of(&dead.instance).is_empty());
    assert!(alive(live.jails[0]) && !cgroups_of(&live.instance).is_empty());

    let rest = live.processes();
    kill(live.child.id(), "KILL");
    live.child.wait().unwrap();
    assert_gone(&live, &rest, runtime.path());
}

#[test]
fn the_reaper_kills_what_is_still_in_a_dead_instances_cgroup() {
    let runtime = tempfile::tempdir().unwrap();
    let mut host = Host::start(runtime.path(), 1);
    // A process in the jail's cgroup that does not die with the keeper.
    let mut stray = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
    for cgroup in cgroups_of(&host.instance) {
        fs::write(cgroup.join("jail-0/cgroup.procs"), stray.id().to_string()).unwrap();
    }
    kill(host.keeper, "KILL");
    kill(host.child.id(), "KILL");
    host.child.wait().unwrap();
    wait_until("the keeper is gone", || !alive(host.keeper));
    assert!(alive(stray.id()));
    let reaped = reap(runtime.path()).unwrap();
    assert!(reaped.processes >= 1, "{reaped:?}");
    assert!(!alive(stray.id()));
    stray.wait().unwrap();
    assert_gone(&host, &[], runtime.path());
}

#[test]
fn a_new_runtime_reaps_before_it_starts() {
    let runtime = tempfile::tempdir().unwrap();
    let mut host = Host::start(runtime.path(), 1);
    kill(host.keeper, "KILL");
    wait_until("the keeper is gone", || !alive(host.keeper));
    kill(host.child.id(), "KILL");
    host.child.wait().unwrap();
    let options = common::native_options(runtime.path().to_owned());
    let started = NativeRuntime::start_from(common::template().clone(), &options).unwrap();
    let reaped: Vec<&str> = started.info().reaped.instances.iter().map(|id| id.as_str()).collect();
    assert_eq!(reaped, [&host.instance]);
}

#[test]
fn what_an_instance_writes_down_is_for_its_user_alone() {
    let home = Home::new();
    for name in ["instance.json", "lock"] {
        let mode = fs::metadata(home.instance_dir().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_runtime_folder_that_others_could_write_to_is_refused() {
    let runtime = tempfile::tempdir().unwrap();
    let open = runtime.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let link = runtime.path().join("link");
    std::os::unix::fs::symlink(runtime.path(), &link).unwrap();
    for bad in [open, link] {
        let options = common::native_options(bad.clone());
        let started = NativeRuntime::start_from(common::template().clone(), &options);
        assert_eq!(seen(started.unwrap_err().code()), "runtime_dir_unsafe", "{bad:?}");
        assert_eq!(seen(reap(&bad).unwrap_err().code()), "runtime_dir_unsafe");
        assert_eq!(seen(list(&bad).unwrap_err().code()), "runtime_dir_unsafe");
    }
}

#[test]
fn a_process_that_cannot_be_killed_is_reported_and_kept_for_the_next_reaping() {
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("run");
    let (instance, shared) = (run.join("i-dead"), home.path().join("stockade"));
    let jail = shared.join("i-dead/one");
    for folder in [&run, &instance, &jail] {
        fs::create_dir_all(folder).unwrap();
        fs::set_permissions(folder, fs::Permissions::from_mode(0o711)).unwrap();
    }
    fs::write(instance.join("lock"), "").unwrap();
    let cgroups = serde_json::json!({
        "version": "v1", "instance": "i-dead", "shared": {"memory": shared, "cpu": shared, "pids": shared},
    });
    let record = serde_json::json!({"control_plane_pid": 1, "cgroups": cgroups});
    fs::write(instance.join("instance.json"), record.to_string()).unwrap();
    // So the kernel names one of another PID namespace.
    fs::write(jail.join("cgroup.procs"), "0\n").unwrap();
    assert_eq!(seen(reap(&run).unwrap_err().code()), "jail_still_alive");
    assert!(instance.exists());
}

#[test]
fn an_id_that_would_lead_out_of_its_folder_is_none() {
    for bad in ["..", "a/b", ""] {
        assert_eq!(
            seen(jail::JailId::parse(bad).map_err(jail::JailError::from).unwrap_err().code()),
            "bad_jail_id",
            "{bad:?}"
        );
    }
}
