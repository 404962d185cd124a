//! Failures and their error codes. After all tests, `script/codes` checks that each code of the table was seen.

use crate::common;

use common::site::Site;
use common::{Home, http, table};
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

const PAGE: &str = "<title>Trouble</title>
<button id=away>Away</button><button id=hide onclick='away.hidden = true'>Hide</button><button id=off disabled>Off</button>
<p id=text>Text</p><select id=one><option>A<option disabled>B<option>C</select>
<input type=checkbox id=stuck onclick='event.preventDefault()'>
<div style='position:relative'><button id=under>Under</button>
<div id=over style='position:absolute;inset:0;background:red'>Over</div></div>
<a href=/file download=x>Load</a><input type=password aria-label=Secret><input type=file id=file><input aria-label=Note>";

#[test]
fn page_failures_have_their_codes() {
    let site = Site::serve(&[("/", PAGE), ("/spin", "<script>while (true);</script>")]);
    let home = Home::new(&format!("    max_actions_per_session: 300\n{}", site.setting(&["a.test"])));
    let mut mcp = home.mcp();
    let session = mcp.open();
    let page = mcp.goto(&session, "http://a.test/");
    let line = page["snapshot"].as_str().unwrap().lines().find(|line| line.contains("Away")).unwrap();
    let first = line.split_once("[ref=").unwrap().1.split_once(']').unwrap().0;
    for (tool, mut arguments, expected) in [
        ("browser_click", json!({"role": "button", "name": "Nowhere"}), "element_not_found"),
        // A short time limit has the same code.
        (
            "browser_click",
            json!({"role": "button", "name": "Nowhere", "timeout_seconds": 1}),
            "element_not_found",
        ),
        ("browser_click", json!({"ref": "e999"}), "stale_ref"),
        ("browser_click", json!({"selector": "#hide"}), "ok"),
        ("browser_click", json!({"ref": first}), "element_not_visible"),
        ("browser_click", json!({"selector": "#off"}), "element_disabled"),
        ("browser_click", json!({"selector": "#under"}), "element_covered"),
        ("browser_click", json!({"selector": "#file"}), "upload_refused"),
        ("browser_click", json!({"selector": "p[id]"}), "bad_selector"),
        ("browser_click", json!({"x": 1270, "y": 790}), "ok"),
        ("browser_type", json!({"selector": "#text", "text": "x"}), "element_not_editable"),
        ("browser_type", json!({"role": "textbox", "name": "Secret", "text": "x"}), "secret_field"),
        (
            "browser_type",
            json!({"role": "textbox", "name": "Note", "text": "4111 1111 1111 1111"}),
            "credential_typed",
        ),
        ("browser_type", json!({"role": "textbox", "name": "Note", "text": "4111 1111 1111 1112"}), "ok"),
        ("browser_press_key", json!({"key": "Control+C"}), "clipboard_refused"),
        ("browser_press_key", json!({"key": "Entr"}), "bad_arguments"),
        ("browser_select", json!({"selector": "#text", "option": "A"}), "element_not_a_list"),
        ("browser_select", json!({"selector": "#one", "option": "D"}), "no_such_option"),
        ("browser_select", json!({"selector": "#one", "option": "B"}), "no_such_option"),
        ("browser_select", json!({"selector": "#one", "options": ["A", "C"]}), "one_option_only"),
        ("browser_check", json!({"selector": "#text"}), "element_not_checkable"),
        ("browser_check", json!({"selector": "#stuck"}), "element_unchanged"),
        ("browser_read", json!({"cursor": "c99.1-2"}), "stale_cursor"),
        ("browser_dialog", json!({"accept": true}), "no_dialog"),
        ("browser_forward", json!({}), "no_history"),
        ("browser_tabs", json!({"action": "close", "tab": "t9"}), "no_such_tab"),
        ("browser_read_dom", json!({}), "read_dom_disabled"),
        (
            "browser_wait_for",
            json!({"text": "never", "timeout_seconds": 0.5}),
            "browser_action_timeout:wait_for:0.5s",
        ),
    ] {
        arguments["session_id"] = json!(session);
        if expected == "ok" {
            mcp.ok(tool, arguments);
        } else {
            assert_eq!(mcp.code(tool, arguments.clone()), expected, "{tool} {arguments}");
        }
    }
    let log = home.audit_log();
    assert!(log.contains("type.credential") && log.contains("\"risk\":\"critical\""), "{log}");
    assert!(!log.contains("4111 1111"), "what was typed is in the log");
    let new = json!({"session_id": session, "action": "new"});
    let full = (0..20).find_map(|_| mcp.call("browser_tabs", new.clone()).err()).unwrap();
    assert_eq!(full["code"], "too_many_tabs");
    // An empty page has no element at any point.
    mcp.ok("browser_tabs", json!({"session_id": session, "action": "close", "tab": "t1"}));
    let nowhere = json!({"session_id": session, "text": "x"});
    assert_eq!(mcp.code("browser_type", nowhere), "nothing_there");
}

