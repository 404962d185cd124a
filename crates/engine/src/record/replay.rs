//! Renders a session as one HTML page: its actions in order, with screenshots.
//!
//! The page has no script and may load nothing but its own images. All text in it is untrusted and escaped.

mod steps;

use crate::html;
use audit::LogEntry;
use serde_json::Value;
use std::fmt::{self, Write};
use steps::{ReplayItem, ReplayNote, ReplayStep, steps};

const STYLE: &str = include_str!("replay/style.css");
/// Maximum number of ledger rows on the page. The bundle has all of them.
const MOST_ROWS: usize = 500;

/// Untrusted text, escaped for an element or a quoted attribute.
struct SanitizedText<'a>(&'a str);

impl fmt::Display for SanitizedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Sanitized as for a terminal, because bidirectional control characters work here too.
        html::Text(&audit::sanitize(self.0)).fmt(f)
    }
}

/// The address of an image by name; `None` if it is missing.
pub type ImageSource<'a> = &'a dyn Fn(&str) -> Option<String>;

pub fn page(session: &str, events: &[LogEntry], egress: &Value, source: ImageSource) -> String {
    let items = steps(events);
    let mut out = String::new();
    head(&mut out, session);
    summary(&mut out, session, events, &items);
    out.push_str("<main>\n");
    if items.is_empty() {
        out.push_str("<p class=\"empty\">There are no events of this session in the audit log. Events are kept for 365 days unless configured otherwise.</p>\n");
    }
    let mut number = 0;
    for item in &items {
        match item {
            ReplayItem::Step(step) => {
                number += 1;
                row(&mut out, number, step, source);
            }
            ReplayItem::Note(note) => {
                let ReplayNote { time, what, text } = note;
                _ = writeln!(
                    out,
                    "<p class=\"note\"><time>{}</time> <b>{}</b> {}</p>",
                    SanitizedText(time),
                    SanitizedText(what),
                    SanitizedText(text)
                );
            }
        }
    }
    out.push_str("</main>\n");
    ledger(&mut out, egress);
    out.push_str("<footer>Made by Stockade from its audit log. Typed text is never recorded; fields in screenshots are masked.</footer>\n</body></html>\n");
    out
}

fn head(out: &mut String, session: &str) {
    _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data: file: 'self'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<title>Replay of {}</title>\n<style>\n{STYLE}</style></head><body>\n",
        SanitizedText(session)
    );
}

fn summary(out: &mut String, session: &str, events: &[LogEntry], items: &[ReplayItem]) {
    let first = events.first();
    let get = |key: &str| first.map(|entry| entry.get(key).to_owned()).unwrap_or_default();
    let ended = events.iter().rev().find(|entry| entry.get("event_type") == "session_ended");
    let done = |item: &&ReplayItem| matches!(item, ReplayItem::Step(_));
    let refused = |item: &&ReplayItem| matches!(item, ReplayItem::Step(step) if step.decision == "deny");
    let recording = events.iter().map(|entry| entry.get("recording")).find(|mode| !mode.is_empty());
    _ = write!(
        out,
        "<header><p class=\"brand\">Stockade · replay</p><h1>{}</h1>\n<dl>",
        SanitizedText(session)
    );
    let facts = [
        ("agent", format!("{}/{}", get("tenant"), get("actor"))),
        ("started", steps::date_and_time(&get("timestamp"))),
        ("ended", ended.map(|entry| entry.get("result").to_owned()).unwrap_or_else(|| "not yet".into())),
        ("actions", items.iter().filter(done).count().to_string()),
        ("refused", items.iter().filter(refused).count().to_string()),
        ("recording", recording.unwrap_or("unknown").to_owned()),
    ];
    for (key, value) in facts {
        _ = write!(out, "<div><dt>{key}</dt><dd>{}</dd></div>", SanitizedText(&value));
    }
    out.push_str("</dl></header>\n");
}

