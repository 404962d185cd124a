//! The contract with scripts: exit codes and JSON, as tables over all commands; help, completions, manual pages.

use crate::cli_commands::User;
use crate::common::parse_reply;
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs a command with this standard input and without a terminal.
pub fn feed(user: &User, arguments: &[&str], input: &str) -> Output {
    let inner = user.command(arguments);
    let mut command = Command::new("setsid");
    command.arg("--wait").arg(inner.get_program()).args(inner.get_args()).env_clear();
    command.envs(inner.get_envs().filter_map(|(key, value)| Some((key, value?))));
    command.current_dir(inner.get_current_dir().unwrap());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that is refused before it reads has closed the pipe.
    drop(child.stdin.take().unwrap().write_all(input.as_bytes()));
    child.wait_with_output().unwrap()
}

fn code_of(reply: &Value) -> &str {
    reply["error"]["code"].as_str().unwrap_or("")
}

/// The names of all commands without subcommands, from the manual: `session start`, `serve`.
fn leaves(user: &User) -> BTreeSet<String> {
    let made = user.json(&["man", "--dir", "man"]);
    let files = made["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap());
    // A verb of two words, such as `rotate-key`, looks like a subcommand in the file name.
    let pages: BTreeSet<String> = files.map(|file| file.strip_suffix(".1").unwrap().to_owned()).collect();
    let has_children = |page: &str| pages.iter().any(|other| other.starts_with(&format!("{page}-")));
    pages.iter().filter(|page| !has_children(page)).cloned().collect()
}

const DOCUMENT: &str = r#"{"domain":"shop.test","cookies":[{"name":"sid","value":"v-0123456789"}]}"#;

/// Every command of the program but those of `page`: arguments, standard input, exit code, code of the error.
/// Without a server, a template or a terminal.
const COMMANDS: &[(&[&str], &str, i32, &str)] = &[
    (&["serve", "--set", "server.listen=nowhere"], "", 2, "config_value"),
    (&["mcp", "--actor", "A B"], "", 2, "usage"),
    (&["connect"], "", 0, ""),
    (&["key", "make"], "", 0, ""),
    (&["key", "list"], "", 0, ""),
    (&["key", "revoke", "key-none"], "", 1, "unknown_key"),
    (&["credential", "put"], DOCUMENT, 0, ""),
    (&["credential", "import", "--domain", "shop.test"], "", 1, "import_malformed"),
    (&["credential", "list"], "", 0, ""),
    (&["credential", "show", "shop.test"], "", 0, ""),
    (&["credential", "accept", "shop.test"], "", 1, "nothing_rotated"),
    (&["credential", "allow", "shop.test", "--body", "/oauth/token"], "", 0, ""),
    (&["credential", "test", "shop.test", "--set", "enabled=false"], "", 1, "disabled"),
    (&["credential", "code", "shop.test"], "", 1, "no_totp_seed"),
    (&["credential", "reject", "shop.test"], "", 1, "nothing_rotated"),
    (&["credential", "rotate-key"], "", 0, ""),
    (&["grant", "issue", "--host", "shop.test"], "", 0, ""),
    (&["grant", "list"], "", 0, ""),
    (&["grant", "revoke", "none"], "", 1, "unknown_grant"),
    (&["grant", "lifetime", "5m"], "", 0, ""),
    (&["credential", "remove", "shop.test"], "", 0, ""),
    (&["watch", "--password-stdin"], "x\n", 2, "usage"),
    (&["approvals", "--password-stdin"], "x\n", 1, "not_running"),
    (&["approve", "ap-1", "--password-stdin"], "x\n", 1, "not_running"),
    (&["deny", "ap-1", "--password-stdin"], "x\n", 1, "not_running"),
    (&["resume", "ap-1", "--password-stdin"], "x\n", 1, "not_running"),
    (&["end", "ap-1", "--password-stdin"], "x\n", 1, "not_running"),
    (&["operator", "list"], "", 0, ""),
    (&["operator", "logout"], "", 0, ""),
    (&["operator", "add", "ada"], "", 0, ""),
    (&["operator", "remove", "ada"], "", 0, ""),
    (&["operator", "link"], "", 1, "terminal_required"),
    (&["operator", "password", "--password-stdin"], "correct horse battery\n", 0, ""),
    (&["session", "start"], "", 1, "not_running"),
    (&["session", "list"], "", 1, "not_running"),
    (&["session", "show", "s"], "", 1, "not_running"),
    (&["session", "close", "s"], "", 1, "not_running"),
    (&["session", "archive", "s"], "", 1, "not_running"),
    (&["session", "replay", "s-1"], "", 1, "unknown_session"),
    (&["session", "egress", "s-1"], "", 1, "unknown_session"),
    (&["config", "show"], "", 0, ""),
    (&["config", "check"], "", 0, ""),
    (&["config", "path"], "", 0, ""),
    (&["template", "build", "--bridge", "nowhere"], "", 1, "bridge_missing"),
    (&["template", "verify"], "", 1, "template_missing"),
    (&["template", "list"], "", 0, ""),
    (&["jail", "list"], "", 0, ""),
    (&["jail", "reap"], "", 0, ""),
    (&["doctor", "--set", "container.weaker_limits=true"], "", 1, "checks_failed"),
    (&["audit", "tail"], "", 0, ""),
    (&["audit", "show", "999999"], "", 1, "unknown_event"),
    (&["audit", "verify"], "", 0, ""),
    (&["audit", "export", "--output", "log.jsonl"], "", 0, ""),
    (&["policy", "test", "wrong.yaml"], "", 1, "checks_failed"),
    (&["policy", "explain", "--action", "read"], "", 0, ""),
    (&["policy", "rules"], "", 0, ""),
    (&["smoke", "http://shop.test/", "--set", "enabled=false"], "", 1, "disabled"),
    (&["demo", "--listen", "TAKEN"], "", 1, "cannot_listen"),
    (&["completions", "bash"], "", 0, ""),
    (&["man"], "", 0, ""),
];

#[test]
fn every_command_answers_in_one_form_with_its_exit_code() {
    let user = User::new();
    user.write("wrong.yaml", "[{action: read, expect: {decision: deny}}]");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let mut left = leaves(&user);
    for (arguments, input, exit, code) in COMMANDS {
        let arguments: Vec<&str> =
            arguments.iter().map(|it| if *it == "TAKEN" { taken.as_str() } else { it }).collect();
        let done = feed(&user, &[&arguments[..], &["--json"]].concat(), input);
        let reply = parse_reply(&done);
        assert_eq!((done.status.code(), code_of(&reply)), (Some(*exit), *code), "{arguments:?}: {reply}");
        if *exit != 0 {
            let error = &reply["error"];
            for field in ["message", "hint"] {
                assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "{arguments:?}: {reply}");
            }
            assert!(error["retryable"].is_boolean(), "{arguments:?}: {reply}");
        }
        let page =
            (1..=2).map(|words| format!("stockade-{}", arguments[..words.min(arguments.len())].join("-")));
        left.retain(|leaf| !page.clone().any(|page| page == *leaf));
    }
    // The verbs of `page` are those of the API. Without a server, each reports that, or a missing argument.
    let verbs: Vec<String> =
        left.iter().filter_map(|it| Some(it.strip_prefix("stockade-page-")?.to_owned())).collect();
    assert!(verbs.len() > 20, "{verbs:?}");
    for verb in verbs {
        let done = user.run(&["page", &verb, "s", "--json"]);
        let reply = parse_reply(&done);
        let expected = if done.status.code() == Some(2) { "usage" } else { "not_running" };
        assert_eq!(code_of(&reply), expected, "{verb}: {reply}");
        left.remove(&format!("stockade-page-{verb}"));
    }
    assert_eq!(left, BTreeSet::new(), "commands that the table leaves out");
}

