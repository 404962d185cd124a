//! Renders one event as one line of at most 80 columns.

use crate::cli::output::{BAD, DIM, GOOD};
use audit::LogEntry;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The widest line.
const WIDTH: usize = 80;

/// Renders number, time of day, session and action, and as many details as fit. All text is sanitized again: the file
/// may be forged.
pub fn render_event(entry: &LogEntry) -> String {
    let time = entry.get("timestamp").get(11..19).unwrap_or("");
    let session = fit(entry.get("session_id"), 14);
    let (mark, what, rest) = event_parts(entry);
    let head = format!("{:>6} {:<8} {session:<14} ", entry.seq(), fit(time, 8));
    let what = fit(&what, 18);
    let room = WIDTH.saturating_sub(head.width() + 2 + 18 + 1);
    let pad = " ".repeat(18usize.saturating_sub(what.width()));
    let style = match mark {
        "✗" => BAD,
        "✓" => GOOD,
        _ => DIM,
    };
    format!("{DIM}{head}{DIM:#}{style}{mark}{style:#} {what}{pad} {}", fit(&rest, room)).trim_end().to_owned()
        + "\n"
}

fn event_parts(entry: &LogEntry) -> (&'static str, String, String) {
    let get = |key| entry.get(key).to_owned();
    let result = get("result");
    let ms = entry.fields.get("duration_ms").and_then(serde_json::Value::as_u64);
    let took = ms.map(|ms| format!("{ms} ms")).unwrap_or_default();
    match entry.get("event_type") {
        "intent" => {
            ("→", get("action"), join_nonempty(&[&get("target_element"), &get("input_value"), &get("url")]))
        }
        "outcome" if result == "ok" => {
            ("✓", get("action"), join_nonempty(&[&took, &get("url"), &get("title")]))
        }
        "outcome" => ("✗", get("action"), join_nonempty(&[&result, &took, &get("url")])),
        "refused" | "not_performed" => {
            ("✗", get("action"), join_nonempty(&[&result, &get("rule"), &get("target_element")]))
        }
        kind => {
            let count = entry.fields.get("count").map(|count| format!("{count}×")).unwrap_or_default();
            (
                "·",
                kind.to_owned(),
                join_nonempty(&[
                    &result,
                    &count,
                    &get("decided_by"),
                    &get("detail"),
                    &get("target_element"),
                    &get("url"),
                ]),
            )
        }
    }
}

fn join_nonempty(parts: &[&str]) -> String {
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("  ")
}

/// Wraps words to the width; lines after the first are indented.
pub fn wrap_words(text: &str, indent: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| line.width());
        if line > 0 && indent + line + 1 + word.width() > WIDTH {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}

/// Sanitizes a text and cuts it to a number of columns.
pub fn fit(text: &str, columns: usize) -> String {
    let text = audit::sanitize(text);
    if text.width() <= columns {
        return text;
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if used + width + 1 > columns {
            break;
        }
        used += width;
        out.push(c);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_long_message_is_wrapped() {
        let wrong = audit::DefectKind::Old {
            last: 123_456_789,
            anchor: 987_654_321,
            at: "2026-11-16T03:15:25Z".into(),
        };
        let text = format!("       {}", wrap_words(&wrong.to_string(), 7));
        assert!(text.lines().count() > 1 && text.lines().all(|line| line.width() <= WIDTH), "{text}");
    }

    #[test]
    fn hostile_text_stays_one_line_of_80_columns() {
        for hostile in
            ["x\u{1b}[2J\u{1b}]0;t\u{7}\r\nforged", &"漢".repeat(500), &"e\u{301}".repeat(400), "\u{202e}abc"]
        {
            for kind in ["intent", "outcome", "refused", "page_dialog", hostile] {
                let fields = json!({"seq": 1, "timestamp": hostile, "session_id": hostile, "event_type": kind,
                    "action": hostile, "target_element": hostile, "url": hostile, "title": hostile,
                    "result": hostile, "detail": hostile, "duration_ms": 5});
                let serde_json::Value::Object(fields) = fields else { panic!() };
                let entry = LogEntry {
                    chain: String::new(),
                    segment: String::new(),
                    line: 1,
                    text: String::new(),
                    fields,
                };
                let line = anstream::adapter::strip_str(&render_event(&entry)).to_string();
                assert!(line.trim_end_matches('\n').width() <= WIDTH, "{line}");
                assert_eq!(line.matches('\n').count(), 1, "{line:?}");
                assert!(!line.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{line:?}");
            }
        }
    }
}
