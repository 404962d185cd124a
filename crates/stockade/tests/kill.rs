//! However a control plane ends, nothing of its jails is left two seconds later.

use crate::common;

use common::machine::{self, cgroups, family, mounts, until};
use common::{Home, Mcp};
use std::time::Duration;

/// What the issue of orphans is measured by.
const SOON: Duration = Duration::from_secs(2);

struct Running {
    home: Home,
    mcp: Mcp,
    pids: Vec<u32>,
    instance: String,
}

/// Three sessions, and what they are made of.
fn three_sessions() -> Running {
    let home = Home::new("");
    let mut mcp = home.mcp();
    for _ in 0..3 {
        let session = mcp.open();
        mcp.goto(&session, "http://shop.test/");
    }
    let pids: Vec<u32> = family(mcp.child.id()).into_iter().map(|process| process.pid).collect();
    let instances: Vec<String> = std::fs::read_dir(home.runtime())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(instances.len(), 1, "{instances:?}");
    let instance = instances[0].clone();
    // Three jails of at least bubblewrap, bridge, browser, zygotes, GPU, network and a renderer each.
    assert!(pids.len() > 15, "only {} processes", pids.len());
    assert!(!cgroups(&instance).is_empty(), "no cgroup of {instance}");
    Running { home, mcp, pids, instance }
}

/// What is still there of it, in words.
fn leftovers(running: &Running, control_plane: u32) -> Vec<String> {
    let mut left = Vec::new();
    let alive =
        machine::processes().into_iter().filter(|p| p.pid != control_plane && running.pids.contains(&p.pid));
    left.extend(alive.map(|process| format!("{process:?}")));
    left.extend(cgroups(&running.instance).into_iter().map(|path| format!("cgroup {}", path.display())));
    left.extend(mounts(&running.instance));
    let folder = running.home.runtime().join(&running.instance);
    left.extend(folder.exists().then(|| format!("folder {}", folder.display())));
    left
}

fn nothing_is_left_after(signal: &str) {
    let running = three_sessions();
    let control_plane = running.mcp.child.id();
    machine::signal(control_plane, signal);
    let mut last = Vec::new();
    let gone = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        until("leftovers gone", SOON, || {
            last = leftovers(&running, control_plane);
            last.is_empty().then_some(())
        });
    }));
    assert!(gone.is_ok(), "after SIG{signal}, two seconds later: {last:#?}");
}

#[test]
fn nothing_is_left_after_sigkill_twenty_times_in_a_row() {
    for _ in 0..20 {
        nothing_is_left_after("KILL");
    }
}

#[test]
fn nothing_is_left_after_sigterm() {
    nothing_is_left_after("TERM");
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    nothing_is_left_after("INT");
}

#[test]
fn nothing_is_left_when_the_client_hangs_up() {
    let mut running = three_sessions();
    let control_plane = running.mcp.child.id();
    let mcp = std::mem::replace(&mut running.mcp, Home::new("").mcp());
    assert!(mcp.close().success());
    assert_eq!(leftovers(&running, control_plane), Vec::<String>::new());
}

#[test]
fn a_lost_keeper_ends_the_control_plane_and_leaves_no_process() {
    let mut running = three_sessions();
    let keeper = family(running.mcp.child.id())
        .into_iter()
        .find(|p| p.arguments.iter().any(|a| a == "jail-keeper"))
        .unwrap();
    machine::signal(keeper.pid, "KILL");
    until("the control plane's end", Duration::from_secs(10), || running.mcp.child.try_wait().unwrap());
    until("every process gone", SOON, || {
        let alive = machine::processes();
        running.pids.iter().all(|pid| alive.iter().all(|process| process.pid != *pid)).then_some(())
    });
    // Its cgroups and folder are for the next start to clear.
    let (code, _) = running.home.json(&["jail", "reap"]);
    assert_eq!(code, 0);
    assert_eq!(leftovers(&running, 0), Vec::<String>::new());
}