#[test]
fn wrong_usage_is_2_and_a_failure_is_1() {
    let user = User::new();
    user.write("bad.yaml", "security: {browser: {container: {network: host}}}\n");
    let table: &[(&[&str], i32, &str)] = &[
        (&[], 2, "usage"),
        (&["nonsense"], 2, "usage"),
        (&["help", "nonsense"], 2, "usage"),
        (&["key", "lst"], 2, "usage"),
        (&["key", "list", "--colour"], 2, "usage"),
        (&["key", "make", "--tenant", "A B"], 2, "usage"),
        (&["connect", "emacs"], 2, "usage"),
        (&["completions", "cmd"], 2, "usage"),
        (&["man", "nonsense"], 2, "usage"),
        (&["grant", "issue", "--host", "*.a.test"], 2, "usage"),
        (&["audit", "tail", "--since", "soon"], 2, "usage"),
        (&["page", "click", "s", "--index", "two"], 2, "usage"),
        (&["page", "clik", "s"], 2, "unknown_action"),
        (&["session", "lst"], 2, "unknown_action"),
        (&["config", "show", "--set", "no-equals-sign"], 2, "usage"),
        (&["config", "show", "--set", "no_such_key=1"], 2, "config_unknown_key"),
        (&["config", "show", "--set", "session_timeout=soon"], 2, "config_value"),
        (&["config", "show", "--set", "session_timeout=[1"], 2, "config_malformed"),
        (&["serve", "--listen", "0.0.0.0:1"], 2, "config_value"),
        // The same mistake in a file is a failure and not a usage error.
        (&["config", "show", "--config", "bad.yaml"], 1, "config_value"),
        (&["config", "show", "--config", "none.yaml"], 1, "config_unreadable"),
        (&["key", "revoke", "key-none"], 1, "unknown_key"),
        (&["session", "list"], 1, "not_running"),
    ];
    for (arguments, exit, code) in table {
        let done = user.run(&[arguments, &["--json"][..]].concat());
        let reply = parse_reply(&done);
        assert_eq!((done.status.code(), code_of(&reply)), (Some(*exit), *code), "{arguments:?}: {reply}");
        assert_eq!(user.run(arguments).status.code(), Some(*exit), "{arguments:?}, for people");
    }
    assert!(user.ok(&["help", "audit", "verify"]).contains("\n  3  whole up to a tail"));
    let help = user.ok(&["--help"]);
    for (code, meaning) in [
        ("0", "did what was asked"),
        ("1", "failed"),
        ("2", "command line is wrong"),
        ("3", "audit verify: the log is whole up to a tail"),
    ] {
        let line = help.lines().find(|line| line.starts_with(&format!("  {code}  ")));
        assert!(line.is_some_and(|line| line.contains(meaning)), "{code} in {help}");
        assert!(user.ok(&["man"]).contains(meaning), "{code} in the manual page");
    }
}

