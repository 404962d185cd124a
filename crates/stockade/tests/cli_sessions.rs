//! `session list`, `session show` and `approvals` for a person: a real server, a real session, a real question.

use crate::common::login::PASSWORD;
use crate::common::site::Site;
use crate::common::{Home, http};
use serde_json::json;
use std::process::{Command, Stdio};
use unicode_width::UnicodeWidthStr;

/// The output of a command for people; checks that it fits 80 columns.
fn shown(home: &Home, arguments: &[&str]) -> String {
    let done = home.command(arguments).output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    check_width(&text);
    text
}

fn check_width(text: &str) {
    for line in text.lines() {
        assert!(line.width() <= 80, "{}: {line}", line.width());
    }
}

/// The same for a command that asks for the operator's password.
fn shown_to_operator(home: &Home, arguments: &[&str]) -> String {
    let mut command: Command = home.command(arguments);
    let mut child =
        command.arg("--password-stdin").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), format!("{PASSWORD}\n").as_bytes()).unwrap();
    let done = child.wait_with_output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    check_width(&text);
    text
}

#[test]
fn a_person_sees_who_is_where_what_is_left_and_how_to_answer() {
    let page = "<title>The item</title><form method=post action=/gone><button>Delete item</button></form>";
    let site = Site::serve(&[("/", page), ("/gone", "<h1>Gone</h1>")]);
    let hosts = site.setting(&["item.test"]);
    let home = Home::asking(&format!("{hosts}    hitl:\n      approval_timeout: 300\n"));
    home.set_password();
    let server = home.serve(&[]);
    let empty = shown(&home, &["session", "list"]);
    assert!(empty.contains("No session is open") && empty.contains("stockade session start"), "{empty}");
    let nothing = shown_to_operator(&home, &["approvals"]);
    assert!(nothing.contains("Nothing waits") && nothing.contains("stockade watch"), "{nothing}");

    let (_, started) = home.json(&["session", "start", "mine"]);
    let session = started["session_id"].as_str().unwrap().to_owned();
    let fresh = shown(&home, &["session", "show", "mine"]);
    for part in ["open", "none yet", "default/agent", "no: a clean browser", "512 MiB memory", "100 of 100"] {
        assert!(fresh.contains(part), "{part} in {fresh}");
    }
    home.json(&["page", "goto", "mine", "http://item.test/"]);
    let click = json!({"action": "page.click", "session": session, "role": "button", "name": "Delete item",
        "wait": false});
    let (_, asked) = http::post(&server.address(), server.key(), "/v1/actions", &click.to_string());
    let id = asked["error"]["approval_id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();

    let listed = shown(&home, &["session", "list"]);
    for part in
        [session.as_str(), "asks", "default/agent", "The item", "1 approval request waits", "stockade watch"]
    {
        assert!(listed.contains(part), "{part} in {listed}");
    }
    let shown_now = shown(&home, &["session", "show", "mine"]);
    for part in [
        "asks",
        "The item",
        "http://item.test/",
        "98 of 100 actions",
        &format!("stockade approve {id}"),
        &format!("stockade deny {id}"),
        "navigate",
    ] {
        assert!(shown_now.contains(part), "{part} in {shown_now}");
    }
    let waiting = shown_to_operator(&home, &["approvals"]);
    for part in ["RISK", "\"Delete item\"", "default/agent", &session, &format!("stockade approve {id}")] {
        assert!(waiting.contains(part), "{part} in {waiting}");
    }
    // Hints about the same session name commands for people and tools for agents.
    assert!(asked["error"]["hint"].as_str().unwrap().contains("browser_pending"), "{asked}");
    let (code, again) = home.json(&["page", "click", "mine", "--role", "button", "--name", "Delete item"]);
    assert_eq!(code, 1, "{again}");
    let hint = again["error"]["hint"].as_str().unwrap();
    assert!(hint.contains("stockade approvals") && !hint.contains("browser_"), "{hint}");

    let (code, denied) = home.as_operator(&["deny", &id]);
    assert_eq!((code, &denied["approval"]["state"]), (0, &json!("denied")), "{denied}");
    let decided = shown_to_operator(&home, &["approvals"]);
    assert!(decided.contains("Decided last") && decided.contains("denied"), "{decided}");
    home.json(&["session", "close", "mine"]);
    assert!(shown(&home, &["session", "list"]).contains("closed"));
}
