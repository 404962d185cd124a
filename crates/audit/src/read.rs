//! Reads events back: the last ones, all of them, or new ones as they are written.

use crate::chain::{Segment, chain_folders, segments};
use crate::verify::LineReader;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// One event and its location.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// The name of its chain's folder.
    pub chain: String,
    pub segment: String,
    pub line: u64,
    /// The line as it is in the file.
    pub text: String,
    pub fields: Map<String, Value>,
}

impl LogEntry {
    pub fn get(&self, key: &str) -> &str {
        self.fields.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn seq(&self) -> u64 {
        self.fields.get("seq").and_then(Value::as_u64).unwrap_or_default()
    }
}

/// Selects events; a field that is absent matches all.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    pub session: Option<String>,
    pub actor: Option<String>,
    pub action: Option<String>,
    /// `allow`, `deny` or `ask`.
    pub decision: Option<String>,
    pub since: Option<jiff::Timestamp>,
}

impl EventFilter {
    pub fn matches(&self, entry: &LogEntry) -> bool {
        let is = |wanted: &Option<String>, key| wanted.as_ref().is_none_or(|wanted| entry.get(key) == wanted);
        let action = self
            .action
            .as_ref()
            .is_none_or(|wanted| entry.get("action") == wanted || entry.get("event_type") == wanted);
        let late = |since: &jiff::Timestamp| {
            entry.get("timestamp").parse::<jiff::Timestamp>().is_ok_and(|at| at >= *since)
        };
        is(&self.session, "session_id")
            && is(&self.actor, "actor")
            && is(&self.decision, "decision")
            && action
            && self.since.as_ref().is_none_or(late)
    }
}

/// The last `most` matching events of all chains, oldest first.
pub fn read_last(audit: &Path, filter: &EventFilter, most: usize) -> io::Result<Vec<LogEntry>> {
    let mut found = Vec::new();
    for folder in chain_folders(audit)? {
        let mut of_chain: Vec<LogEntry> = Vec::new();
        for segment in segments(&folder)?.iter().rev() {
            let mut here = Vec::new();
            each(&folder, segment, filter.session.as_deref(), |entry| {
                if filter.matches(&entry) {
                    here.push(entry);
                }
                Ok(())
            })?;
            here.append(&mut of_chain);
            of_chain = here.split_off(here.len().saturating_sub(most));
            if of_chain.len() >= most {
                break;
            }
        }
        found.append(&mut of_chain);
    }
    let mut found = sort_by_time(found);
    let skip = found.len().saturating_sub(most);
    Ok(found.split_off(skip))
}

/// A session whose opening is in a chain and whose end is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedSession {
    pub tenant: String,
    pub actor: String,
    pub session_id: String,
}

/// Segments that are searched for sessions that a crash left open. A session is far shorter than they are.
const SEARCHED_SEGMENTS: usize = 2;

/// The sessions that the newest segments of a chain do not see end, in the order of their openings.
pub fn unfinished_sessions(folder: &Path) -> io::Result<Vec<UnfinishedSession>> {
    let all = segments(folder)?;
    let mut open: Vec<UnfinishedSession> = Vec::new();
    for segment in &all[all.len().saturating_sub(SEARCHED_SEGMENTS)..] {
        each(folder, segment, None, |entry| {
            let session_id = entry.get("session_id");
            match entry.get("event_type") {
                "session_opened" => open.push(UnfinishedSession {
                    tenant: entry.get("tenant").to_owned(),
                    actor: entry.get("actor").to_owned(),
                    session_id: session_id.to_owned(),
                }),
                "session_ended" => open.retain(|known| known.session_id != session_id),
                _ => {}
            }
            Ok(())
        })?;
    }
    Ok(open)
}

/// Sorts the events of several chains by time. Those of one chain keep their order, whatever the clock did.
fn sort_by_time(mut found: Vec<LogEntry>) -> Vec<LogEntry> {
    if found.windows(2).any(|pair| pair[0].chain != pair[1].chain) {
        found.sort_by_cached_key(|entry| entry.get("timestamp").parse::<jiff::Timestamp>().ok());
    }
    found
}

/// Passes every matching event to `take`, chain by chain.
pub fn read_all(
    audit: &Path,
    filter: &EventFilter,
    mut take: impl FnMut(LogEntry) -> io::Result<()>,
) -> io::Result<()> {
    for folder in chain_folders(audit)? {
        for segment in segments(&folder)? {
            each(&folder, &segment, filter.session.as_deref(), |entry| {
                if filter.matches(&entry) { take(entry) } else { Ok(()) }
            })?;
        }
    }
    Ok(())
}

/// Skips what is not an event; `verify` reports it. A line without the session's id is not parsed.
fn each(
    folder: &Path,
    segment: &Segment,
    session: Option<&str>,
    mut take: impl FnMut(LogEntry) -> io::Result<()>,
) -> io::Result<()> {
    let file = match File::open(&segment.path) {
        // Removed by retention meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let mut lines = LineReader::new(BufReader::new(file));
    while let Some(read) = lines.read()? {
        let is_of = |id: &str| std::str::from_utf8(&read.bytes).is_ok_and(|text| text.contains(id));
        if !read.ended || !session.is_none_or(is_of) {
            continue;
        }
        if let Some(entry) = entry(folder, segment, read.number, &read.bytes) {
            take(entry)?;
        }
    }
    Ok(())
}

fn entry(folder: &Path, segment: &Segment, line: u64, bytes: &[u8]) -> Option<LogEntry> {
    let text = std::str::from_utf8(bytes).ok()?.to_owned();
    let fields = serde_json::from_str(&text).ok()?;
    let chain = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Some(LogEntry { chain, segment: segment.name(), line, text, fields })
}

/// Returns new events as they are written.
pub struct Follower {
    audit: PathBuf,
    filter: EventFilter,
    read: Vec<Position>,
}

/// How far a segment has been read.
struct Position {
    path: PathBuf,
    offset: u64,
    line: u64,
}

impl Follower {
    /// Starts at the present end of the log.
    pub fn new(audit: &Path, filter: EventFilter) -> io::Result<Follower> {
        let mut follower = Follower { audit: audit.to_owned(), filter, read: Vec::new() };
        follower.poll()?;
        Ok(follower)
    }

    /// The events since the last call.
    pub fn poll(&mut self) -> io::Result<Vec<LogEntry>> {
        let mut found = Vec::new();
        let mut present = Vec::new();
        for folder in chain_folders(&self.audit)? {
            for segment in segments(&folder)? {
                let known = self.read.iter().find(|position| position.path == segment.path);
                let (offset, line) = known.map_or((0, 0), |position| (position.offset, position.line));
                let mut position = Position { path: segment.path.clone(), offset, line };
                if segment.bytes > offset {
                    read_on(&folder, &segment, &mut position, &mut found)?;
                }
                present.push(position);
            }
        }
        self.read = present;
        found.retain(|entry| self.filter.matches(entry));
        Ok(sort_by_time(found))
    }
}

fn read_on(
    folder: &Path,
    segment: &Segment,
    from: &mut Position,
    found: &mut Vec<LogEntry>,
) -> io::Result<()> {
    let mut file = match File::open(&segment.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    file.seek(SeekFrom::Start(from.offset))?;
    let mut lines = LineReader::new(BufReader::new(file));
    // A line that is still being written is read by the next call.
    while let Some(read) = lines.read()?.filter(|read| read.ended) {
        from.line += 1;
        from.offset += read.bytes.len() as u64 + 1;
        found.extend(entry(folder, segment, from.line, &read.bytes));
    }
    Ok(())
}
