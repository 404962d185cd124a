//! Sessions for people: who, where, signed in as whom, what is left, what waits for an answer.

use crate::cli::approval_card::{render_row, seconds_left};
use crate::cli::grant::format_duration;
use crate::cli::output::{BAD, BOLD, DIM, GOOD, HINT};
use crate::cli::{Column, Table};
use anstyle::Style;
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

/// Actions of a session that are printed; `--json` has all that are remembered.
const MOST_ACTIONS: usize = 20;
/// Places of placeholders that are printed.
const MOST_PLACES: usize = 8;

pub fn render_list(json: &Value) -> String {
    let mut columns = vec![
        Column::Whole("SESSION"),
        Column::Short("AGENT"),
        Column::Short("STATE"),
        Column::Short("LEFT"),
        Column::Short("ACTIONS"),
        Column::Short("PAGE"),
    ];
    // Only where it says something: the page needs the room.
    let any_login = list(json, "sessions").any(|session| list(session, "signed_in_to").next().is_some());
    if any_login {
        columns.push(Column::Short("LOGIN"));
    }
    let mut table = Table::new(&columns);
    let waiting = |session: &Value| list(json, "waiting").find(|one| one["session"] == session["session_id"]);
    for session in list(json, "sessions") {
        let is_open = session["state"] == "open";
        let (state, style) = describe_state(session, waiting(session).is_some());
        let left = if is_open { time_left(session) } else { "-".to_owned() };
        let actions = format!("{}/{}", session["actions"], session["max_actions"]);
        let mut row = vec![
            (name_of(session), Style::new()),
            (agent_of(session), Style::new()),
            (state, style),
            (left, Style::new()),
            (actions, Style::new()),
            (page_of(session), Style::new()),
        ];
        if any_login {
            row.push((words(session, "signed_in_to"), Style::new()));
        }
        table.add_styled_row(row);
    }
    let mut out = table.render(
        "No session is open. An agent opens one when it needs a browser; by hand:\n  stockade session start",
    );
    let count = list(json, "waiting").count();
    if count > 0 {
        let what = if count == 1 {
            "1 approval request waits".to_owned()
        } else {
            format!("{count} approval requests wait")
        };
        out.push_str(&format!("\n{HINT}{what} for you:{HINT:#} stockade watch\n"));
    }
    out
}

pub fn render_session(json: &Value) -> String {
    let session = &json["session"];
    let waiting: Vec<&Value> = list(json, "waiting").collect();
    let (state, style) = describe_state(session, !waiting.is_empty());
    let is_open = session["state"] == "open";
    let mut out = format!("{BOLD}{}{BOLD:#}  {style}{state}{style:#}\n", text_field(session, "session_id"));
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            out.push_str(&render_row(name, value));
        }
    };
    row("name", &text_field(session, "session_name"));
    row("agent", &agent_of(session));
    let (title, url) = (text_field(session, "title"), text_field(session, "url"));
    row("page", if url.is_empty() { "none yet" } else { &title });
    row(if title.is_empty() { "page" } else { "" }, &url);
    row("signed in", &describe_login(json));
    row("not sealed", &words(session, "unsealed"));
    for note in list(session, "notes") {
        for (index, clause) in note.as_str().unwrap_or_default().split("; ").enumerate() {
            row(if index == 0 { "note" } else { "" }, clause);
        }
    }
    row("left", &if is_open { describe_left(session) } else { String::new() });
    row("started", &describe_time(session, "started_at"));
    row("ended", &describe_time(session, "closed_at"));
    row("recording", &describe_recording(session));
    row("limits", &describe_limits(&json["limits"]));
    row("cpu", &describe_cpu(session));
    row("jail", &text_field(session, "jail_id"));
    for flag in list(session, "flags") {
        out.push_str(&format!("  {BAD}{:<12} {}{BAD:#}\n", "alert", flag.as_str().unwrap_or_default()));
    }
    for question in waiting {
        out.push_str(&render_waiting(question));
    }
    out.push_str(&render_places(session));
    out.push_str(&render_actions(&json["history"]));
    out.push_str(&format!("\n{BOLD}Start{BOLD:#}\n"));
    for phase in list(json, "phases") {
        let ms = phase["ms"].as_f64().unwrap_or_default();
        out.push_str(&format!("  {:<16} {ms:>8.1} ms\n", text_field(phase, "name")));
    }
    out
}

/// Where placeholders were sent and not replaced.
fn render_places(session: &Value) -> String {
    let places: Vec<&Value> = list(session, "unreplaced_placeholders").collect();
    let Some(first) = places.first() else { return String::new() };
    let mut out = format!("\n{HINT}Sent as a placeholder{HINT:#}, not as the secret, in\n");
    for place in places.iter().take(MOST_PLACES) {
        let (kind, path) = (text_field(place, "kind"), text_field(place, "path"));
        out.push_str(&format!("  {kind:<9} {path:.60}\n"));
    }
    if places.len() > MOST_PLACES {
        out.push_str(&format!("  {} more; --json lists all\n", places.len() - MOST_PLACES));
    }
    let credential = text_field(first, "credential");
    out.push_str(&format!("If the site needs it there: stockade credential show {credential}\n"));
    out
}

