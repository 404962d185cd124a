//! The real binary, run as a person or a script runs it.

#[path = "common/seen.rs"]
mod seen;

use crate::cli_contract::feed;
use crate::common::parse_reply;
use seen::seen;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A user with a home folder of their own.
pub struct User {
    home: tempfile::TempDir,
}

impl User {
    pub fn new() -> User {
        User { home: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path(name);
        fs::File::create(&file).unwrap().write_all(text.as_bytes()).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        file
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stockade"));
        command
            .args(arguments)
            .current_dir(self.home.path())
            .env_clear()
            .env("HOME", self.home.path())
            .env("STOCKADE_RUNTIME_DIR", self.path("run"))
            .env("STOCKADE_TEMPLATES", self.path("templates"))
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs a command that must succeed; returns its standard output.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Runs a command that must succeed; returns the data of its JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stdout(&output));
        parse_reply(&output)
    }

    /// Runs a command that must fail, in both output forms; returns the error's code.
    pub fn fails(&self, arguments: &[&str], exit: i32) -> String {
        let human = self.run(arguments);
        assert_eq!(human.status.code(), Some(exit), "{arguments:?}: {}", stderr(&human));
        assert_eq!(stdout(&human), "", "{arguments:?}: errors for people go to standard error");

        let output = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(exit), "{arguments:?}");
        let error = parse_reply(&output)["error"].clone();
        let code = seen(error["code"].as_str().unwrap()).to_owned();
        assert!(
            !error["message"].as_str().unwrap().is_empty() && !error["hint"].as_str().unwrap().is_empty()
        );
        if exit == 1 {
            assert!(stderr(&human).starts_with(&format!("error[{code}]: ")), "{}", stderr(&human));
            assert!(stderr(&human).contains("\n  hint: "), "{}", stderr(&human));
        }
        code
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn setting<'v>(shown: &'v Value, key: &str) -> &'v Value {
    let key = format!("security.browser.{key}");
    let all = shown["settings"].as_array().unwrap();
    all.iter().find(|entry| entry["key"] == key.as_str()).unwrap_or_else(|| panic!("no {key}"))
}

#[test]
fn a_key_is_made_listed_and_revoked() {
    let user = User::new();
    assert!(user.ok(&["key", "list"]).contains("stockade key make"));
    let made = user.json(&["key", "make", "--tenant", "team", "--actor", "bot", "--label", "laptop"]);
    let key = made["key"].as_str().unwrap();
    let id = made["made"]["id"].as_str().unwrap();
    assert!(key.starts_with("sk_stockade_"));

    let listed = user.ok(&["key", "list"]);
    for part in [id, "team/bot", "laptop", "never", "good"] {
        assert!(listed.contains(part), "{part} in {listed}");
    }
    assert!(!listed.contains(key) && !user.ok(&["key", "list", "--json"]).contains(key));

    assert!(user.ok(&["key", "revoke", id]).contains("revoked"));
    assert!(user.json(&["key", "list"])["keys"][0]["revoked_at"].is_string());
    assert!(user.ok(&["key", "list"]).contains("revoked"));
    assert_eq!(user.fails(&["key", "revoke", "key-none"], 1), "unknown_key");
}

#[test]
fn the_state_is_closed_to_other_users() {
    let user = User::new();
    user.ok(&["key", "list"]);
    let state = user.path(".local/share/stockade");
    assert_eq!((mode(&state), mode(&state.join("stockade.db"))), (0o700, 0o600));

    let named = user.path("named");
    user.ok(&["key", "list", "--state", named.to_str().unwrap()]);
    let by_variable = user.path("variable");
    assert!(
        user.command(&["key", "list"]).env("STOCKADE_STATE", &by_variable).output().unwrap().status.success()
    );
    assert_eq!((mode(&named), mode(&by_variable)), (0o700, 0o700));
}

#[test]
fn a_state_folder_that_cannot_be_used_has_a_code() {
    let user = User::new();
    user.write("file", "");
    assert_eq!(user.fails(&["key", "list", "--state", "file"], 1), "state_unusable");
    fs::create_dir(user.path("damaged")).unwrap();
    user.write("damaged/stockade.db", &"this is no database ".repeat(200));
    assert_eq!(user.fails(&["key", "list", "--state", "damaged"], 1), "storage_damaged");
}

