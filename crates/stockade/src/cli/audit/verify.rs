//! `stockade audit verify`: checks the log against its hash chain, signatures and anchors.

use super::event_line::{fit, wrap_words};
use super::unreadable;
use crate::cli::output::{BAD, DIM, GOOD, HINT};
use crate::cli::{Context, Reply};
use audit::{Head, IncompleteTail, Key, PublicKey, Report};
use clap::Args;
use engine::error::Fault;
use engine::record::BundleReport;
use error_code::ErrorCode;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The exit code for a log that is whole up to a tail that a crash left incomplete; `help::EXIT_CODES` lists it.
const INCOMPLETE: u8 = 3;

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  0  every log is whole
  1  something was changed, is missing or cannot be read
  3  whole up to a tail that a crash left incomplete; the next start repairs it

Examples:
  stockade audit verify
  stockade audit verify bundle.tar --key PUBLIC-KEY")]
pub struct VerifyArgs {
    /// A bundle, a chain's folder or an audit folder [default: the one in the state folder]
    path: Option<PathBuf>,
    /// Accept only this signing key: the public key in hex, which this command prints on the machine that wrote the log
    #[arg(long, value_parser = PublicKey::parse)]
    key: Option<PublicKey>,
    /// Check that the log has every head in this file; with --key, every head of that key [default: audit.anchor.file]
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
}

pub fn run(context: &Context, args: &VerifyArgs) -> Result<Reply, Fault> {
    let given = args.key.as_ref();
    if let Some(bundle) = args.path.as_ref().filter(|path| path.is_file()) {
        let checked = engine::record::check_bundle(bundle, given).map_err(|e| unreadable(&e))?;
        return Ok(build_bundle_reply(&checked, given.is_some()));
    }
    let (folder, own, anchor) = match &args.path {
        Some(path) => (path.clone(), None, args.anchor.clone()),
        None => {
            let state = context.open_state()?;
            let config = context.load_config(Vec::new())?.config;
            let own =
                Key::load(&engine::record::key_file(&config.audit, &state)).ok().map(|key| key.public());
            let anchor = args.anchor.clone().or_else(|| config.audit.anchor.file.as_ref().map(PathBuf::from));
            (state.audit(), own, anchor)
        }
    };
    let mut anchors = match &anchor {
        Some(file) => Anchors::read(file, given)?,
        None => Anchors::default(),
    };
    let key = given.or(own.as_ref());
    let reports = verify_chains(&folder, key, &anchors.heads).map_err(|e| unreadable(&e))?;
    if reports.is_empty() && args.path.is_some() && anchors.heads.is_empty() {
        let place = audit::sanitize(&folder.display().to_string());
        return Err(Fault::outside_sessions(
            ErrorCode::AuditUnreadable,
            format!("there is no audit log and no bundle at {place}"),
        )
        .hint("Name a bundle, a chain's folder, or the audit folder of a state folder."));
    }
    if args.path.is_some() && audit::chain_folders(&folder).map_err(|e| unreadable(&e))?.is_empty() {
        anchors.leave_out_other_chains(&reports);
    }
    let removed = audit::missing_chains(&folder).map_err(|e| unreadable(&e))?;
    Ok(build_reply(&reports, &removed, &anchors, key))
}

/// The heads of an anchor file.
#[derive(Debug, Default)]
struct Anchors {
    /// Each must be part of a chain in the verified folder.
    heads: Vec<Head>,
    /// Heads of other keys or chains, which are not checked.
    left_out: usize,
}