fn render_waiting(question: &Value) -> String {
    let left = format_duration(Duration::from_secs(seconds_left(question).unsigned_abs()));
    let (action, risk) = (text_field(question, "action"), text_field(question, "risk"));
    let asked = match question["kind"].as_str() {
        Some("guidance") => format!("It is paused and asks what to do; {left} left."),
        _ => format!("It asks: {action}, {risk} risk; {left} left."),
    };
    format!("\n{HINT}{asked}{HINT:#}\n{}", answer_lines(question))
}

/// The commands that answer a question.
pub fn answer_lines(question: &Value) -> String {
    let id = text_field(question, "id");
    if question["kind"] == "guidance" {
        return format!("  answer       stockade resume {id}\n               stockade end {id}\n");
    }
    let sure = if question["irreversible"] == true { " --irreversible" } else { "" };
    format!("  answer       stockade approve {id}{sure}\n               stockade deny {id}\n")
}

fn render_actions(history: &Value) -> String {
    let entries: Vec<&Value> = list(history, "entries").collect();
    let forgotten = history["forgotten"].as_u64().unwrap_or_default();
    let hidden = entries.len().saturating_sub(MOST_ACTIONS) as u64 + forgotten;
    let mut out = format!("\n{BOLD}Actions{BOLD:#}\n");
    if hidden > 0 {
        out.push_str(&format!("  {DIM}{hidden} before these: stockade audit tail{DIM:#}\n"));
    }
    if entries.is_empty() {
        out.push_str(&format!("  {DIM}none yet{DIM:#}\n"));
        return out;
    }
    let mut table = Table::new(&[
        Column::Short("TIME"),
        Column::Short("ACTION"),
        Column::Short("RESULT"),
        Column::Short("TOOK"),
        Column::Short("PAGE"),
    ]);
    let skip = entries.len().saturating_sub(MOST_ACTIONS);
    for entry in entries.into_iter().skip(skip) {
        let result = text_field(entry, "result");
        let style = if result == "ok" { GOOD } else { BAD };
        table.add_styled_row([
            (text_field(entry, "at").get(11..19).unwrap_or_default().to_owned(), DIM),
            (text_field(entry, "action"), Style::new()),
            (result, style),
            (format!("{} ms", entry["duration_ms"].as_u64().unwrap_or_default()), Style::new()),
            (text_field(entry, "url"), DIM),
        ]);
    }
    out + &table.render("")
}

/// The state in a word, and its colour.
fn describe_state(session: &Value, asks: bool) -> (String, Style) {
    match text_field(session, "state").as_str() {
        "open" if session["paused_for"].is_string() => ("paused".to_owned(), HINT),
        "open" if asks => ("asks".to_owned(), HINT),
        "open" => ("open".to_owned(), GOOD),
        ended => (ended.replace('_', " "), DIM),
    }
}

fn time_left(session: &Value) -> String {
    format_duration(Duration::from_secs(session["seconds_left"].as_u64().unwrap_or_default()))
}

fn describe_left(session: &Value) -> String {
    format!("{}, and {} of {} actions", time_left(session), actions_left(session), session["max_actions"])
}

fn actions_left(session: &Value) -> u64 {
    let count = |key: &str| session[key].as_u64().unwrap_or_default();
    count("max_actions").saturating_sub(count("actions"))
}

fn describe_login(json: &Value) -> String {
    let sites = words(&json["session"], "signed_in_to");
    if sites.is_empty() {
        return "no: a clean browser".to_owned();
    }
    match words(json, "credentials") {
        credentials if credentials.is_empty() => format!("to {sites}"),
        credentials => format!("to {sites}, with credential {credentials}"),
    }
}

fn describe_recording(session: &Value) -> String {
    match session["record"].as_str() {
        Some("off") => "off".to_owned(),
        Some("transient") => "transient: the latest screenshots, until it closes".to_owned(),
        Some("audit") => "audit: screenshots before and after each action".to_owned(),
        _ => text_field(session, "record"),
    }
}

fn describe_limits(limits: &Value) -> String {
    let Some(memory) = limits["memory_bytes"].as_u64() else { return String::new() };
    let enforced = if limits["enforced"] == false { " (NOT enforced: container.weaker_limits)" } else { "" };
    format!(
        "{} MiB memory, {} CPU, {} processes, {} files{enforced}",
        memory >> 20,
        limits["cpu"],
        limits["processes"],
        limits["open_files"]
    )
}

/// The CPU credit of an open session; nothing where it is not counted.
fn describe_cpu(session: &Value) -> String {
    let cpu = &session["cpu"];
    let Some(credit) = cpu["credit_seconds"].as_f64() else { return String::new() };
    let (share, burst) = (&cpu["share"], &cpu["burst"]);
    if cpu["limited"] == true {
        return format!("credit used up: held to {share} CPU");
    }
    format!("{credit:.1} s of credit: up to {burst} CPU, {share} without")
}