#[test]
fn a_mistake_in_the_command_line_is_a_usage_error_and_not_a_failure() {
    let user = User::new();
    let table: &[&[&str]] = &[
        &["key", "make", "--tenant", "A B"],
        &["key", "make", "--colour"],
        &["key"],
        &["nonsense"],
        &["config", "show", "--set", "no-equals-sign"],
    ];
    for arguments in table {
        assert_eq!(user.fails(arguments, 2), "usage", "{arguments:?}");
    }
}

#[test]
fn an_unknown_verb_of_page_or_session_is_an_unknown_action() {
    let user = User::new();
    for arguments in [["page", "clik", "shop"], ["session", "lst", "shop"], ["page", "--tenant=acme", "go"]] {
        assert_eq!(user.fails(&arguments, 2), "unknown_action", "{arguments:?}");
    }
    let printed = user.command(&["page", "clik", "shop"]).output().unwrap();
    let text = String::from_utf8(printed.stderr).unwrap();
    assert!(text.contains("unknown_action") && text.contains("`stockade page click`"), "{text}");
}

#[test]
fn config_show_says_where_each_value_came_from() {
    let user = User::new();
    let file =
        user.write("mine.yaml", "security:\n  browser:\n    session_timeout: 120\n    recording: audit\n");
    let shown = user.json(&["config", "show", "--config", "mine.yaml", "--set", "session_timeout=60"]);
    assert_eq!(shown["file"], "mine.yaml");
    for (key, value, origin) in [
        ("session_timeout", Value::from(60), "--set"),
        ("recording", Value::from("audit"), "mine.yaml:4"),
        ("action_timeout", Value::from(30), "default"),
    ] {
        let entry = setting(&shown, key);
        assert_eq!((&entry["value"], entry["origin"].as_str()), (&value, Some(origin)), "{key}");
    }
    let human = user.ok(&["config", "show", "--config", "mine.yaml"]);
    let line = human.lines().find(|line| line.contains("recording:")).unwrap();
    assert!(line.contains("\"audit\"") && line.ends_with("# line 4"), "{line}");

    let by_variable =
        user.command(&["config", "show", "--json"]).env("STOCKADE_CONFIG", &file).output().unwrap();
    let shown = parse_reply(&by_variable);
    assert_eq!(setting(&shown, "recording")["value"], "audit");
}

#[test]
fn the_configuration_file_with_the_highest_precedence_is_used() {
    let user = User::new();
    fs::create_dir_all(user.path(".config/stockade")).unwrap();
    assert!(user.json(&["config", "path"])["file"].is_null());
    user.write(".config/stockade/stockade.yaml", "security: {browser: {session_timeout: 11}}\n");
    assert_eq!(setting(&user.json(&["config", "show"]), "session_timeout")["value"], 11);
    user.write("stockade.yaml", "security: {browser: {session_timeout: 12}}\n");
    assert_eq!(setting(&user.json(&["config", "show"]), "session_timeout")["value"], 12);
    assert_eq!(user.json(&["config", "path"])["file"], "stockade.yaml");
    assert!(user.ok(&["config", "path"]).contains("→ stockade.yaml"));
}

#[test]
fn what_config_show_prints_is_a_file_with_the_same_settings() {
    let user = User::new();
    let set = [
        "--set",
        "egress.hosts={shop.test: 127.0.0.1:8080, b.test: '[::1]:1'}",
        "--set",
        "hitl.trusted_domains=[a.test, '*.b.test']",
        "--set",
        "container.cgroup_parent=a/b",
    ];
    let text = user.ok(&[&["config", "show"], &set[..]].concat());
    user.write("copy.yaml", &text);
    assert!(user.ok(&["config", "check", "copy.yaml"]).contains("copy.yaml is valid."));
    let values = |shown: &Value| -> Vec<(Value, Value)> {
        let all = shown["settings"].as_array().unwrap();
        all.iter().map(|entry| (entry["key"].clone(), entry["value"].clone())).collect()
    };
    let copy = user.json(&["config", "show", "--config", "copy.yaml"]);
    assert_eq!(values(&copy), values(&user.json(&[&["config", "show"], &set[..]].concat())));
}

