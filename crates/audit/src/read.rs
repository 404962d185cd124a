//! Reads the log back: the last events, all of them, or each new one as it comes.

use crate::chain::{Segment, chain_folders, segments};
use crate::verify::Lines;
use serde_json::{Map, Value};
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// One event, and where it stands.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The folder of its chain, by name.
    pub chain: String,
    pub segment: String,
    pub line: u64,
    /// The line as it stands in the file.
    pub text: String,
    pub fields: Map<String, Value>,
}

impl Entry {
    pub fn get(&self, key: &str) -> &str {
        self.fields.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn seq(&self) -> u64 {
        self.fields.get("seq").and_then(Value::as_u64).unwrap_or_default()
    }
}

/// Which events are wanted; what is left out fits all.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub session: Option<String>,
    pub actor: Option<String>,
    pub action: Option<String>,
    /// `allow`, `deny`, or who decides later.
    pub decision: Option<String>,
    pub since: Option<jiff::Timestamp>,
}

impl Filter {
    pub fn fits(&self, entry: &Entry) -> bool {
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

/// The last `most` events that fit, of all chains, oldest first.
pub fn last(audit: &Path, filter: &Filter, most: usize) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    for folder in chain_folders(audit)? {
        let mut of_chain: Vec<Entry> = Vec::new();
        for segment in segments(&folder)?.iter().rev() {
            let mut here = Vec::new();
            each(&folder, segment, filter.session.as_deref(), |entry| {
                if filter.fits(&entry) {
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
    let mut found = in_order(found);
    let skip = found.len().saturating_sub(most);
    Ok(found.split_off(skip))
}

/// Several chains by their times; the lines of one keep their order whatever the clock did.
fn in_order(mut found: Vec<Entry>) -> Vec<Entry> {
    if found.windows(2).any(|pair| pair[0].chain != pair[1].chain) {
        found.sort_by_cached_key(|entry| entry.get("timestamp").parse::<jiff::Timestamp>().ok());
    }
    found
}

/// Every event that fits, chain by chain, without keeping them.
pub fn all(audit: &Path, filter: &Filter, mut take: impl FnMut(Entry) -> io::Result<()>) -> io::Result<()> {
    for folder in chain_folders(audit)? {
        for segment in segments(&folder)? {
            each(&folder, &segment, filter.session.as_deref(), |entry| {
                if filter.fits(&entry) { take(entry) } else { Ok(()) }
            })?;
        }
    }
    Ok(())
}

/// What is no event is passed over: to judge it is `verify`'s part. A line without the session's id is not even read.
fn each(
    folder: &Path,
    segment: &Segment,
    session: Option<&str>,
    mut take: impl FnMut(Entry) -> io::Result<()>,
) -> io::Result<()> {
    let file = match File::open(&segment.path) {
        // Retention was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    let mut lines = Lines::new(BufReader::new(file));
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

fn entry(folder: &Path, segment: &Segment, line: u64, bytes: &[u8]) -> Option<Entry> {
    let text = std::str::from_utf8(bytes).ok()?.to_owned();
    let fields = serde_json::from_str(&text).ok()?;
    let chain = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Some(Entry { chain, segment: segment.name(), line, text, fields })
}

/// New events as they come.
pub struct Follower {
    audit: PathBuf,
    filter: Filter,
    read: Vec<Position>,
}

/// How far a segment has been read.
struct Position {
    path: PathBuf,
    offset: u64,
    line: u64,
}

impl Follower {
    /// Begins at the present end of the log.
    pub fn new(audit: &Path, filter: Filter) -> io::Result<Follower> {
        let mut follower = Follower { audit: audit.to_owned(), filter, read: Vec::new() };
        follower.look()?;
        Ok(follower)
    }

    /// What has come since the last look.
    pub fn look(&mut self) -> io::Result<Vec<Entry>> {
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
        found.retain(|entry| self.filter.fits(entry));
        Ok(in_order(found))
    }
}

fn read_on(folder: &Path, segment: &Segment, from: &mut Position, found: &mut Vec<Entry>) -> io::Result<()> {
    let mut file = match File::open(&segment.path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    file.seek(SeekFrom::Start(from.offset))?;
    let mut lines = Lines::new(BufReader::new(file));
    // A line that is still being written is read the next time.
    while let Some(read) = lines.read()?.filter(|read| read.ended) {
        from.line += 1;
        from.offset += read.bytes.len() as u64 + 1;
        found.extend(entry(folder, segment, from.line, &read.bytes));
    }
    Ok(())
}