/// One action: its details on the left, its screenshots on the right.
fn row(out: &mut String, number: usize, step: &ReplayStep, source: ImageSource) {
    let after = step.after.as_ref().and_then(|picture| figure(picture, "after", source));
    // The page before usually equals the page after the last action; it is repeated only for the mark on it.
    let before = step.before.as_ref().filter(|before| before.mark.is_some() || after.is_none());
    let before = before.and_then(|picture| figure(picture, "before", source));
    let bare = if before.is_none() && after.is_none() { " bare" } else { "" };
    let state =
        if step.decision == "deny" || (!step.result.is_empty() && step.result != "ok") { " bad" } else { "" };
    _ = write!(
        out,
        "<section class=\"step{bare}{state}\"><div class=\"card\"><p class=\"top\"><span class=\"number\">{number}</span>\
         <b>{}</b><time>{}</time></p>",
        SanitizedText(&step.action),
        SanitizedText(&step.time)
    );
    for (class, text) in
        [("target", &step.target), ("input", &step.input), ("title", &step.title), ("url", &step.url)]
    {
        if !text.is_empty() {
            _ = write!(out, "<p class=\"{class}\">{}</p>", SanitizedText(text));
        }
    }
    out.push_str("<p class=\"chips\">");
    let took = step.took.map(|ms| format!("{ms} ms")).unwrap_or_default();
    let result = if step.result.is_empty() { "no outcome recorded" } else { &step.result };
    let risk = if step.risk.is_empty() { String::new() } else { format!("{} risk", step.risk) };
    for (class, text) in [
        (step.decision.as_str(), step.decision.as_str()),
        ("rule", &step.rule),
        ("risk", &risk),
        (if result == "ok" { "ok" } else { "failed" }, result),
        ("took", &took),
    ] {
        if !text.is_empty() {
            let class = if ["allow", "deny", "rule", "risk", "ok", "failed", "took"].contains(&class) {
                class
            } else {
                "rule"
            };
            _ = write!(out, "<span class=\"{class}\">{}</span>", SanitizedText(text));
        }
    }
    out.push_str("</p></div>");
    if bare.is_empty() {
        _ = write!(
            out,
            "<div class=\"pictures\">{}{}</div>",
            before.unwrap_or_default(),
            after.unwrap_or_default()
        );
    }
    out.push_str("</section>\n");
}

fn figure(picture: &steps::ReplayImage, what: &str, source: ImageSource) -> Option<String> {
    let address = source(&picture.name)?;
    let mut mark = String::new();
    if let (Some([left, top, width, height]), Some([across, down])) = (picture.mark, picture.size) {
        let part = |number: i32, of: u32| 100.0 * f64::from(number) / f64::from(of.max(1));
        mark = format!(
            "<span class=\"mark\" style=\"left:{:.2}%;top:{:.2}%;width:{:.2}%;height:{:.2}%\"></span>",
            part(left, across),
            part(top, down),
            part(width, across),
            part(height, down)
        );
    }
    Some(format!(
        "<figure><div class=\"frame\"><img alt=\"The page {what} the action\" src=\"{}\">{mark}</div><figcaption>{what}\
         <code title=\"the beginning of the file's SHA-256\">sha256 {}…</code></figcaption></figure>",
        SafeAttribute(&address),
        SanitizedText(picture.sha256.get(..16).unwrap_or_default())
    ))
}

/// An address that we generated. It is dropped if it contains a character that could end the attribute.
struct SafeAttribute<'a>(&'a str);

impl fmt::Display for SafeAttribute<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let safe = |c: char| c.is_ascii_alphanumeric() || "/:;,.+=-_".contains(c);
        if self.0.chars().all(safe) { f.write_str(self.0) } else { Ok(()) }
    }
}

