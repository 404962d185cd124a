//! `stockade session replay`: writes a session as one HTML page, from the log and its recording, or from a bundle.

use super::audit::unreadable;
use crate::cli::{Context, Reply};
use audit::LogEntry;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::Args;
use engine::error::Fault;
use engine::record;
use error_code::ErrorCode;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// Its id, or a bundle of it
    pub session: String,
    /// The page to write [default: replay-SESSION.html here]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The events, egress ledger and images of one session.
pub(super) struct SessionRecording {
    pub session: String,
    pub events: Vec<LogEntry>,
    egress: Value,
    images: BTreeMap<String, Vec<u8>>,
}

pub fn run(context: &Context, args: &ReplayArgs) -> Result<Reply, Fault> {
    let recorded = read(context, &args.session)?;
    let source = |name: &str| {
        let kind = match name.rsplit('.').next() {
            Some("png") => "image/png",
            Some("webp") => "image/webp",
            Some("jpg") => "image/jpeg",
            _ => return None,
        };
        recorded.images.get(name).map(|bytes| format!("data:{kind};base64,{}", STANDARD.encode(bytes)))
    };
    let page = record::replay_page(&recorded.session, &recorded.events, &recorded.egress, &source);
    let output =
        args.output.clone().unwrap_or_else(|| PathBuf::from(format!("replay-{}.html", recorded.session)));
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&output)
        .and_then(|mut file| file.write_all(page.as_bytes()))
        .map_err(|e| Fault::unwritable(format!("cannot write {}", output.display()), &e))?;
    let (events, pictures) = (recorded.events.len(), recorded.images.len());
    let human = format!("{events} events and {pictures} screenshots are in {}\n", output.display());
    let json = json!({"session_id": recorded.session, "path": output, "events": events, "screenshots": pictures, "pictures": pictures});
    Ok(Reply::new(human, json))
}

/// Reads what is on record of a session, by its id or from a bundle of it.
pub(super) fn read(context: &Context, session: &str) -> Result<SessionRecording, Fault> {
    let bundle = Path::new(session);
    if bundle.is_file() { from_bundle(bundle) } else { from_state(context, session) }
}

fn from_state(context: &Context, session: &str) -> Result<SessionRecording, Fault> {
    let state = context.open_state()?;
    let session = policy::SessionId::parse(session).map_err(|_| unknown_session(session))?.to_string();
    let events = record::events_of(&state.audit(), &session).map_err(|e| unreadable(&e))?;
    if events.is_empty() {
        return Err(unknown_session(&session));
    }
    let folder = state.folder().join("recordings").join(&session);
    let mut images = BTreeMap::new();
    let mut egress = Value::Null;
    // Without a recording, the page has no images.
    for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(bytes) = std::fs::read(entry.path()) else { continue };
        if name == "egress.json" {
            egress = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        } else {
            images.insert(name, bytes);
        }
    }
    Ok(SessionRecording { session, events, egress, images })
}

fn from_bundle(path: &Path) -> Result<SessionRecording, Fault> {
    let checked = record::check_bundle(path, None).map_err(|e| unreadable(&e))?;
    if let Some(bad) = checked.bad {
        let message = format!("the bundle was changed or damaged: {bad}");
        return Err(Fault::outside_sessions(ErrorCode::BundleDamaged, message)
            .hint("Copy it again from the machine that made it."));
    }
    let mut files = record::read_bundle(path).map_err(|e| unreadable(&e))?;
    let events = files.remove("events.jsonl").unwrap_or_default();
    let events = String::from_utf8_lossy(&events).lines().filter_map(parse_event).collect();
    let egress = serde_json::from_slice(&files.remove("egress.json").unwrap_or_default()).unwrap_or_default();
    let images =
        files.into_iter().filter_map(|(name, bytes)| Some((name.strip_prefix("images/")?.to_owned(), bytes)));
    Ok(SessionRecording { session: checked.session_id, events, egress, images: images.collect() })
}

fn parse_event(line: &str) -> Option<LogEntry> {
    let fields = serde_json::from_str(line).ok()?;
    Some(LogEntry { chain: String::new(), segment: String::new(), line: 0, text: line.to_owned(), fields })
}

fn unknown_session(session: &str) -> Fault {
    Fault::outside_sessions(
        ErrorCode::UnknownSession,
        format!("there is no record of a session {:?}", audit::sanitize(session)),
    )
    .hint("Name it by its id; `stockade audit tail` shows the ids of sessions.")
}