impl Anchors {
    /// Reads the heads of one key, or all. The key comes from the operator, never from the log: a forged log has its own
    /// key, and with that the heads of the genuine one would be skipped.
    fn read(file: &Path, only: Option<&PublicKey>) -> Result<Anchors, Fault> {
        let place = audit::sanitize(&file.display().to_string());
        let all = engine::record::read_anchors(file).map_err(|e| {
            Fault::io(ErrorCode::AuditUnreadable, format!("cannot read the anchor file {place}"), &e)
                .hint_if_none("Name a file of anchored heads that this user may read.")
        })?;
        let genuine = all.len();
        let only = only.map(ToString::to_string);
        let mut anchors = Anchors { heads: all, left_out: 0 };
        anchors.keep(|head| only.as_ref().is_none_or(|key| *key == head.key));
        if !anchors.heads.is_empty() {
            return Ok(anchors);
        }
        let whose = if genuine > 0 { " of that key" } else { "" };
        Err(Fault::outside_sessions(
            ErrorCode::BadArguments,
            format!("the anchor file {place} has no signed head{whose}"),
        )
        .hint("Name the file of audit.anchor.file or a copy of it, or the lines of a syslog."))
    }

    fn keep(&mut self, wanted: impl Fn(&Head) -> bool) {
        let before = self.heads.len();
        self.heads.retain(wanted);
        self.left_out += before - self.heads.len();
    }

    /// Skips heads of other chains when one chain's folder is verified. If the file has no head of that chain, all heads
    /// stay: the chain may replace any of them.
    fn leave_out_other_chains(&mut self, reports: &[(String, Report)]) {
        if self.heads.iter().any(|head| has_chain(head, reports)) {
            self.keep(|head| has_chain(head, reports) || !has_key(&head.key, reports));
        }
    }

    /// The last head of each missing chain. Retention never drops a chain, so a missing one was removed or replaced.
    fn missing(&self, reports: &[(String, Report)]) -> Vec<&Head> {
        let mut missing: Vec<&Head> = Vec::new();
        for head in self.heads.iter().filter(|head| !has_chain(head, reports)) {
            match missing.iter_mut().find(|known| known.chain == head.chain && known.key == head.key) {
                Some(known) if known.seq < head.seq => *known = head,
                Some(_) => {}
                None => missing.push(head),
            }
        }
        missing
    }
}

fn has_chain(head: &Head, reports: &[(String, Report)]) -> bool {
    let is_its = |report: &Report| {
        report.chain.as_ref() == Some(&head.chain) && report.key.as_ref() == Some(&head.key)
    };
    reports.iter().any(|(_, report)| is_its(report))
}

fn has_key(key: &str, reports: &[(String, Report)]) -> bool {
    reports.iter().any(|(_, report)| report.key.as_deref() == Some(key))
}

/// Verifies all chains of an audit folder, or the one chain whose folder it is.
fn verify_chains(
    folder: &Path,
    key: Option<&PublicKey>,
    anchors: &[Head],
) -> std::io::Result<Vec<(String, Report)>> {
    let mut folders = audit::chain_folders(folder)?;
    if folders.is_empty() && (folder.join("head").exists() || !audit::segments(folder)?.is_empty()) {
        folders.push(folder.to_owned());
    }
    let name =
        |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    folders.iter().map(|path| Ok((name(path), audit::verify(path, key, anchors)?))).collect()
}

fn build_bundle_reply(checked: &BundleReport, key_is_known: bool) -> Reply {
    let BundleReport { session_id, files, events, sha256, key, bad } = checked;
    let session = audit::sanitize(session_id);
    let mut human = match bad {
        None => format!("{GOOD}whole{GOOD:#}  session {session}: {events} events, {files} files\n"),
        Some(bad) => {
            let place = audit::sanitize(&bad.location.to_string());
            format!("{BAD}BAD{BAD:#}    {place}\n       {}\n", wrap_words(&bad.kind.to_string(), 7))
        }
    };
    if !sha256.is_empty() {
        human.push_str(&format!(
            "       {DIM}sha256 {sha256}{DIM:#}\n       {DIM}key {}{DIM:#}\n",
            audit::sanitize(key)
        ));
    }
    if bad.is_none() && !key_is_known {
        human.push_str("Signed by the key that it names; --key insists on one.\n");
    }
    let mut json = json!({
        "session_id": session_id, "files": files, "events": events, "sha256": sha256, "key": key,
    });
    if let Some(bad) = bad {
        json["bad"] = serde_json::to_value(bad).unwrap_or(Value::Null);
        json["bad"]["message"] = json!(bad.to_string());
    }
    let problem = bad.as_ref().map(|bad| {
        let message = format!("the bundle was changed or damaged: {}", audit::sanitize(&bad.to_string()));
        Fault::outside_sessions(ErrorCode::BundleDamaged, message)
            .hint("Copy it again from the machine that made it.")
    });
    Reply::with_problem(human, json, problem)
}

