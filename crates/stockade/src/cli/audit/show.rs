//! `stockade audit show`: prints one event, or all events of one action.

use super::{tail::event_json, unreadable};
use crate::cli::output::{BOLD, DIM};
use crate::cli::{Context, Reply};
use audit::{EventFilter, LogEntry};
use clap::Args;
use engine::error::Fault;
use error_code::ErrorCode;
use serde_json::{Value, json};

/// The most events that are printed. One correlation id has an intent and its outcome.
const MOST: usize = 1000;

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The number of an event, or the correlation id of an action
    event: String,
}

pub fn run(context: &Context, args: &ShowArgs) -> Result<Reply, Fault> {
    let audit = context.open_state()?.audit();
    let number: Option<u64> = args.event.parse().ok();
    let mut found: Vec<LogEntry> = Vec::new();
    let wanted = |entry: &LogEntry| match number {
        Some(number) => entry.seq() == number,
        None => entry.get("correlation_id") == args.event,
    };
    let take = |entry: LogEntry| {
        if found.len() < MOST && wanted(&entry) {
            found.push(entry);
        }
        Ok(())
    };
    audit::read_all(&audit, &EventFilter::default(), take).map_err(|e| unreadable(&e))?;
    if found.is_empty() {
        let message = format!("no event {:?} is on record", audit::sanitize(&args.event));
        return Err(Fault::outside_sessions(ErrorCode::UnknownEvent, message)
            .hint("`stockade audit tail` shows numbers; its JSON has correlation ids."));
    }
    let human: String = found.iter().map(render_details).collect();
    let json: Vec<Value> = found.into_iter().map(event_json).collect();
    Ok(Reply::new(human, json!({ "events": json })))
}

fn render_details(entry: &LogEntry) -> String {
    let mut out = format!(
        "{BOLD}{}{BOLD:#}  {DIM}{}/{}, line {}{DIM:#}\n",
        audit::sanitize(entry.get("event_type")),
        audit::sanitize(&entry.chain),
        audit::sanitize(&entry.segment),
        entry.line
    );
    for (key, value) in entry.fields.iter().filter(|(key, _)| *key != "event_type") {
        let text = match value {
            Value::String(text) => audit::sanitize(text),
            other => audit::sanitize(&other.to_string()),
        };
        out.push_str(&wrap_value(&audit::sanitize_within(key, 18), &text));
    }
    out.push('\n');
    out
}

/// Wraps a value to 80 columns, indented under its key.
fn wrap_value(key: &str, text: &str) -> String {
    const ROOM: usize = 80 - 21;
    let mut out = String::new();
    let (mut line, mut used, mut first) = (String::new(), 0, true);
    let mut flush = |line: &mut String| {
        let key = if std::mem::take(&mut first) { key } else { "" };
        out.push_str(&format!("  {key:<18} {line}\n"));
        line.clear();
    };
    for c in text.chars() {
        let width = unicode_width::UnicodeWidthChar::width(c).unwrap_or(0);
        if used + width > ROOM {
            flush(&mut line);
            used = 0;
        }
        used += width;
        line.push(c);
    }
    flush(&mut line);
    out
}
