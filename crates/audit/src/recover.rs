//! Finds where a chain was left, and what a crash did to its end.

use crate::chain::{Segment, segments};
use crate::head::{self, Head, Heads};
use crate::key::PublicKey;
use crate::line::{LONGEST_LINE, Link};
use crate::store::Standing;
use crate::text::plain_within;
use crate::verify::{Bad, Lines, Place, Walk, Wrong};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How much of a torn line is kept in the note about it, in bytes.
const TORN_KEPT: usize = 600;

/// Where a torn line is kept from before it is cut off until the log tells of it, should another crash come between.
const TORN: &str = "torn";

pub struct Found {
    pub standing: Standing,
    pub heads: Heads,
    /// What has to be noted, each as the detail of an event.
    pub notes: Vec<String>,
}

/// Looks at a chain's head and its end. The inner error is damage that no crash explains.
pub fn find(folder: &Path, key: &PublicKey) -> io::Result<Result<Found, Bad>> {
    let heads = head::read(folder)?;
    let all = segments(folder)?;
    let Some(head) = heads.newest.clone() else {
        // A start that was cut off before its first line leaves an empty head, or an empty segment, or nothing.
        let is_new = all.iter().all(|segment| segment.bytes == 0) && heads.damaged == 0;
        return Ok(if is_new { Ok(Found::new_chain(heads)) } else { Err(bad_head(&heads)) });
    };
    if PublicKey::parse(&head.key).ok().as_ref() != Some(key) {
        return Ok(Err(Bad { place: Place::new("head", 0, None), wrong: Wrong::OtherKey }));
    }
    let (Some(last), Some(begins)) = (head.last(), head.before_first()) else {
        return Ok(Err(bad_head(&heads)));
    };
    let mut end = End { head: &head, walk: Walk::default(), segment: None, unsigned: 0, notes: Vec::new() };
    if let Some(text) = left_torn(folder)? {
        let text = plain_within(&String::from_utf8_lossy(&text), TORN_KEPT);
        end.notes.push(format!(
            "a start before this one was cut off while it mended the log; it had found: {text}"
        ));
    }
    if heads.damaged > 0 {
        end.notes.push("one of the two places of the head was spoiled".to_owned());
    }
    // The head's own line is in the last segment that does not begin after it.
    let from = all.iter().rposition(|segment| segment.first <= last.seq.max(1)).unwrap_or(0);
    for (at, segment) in all.iter().enumerate().skip(from) {
        if let Err(bad) = end.read(segment, at + 1 == all.len())? {
            return Ok(Err(bad));
        }
    }
    Ok(end.finish(begins).map(|(standing, notes)| Found { standing, heads, notes }))
}

impl Found {
    fn new_chain(heads: Heads) -> Found {
        let chain = String::new();
        let standing = Standing { chain, last: Link::START, begins: Link::START, segment: None };
        Found { standing, heads, notes: Vec::new() }
    }
}

/// Puts aside what follows the last whole line, before it is cut off.
pub fn keep_torn(folder: &Path, segment: &Path, length: u64) -> io::Result<()> {
    let mut file = File::open(segment)?;
    if file.metadata()?.len() <= length {
        return Ok(());
    }
    file.seek(SeekFrom::Start(length))?;
    let mut torn = Vec::new();
    file.take(LONGEST_LINE as u64).read_to_end(&mut torn)?;
    let mut kept =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(folder.join(TORN))?;
    kept.write_all(&torn)?;
    kept.sync_all()
}

/// The log has told of it.
pub fn forget_torn(folder: &Path) -> io::Result<()> {
    match std::fs::remove_file(folder.join(TORN)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn left_torn(folder: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(folder.join(TORN)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn bad_head(heads: &Heads) -> Bad {
    let wrong = if heads.damaged > 0 { Wrong::HeadDamaged } else { Wrong::HeadMissing };
    Bad { place: Place::new("head", 0, None), wrong }
}

/// The end of a chain while it is looked at.
struct End<'a> {
    head: &'a Head,
    walk: Walk,
    segment: Option<(Segment, u64)>,
    unsigned: u64,
    notes: Vec<String>,
}

impl End<'_> {
    fn read(&mut self, segment: &Segment, is_last: bool) -> io::Result<Result<(), Bad>> {
        let mut lines = Lines::new(BufReader::new(File::open(&segment.path)?));
        let mut length = 0;
        let before = (segment.first == self.head.begins).then(|| self.head.before_first()).flatten();
        while let Some(read) = lines.read()? {
            let bad = |wrong| Ok(Err(Bad { place: Place::new(&segment.name(), read.number, None), wrong }));
            let parsed = match self.walk.read(&read, before) {
                Ok(parsed) => parsed,
                Err(Wrong::Torn { bytes }) if is_last => {
                    let text = String::from_utf8_lossy(&read.bytes);
                    self.notes.push(format!(
                        "the last line was torn; its {bytes} bytes were: {}",
                        plain_within(&text, TORN_KEPT)
                    ));
                    break;
                }
                Err(Wrong::Torn { .. }) => return bad(Wrong::Malformed),
                Err(wrong) => return bad(wrong),
            };
            if parsed.seq == self.head.seq && self.head.last() != Some(parsed.link()) {
                return bad(Wrong::HeadDiffers { seq: parsed.seq });
            }
            length = read.offset + read.bytes.len() as u64 + 1;
            self.unsigned = if parsed.sig.is_some() { 0 } else { self.unsigned + 1 };
        }
        self.segment = Some((segment.clone(), length));
        Ok(Ok(()))
    }

    fn finish(mut self, begins: Link) -> Result<(Standing, Vec<String>), Bad> {
        // A log that was trimmed to nothing but an empty segment stands where its head says.
        let last = self.walk.last.or_else(|| (self.head.seq == begins.seq).then_some(begins));
        let last = last.unwrap_or(Link::START);
        if last.seq < self.head.seq {
            let segment = self.segment.map(|(segment, _)| segment.name()).unwrap_or_default();
            let place = Place::new(&segment, self.walk.lines + 1, Some(last.seq + 1));
            return Err(Bad { place, wrong: Wrong::Cut { last: last.seq, head: self.head.seq } });
        }
        if last.seq > self.head.seq {
            self.notes.push(format!(
                "lines {} to {} were not under the head yet",
                self.head.seq + 1,
                last.seq
            ));
        }
        if self.unsigned > 0 {
            self.notes
                .push(format!("the last {} lines were not signed: their write was cut off", self.unsigned));
        }
        let segment = self.segment.map(|(segment, length)| (segment.first, length));
        Ok((Standing { chain: self.head.chain.clone(), last, begins, segment }, self.notes))
    }
}