#[test]
fn a_domain_that_is_not_on_the_list_is_blocked_and_credentials_pass_if_the_operator_says_so() {
    let page = "<a href=http://b.test/>Away</a><form action=http://b.test/ method=post><button>Go</button></form>\
        <input aria-label=Note>";
    let site = Site::serve(&[("/", page)]);
    // Without approvals, a denial is immediate.
    let settings = "    domain_allowlist: [a.test, '*.a.test']\n    credential_scan: false\n    hitl:\n      \
        enabled: false\n      medium: allow\n      high: allow\n";
    let home = Home::new(&format!("{settings}{}", site.setting(&["a.test", "b.test"])));
    let mut mcp = home.mcp();
    let session = mcp.open();
    let to = |url: &str| json!({"session_id": session, "url": url});
    assert_eq!(mcp.code("browser_navigate", to("http://b.test/")), "blocked_domain");
    mcp.ok("browser_navigate", to("http://a.test/"));
    for role_and_name in [("link", "Away"), ("button", "Go")] {
        let click = json!({"session_id": session, "role": role_and_name.0, "name": role_and_name.1});
        assert_eq!(mcp.code("browser_click", click), "blocked_domain", "{role_and_name:?}");
    }
    let card =
        json!({"session_id": session, "role": "textbox", "name": "Note", "text": "4111 1111 1111 1111"});
    mcp.ok("browser_type", card);
}

#[test]
fn sessions_refuse_with_their_codes() {
    let site = Site::serve(&[("/", PAGE)]);
    let home = Home::new(&site.setting(&["a.test"]));
    let server = home.serve(&[]);
    let (mut one, mut two) = (home.mcp_with(&["--actor", "one"]), home.mcp_with(&["--actor", "two"]));
    assert_eq!(one.code("browser_open_session", json!({"credential_mode": "operator"})), "grant_required");
    for mcp in [&mut one, &mut two] {
        mcp.ok("browser_open_session", json!({"session_name": "twin"}));
    }
    assert_eq!(one.code("browser_open_session", json!({"session_name": "twin"})), "session_name_taken");
    let (code, answer) = home.json(&["session", "show", "twin"]);
    assert_eq!((code, &answer["error"]["code"]), (1, &json!("session_ambiguous")), "{answer}");

    one.goto("twin", "http://a.test/");
    let wait = json!({"session_id": "twin", "text": "never", "timeout_seconds": 100});
    let id = one.begin("tools/call", json!({"name": "browser_wait_for", "arguments": wait}));
    let read = json!({"name": "browser_read", "arguments": {"session_id": "twin"}});
    let waiting: Vec<u64> = (0..20).map(|_| one.begin("tools/call", read.clone())).collect();
    // Requests without a slot are refused at once, the others after the wait.
    let first = one.next_message();
    let busy = common::known(first["result"]["structuredContent"]["error"].clone());
    assert_eq!(busy["code"], "session_busy", "{first}");
    for id in waiting.into_iter().chain([id]) {
        one.notify("notifications/cancelled", json!({"requestId": id}));
    }
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
    let stream = http::send_with(&server.address(), server.key(), "/mcp", "mcp-session-id: none\r\n", &list);
    let (status, answer) = http::answer(stream);
    let fault = common::known(answer["error"]["data"].clone());
    assert_eq!((status, &fault["code"]), (404, &json!("unknown_mcp_session")), "{answer}");
}

/// The code that a failing command prints to standard error.
fn stderr_code(command: &mut Command) -> String {
    let done = command.stdin(Stdio::null()).output().unwrap();
    assert!(!done.status.success(), "{done:?}");
    let text = String::from_utf8(done.stderr).unwrap();
    let code = text.split_once("error[").unwrap_or_else(|| panic!("{text}")).1.split(']').next().unwrap();
    common::known(json!({"code": code}));
    code.to_owned()
}

#[test]
fn commands_refuse_with_their_codes() {
    let home = Home::new("");
    assert_eq!(stderr_code(&mut home.command(&["mcp"])), "mcp_handshake");
    assert_eq!(stderr_code(&mut home.command(&["policy", "test", "no-such-file.yaml"])), "bad_policy_case");

    let old = tempfile::tempdir().unwrap();
    let bwrap = old.path().join("bwrap");
    std::fs::write(&bwrap, "#!/bin/sh\necho bubblewrap 0.4.0\n").unwrap();
    std::fs::set_permissions(&bwrap, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", old.path().display(), std::env::var("PATH").unwrap());
    let done = home.command(&["smoke", "--demo"]).env("PATH", path).output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(text.contains("error[sandbox_runtime_required]"), "{text}");
    let cause = text.split_once("\n  cause: ").unwrap_or_else(|| panic!("{text}")).1.lines().next().unwrap();
    assert_eq!(common::known(json!({"code": cause}))["code"], "bubblewrap_old");

    let mut homeless = Command::new(common::PROGRAM);
    homeless
        .args(["key", "list"])
        .env_remove("HOME")
        .env_remove("XDG_DATA_HOME")
        .env_remove("STOCKADE_STATE");
    assert_eq!(stderr_code(&mut homeless), "state_no_folder");

    // The server's standard output is closed before it prints its banner.
    let mut child = home
        .command(&["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let done = child.wait_with_output().unwrap();
    let text = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success(), "{text}");
    let code = text.split_once("error[").unwrap().1.split(']').next().unwrap();
    assert_eq!(common::known(json!({"code": code}))["code"], "output_lost", "{text}");
}

#[test]
fn the_error_table_parser_reads_the_documented_form() {
    for (code, known) in [
        ("element_not_found", true),
        ("session_ended:closed", true),
        ("browser_action_timeout:click:0.5s", true),
        ("session_ended:whim", false),
        ("element_not_fond", false),
    ] {
        assert_eq!(table::knows(code), known, "{code}");
    }
}