fn ledger(out: &mut String, egress: &Value) {
    let entries = egress["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    if entries.is_empty() {
        return;
    }
    _ = write!(
        out,
        "<details><summary>Egress ledger: {} connections</summary><table>\
        <tr><th>time</th><th>to</th><th>result</th><th>bytes sent</th><th>bytes received</th></tr>",
        entries.len()
    );
    for entry in entries.iter().take(MOST_ROWS) {
        let get = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let verdict = match &entry["verdict"] {
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        _ = write!(
            out,
            "<tr><td>{}</td><td>{} {}:{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            SanitizedText(&steps::time_of_day(&get("at"))),
            SanitizedText(&get("method")),
            SanitizedText(&get("host")),
            entry["port"].as_u64().unwrap_or_default(),
            SanitizedText(&verdict),
            entry["bytes_up"].as_u64().unwrap_or_default(),
            entry["bytes_down"].as_u64().unwrap_or_default()
        );
    }
    out.push_str("</table></details>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry(fields: Value) -> LogEntry {
        let Value::Object(fields) = fields else { panic!() };
        LogEntry { chain: String::new(), segment: String::new(), line: 1, text: String::new(), fields }
    }

    #[test]
    fn page_text_never_becomes_markup() {
        let evil = "\"><script>alert(1)</script><img src=x onerror=alert(1)>' style='x\u{202e}\u{1b}[2J";
        let mut events = Vec::new();
        for kind in ["intent", "outcome", "refused", "page_dialog", "session_opened", evil] {
            events.push(entry(json!({
                "event_type": kind, "timestamp": evil, "session_id": evil, "tenant": evil, "actor": evil,
                "correlation_id": "c", "action": evil, "url": evil, "title": evil, "target_element": evil,
                "input_value": evil, "decision": evil, "rule": evil, "risk": evil, "result": evil, "detail": evil,
                "screenshot_before": {"path": evil, "sha256": evil, "size": [10, 10], "mark": [1, 1, 2, 2]},
                "screenshot_path": evil, "screenshot_sha256": evil,
            })));
        }
        let egress =
            json!({"entries": [{"at": evil, "method": evil, "host": evil, "verdict": {"refused": evil}}]});
        let html = page(evil, &events, &egress, &|name| Some(name.to_owned()));
        let lower = html.to_lowercase();
        assert!(!lower.contains("<script") && !lower.contains("<img src=x"), "{html}");
        assert!(!html.contains(['\u{1b}', '\u{202e}']), "{html:?}");
        // Every attribute in the page is ours.
        for (at, _) in lower.match_indices("onerror") {
            assert!(lower[..at].rfind('<') < lower[..at].rfind('>'), "{}", &html[at.saturating_sub(80)..at]);
        }
        assert!(html.contains("default-src 'none'"));
    }

    #[test]
    fn a_step_shows_its_target_and_its_outcome() {
        let marked = json!({"path": "r/a.png", "sha256": "0", "size": [200, 100], "mark": [20, 10, 100, 50]});
        let plain = json!({"path": "r/b.png", "sha256": "0", "size": [200, 100]});
        let events: Vec<LogEntry> = [
            json!({"event_type": "intent", "correlation_id": "1", "action": "click", "screenshot_before": marked}),
            json!({"event_type": "outcome", "correlation_id": "1", "result": "ok", "screenshot_path": "r/b.png"}),
            json!({"event_type": "intent", "correlation_id": "2", "action": "reload", "screenshot_before": plain}),
            json!({"event_type": "outcome", "correlation_id": "2", "result": "ok", "screenshot_path": "r/c.png"}),
        ]
        .map(entry)
        .into();
        let html = page("s", &events, &Value::Null, &|name| Some(name.to_owned()));
        for name in ["a.png", "b.png", "c.png"] {
            assert_eq!(html.matches(&format!("src=\"{name}\"")).count(), 1, "{name}: {html}");
        }
        assert!(html.contains("left:10.00%;top:10.00%;width:50.00%;height:50.00%"), "{html}");
    }
}
