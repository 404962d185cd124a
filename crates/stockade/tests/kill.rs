//! Every way a control plane can end leaves nothing of its jails behind. SIGKILL is tested in `kill_record`.

use crate::common;

use common::jails::Jails;
use common::machine::{self, PATIENCE, family, until};
use common::{Home, Mcp};

/// Three sessions, each on a page.
fn three_sessions(home: &Home) -> Mcp {
    let mut mcp = home.mcp();
    for _ in 0..3 {
        let session = mcp.open();
        mcp.goto(&session, "http://shop.test/");
    }
    mcp
}

fn nothing_is_left_after(signal: &str) {
    let home = Home::new("");
    let mcp = three_sessions(&home);
    let jails = Jails::of(&home, &mcp);
    machine::signal(mcp.child.id(), signal);
    jails.until_gone();
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
fn nothing_is_left_after_sigkill_with_three_sessions() {
    nothing_is_left_after("KILL");
}

#[test]
fn nothing_is_left_when_the_client_hangs_up() {
    let home = Home::new("");
    let mcp = three_sessions(&home);
    let jails = Jails::of(&home, &mcp);
    assert!(mcp.close().success());
    assert_eq!(jails.leftovers(), Vec::<String>::new());
}

#[test]
fn a_lost_keeper_ends_the_control_plane_and_leaves_no_process() {
    let home = Home::new("");
    let mut mcp = three_sessions(&home);
    let jails = Jails::of(&home, &mcp);
    let all = family(mcp.child.id());
    let keeper = all.iter().find(|p| p.arguments.iter().any(|a| a == "jail-keeper")).unwrap();
    machine::signal(keeper.pid, "KILL");
    until("the control plane's end", PATIENCE, || mcp.child.try_wait().unwrap());
    until("every process is gone", PATIENCE, || {
        let alive = machine::processes();
        all.iter().all(|it| alive.iter().all(|process| process.pid != it.pid)).then_some(())
    });
    // The next start removes its cgroups and folder.
    assert_eq!(home.json(&["jail", "reap"]).0, 0);
    assert_eq!(jails.leftovers(), Vec::<String>::new());
}
