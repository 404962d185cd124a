//! CSV export. No cell is a formula for a spreadsheet.

use crate::read::LogEntry;
use serde_json::Value;

/// The columns, in their order.
pub const COLUMNS: &[&str] = &[
    "seq",
    "timestamp",
    "event_type",
    "tenant",
    "actor",
    "session_id",
    "jail_id",
    "correlation_id",
    "action",
    "url",
    "domain",
    "title",
    "target_element",
    "input_value",
    "user_agent",
    "risk",
    "decision",
    "decided_by",
    "rule",
    "duration_ms",
    "result",
    "recording",
    "screenshot_path",
    "screenshot_sha256",
    "detail",
    "count",
    "prev",
    "hash",
];

pub fn csv_header() -> String {
    format!("chain,{}\r\n", COLUMNS.join(","))
}

pub fn csv_row(entry: &LogEntry) -> String {
    let cells = COLUMNS.iter().map(|column| match entry.fields.get(*column) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => cell(text),
        Some(other) => cell(&other.to_string()),
    });
    format!("{},{}\r\n", cell(&entry.chain), cells.collect::<Vec<_>>().join(","))
}

/// Quotes where needed, and puts an apostrophe before what a spreadsheet would take for a formula.
fn cell(text: &str) -> String {
    // Some programs accept a formula after white space and quotes, too.
    let begins = text.trim_start_matches([' ', '\t', '\r', '\n', '"', '\'']).chars().next();
    let is_formula = matches!(begins, Some('=' | '+' | '-' | '@' | '|' | '%' | '＝' | '＋' | '－' | '＠'));
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\n', '\r', ';', '\t']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_or_ends_early() {
        for (text, expected) in [
            ("plain", "plain"),
            ("=HYPERLINK(\"http://x\")", "\"'=HYPERLINK(\"\"http://x\"\")\""),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            (" =1", "' =1"),
            ("\"=1", "\"'\"\"=1\""),
            ("＝1", "'＝1"),
            ("a,b", "\"a,b\""),
            ("a\r\nb", "\"a\r\nb\""),
        ] {
            assert_eq!(cell(text), expected, "{text:?}");
        }
    }
}
