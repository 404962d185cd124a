//! Public MCP clients and the public conformance suite, against the real program.

use crate::common;

use common::machine::{self, PATIENCE, until};
use common::operator::Operator;
use common::site::Site;
use common::{Home, PROGRAM};
use engine::approvals::Verdict;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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

/// The conformance suite needs a newer Node.js than many machines have, so `script/setup test` installs one.
fn node() -> Command {
    Command::new(clients().join("node_modules/node/bin/node"))
}

fn typescript() -> Command {
    let mut command = node();
    command.arg(script("client.mjs")).arg(clients().join("node_modules"));
    command
}

/// `stockade mcp` in this home, as the command that a client starts. Clients pass on only a part of their environment,
/// so `env` restores the folders.
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
    // Without a console there is no page to lead to. The call waits all the same.
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

/// A client of the 2025 revisions does not initialize again by itself. It shows the server's message, and works after a
/// reconnect.
#[test]
fn clients_are_told_what_a_restart_of_the_server_did_to_their_sessions() {
    let home = Home::new("");
    let mut server = home.serve(&[]);
    let (address, url, key) = (server.address(), server.url().to_owned(), server.key().to_owned());
    let mut in_python = Command::new(clients().join("python/bin/python"));
    in_python.arg(script("restart.py")).args([&url, &key]);
    let mut in_typescript = node();
    in_typescript.arg(script("restart.mjs")).arg(clients().join("node_modules")).args([&url, &key]);
    let mut running: Vec<_> = [in_python, in_typescript]
        .into_iter()
        .map(|mut command| {
            let mut client = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            let mut said = BufReader::new(client.stdout.take().unwrap()).lines().map(Result::unwrap);
            assert_eq!(said.next().as_deref(), Some("ready"));
            (client, said)
        })
        .collect();
    machine::signal(server.child.id(), "TERM");
    server.child.wait().unwrap();
    let _next = home.serve_at(&address, &[]);
    for (client, said) in &mut running {
        drop(client.stdin.take());
        let failure = said.next().unwrap();
        assert!(failure.contains("unknown_mcp_session") && failure.contains("Reconnect"), "{failure}");
        assert!(failure.contains("a restart of the server ends them all"), "{failure}");
        assert_eq!(said.next().as_deref(), Some("unknown_session"));
        assert!(client.wait().unwrap().success());
    }
}

/// Runs the suite of this package. Returns the failed checks of each scenario.
fn conformance(package: &str, options: &[&str], url: &str, folder: &Path) -> Vec<(String, Vec<String>)> {
    let results = folder.join(package.rsplit('/').next().unwrap()).join(options.join("-"));
    let mut command = node();
    command
        .arg(clients().join("node_modules").join(package).join("dist/index.js"))
        .args(["server", "--url", url, "--output-dir"])
        .arg(&results)
        .args(options)
        .current_dir(folder);
    let done = command.output().unwrap();
    let read = std::fs::read_dir(&results);
    let read = read.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&done.stderr)));
    let scenario = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        // server-NAME-2026-11-18T01-54-41-435Z
        let name = entry.file_name().into_string().unwrap();
        let name = name.strip_prefix("server-").unwrap();
        let name = name[..name.len() - "-2026-11-18T01-54-41-435Z".len()].to_owned();
        let checks = std::fs::read(entry.path().join("checks.json")).unwrap();
        let checks: Vec<Value> = serde_json::from_slice(&checks).unwrap();
        let failed = checks.iter().filter(|check| check["status"] == "FAILURE");
        (name, failed.map(|check| check["id"].as_str().unwrap().to_owned()).collect())
    };
    read.map(scenario).collect()
}

/// The scenarios of docs/conformance.md, each with the checks that fail.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    rows.map(|(scenario, rest)| {
        let result = rest.split(" | ").next().unwrap();
        let failed: BTreeSet<String> = match result {
            "passes" => BTreeSet::new(),
            _ => result.split('`').skip(1).step_by(2).map(str::to_owned).collect(),
        };
        assert!(result == "passes" || !failed.is_empty(), "{scenario}: {result}");
        (scenario.to_owned(), failed)
    })
    .collect()
}

#[test]
fn the_conformance_suites_fail_where_the_docs_say_so_and_nowhere_else() {
    let home = Home::new("");
    let server = home.serve(&["--open"]);
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (package, options, scenarios) in [
        ("@modelcontextprotocol/conformance", &["--suite", "all"][..], 32),
        ("conformance-alpha", &["--suite", "all"], 65),
        ("conformance-alpha", &["--suite", "all", "--spec-version", "2025-11-25"], 33),
        ("conformance-alpha", &["--requirements", "2026-07-28"], 50),
    ] {
        let results = conformance(package, options, server.url(), home.folder.path());
        assert_eq!(results.len(), scenarios, "{package} {options:?}");
        for (scenario, failed) in results {
            seen.entry(scenario).or_default().extend(failed);
        }
    }
    let documented = documented();
    let differing: Vec<String> = seen
        .iter()
        .filter(|(scenario, failed)| documented.get(*scenario) != Some(failed))
        .map(|(scenario, failed)| format!("{scenario} now fails: {failed:?}"))
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n"));
    assert_eq!(documented.len(), seen.len(), "the docs have scenarios that the suites do not have");
}