fn describe_time(session: &Value, key: &str) -> String {
    let at = session[key].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    at.map_or_else(String::new, |at| {
        let ago = Timestamp::now().duration_since(at).unsigned_abs();
        format!("{} UTC, {} ago", at.strftime("%Y-%m-%d %H:%M:%S"), format_duration(ago))
    })
}

fn name_of(session: &Value) -> String {
    let (id, name) = (text_field(session, "session_id"), text_field(session, "session_name"));
    if name.is_empty() { id } else { format!("{id} {name}") }
}

fn agent_of(session: &Value) -> String {
    format!("{}/{}", text_field(session, "tenant"), text_field(session, "actor"))
}

/// The title, or the address of a page without one.
fn page_of(session: &Value) -> String {
    let title = text_field(session, "title");
    if title.is_empty() { text_field(session, "url") } else { title }
}

fn list<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    value[key].as_array().into_iter().flatten()
}

fn words(value: &Value, key: &str) -> String {
    list(value, key).filter_map(Value::as_str).map(audit::sanitize).collect::<Vec<_>>().join(" ")
}

/// A field as text for a terminal, without control characters.
pub fn text_field(value: &Value, key: &str) -> String {
    match &value[key] {
        Value::String(text) => audit::sanitize(text),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use unicode_width::UnicodeWidthStr;

    fn session() -> Value {
        json!({
            "session_id": "s-4f2kq7m9xw3c", "session_name": "shopping", "tenant": "team", "actor": "researcher",
            "jail_id": "j-1", "credential_mode": "operator", "record": "transient",
            "started_at": "2026-11-18T01:02:03Z", "seconds_left": 250, "actions": 3, "max_actions": 100,
            "url": "http://shop.test/\u{1b}[2Jcart", "title": "語".repeat(90), "state": "open",
            "signed_in_to": ["shop.test"],
        })
    }

    fn question(irreversible: bool) -> Value {
        json!({
            "id": "ap-7", "session": "s-4f2kq7m9xw3c", "kind": "action", "action": "click", "risk": "high",
            "irreversible": irreversible, "expires_at": "2020-01-01T00:00:00Z",
        })
    }

    fn plain(text: &str) -> String {
        assert!(!text.contains("\u{1b}[2J"), "{text:?}");
        let text = anstream::adapter::strip_str(text).to_string();
        for line in text.lines() {
            assert!(line.width() <= 80, "{}: {line}", line.width());
        }
        text
    }

    #[test]
    fn a_session_shows_who_where_as_whom_what_is_left_and_how_to_answer() {
        let entry = |n: u64| {
            json!({"at": "2026-11-18T01:02:03Z", "action": "navigate", "result": "ok", "duration_ms": n,
                "url": "http://shop.test/".to_owned() + &"x".repeat(100)})
        };
        let shown = plain(&render_session(&json!({
            "session": session(), "credentials": ["shop-login"], "waiting": [question(true)],
            "limits": {"memory_bytes": 536_870_912u64, "cpu": 0.5, "processes": 1024, "open_files": 1024,
                "enforced": false},
            "phases": [{"name": "jail", "ms": 80.5}],
            "history": {"forgotten": 2, "entries": (0..25).map(entry).collect::<Vec<_>>()},
        })));
        for part in [
            "s-4f2kq7m9xw3c  asks",
            "shopping",
            "team/researcher",
            "to shop.test, with credential shop-login",
            "4m 10s, and 97 of 100 actions",
            "512 MiB memory, 0.5 CPU, 1024 processes",
            "NOT enforced",
            "stockade approve ap-7 --irreversible",
            "stockade deny ap-7",
            "7 before these",
            "24 ms",
        ] {
            assert!(shown.contains(part), "{part} in {shown}");
        }
    }

    #[test]
    fn the_cpu_credit_is_shown_while_there_is_one_and_when_it_is_used_up() {
        let shown = |limited: bool| json!({"cpu": {"share": 0.5, "credit_seconds": 12.34, "burst": 2.0, "limited": limited}});
        assert_eq!(describe_cpu(&shown(false)), "12.3 s of credit: up to 2.0 CPU, 0.5 without");
        assert_eq!(describe_cpu(&shown(true)), "credit used up: held to 0.5 CPU");
        assert_eq!(describe_cpu(&json!({})), "");
    }

    #[test]
    fn a_list_shows_the_state_of_each_session_and_what_to_do() {
        let mut paused = session();
        paused["paused_for"] = json!("ap-9");
        let mut ended = session();
        (ended["state"], ended["session_id"]) = (json!("action_limit"), json!("s-000000000000"));
        for (sessions, waiting, parts) in [
            (json!([]), json!([]), vec!["No session is open.", "stockade session start"]),
            (json!([session()]), json!([]), vec!["shopping", "open", "4m 10s", "3/100", "LOGIN", "team/"]),
            (
                json!([session()]),
                json!([question(false)]),
                vec!["asks", "1 approval request waits", "stockade watch"],
            ),
            (json!([paused, ended]), json!([]), vec!["paused", "action …", "-"]),
        ] {
            let shown = plain(&render_list(&json!({"sessions": sessions, "waiting": waiting})));
            for part in parts {
                assert!(shown.contains(part), "{part} in {shown}");
            }
        }
    }
}
