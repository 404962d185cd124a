//! The transcript in the docs is what the program does today, by root and by an ordinary user.

use crate::common;

use common::PROGRAM;
use std::path::{Path, PathBuf};
use std::process::Command;

fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Runs the script; the page that it makes.
fn page(arguments: &[&str]) -> String {
    let made = Command::new(checkout().join("script/transcript"))
        .args(["--program", PROGRAM])
        .args(arguments)
        .env("STOCKADE_TEMPLATES", common::templates())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    String::from_utf8(made.stdout).unwrap()
}

#[test]
fn the_first_order_in_the_docs_is_what_two_public_clients_get_today_as_root_and_as_an_ordinary_user() {
    let written = std::fs::read_to_string(checkout().join("docs/transcripts/first-order.md")).unwrap();
    assert!(
        written.contains("Order 1001 is placed.") && written.contains("Order 1002 is placed."),
        "{written}"
    );
    for arguments in [&[][..], &["--ordinary-user"]] {
        let today = page(arguments);
        let differing = today.lines().zip(written.lines()).find(|(today, written)| today != written);
        assert_eq!(
            today, written,
            "{arguments:?}: first difference {differing:?}; if the new text is right, run script/transcript --write"
        );
    }
}
