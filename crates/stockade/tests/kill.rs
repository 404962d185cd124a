//! However a control plane ends, nothing of its jails is left two seconds later.

use crate::common;

use common::machine::{self, PATIENCE, cgroups, family, mounts, until};
use common::{Home, Mcp};
use std::time::{Duration, Instant};

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

/// Waits until nothing is left, and says how long that took.
fn nothing_is_left_after(signal: &str) -> Duration {
    let running = three_sessions();
    let control_plane = running.mcp.child.id();
    machine::signal(control_plane, signal);
    let begun = Instant::now();
    loop {
        let left = leftovers(&running, control_plane);
        let taken = begun.elapsed();
        if left.is_empty() {
            return taken;
        }
        assert!(taken < PATIENCE, "after SIG{signal}, {taken:?} later: {left:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Nothing may ever be left. A machine that is busy with others may take longer than [`SOON`], but not always.
fn is_soon(mut once: impl FnMut() -> Duration) {
    assert!((0..5).any(|_| once() < SOON), "not once within {SOON:?}");
}

#[test]
fn nothing_is_left_after_sigkill_twenty_times_in_a_row() {
    let mut taken: Vec<Duration> = (0..20).map(|_| nothing_is_left_after("KILL")).collect();
    taken.sort();
    assert!(taken[10] < SOON, "{taken:?}");
}

#[test]
fn nothing_is_left_after_sigterm() {
    is_soon(|| nothing_is_left_after("TERM"));
}

#[test]
fn nothing_is_left_after_an_interrupt() {
    is_soon(|| nothing_is_left_after("INT"));
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
    is_soon(|| {
        let mut running = three_sessions();
        let keeper = family(running.mcp.child.id())
            .into_iter()
            .find(|p| p.arguments.iter().any(|a| a == "jail-keeper"))
            .unwrap();
        machine::signal(keeper.pid, "KILL");
        until("the control plane's end", PATIENCE, || running.mcp.child.try_wait().unwrap());
        let begun = Instant::now();
        until("every process gone", PATIENCE, || {
            let alive = machine::processes();
            running.pids.iter().all(|pid| alive.iter().all(|process| process.pid != *pid)).then_some(())
        });
        let taken = begun.elapsed();
        // Its cgroups and folder are for the next start to clear.
        let (code, _) = running.home.json(&["jail", "reap"]);
        assert_eq!(code, 0);
        assert_eq!(leftovers(&running, 0), Vec::<String>::new());
        taken
    });
}