#[test]
fn a_bad_configuration_is_refused_with_its_line_and_a_next_step() {
    let user = User::new();
    user.write("bad.yaml", "security:\n  browser:\n    sesion_timeout: 5\n    recording: on\n");
    let output = user.run(&["config", "show", "--config", "bad.yaml"]);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    for part in ["config_unknown_key", "bad.yaml:3", "'security.browser.session_timeout'", "1 more"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(user.fails(&["config", "show", "--config", "none.yaml"], 1), "config_unreadable");
    user.write("bad2.yaml", "security: {browser: {container: {network: host}}}\n");
    assert_eq!(user.fails(&["config", "show", "--config", "bad2.yaml"], 1), "config_value");

    let check = user.run(&["config", "check", "bad.yaml", "--json"]);
    assert_eq!(check.status.code(), Some(1));
    let problems = parse_reply(&check)["problems"].clone();
    let found: Vec<_> = problems.as_array().unwrap().iter().map(|p| (&p["code"], &p["line"])).collect();
    assert_eq!(found, [(&"config_unknown_key".into(), &3.into()), (&"config_value".into(), &4.into())]);

    let check = user.run(&["config", "check", "--set", "sesion_timeout=60", "--json"]);
    assert_eq!(check.status.code(), Some(2), "the command line is wrong, not a file");
    assert_eq!(parse_reply(&check)["problems"][0]["code"], "config_unknown_key");
    assert!(user.ok(&["config", "check", "--set", "session_timeout=60"]).contains("defaults are in force"));
}

const CASES: &str = r#"
cases:
  - action: click
    page: https://github.com/settings
    element: {role: button, name: Delete account}
    expect: {risk: critical, decision: ask, rule: words.account}
  - name: a form that leads away, under a name that is long enough to be cut short in a table
    action: browser_click
    page: https://app.test/
    element: {role: button, name: Next, form: {method: post, action: "https://evil.test/"}}
    expect: {risk: RISK}
"#;

#[test]
fn policy_test_holds_cases_against_the_rules() {
    let user = User::new();
    user.write("good.yaml", &CASES.replace("RISK", "high"));
    user.write("bad.yaml", &CASES.replace("RISK", "low"));
    assert!(user.ok(&["policy", "test", "good.yaml"]).contains("2 of 2 are as expected"));
    let json = user.json(&["policy", "test", "good.yaml"]);
    assert_eq!(json["cases"][0]["found"]["because"][0]["value"], "Delete account");
    // JSON is read as well.
    user.write("good.json", r#"[{"action": "read", "expect": {"decision": "allow"}}]"#);
    assert_eq!(user.json(&["policy", "test", "good.json"])["wrong"], 0);

    let output = user.run(&["policy", "test", "bad.yaml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("1 of 2 are not as expected"), "{}", stdout(&output));
    for line in stdout(&output).lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for (name, text) in [
        ("none.yaml", None),
        ("word.yaml", Some("nonsense")),
        ("field.yaml", Some("[{action: click, colour: red}]")),
        ("action.yaml", Some("[{action: fly}]")),
        ("url.yaml", Some("[{action: navigate, url: 'file:///etc'}]")),
    ] {
        if let Some(text) = text {
            user.write(name, text);
        }
        assert_eq!(user.fails(&["policy", "test", name], 1), "bad_policy_case", "{name}");
    }
}

#[test]
fn policy_explain_names_the_rule_and_the_facts() {
    let user = User::new();
    let delete = ["policy", "explain", "--action", "click", "--role", "button", "--name", "Konto löschen"];
    let text = user.ok(&delete);
    for part in ["critical", "words.account", "löschen", "cannot be undone"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // The settings in force apply, custom rules included.
    user.write(
        "stockade.yaml",
        "security: {browser: {hitl: {enabled: false, rules: [{name: no-frobs, tools: click, risk: critical, \
         conditions: [{fact: name, matches: '(?i)frob'}], description: frobs}]}}}\n",
    );
    let frob = ["policy", "explain", "--action", "click", "--role", "button", "--name", "Frobnicate"];
    let found = user.json(&frob)["found"].clone();
    assert_eq!((&found["rule"], &found["decision"]), (&"no-frobs".into(), &"deny".into()), "{found}");
    let typed =
        ["policy", "explain", "--action", "type", "--role", "textbox", "--text", "4111 1111 1111 1111"];
    let text = user.ok(&typed);
    assert!(text.contains("a card number") && !text.contains("4111"), "{text}");
    assert!(user.ok(&["policy", "rules"]).contains("words.second-factor"));
}

#[test]
fn an_ignored_setting_is_reported_on_standard_error() {
    let user = User::new();
    user.write("stockade.yaml", "security: {browser: {runtime_required: false}}\n");
    let output = user.run(&["config", "show", "--json"]);
    assert!(stderr(&output).contains("runtime_required"), "{}", stderr(&output));
    let shown = parse_reply(&output);
    assert_eq!(shown["notices"].as_array().unwrap().len(), 1);
}

#[test]
fn templates_and_jails_start_empty_and_say_what_to_do() {
    let user = User::new();
    assert!(user.ok(&["template", "list"]).contains("stockade template build"));
    assert_eq!(user.json(&["template", "list"])["templates"].as_array().unwrap().len(), 0);
    assert_eq!(user.fails(&["template", "verify"], 1), "template_missing");
    assert_eq!(user.fails(&["template", "verify", "none"], 1), "template_missing");
    assert_eq!(user.fails(&["template", "build", "--bridge", "nowhere"], 1), "bridge_missing");
    assert_eq!(user.json(&["jail", "list"])["instances"].as_array().unwrap().len(), 0);
    assert!(user.ok(&["jail", "reap"]).contains("Nothing"));
    assert_eq!(user.json(&["jail", "reap"])["reaped"]["jails"], 0);
}

#[test]
fn a_template_is_built_listed_verified_and_found_altered() {
    let user = User::new();
    // Any program can replace bridge and browser here, because nothing is started.
    let bridge = env!("CARGO_BIN_EXE_stockade");
    let built = user.json(&["template", "build", "--bridge", bridge, "--browser", "/usr/bin/env"]);
    let id = built["template"]["id"].as_str().unwrap();
    assert!(user.ok(&["template", "list"]).contains(id));
    assert!(user.ok(&["template", "verify", id]).contains("Unchanged"));

    let root = PathBuf::from(built["template"]["root"].as_str().unwrap());
    fs::write(root.join("added"), "").unwrap();
    let output = user.run(&["template", "verify"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("error[template_altered]"), "{}", stderr(&output));
    assert!(stderr(&output).contains("added"), "{}", stderr(&output));
    // A template without a manifest is reported too, although there is nothing to compare it with.
    fs::remove_file(root.with_file_name("manifest.json")).unwrap();
    assert_eq!(user.fails(&["template", "verify"], 1), "template_altered");
    assert_eq!(user.fails(&["template", "verify", id], 1), "template_altered");
}

#[test]
fn the_demo_shop_is_served_until_it_is_stopped() {
    let user = User::new();
    assert_eq!(user.fails(&["demo", "--listen", "0.0.0.0:0"], 2), "usage");
    let mut shop = user.command(&["demo"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(shop.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let address = first.split("http://").nth(1).unwrap().trim_end_matches('/');
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(b"GET / HTTP/1.0\r\nhost: shop.test\r\n\r\n").unwrap();
    let mut page = String::new();
    connection.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.0 200"), "{page}");

    let pid = rustix::process::Pid::from_child(&shop);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(shop.wait().unwrap().code(), Some(0));
}

#[test]
fn everything_for_people_fits_80_columns_and_has_no_colour_in_a_pipe() {
    let user = User::new();
    let long = "a".repeat(64);
    user.ok(&["key", "make", "--tenant", &long, "--actor", &long, "--label", &"語".repeat(30)]);
    let host = format!("{}.{}.test", "b".repeat(60), "c".repeat(60));
    for domain in [host.as_str(), "example.org"] {
        let document =
            format!(r#"{{"domain":"{domain}","cookies":[{{"name":"sid","value":"v-0123456789"}}]}}"#);
        let stored = feed(&user, &["credential", "put", "--id", &domain[..9]], &document);
        assert!(stored.status.success(), "{stored:?}");
    }
    user.ok(&["grant", "issue", "--host", &host, "--host", "site:example.org", "--many"]);
    let table: &[&[&str]] = &[
        &["--help"],
        &["grant", "--help"],
        &["grant", "issue", "--help"],
        &["grant", "list"],
        &["grant", "revoke", "--help"],
        &["credential", "--help"],
        &["credential", "put", "--help"],
        &["credential", "accept", "--help"],
        &["credential", "list"],
        &["key", "--help"],
        &["key", "make", "--help"],
        &["config", "--help"],
        &["config", "check", "--help"],
        &["template", "--help"],
        &["template", "build", "--help"],
        &["jail", "--help"],
        &["demo", "--help"],
        &["key", "list"],
        &["config", "show"],
        &["template", "list"],
        &["jail", "list"],
    ];
    for arguments in table {
        let text = user.ok(arguments);
        for line in text.lines() {
            let width = unicode_width::UnicodeWidthStr::width(line);
            assert!(width <= 80, "{arguments:?}: {width} columns: {line}");
        }
        assert!(!text.contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn help_shows_examples_and_hides_the_keeper_command() {
    let user = User::new();
    let help = user.ok(&["--help"]);
    for part in ["key", "config", "template", "jail", "demo", "Examples:", "--json"] {
        assert!(help.contains(part), "{part}");
    }
    assert!(!help.contains("keeper"));
    assert!(user.ok(&["--version"]).starts_with("stockade 0."));
}

#[test]
fn logs_never_reach_standard_output() {
    let user = User::new();
    let output = user.run(&["key", "list", "--json", "-vvv"]);
    serde_json::from_str::<Value>(&stdout(&output)).expect("standard output is JSON alone");
    assert!(!output.stderr.is_empty(), "the log is on standard error");

    let bad = user.command(&["key", "list"]).env("STOCKADE_LOG", "stockade=loud").output().unwrap();
    assert_eq!(bad.status.code(), Some(1));
    let text = stderr(&bad);
    let code = text.strip_prefix("error[").and_then(|rest| rest.split(']').next());
    assert_eq!(code.map(seen).as_deref(), Some("bad_log_filter"), "{text}");
}

#[test]
fn a_closed_pipe_and_a_full_disk_do_not_panic() {
    let user = User::new();
    for arguments in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["--help"],
        &["key", "revoke", "x", "--json"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let gone = user.command(arguments).stdout(writer).output().unwrap();
        assert!(gone.status.code().is_some(), "{arguments:?}: it ended by itself");
        assert!(!stderr(&gone).contains("panicked"), "{arguments:?}: {}", stderr(&gone));

        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let full = user.command(arguments).stdout(full).output().unwrap();
        assert!(!stderr(&full).contains("panicked"), "{arguments:?}: {}", stderr(&full));
        assert_ne!(full.status.code(), Some(0), "{arguments:?}: the answer did not arrive");
    }
}

#[test]
fn credentials_go_in_by_standard_input_and_never_come_out() {
    const SECRET: &str = "c4n4ry-of-a-login";
    let user = User::new();
    let feed = |arguments: &[&str], text: &str| {
        let mut child = user.command(arguments);
        child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let said = |output: &Output| {
        let text = format!("{}{}", stdout(output), stderr(output));
        assert!(!text.contains(SECRET), "{text}");
        text
    };
    let document = format!(r#"{{"domain":"shop.test","cookies":[{{"name":"sid","value":"{SECRET}"}}]}}"#);
    let cookies =
        format!("git.test\tFALSE\t/\tTRUE\t0\tsid\t{SECRET}\nother.test\tFALSE\t/\tTRUE\t0\tx\ty\n");

    assert!(user.ok(&["credential", "list"]).contains("no credentials yet"));
    let put = feed(&["credential", "put"], &document);
    assert!(put.status.success() && said(&put).contains("shop.test of default: 1 cookie."), "{}", said(&put));
    let imported = feed(&["credential", "import", "--domain", "git.test", "--id", "git"], &cookies);
    assert!(
        imported.status.success() && said(&imported).contains("1 cookies of other hosts"),
        "{}",
        said(&imported)
    );

    let list = user.json(&["credential", "list"]);
    assert_eq!(
        (&list["credentials"][0]["id"], &list["credentials"][1]["domain"]),
        (&"git".into(), &"shop.test".into())
    );
    assert!(user.ok(&["credential", "show", "git"]).contains("git.test"));
    let other = user.json(&["credential", "list", "--tenant", "other"]);
    assert_eq!(other["credentials"].as_array().unwrap().len(), 0);

    let rotated = user.json(&["credential", "rotate-key"]);
    assert_eq!((&rotated["rewrapped"], &rotated["old_keys_dropped"]), (&2.into(), &true.into()));
    user.ok(&["credential", "remove", "git"]);

    for (arguments, text, code) in [
        (&["credential", "put", "--json"][..], document.replace("sid", "s;d"), "credential_malformed"),
        (&["credential", "import", "--domain", "nothing.test", "--json"], cookies, "import_malformed"),
        (&["credential", "remove", "git", "--json"], String::new(), "unknown_credential"),
        (&["credential", "show", "git", "--json"], String::new(), "unknown_credential"),
    ] {
        let failed = feed(arguments, &text);
        assert_eq!(failed.status.code(), Some(1));
        assert!(!said(&failed).is_empty());
        let error = parse_reply(&failed);
        assert_eq!(seen(error["error"]["code"].as_str().unwrap()), code);
    }
    let state = user.path(".local/share/stockade");
    for file in ["vault.db", "master.key"] {
        let mode = fs::metadata(state.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}
