//! `stockade audit verify`: whether the log is as it was written, and if not, where.

use super::{told::wrapped, unreadable};
use crate::cli::output::{BAD, DIM, GOOD};
use crate::cli::{Context, Reply};
use crate::error::Fault;
use crate::record::Checked;
use audit::{Head, Key, PublicKey, Report};
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A bundle, a chain's folder or an audit folder [default: the one in the state folder]
    path: Option<PathBuf>,
    /// The only key that may have signed: its public half in hexadecimal
    #[arg(long)]
    key: Option<String>,
    /// A file of anchored heads that must be part of the log [default: audit.anchor.file]
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
}

pub fn run(context: &Context, args: &VerifyArgs) -> Result<Reply, Fault> {
    let given = args.key.as_deref().map(PublicKey::parse).transpose().map_err(|e| {
        Fault::caused("bad_arguments", &e)
            .hint("`stockade audit verify` on the machine that wrote it tells its key.")
    })?;
    if let Some(bundle) = args.path.as_ref().filter(|path| path.is_file()) {
        let checked = crate::record::check_bundle(bundle, given.as_ref()).map_err(|e| unreadable(&e))?;
        return Ok(reply_on_bundle(&checked, given.is_some()));
    }
    let (folder, own, anchor) = match &args.path {
        Some(path) => (path.clone(), None, args.anchor.clone()),
        None => {
            let state = context.open_state()?;
            let config = context.load_config(Vec::new())?.config;
            let own = Key::load(&crate::record::key_file(&config, &state)).ok().map(|key| key.public());
            let anchor = args.anchor.clone().or_else(|| config.audit.anchor.file.as_ref().map(PathBuf::from));
            (state.audit(), own, anchor)
        }
    };
    let anchors = match &anchor {
        Some(file) => crate::record::read_anchors(file).map_err(|e| unreadable(&e))?,
        None => Vec::new(),
    };
    let key = given.or(own);
    let reports = chains(&folder, key.as_ref(), &anchors).map_err(|e| unreadable(&e))?;
    if reports.is_empty() && args.path.is_some() && anchors.is_empty() {
        let place = audit::plain(&folder.display().to_string());
        return Err(Fault::new(
            "audit_unreadable",
            format!("there is no audit log and no bundle at {place}"),
        )
        .hint("Name a bundle, a chain's folder, or the audit folder of a state folder."));
    }
    // One chain's folder says nothing about the others.
    let gone = if reports.len() == 1 && !folder.join(&reports[0].0).exists() {
        Vec::new()
    } else {
        gone(&anchors, &reports, key.as_ref())
    };
    Ok(reply(&reports, &gone, key.is_some()))
}

/// The last anchored head of each chain that is not there any more. Chains are never dropped: one that was anchored and
/// is gone was taken away. An anchor file may tell of other logs as well, which have keys of their own.
fn gone<'a>(anchors: &'a [Head], reports: &[(String, Report)], key: Option<&PublicKey>) -> Vec<&'a Head> {
    let known: Vec<String> = match key {
        Some(key) => vec![key.to_string()],
        None => reports.iter().filter_map(|(_, report)| report.key.clone()).collect(),
    };
    let mut gone: Vec<&Head> = Vec::new();
    for anchor in anchors.iter().filter(|anchor| known.is_empty() || known.contains(&anchor.key)) {
        if reports.iter().any(|(_, report)| report.chain.as_ref() == Some(&anchor.chain)) {
            continue;
        }
        match gone.iter_mut().find(|known| known.chain == anchor.chain) {
            Some(known) if known.seq < anchor.seq => *known = anchor,
            Some(_) => {}
            None => gone.push(anchor),
        }
    }
    gone
}