#[test]
fn help_is_a_command_and_a_flag() {
    let user = User::new();
    for path in [&[][..], &["session"], &["session", "start"], &["page", "goto"], &["audit", "verify"]] {
        let by_command = user.ok(&[&["help"], path].concat());
        assert_eq!(by_command, user.ok(&[path, &["--help"]].concat()), "{path:?}");
        assert!(by_command.contains("Usage: stockade"), "{by_command}");
    }
    for group in ["Connect agents:", "Sign in:", "Approve:", "Operate:", "Inspect:"] {
        assert!(user.ok(&["help"]).contains(&format!("\n{group}\n")), "{group}");
    }
    // The main commands have examples.
    for name in [
        "serve",
        "mcp",
        "connect",
        "key",
        "credential",
        "grant",
        "approve",
        "deny",
        "resume",
        "end",
        "watch",
        "operator",
        "session",
        "page",
        "config",
        "template",
        "jail",
        "doctor",
        "audit",
        "policy",
        "smoke",
        "demo",
        "completions",
        "man",
    ] {
        assert!(user.ok(&["help", name]).contains("\nExamples:\n  "), "{name}");
    }
}

#[test]
fn completions_know_commands_verbs_and_flags() {
    let user = User::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = user.ok(&["completions", shell]);
        for word in ["rotate-key", "wait-for", "password-stdin", "completions"] {
            assert!(script.contains(word), "{word} for {shell}");
        }
        assert_eq!(user.json(&["completions", shell])["script"], script.as_str(), "{shell}");
    }
    // Bash loads the script and completes a verb with it.
    let script = format!(
        "{}\nCOMP_WORDS=(stockade session st); COMP_CWORD=2; COMP_LINE='stockade session st'; COMP_POINT=19\n\
         _stockade stockade st session; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        user.ok(&["completions", "bash"])
    );
    let file = user.write("complete.bash", &script);
    let done = Command::new("bash").args(["--noprofile", "--norc"]).arg(file).output().unwrap();
    assert_eq!(
        String::from_utf8(done.stdout).unwrap(),
        "start\n",
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn manual_pages_have_the_sections_that_people_look_for() {
    let user = User::new();
    let page = user.ok(&["man"]);
    for part in
        [".SH NAME", ".SH SYNOPSIS", ".SH OPTIONS", ".SH COMMANDS", ".SH EXAMPLES", ".SH \"EXIT STATUS\""]
    {
        assert!(page.contains(part), "{part} in {page}");
    }
    assert!(
        page.contains(".SH ENVIRONMENT") && page.contains("STOCKADE\\_CONFIG")
            || page.contains("STOCKADE_CONFIG")
    );
    assert!(user.ok(&["man", "session", "start"]).contains("stockade\\-session\\-start"));
    let made = user.json(&["man", "--dir", "pages"]);
    let files = made["files"].as_array().unwrap();
    assert!(files.len() > 70, "{}", files.len());
    for file in files {
        let text = std::fs::read_to_string(user.path("pages").join(file.as_str().unwrap())).unwrap();
        assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{file}");
    }
}

#[test]
fn a_command_that_asks_for_a_password_takes_it_by_standard_input_and_says_so() {
    let user = User::new();
    let set = feed(&user, &["operator", "password", "--password-stdin"], "correct horse battery\n");
    assert!(set.status.success(), "{set:?}");
    assert!(feed(&user, &["credential", "put"], DOCUMENT).status.success());
    let table: &[&[&str]] = &[
        &["approvals"],
        &["approve", "ap-1"],
        &["deny", "ap-1"],
        &["resume", "ap-1"],
        &["end", "ap-1"],
        &["watch"],
        &["grant", "issue", "--host", "shop.test"],
        &["grant", "lifetime", "5m"],
        &["credential", "accept", "shop.test"],
        &["credential", "code", "shop.test"],
        &["operator", "password"],
        &["operator", "add", "ada"],
        &["operator", "remove", "operator"],
    ];
    for arguments in table {
        let done = feed(&user, arguments, "");
        let text = String::from_utf8(done.stderr).unwrap();
        assert!(text.starts_with("error[terminal_required]: "), "{arguments:?}: {text}");
        assert!(
            text.lines().any(|line| line.starts_with("  hint: ") && line.contains("--password-stdin")),
            "{text}"
        );
        let words = arguments.len().min(if matches!(arguments[0], "approve" | "deny" | "resume" | "end") {
            1
        } else {
            2
        });
        assert!(
            user.ok(&[&["help"], &arguments[..words]].concat()).contains("--password-stdin"),
            "{arguments:?}"
        );
    }
}
