//! `stockade session egress`: what left a session through the proxy, from the audit log or a bundle.

use super::replay::{self, SessionRecording};
use crate::cli::output::{BAD, DIM};
use crate::cli::{Column, Context, Reply, Table};
use anstyle::Style;
use clap::Args;
use engine::error::Fault;
use engine::record::{self, EgressReport, RecordedEgress};
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct EgressArgs {
    /// Its id, or a bundle of it
    session: String,
    /// Write an HTTP Archive 1.2 instead, for the network panels of browsers and other viewers
    #[arg(long, value_name = "FILE")]
    har: Option<PathBuf>,
}

pub fn run(context: &Context, args: &EgressArgs) -> Result<Reply, Fault> {
    let SessionRecording { session, events, .. } = replay::read(context, &args.session)?;
    let report = record::egress_of(&events);
    let Some(path) = &args.har else {
        let json = json!({"session_id": session, "entries": report.entries, "lost": report.lost});
        return Ok(Reply::new(render(&report), json));
    };
    let archive = record::har(&session, &report);
    let text = serde_json::to_vec_pretty(&archive)
        .map_err(|error| Fault::caused(error_code::ErrorCode::Internal, &error))?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options
        .open(path)
        .and_then(|mut file| file.write_all(&text))
        .map_err(|error| Fault::unwritable(format!("cannot write {}", path.display()), &error))?;
    let entries = archive["log"]["entries"].as_array().map_or(0, Vec::len);
    let human = format!("{entries} entries are in {}\n", path.display());
    Ok(Reply::new(human, json!({"session_id": session, "path": path, "entries": entries})))
}

fn render(report: &EgressReport) -> String {
    let mut table = Table::new(&[
        Column::Whole("TIME"),
        Column::Whole("CALL"),
        Column::Short("REQUEST"),
        Column::Short("RESULT"),
        Column::Whole("UP"),
        Column::Whole("DOWN"),
        Column::Whole("MS"),
    ]);
    for entry in &report.entries {
        let plain = |text: String| (text, Style::new());
        let style = if entry.result == "allowed" { Style::new() } else { BAD };
        table.add_styled_row([
            (entry.at.get(11..19).unwrap_or_default().to_owned(), DIM),
            plain(entry.action.to_string()),
            plain(request(entry)),
            (result(entry), style),
            plain(bytes(entry.bytes_up)),
            plain(bytes(entry.bytes_down)),
            plain(entry.duration_ms.map_or_else(|| "open".to_owned(), |ms| ms.to_string())),
        ]);
    }
    let mut out = table.render("Nothing left this session.");
    if report.lost > 0 {
        out.push_str(&format!("{} more are counted and not listed.\n", report.lost));
    }
    out
}

/// `CONNECT shop.test:443`, or `GET shop.test:80/path`.
fn request(entry: &RecordedEgress) -> String {
    if entry.host.is_empty() {
        return "(no request)".to_owned();
    }
    let path = entry.path.as_deref().unwrap_or_default();
    format!("{} {}:{}{path}", entry.method, entry.host, entry.port)
}

fn result(entry: &RecordedEgress) -> String {
    match (&entry.code, entry.status) {
        (Some(code), _) => code.clone(),
        (None, Some(status)) => status.to_string(),
        (None, None) => "ok".to_owned(),
    }
}

/// At most five characters: `999`, `12k`, `3.4M`, `1.2G`.
fn bytes(count: u64) -> String {
    let scaled = |unit: u64| count as f64 / unit as f64;
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.0}k", scaled(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1}M", scaled(1_000_000)),
        _ => format!("{:.1}G", scaled(1_000_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ledger_fits_into_eighty_columns() {
        let long = RecordedEgress {
            id: 0,
            at: "2026-01-01T10:11:12.5Z".to_owned(),
            method: "CONNECT".to_owned(),
            host: format!("{}.test", "a".repeat(200)),
            port: 8443,
            address: None,
            path: Some("/b".repeat(100)),
            status: None,
            result: "refused".to_owned(),
            code: Some("egress_not_listed".to_owned()),
            bytes_up: 123_456_789,
            bytes_down: 9_876_543_210,
            duration_ms: None,
            action: 100,
        };
        let report = EgressReport { entries: vec![long.clone(), long], lost: 3 };
        let text = anstream::adapter::strip_str(&render(&report)).to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("10:11:12") && text.contains("123.5M") && text.contains("open"), "{text}");
        assert!(text.ends_with("3 more are counted and not listed.\n"), "{text}");
        assert_eq!(render(&EgressReport::default()), "Nothing left this session.\n");
    }
}