fn build_reply(
    reports: &[(String, Report)],
    removed: &[String],
    anchors: &Anchors,
    key: Option<&PublicKey>,
) -> Reply {
    let mut human = String::new();
    let mut json = Vec::new();
    for (name, report) in reports {
        human.push_str(&render_chain(name, report));
        let mut value = serde_json::to_value(report).unwrap_or(Value::Null);
        value["name"] = json!(name);
        value["ok"] = json!(report.ok());
        value["status"] = json!(status(report));
        if let Some(bad) = &report.defect {
            value["bad"]["message"] = json!(bad.to_string());
        }
        json.push(value);
    }
    for name in removed {
        let message =
            "the chain is not here: the signed heads of the others count it, so its folder was removed";
        human.push_str(&format!("{BAD}BAD{BAD:#}    {name}\n       {}\n", wrap_words(message, 7)));
        json.push(json!({ "name": name, "ok": false, "status": "bad", "bad": { "message": message } }));
    }
    let missing = anchors.missing(reports);
    for head in &missing {
        let chain = audit::sanitize(&head.chain);
        let is_known = has_key(&head.key, reports) || key.is_some_and(|key| key.to_string() == head.key);
        let message = describe_missing_head(head, is_known);
        human.push_str(&format!(
            "{BAD}BAD{BAD:#}    {chain}\n       {}\n       {DIM}key {}{DIM:#}\n",
            wrap_words(&message, 7),
            audit::sanitize(&head.key)
        ));
        json.push(json!({
            "name": head.chain, "key": head.key, "ok": false, "status": "bad", "bad": { "message": message },
        }));
    }
    if reports.is_empty() && missing.is_empty() {
        human.push_str("Nothing is on record.\n");
    } else if key.is_none() {
        human.push_str("Signed by the key that each head names; --key insists on one.\n");
    }
    let left_out = anchors.left_out;
    if left_out > 0 {
        human.push_str(&format!("Not looked for: {left_out} anchored heads of other keys or chains.\n"));
    }
    let bad =
        removed.len() + missing.len() + reports.iter().filter(|(_, report)| report.defect.is_some()).count();
    let is_whole = reports.iter().all(|(_, report)| report.ok());
    let problem = match (bad, is_whole) {
        (0, true) => None,
        (0, false) => Some(
            Fault::new(ErrorCode::AuditIncomplete, "the end of a chain was not written completely")
                .hint("A crash in the middle of a write leaves this. The next start of the server repairs it and records that."),
        ),
        (bad, _) => {
            let message = format!("{bad} of {} chains were changed or damaged", json.len());
            let fault = Fault::outside_sessions(ErrorCode::AuditCorrupt, message);
            Some(
                fault
                    .hint("Keep the folder as it is; `stockade audit verify` names the place in each chain."),
            )
        }
    };
    Reply {
        exit_code: (bad == 0 && !is_whole).then_some(INCOMPLETE),
        ..Reply::with_problem(human, json!({ "chains": json, "anchors_left_out": left_out }), problem)
    }
}

fn status(report: &Report) -> &'static str {
    match (&report.defect, &report.incomplete_tail) {
        (Some(_), _) => "bad",
        (None, Some(_)) => "incomplete_tail",
        (None, None) => "whole",
    }
}

fn describe_tail(tail: &IncompleteTail) -> String {
    let IncompleteTail { bytes, lines, torn_bytes } = tail;
    let what = match (lines, torn_bytes) {
        (0, _) => "a line without its end".to_owned(),
        (lines, 0) => format!("{lines} lines that the signed head does not cover yet"),
        (lines, _) => {
            format!("{lines} lines that the signed head does not cover yet, and one without its end")
        }
    };
    format!(
        "incomplete tail, {bytes} bytes: {what}. A stop in the middle of a write leaves this; it will be repaired and \
         noted at the next start. What is before it is whole"
    )
}

