//! Recovery: finds the end of a chain, and what a crash did to it.

use crate::chain::{ChainPosition, Segment, segments};
use crate::head::{self, Head, Heads};
use crate::key::PublicKey;
use crate::line::{LONGEST_LINE, Link};
use crate::sanitize::sanitize_within;
use crate::verify::{ChainWalk, Defect, DefectKind, LineReader, Location};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read as _, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// How much of a torn line is kept in the note about it, in bytes.
const TORN_KEPT: usize = 600;

/// The file that keeps a torn line from before it is cut off until the log has recorded it, in case of another crash.
const TORN: &str = "torn";

pub struct RecoveredChain {
    pub position: ChainPosition,
    pub heads: Heads,
    /// What has to be noted, each as the detail of an event.
    pub notes: Vec<String>,
}

/// Reads the head and the end of a chain. The inner error is damage that no crash explains.
pub fn recover(folder: &Path, key: &PublicKey) -> io::Result<Result<RecoveredChain, Defect>> {
    let heads = head::read(folder)?;
    let all = segments(folder)?;
    let Some(head) = heads.newest.clone() else {
        // A start that was interrupted before its first line leaves an empty head, an empty segment, or nothing.
        let is_new = all.iter().all(|segment| segment.bytes == 0) && heads.damaged == 0;
        return Ok(if is_new { Ok(RecoveredChain::new_chain(heads)) } else { Err(head_defect(&heads)) });
    };
    if PublicKey::parse(&head.key).ok().as_ref() != Some(key) {
        return Ok(Err(Defect { location: Location::new("head", 0, None), kind: DefectKind::OtherKey }));
    }
    let (Some(last), Some(begins)) = (head.last(), head.before_first()) else {
        return Ok(Err(head_defect(&heads)));
    };
    let mut scan =
        TailScan { head: &head, walk: ChainWalk::default(), segment: None, unsigned: 0, notes: Vec::new() };
    if let Some(text) = read_torn(folder)? {
        let text = sanitize_within(&String::from_utf8_lossy(&text), TORN_KEPT);
        scan.notes.push(format!(
            "an earlier start was interrupted while it repaired the log; it had found: {text}"
        ));
    }
    if heads.damaged > 0 {
        scan.notes.push("one of the two copies of the head was damaged".to_owned());
    }
    // The head's own line is in the last segment that does not begin after it.
    let from = all.iter().rposition(|segment| segment.first <= last.seq.max(1)).unwrap_or(0);
    for (at, segment) in all.iter().enumerate().skip(from) {
        if let Err(defect) = scan.read(segment, at + 1 == all.len())? {
            return Ok(Err(defect));
        }
    }
    Ok(scan.finish(begins).map(|(position, notes)| RecoveredChain { position, heads, notes }))
}

impl RecoveredChain {
    fn new_chain(heads: Heads) -> RecoveredChain {
        let chain = String::new();
        let position = ChainPosition { chain, last: Link::START, begins: Link::START, segment: None };
        RecoveredChain { position, heads, notes: Vec::new() }
    }
}

/// Keeps a copy of what follows the last whole line, before it is cut off.
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

/// Removes the copy, once the log has recorded it.
pub fn forget_torn(folder: &Path) -> io::Result<()> {
    match std::fs::remove_file(folder.join(TORN)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn read_torn(folder: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(folder.join(TORN)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn head_defect(heads: &Heads) -> Defect {
    let kind = if heads.damaged > 0 { DefectKind::HeadDamaged } else { DefectKind::HeadMissing };
    Defect { location: Location::new("head", 0, None), kind }
}

/// A scan of the end of a chain.
struct TailScan<'a> {
    head: &'a Head,
    walk: ChainWalk,
    segment: Option<(Segment, u64)>,
    unsigned: u64,
    notes: Vec<String>,
}

impl TailScan<'_> {
    fn read(&mut self, segment: &Segment, is_last: bool) -> io::Result<Result<(), Defect>> {
        let mut lines = LineReader::new(BufReader::new(File::open(&segment.path)?));
        let mut length = 0;
        let before = (segment.first == self.head.begins).then(|| self.head.before_first()).flatten();
        while let Some(read) = lines.read()? {
            let defect =
                |kind| Ok(Err(Defect { location: Location::new(&segment.name(), read.number, None), kind }));
            let parsed = match self.walk.read(&read, before) {
                Ok(parsed) => parsed,
                Err(DefectKind::Torn { bytes }) if is_last => {
                    let text = String::from_utf8_lossy(&read.bytes);
                    self.notes.push(format!(
                        "the last line was torn; its {bytes} bytes were: {}",
                        sanitize_within(&text, TORN_KEPT)
                    ));
                    break;
                }
                Err(DefectKind::Torn { .. }) => return defect(DefectKind::Malformed),
                Err(kind) => return defect(kind),
            };
            if parsed.seq == self.head.seq && self.head.last() != Some(parsed.link()) {
                return defect(DefectKind::HeadDiffers { seq: parsed.seq });
            }
            length = read.offset + read.bytes.len() as u64 + 1;
            self.unsigned = if parsed.sig.is_some() { 0 } else { self.unsigned + 1 };
        }
        self.segment = Some((segment.clone(), length));
        Ok(Ok(()))
    }

    fn finish(mut self, begins: Link) -> Result<(ChainPosition, Vec<String>), Defect> {
        // A log that was trimmed to one empty segment ends where its head says.
        let last = self.walk.last.or_else(|| (self.head.seq == begins.seq).then_some(begins));
        let last = last.unwrap_or(Link::START);
        if last.seq < self.head.seq {
            let segment = self.segment.map(|(segment, _)| segment.name()).unwrap_or_default();
            let location = Location::new(&segment, self.walk.lines + 1, Some(last.seq + 1));
            return Err(Defect { location, kind: DefectKind::Cut { last: last.seq, head: self.head.seq } });
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
        Ok((ChainPosition { chain: self.head.chain.clone(), last, begins, segment }, self.notes))
    }
}
