//! The thread runtime contains and limits its jails as the native one does: the same tests, another launcher.
#![allow(clippy::unwrap_used, reason = "in tests, helpers included, a panic is the report")]

#[path = "../../jail/tests/common/mod.rs"]
mod common;
#[path = "../../jail/tests/common/containment.rs"]
mod containment;
#[path = "../../jail/tests/common/limits.rs"]
mod limits;

use common::{Home, alive, cgroups_of, id, wait_until};
use jail::{JailError, Limits, Runtime};
use std::fs;
use testkit::runtime::ThreadRuntime;

fn home() -> Home<ThreadRuntime> {
    let folder = tempfile::tempdir().unwrap();
    let options = common::native_options(folder.path().join("run"));
    let runtime = ThreadRuntime::start_from(common::template().clone(), &options).unwrap();
    Home { runtime: Some(runtime), folder }
}

#[test]
fn no_process_but_bubblewrap_stands_between_the_control_plane_and_its_jail() {
    let home = home();
    home.start("one", Limits::default(), &["stay", "0"]);
    let parent = |pid: u32| -> u32 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap().parse().unwrap()
    };
    assert_eq!(parent(parent(home.first_pid("one"))), std::process::id());
}

#[test]
fn shutting_down_leaves_nothing_and_is_no_loss() {
    let home = home();
    home.start("one", Limits::default(), &["stay", "3"]);
    wait_until("the probe has its children", || home.pids("one").len() > 4);
    let (pids, instance) = (home.pids("one"), home.runtime().info().instance.to_string());
    let (sender, lost) = std::sync::mpsc::channel();
    home.runtime().on_lost(Box::new(move |why| sender.send(why.to_owned()).unwrap())).unwrap();
    for _ in 0..2 {
        home.runtime().shutdown().unwrap();
    }
    assert!(lost.recv().is_err());
    assert!(pids.into_iter().all(|pid| !alive(pid)));
    assert!(cgroups_of(&instance).is_empty());
    assert_eq!(fs::read_dir(home.runtime_dir()).unwrap().count(), 0);
    assert!(matches!(home.runtime().state(&id("one")), Err(JailError::RuntimeLost { .. })));
}

#[test]
fn several_threads_share_the_launcher() {
    let home = home();
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            let home = &home;
            scope.spawn(move || {
                home.start(name, Limits::default(), &["exit", "0"]);
                home.wait_for_exit(name);
                home.runtime().destroy(&id(name)).unwrap();
            });
        }
    });
}
