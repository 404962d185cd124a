//! The transcripts in the docs match the program, as root and as an ordinary user.

use crate::common;

use common::PROGRAM;
use std::path::{Path, PathBuf};
use std::process::Command;

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs the script; returns the page that it makes.
fn page(arguments: &[&str]) -> String {
    let script = checkout().join("script/transcript");
    let made = Command::new(script).args(["--program", PROGRAM]).args(arguments).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap()
}

/// Compares a page with the script's output. Both must contain these texts.
fn check(name: &str, arguments: &[&str], parts: &[&str]) {
    let written = std::fs::read_to_string(checkout().join(format!("docs/transcripts/{name}.md"))).unwrap();
    let today = page(arguments);
    for part in parts {
        assert!(today.contains(part), "{part}: {today}");
    }
    let differing = today.lines().zip(written.lines()).find(|(today, written)| today != written);
    assert_eq!(
        today, written,
        "{arguments:?}: first difference {differing:?}; if the new text is right, run make transcript"
    );
}

#[test]
fn the_first_order_in_the_docs_is_what_two_public_clients_get_today_as_root_and_as_an_ordinary_user() {
    // The configuration of both clients, and the result.
    let parts = [
        "\"headers\": {\"Authorization\"",
        "\"args\": [\"mcp\"",
        "Order 1001 is placed.",
        "Order 1002 is placed.",
    ];
    check("first-order", &[], &parts);
    check("first-order", &["--as-ordinary-user"], &parts);
}

#[test]
fn an_ordinary_user_without_limits_gets_the_fix_from_make_run_and_inside_mcp_and_the_same_client_then_orders()
{
    let parts = ["limits_unavailable", "make run", "Order 1001 is placed."];
    // The page shows cgroup v1. On v2 the hint has another command; everything else is equal.
    if Path::new("/sys/fs/cgroup/cgroup.controllers").exists() {
        let today = page(&["ordinary-user"]);
        assert!(parts.iter().all(|part| today.contains(part)), "{today}");
    } else {
        check("ordinary-user", &["ordinary-user"], &parts);
    }
}
