//! Tasks on the widgets that real pages are made of, done through MCP alone, by role and name, ten times out of ten, in
//! one session that outlives the tokens of its bridge.

use crate::common;

use common::site::Site;
use common::{Home, Mcp};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const TIMES: usize = 10;
/// How long a token of the bridge is good for, in seconds. It is renewed at half of that, which leaves a busy machine
/// five seconds.
const TOKEN_SECONDS: u64 = 10;

/// One page, what is done on it, and what it says at the end.
pub(crate) struct Task {
    pub(crate) page: &'static str,
    pub(crate) steps: Vec<(&'static str, Value)>,
    pub(crate) said: &'static str,
}

fn click(role: &str, name: &str) -> (&'static str, Value) {
    ("browser_click", json!({"role": role, "name": name}))
}

fn type_into(role: &str, name: &str, text: &str) -> (&'static str, Value) {
    ("browser_type", json!({"role": role, "name": name, "text": text, "clear_first": true}))
}

fn select(role: &str, name: &str, options: &[&str]) -> (&'static str, Value) {
    ("browser_select", json!({"role": role, "name": name, "options": options}))
}

fn check(role: &str, name: &str) -> (&'static str, Value) {
    ("browser_check", json!({"role": role, "name": name}))
}

fn press(role: &str, name: &str, key: &str) -> (&'static str, Value) {
    ("browser_press_key", json!({"role": role, "name": name, "key": key}))
}

pub(crate) fn tasks() -> Vec<Task> {
    let task = |page, steps, said| Task { page, steps, said };
    vec![
        task(
            "form",
            vec![
                type_into("textbox", "Full name", "Ada \"A.\" Lovelace-Öz"),
                type_into("textbox", "E-mail", "ada@example.test"),
                type_into("spinbutton", "Guests", "3"),
                ("browser_press_key", json!({"role": "spinbutton", "name": "Guests", "key": "ArrowUp"})),
                type_into("textbox", "Arrival", "11202026"),
                select("combobox", "Country", &["Belgium"]),
                select("listbox", "Extras", &["Breakfast", "Cot"]),
                check("radio", "Double"),
                check("checkbox", "I agree"),
                type_into("textbox", "Notes", "two\nlines"),
                click("button", "Book"),
            ],
            "Ada \\\"A.\\\" Lovelace-Öz | ada@example.test | 4 | 2026-11-20 | Belgium | double | on | two lines | Breakfast+Cot",
        ),
        task(
            "widgets",
            vec![
                click("treeitem", "Documents"),
                ("browser_click", json!({"role": "treeitem", "name": "letter.txt", "count": 2})),
                click("tab", "Actions"),
                click("button", "More"),
                click("menuitem", "Archive"),
                check("switch", "Dark mode"),
                press("slider", "Volume", "ArrowRight"),
            ],
            "opened letter; Archive; dark true; volume 4;",
        ),
        task(
            "datepicker",
            vec![
                click("button", "Choose date"),
                click("button", "Next month"),
                ("browser_wait_for", json!({"text": "December 2026"})),
                click("button", "24"),
            ],
            "chosen 24 December 2026",
        ),
        task(
            "combobox",
            vec![type_into("combobox", "City", "Li"), click("option", "Lisbon")],
            "chosen Lisbon",
        ),
        task(
            "virtual",
            vec![
                (
                    "browser_scroll",
                    json!({"role": "list", "name": "Entries", "direction": "down", "amount": 100_000}),
                ),
                click("button", "Entry 5004"),
            ],
            "opened Entry 5004",
        ),
        task(
            "dragdrop",
            vec![
                (
                    "browser_drag",
                    json!({"role": "button", "name": "Buy milk", "to": {"role": "group", "name": "Done"}}),
                ),
                (
                    "browser_drag",
                    json!({"role": "button", "name": "Knob", "to": {"role": "button", "name": "Far end"}}),
                ),
            ],
            "dropped; slid;",
        ),
        task(
            "editor",
            vec![
                type_into("textbox", "Letter", "Dear "),
                click("button", "Bold"),
                ("browser_type", json!({"role": "textbox", "name": "Letter", "text": "Ada\nbye"})),
            ],
            "Dear",
        ),
        task("editor", vec![type_into("textbox", "Strict", "Only keys!")], "strict: Only keys!"),
        task(
            "shadow",
            vec![
                type_into("textbox", "card code", "1-2-3"),
                click("button", "Send card"),
                type_into("textbox", "vault code", "x y"),
                click("button", "Send vault"),
            ],
            "card: 1-2-3; vault: x y;",
        ),
        task(
            "frames",
            vec![type_into("textbox", "Word", "hello up there"), click("button", "Send up")],
            "heard hello up there",
        ),
        task("sticky", vec![click("button", "Below")], "clicked below"),
        task("cookies", vec![click("button", "Accept all"), click("button", "Go on")], "went on"),
        task("modal", vec![click("button", "Delete draft"), click("button", "Yes, delete")], "deleted"),
        task(
            "late",
            vec![click("button", "Late button"), click("button", "Wait for me"), click("button", "Catch me")],
            "late; enabled; caught;",
        ),
        task(
            "dialogs",
            vec![
                click("button", "Rename"),
                ("browser_dialog", json!({"accept": true, "text": "new name"})),
                ("browser_wait_for", json!({"text": "renamed to new name"})),
                click("button", "Remove"),
                ("browser_dialog", json!({"accept": true})),
            ],
            "removed",
        ),
        task(
            "popup",
            vec![
                click("link", "Open window"),
                ("browser_tabs", json!({"action": "switch", "tab": "newest"})),
                type_into("textbox", "Answer", "42"),
                click("button", "Send and close"),
                ("browser_wait_for", json!({"text": "popup says 42"})),
            ],
            "popup says 42",
        ),
        task(
            "hover",
            vec![
                ("browser_hover", json!({"role": "navigation", "name": "Products"})),
                click("link", "Lamps"),
            ],
            "lamps",
        ),
    ]
}

/// The pages of the tasks, and what they load.
pub(crate) const PAGES: [(&str, &str); 20] = [
    ("/form", include_str!("components/form.html")),
    ("/widgets", include_str!("components/widgets.html")),
    ("/datepicker", include_str!("components/datepicker.html")),
    ("/combobox", include_str!("components/combobox.html")),
    ("/cities", "Lisbon\nLima\nLille\nOslo\n"),
    ("/virtual", include_str!("components/virtual.html")),
    ("/dragdrop", include_str!("components/dragdrop.html")),
    ("/editor", include_str!("components/editor.html")),
    ("/shadow", include_str!("components/shadow.html")),
    ("/frames", include_str!("components/frames.html")),
    ("/frames-middle", include_str!("components/frames-middle.html")),
    ("/frames-innermost", include_str!("components/frames-innermost.html")),
    ("/sticky", include_str!("components/sticky.html")),
    ("/cookies", include_str!("components/cookies.html")),
    ("/modal", include_str!("components/modal.html")),
    ("/late", include_str!("components/late.html")),
    ("/dialogs", include_str!("components/dialogs.html")),
    ("/popup", include_str!("components/popup.html")),
    ("/popup-child", include_str!("components/popup-child.html")),
    ("/hover", include_str!("components/hover.html")),
];

#[test]
fn every_widget_is_worked_by_role_and_name_ten_times_out_of_ten_while_tokens_are_renewed() {
    let site = Site::serve(&PAGES);
    let settings = format!(
        "    max_actions_per_session: 100000\n    session_timeout: 3600\n    bridge_token_seconds: {TOKEN_SECONDS}\n{}",
        site.setting(&["widgets.test", "inner.test"])
    );
    let home = Home::new(&settings);
    let mut mcp = home.mcp();
    let session = mcp.open();
    let opened = Instant::now();
    let mut failures = Vec::new();
    let mut rounds = 0;
    // Three lifetimes of a token have passed long before the last round on any machine so far; on a faster one there
    // are more rounds.
    while rounds < TIMES || opened.elapsed() < 3 * Duration::from_secs(TOKEN_SECONDS) {
        rounds += 1;
        for task in tasks() {
            if let Err(why) = attempt(&mut mcp, &session, &task) {
                failures.push(format!("{} (round {rounds}): {why}", task.page));
            }
        }
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

fn attempt(mcp: &mut Mcp, session: &str, task: &Task) -> Result<(), String> {
    let page = json!({"session_id": session, "url": format!("http://widgets.test/{}", task.page)});
    mcp.call("browser_navigate", page).map_err(|error| format!("browser_navigate: {error}"))?;
    for (tool, arguments) in &task.steps {
        let mut arguments = arguments.clone();
        arguments["session_id"] = json!(session);
        if arguments["tab"] == "newest" {
            arguments["tab"] = newest_tab(mcp, session);
        }
        mcp.call(tool, arguments.clone()).map_err(|error| format!("{tool} {arguments}: {error}"))?;
    }
    let page = mcp
        .call("browser_read", json!({"session_id": session}))
        .map_err(|error| format!("browser_read: {error}"))?;
    let outline = page["snapshot"].as_str().unwrap();
    if outline.contains(task.said) {
        Ok(())
    } else {
        Err(format!("it does not say {:?}:\n{outline}", task.said))
    }
}

pub(crate) fn newest_tab(mcp: &mut Mcp, session: &str) -> Value {
    let tabs = mcp.ok("browser_tabs", json!({"session_id": session, "action": "list"}));
    tabs["tabs"].as_array().unwrap().last().unwrap()["tab"].clone()
}