fn describe_missing_head(head: &Head, is_known_key: bool) -> String {
    let (seq, at) = (head.seq, audit::sanitize(&head.signed_at));
    if is_known_key {
        return format!("the chain is not here; its line {seq} was anchored at {at}");
    }
    let key = fit(&head.key, 9);
    format!(
        "no log with key {key} is here, but its line {seq} was anchored at {at}: the log was replaced. If the anchor file \
         is shared, choose a log with --key"
    )
}

fn render_chain(name: &str, report: &Report) -> String {
    let name = audit::sanitize(name);
    let mut out = match &report.defect {
        None => match &report.incomplete_tail {
            None => format!("{GOOD}whole{GOOD:#}  {name}: lines {} to {}\n", report.first, report.last),
            Some(tail) => format!(
                "{HINT}tail{HINT:#}   {name}: lines {} to {}\n       {}\n",
                report.first,
                report.last,
                wrap_words(&describe_tail(tail), 7)
            ),
        },
        Some(bad) => {
            let place = audit::sanitize(&bad.location.to_string());
            format!("{BAD}BAD{BAD:#}    {name}: {place}\n       {}\n", wrap_words(&bad.kind.to_string(), 7))
        }
    };
    if report.dropped > 0 {
        out.push_str(&format!(
            "       {DIM}begins at {}: retention dropped what was before{DIM:#}\n",
            report.dropped + 1
        ));
    }
    if report.anchors > 0 {
        out.push_str(&format!("       {DIM}{} anchored heads agree{DIM:#}\n", report.anchors));
    }
    if let Some(key) = &report.key {
        out.push_str(&format!("       {DIM}key {key}{DIM:#}\n"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use audit::{Log, LogOptions};

    fn anchored(folder: &Path) -> Vec<Head> {
        let key = Key::load_or_create(&folder.join("audit.key")).unwrap();
        let options = LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 24 };
        drop(Log::open(&folder.join("audit"), "i1", options).unwrap());
        audit::read_head(&folder.join("audit/chain-1")).unwrap().into_iter().collect()
    }

    #[test]
    fn a_chain_that_was_anchored_and_is_not_here_is_reported_with_its_last_head() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (ours, theirs) = (anchored(folder.path()).remove(0), anchored(other.path()).remove(0));
        let earlier = Head { seq: 0, ..theirs.clone() };
        let own = PublicKey::parse(&ours.key).unwrap();
        let audit = folder.path().join("audit");
        let anchors = Anchors { heads: vec![ours.clone(), earlier, theirs.clone()], left_out: 0 };
        let reports = verify_chains(&audit, Some(&own), &anchors.heads).unwrap();
        assert_eq!(anchors.missing(&reports), [&theirs]);
        std::fs::remove_dir_all(audit.join("chain-1")).unwrap();
        let reports = verify_chains(&audit, Some(&own), &anchors.heads).unwrap();
        assert_eq!(anchors.missing(&reports), [&ours, &theirs]);

        let reply = build_reply(&reports, &[], &anchors, Some(&own));
        assert_eq!(reply.problem.map(|fault| fault.code), Some(ErrorCode::AuditCorrupt));
        for words in ["the chain is not here", "no log with key"] {
            assert!(reply.json.to_string().contains(words), "{words}: {}", reply.json);
        }
        let human = anstream::adapter::strip_str(&reply.human).to_string();
        for line in human.lines().filter(|line| !line.trim_start().starts_with("key ")) {
            assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
        }
    }

    #[test]
    fn a_log_with_the_name_of_a_chain_and_another_key_is_another_log() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (ours, theirs) = (anchored(folder.path()).remove(0), anchored(other.path()).remove(0));
        let anchors = Anchors { heads: vec![Head { chain: theirs.chain, ..ours }], left_out: 0 };
        let reports = verify_chains(&other.path().join("audit"), None, &[]).unwrap();
        assert_eq!(anchors.missing(&reports).len(), 1);
    }
}