/// The chains of an audit folder, or the one chain that the folder is.
fn chains(
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

fn reply_on_bundle(checked: &Checked, key_is_known: bool) -> Reply {
    let Checked { session_id, files, events, sha256, key, bad } = checked;
    let session = audit::plain(session_id);
    let mut human = match bad {
        None => format!("{GOOD}whole{GOOD:#}  session {session}: {events} events, {files} files\n"),
        Some(bad) => {
            let place = audit::plain(&bad.place.to_string());
            format!("{BAD}BAD{BAD:#}    {place}\n       {}\n", wrapped(&bad.wrong.to_string(), 7))
        }
    };
    if !sha256.is_empty() {
        human.push_str(&format!(
            "       {DIM}sha256 {sha256}{DIM:#}\n       {DIM}key {}{DIM:#}\n",
            audit::plain(key)
        ));
    }
    if bad.is_none() && !key_is_known {
        human.push_str("Signed by the key that it names; --key insists on one.\n");
    }
    let mut json = json!({
        "ok": bad.is_none(), "session_id": session_id, "files": files, "events": events, "sha256": sha256, "key": key,
    });
    if let Some(bad) = bad {
        json["bad"] = serde_json::to_value(bad).unwrap_or(Value::Null);
        json["bad"]["message"] = json!(bad.to_string());
    }
    Reply { human, json, ok: bad.is_none() }
}

fn reply(reports: &[(String, Report)], gone: &[&Head], key_is_known: bool) -> Reply {
    let mut human = String::new();
    let mut json = Vec::new();
    for (name, report) in reports {
        human.push_str(&told(name, report));
        let mut value = serde_json::to_value(report).unwrap_or(Value::Null);
        value["name"] = json!(name);
        value["ok"] = json!(report.ok());
        if let Some(bad) = &report.bad {
            value["bad"]["message"] = json!(bad.to_string());
        }
        json.push(value);
    }
    for head in gone {
        let chain = audit::plain(&head.chain);
        let message = format!(
            "the chain is gone; its line {} was anchored at {}",
            head.seq,
            audit::plain(&head.signed_at)
        );
        human.push_str(&format!("{BAD}BAD{BAD:#}    {chain}\n       {}\n", wrapped(&message, 7)));
        json.push(json!({ "name": head.chain, "ok": false, "bad": { "message": message } }));
    }
    if reports.is_empty() && gone.is_empty() {
        human.push_str("Nothing is on record.\n");
    } else if !key_is_known {
        human.push_str("Signed by the key that each head names; --key insists on one.\n");
    }
    let ok = gone.is_empty() && reports.iter().all(|(_, report)| report.ok());
    Reply { human, json: json!({ "ok": ok, "chains": json }), ok }
}

fn told(name: &str, report: &Report) -> String {
    let name = audit::plain(name);
    let mut out = match &report.bad {
        None => format!("{GOOD}whole{GOOD:#}  {name}: lines {} to {}\n", report.first, report.last),
        Some(bad) => {
            let place = audit::plain(&bad.place.to_string());
            format!("{BAD}BAD{BAD:#}    {name}: {place}\n       {}\n", wrapped(&bad.wrong.to_string(), 7))
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
    fn a_chain_that_was_anchored_and_is_gone_is_told() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let heads = anchored(folder.path());
        let audit = folder.path().join("audit");
        let own = PublicKey::parse(&heads[0].key).unwrap();
        let all: Vec<Head> = heads.iter().cloned().chain(anchored(other.path())).collect();
        let reports = chains(&audit, Some(&own), &all).unwrap();
        assert!(gone(&all, &reports, Some(&own)).is_empty());
        assert!(gone(&all, &reports, None).is_empty(), "another log's anchors are not ours");
        std::fs::remove_dir_all(audit.join("chain-1")).unwrap();
        let reports = chains(&audit, Some(&own), &all).unwrap();
        let missing = gone(&all, &reports, Some(&own));
        assert_eq!(missing, [&heads[0]]);
        let reply = reply(&reports, &missing, true);
        assert!(!reply.ok && reply.human.contains("the chain is gone"), "{}", reply.human);
    }
}
