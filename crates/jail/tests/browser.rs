//! A template's browser starts in a real jail: no library is missing, and no limit or filter prevents it.
#![allow(clippy::unwrap_used, reason = "in tests, helpers included, a panic is the report")]

mod common;

use common::{Home, id};
use jail::template::{Flavour, Store, Template};
use jail::{JailState, Limits, Runtime};

fn run(template: &Template, command: &[&str]) -> (JailState, String) {
    let home = Home::with(template);
    home.runtime().prepare(&id("browser")).unwrap();
    let mut spec = common::spec("browser", Limits::default(), &[]);
    spec.command = command.iter().map(|&word| word.to_owned()).collect();
    spec.env = vec![("HOME".to_owned(), "/tmp".to_owned())];
    home.runtime().start(&spec).unwrap();
    let state = home.wait_for_exit("browser");
    (state, home.runtime().log_tail(&id("browser")).unwrap())
}

const FLAGS: [&str; 8] = [
    "--headless",
    "--disable-gpu",
    "--disable-software-rasterizer",
    "--site-per-process",
    "--no-first-run",
    "--disable-background-networking",
    "--user-data-dir=/tmp/profile",
    "--screenshot=/tmp/page.png",
];

#[test]
fn the_headless_shell_takes_a_picture() {
    let template = common::template();
    let command: Vec<&str> = [template.browser()].into_iter().chain(FLAGS).chain(["about:blank"]).collect();
    let (state, log) = run(template, &command);
    assert_eq!(state, JailState::Exited { code: Some(0), signal: None }, "{log}");
    assert!(log.contains("bytes written to file /tmp/page.png"), "{log}");
}

#[test]
fn full_chromium_and_xvfb_find_all_their_libraries() {
    let folder = tempfile::tempdir_in(common::place()).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let template = store.build(&common::options(Flavour::Xvfb), &mut |_| {}).unwrap();
    let command: Vec<&str> = [template.browser()].into_iter().chain(FLAGS).chain(["about:blank"]).collect();
    let (state, log) = run(&template, &command);
    assert_eq!(state, JailState::Exited { code: Some(0), signal: None }, "{log}");
    assert!(log.contains("bytes written to file /tmp/page.png"), "{log}");

    let (state, log) = run(&template, &["/usr/bin/Xvfb", "-help"]);
    assert_eq!(state, JailState::Exited { code: Some(0), signal: None }, "{log}");
    let (state, log) = run(&template, &["/usr/bin/xkbcomp", "-version"]);
    assert_eq!(state, JailState::Exited { code: Some(0), signal: None }, "{log}");
}
