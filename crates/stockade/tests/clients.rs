//! The public MCP clients, and the public conformance suite, against the real thing.

use crate::common;

use common::machine::{PATIENCE, until};
use common::operator::Operator;
use common::site::Site;
use common::{Home, PROGRAM};
use engine::approvals::Verdict;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn clients() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients");
    assert!(folder.join("stamp").exists(), "the public clients are not installed: run script/setup test");
    folder.canonicalize().unwrap()
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

fn python() -> Command {
    let mut command = Command::new(clients().join("python/bin/python"));
    command.arg(script("client.py"));
    command
}

/// The conformance suite needs a newer Node.js than many machines have; it is installed beside it.
fn node() -> Command {
    Command::new(clients().join("node_modules/node/bin/node"))
}

fn typescript() -> Command {
    let mut command = node();
    command.arg(script("client.mjs")).arg(clients().join("node_modules"));
    command
}

/// `stockade mcp` in this home, as the command that a client starts. The clients hand on only a part of
/// their environment, so `env` puts the folders back.
fn over_stdio(command: &mut Command, home: &Home) {
    command
        .arg("env")
        .arg(format!("STOCKADE_TEMPLATES={}", common::templates().display()))
        .arg(format!("STOCKADE_RUNTIME_DIR={}", home.runtime().display()))
        .arg(PROGRAM)
        .args(["mcp", "--demo", "--config"])
        .arg(&home.config)
        .arg("--state")
        .arg(home.state());
}

fn check(mut command: Command, expected: &str) {
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success() && said.contains(expected),
        "{said}\n{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn the_python_client_works_over_stdio_in_both_eras() {
    let home = Home::new("");
    let mut command = python();
    command.args(["stdio", "auto,legacy"]);
    over_stdio(&mut command, &home);
    check(command, "ok 2026-07-28\nok 2025-11-25\n");
}

#[test]
fn the_python_client_works_over_http_in_both_eras() {
    let home = Home::new("");
    let server = home.serve(&[]);
    let mut command = python();
    command.args(["http", "auto,legacy", server.url(), server.key()]);
    check(command, "ok 2026-07-28\nok 2025-11-25\n");
}

#[test]
fn the_python_client_is_led_to_the_operators_page_and_gets_each_answer_in_both_eras() {
    let item = "<form method=post action=/gone><button>Delete item</button></form>";
    let site = Site::serve(&[("/", item), ("/gone", item)]);
    // Where there is no console, there is no page to be led to, and the call waits all the same.
    for (mode, version, has_console) in
        [("auto", "2026-07-28", true), ("legacy", "2025-11-25", true), ("auto", "2026-07-28", false)]
    {
        let hosts = site.setting(&["item.test"]);
        let home = Home::asking(&format!("{hosts}    hitl:\n      approval_timeout: 300\n"));
        let server = has_console.then(|| home.serve(&[]));
        let mut command = Command::new(clients().join("python/bin/python"));
        command.arg(script("approving.py")).args([
            if has_console { "http" } else { "stdio" },
            mode,
            "http://item.test/",
        ]);
        match &server {
            Some(server) => drop(command.args([server.url(), server.key()])),
            None => over_stdio(&mut command, &home),
        }
        let mut client = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(client.stdout.take().unwrap()).lines().map(Result::unwrap);
        let state = home.state().join("keys/audit.key");
        until("the control plane is there", PATIENCE, || state.exists().then_some(()));
        let operator = Operator::of(&home);
        for (verdict, expected) in [
            (Some(Verdict::Deny), "denied_by_operator"),
            (None, "approval_timeout"),
            (Some(Verdict::Approve { for_session: false }), "http://item.test/gone"),
        ] {
            let asked = operator.next();
            if let Some(server) = &server {
                let page = format!("led http://{}/console/approvals/{}", server.address(), asked.id);
                assert_eq!(said.next(), Some(page), "{mode}");
            }
            match verdict {
                Some(verdict) => drop(operator.says(&asked.id, verdict).unwrap()),
                None => operator.expires(&asked.id),
            }
            assert_eq!(said.next(), Some(format!("{version} {expected}")), "{mode}");
        }
        assert!(client.wait().unwrap().success());
    }
    assert_eq!(site.requests().iter().filter(|request| *request == "POST /gone").count(), 3);
}

#[test]
fn the_typescript_client_works_over_stdio_and_http() {
    let home = Home::new("");
    let mut command = typescript();
    command.arg("stdio");
    over_stdio(&mut command, &home);
    check(command, "ok");

    let server = home.serve(&[]);
    let mut command = typescript();
    command.args(["http", server.url(), server.key()]);
    check(command, "ok");
}

#[test]
fn the_conformance_scenarios_that_apply_pass() {
    let home = Home::new("");
    let server = home.serve(&["--open"]);
    for scenario in
        ["server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"]
    {
        let mut command = node();
        command
            .arg(clients().join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
            .args(["server", "--url", server.url(), "--scenario", scenario])
            .current_dir(home.folder.path());
        let done = command.output().unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(
            done.status.success() && said.contains("Passed") && !said.contains("FAILURE"),
            "{scenario}: {said}"
        );
    }
}
