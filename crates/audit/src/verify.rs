//! Verifies a chain from its first kept line to its signed head, and reports the first defect.

mod defect;
mod lines;

pub use defect::{Defect, DefectKind, Location};
pub use lines::{LineReader, RawLine};

use crate::chain::{Segment, segments};
use crate::head::{self, Head, Heads};
use crate::key::PublicKey;
use crate::line::{Link, ParsedLine, parse};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead};
use std::path::Path;
use std::time::Duration;

/// A writer signs the head a moment after the lines. This is the wait between two attempts.
const RETRY_DELAY: Duration = Duration::from_millis(200);
const ATTEMPTS: u32 = 5;

/// The result of a verification.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub chain: Option<String>,
    /// The first and last line, by number; 0 for an empty log.
    pub first: u64,
    pub last: u64,
    pub segments: usize,
    /// Lines before `first` that retention has dropped, according to the signed head.
    pub dropped: u64,
    /// The key that signed, in hexadecimal.
    pub key: Option<String>,
    /// How many anchored heads were found in the log.
    pub anchors: usize,
    /// What a crash left after the last line under the head. All lines up to the head are whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incomplete_tail: Option<IncompleteTail>,
    #[serde(rename = "bad")]
    pub defect: Option<Defect>,
}

/// The end of a log that its writer did not complete. The next start repairs and records it.
///
/// It is not proven to be the writer's: only what the head covers is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IncompleteTail {
    /// Everything after the line of the signed head.
    pub bytes: u64,
    /// Whole lines among it.
    pub lines: u64,
    /// The bytes of a last line without an end.
    pub torn_bytes: u64,
}

impl Report {
    /// Whole, and complete up to its end.
    pub fn ok(&self) -> bool {
        self.defect.is_none() && self.incomplete_tail.is_none()
    }
}

/// Verifies the chain in `folder`. If given, `key` is the only one that may have signed. Each of `anchors` is a head
/// that was kept elsewhere and must still be part of the log.
pub fn verify(folder: &Path, key: Option<&PublicKey>, anchors: &[Head]) -> io::Result<Report> {
    for _ in 1..ATTEMPTS {
        match verify_once(folder, key, anchors) {
            // A log that is being written can look like this for a moment.
            Ok(report) if report.incomplete_tail.is_some() => {}
            Ok(report) if report.defect.as_ref().is_some_and(|defect| defect.kind.is_transient()) => {}
            // Retention has just dropped a segment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        std::thread::sleep(RETRY_DELAY);
    }
    verify_once(folder, key, anchors)
}

/// Verifies lines outside of a chain, such as those of a bundle, each against the one before it.
pub fn verify_lines(
    name: &str,
    input: impl BufRead,
    after: Option<Link>,
) -> io::Result<(u64, Option<Defect>)> {
    let mut walk = ChainWalk { last: after, ..ChainWalk::default() };
    let mut lines = LineReader::new(input);
    while let Some(read) = lines.read()? {
        if let Err(kind) = walk.read(&read, None) {
            return Ok((
                walk.lines,
                Some(Defect { location: Location::new(name, read.number, kind.seq()), kind }),
            ));
        }
    }
    Ok((walk.lines, None))
}

fn verify_once(folder: &Path, key: Option<&PublicKey>, anchors: &[Head]) -> io::Result<Report> {
    let heads = head::read(folder)?;
    let segments = segments(folder)?;
    let mut report = Report {
        chain: heads.newest.as_ref().map(|head| head.chain.clone()),
        first: 0,
        last: 0,
        segments: segments.len(),
        dropped: heads.newest.as_ref().map_or(0, |head| head.begins.saturating_sub(1)),
        key: heads.newest.as_ref().map(|head| head.key.clone()),
        anchors: 0,
        incomplete_tail: None,
        defect: None,
    };
    let trusted = match trusted(&heads, key) {
        Ok(trusted) => trusted,
        Err(kind) => {
            report.defect = Some(Defect { location: Location::new("head", 0, None), kind });
            return Ok(report);
        }
    };
    let mut chain = ChainCheck::new(trusted, anchors);
    let found = match chain.run(&segments)? {
        // A rewritten chain is consistent, but its signatures are invalid. Reports the first of them.
        Some(last) if last.kind == DefectKind::BadSignature => {
            let mut again = ChainCheck { every_signature: true, ..ChainCheck::new(chain.trusted, anchors) };
            let first = again.run(&segments)?;
            chain = again;
            first.or(Some(last))
        }
        other => other,
    };
    (report.first, report.last) = (chain.first, chain.walk.last.map_or(0, |link| link.seq));
    report.anchors = chain.anchored;
    report.defect = found;
    if report.defect.is_none() {
        report.incomplete_tail = chain.incomplete_tail();
    }
    // A crash within the write of a head leaves the head before it, and whole lines after that.
    let is_head_torn = report.incomplete_tail.as_ref().is_some_and(|tail| tail.torn_bytes == 0);
    if report.defect.is_none() && heads.damaged > 0 && !is_head_torn {
        report.incomplete_tail = None;
        report.defect =
            Some(Defect { location: Location::new("head", 0, None), kind: DefectKind::HeadDamaged });
    }
    Ok(report)
}

/// The newest head, if it is genuine and signed by the right key.
fn trusted(heads: &Heads, key: Option<&PublicKey>) -> Result<(Head, PublicKey), DefectKind> {
    let Some(head) = &heads.newest else {
        return Err(if heads.damaged > 0 { DefectKind::HeadDamaged } else { DefectKind::HeadMissing });
    };
    let signer = PublicKey::parse(&head.key).map_err(|_| DefectKind::HeadDamaged)?;
    if key.is_some_and(|key| *key != signer) {
        return Err(DefectKind::OtherKey);
    }
    Ok((head.clone(), signer))
}

/// One pass over a chain's segments.
struct ChainCheck<'a> {
    trusted: (Head, PublicKey),
    anchors: &'a [Head],
    anchored: usize,
    every_signature: bool,
    first: u64,
    walk: ChainWalk,
    /// The last line with a signature, and its location.
    signed: Option<(ParsedLine, Location)>,
    unsigned: Option<Location>,
    end: Location,
    /// Bytes of the whole lines after the head's.
    bytes_after_head: u64,
    /// The last line of the last segment, if it has no end: its location and bytes.
    torn: Option<(Location, usize)>,
}

impl<'a> ChainCheck<'a> {
    fn new(trusted: (Head, PublicKey), anchors: &'a [Head]) -> ChainCheck<'a> {
        ChainCheck {
            trusted,
            anchors,
            anchored: 0,
            every_signature: false,
            first: 0,
            walk: ChainWalk::default(),
            signed: None,
            unsigned: None,
            end: Location::new("", 0, None),
            bytes_after_head: 0,
            torn: None,
        }
    }

    fn run(&mut self, segments: &[Segment]) -> io::Result<Option<Defect>> {
        for (at, segment) in segments.iter().enumerate() {
            let mut lines = LineReader::new(io::BufReader::new(File::open(&segment.path)?));
            let is_last = at + 1 == segments.len();
            while let Some(read) = lines.read()? {
                let Err(kind) = self.line(&segment.name(), &read, is_last) else { continue };
                let location = Location::new(&segment.name(), read.number, kind.seq());
                match kind {
                    // No line follows it: a line without an end is the last one of its file.
                    DefectKind::Torn { bytes } => self.torn = Some((location, bytes)),
                    kind => return Ok(Some(Defect { location, kind })),
                }
            }
        }
        Ok(self.ending())
    }

    fn line(&mut self, segment: &str, read: &RawLine, in_last_segment: bool) -> Result<(), DefectKind> {
        let before_first = self.trusted.0.before_first();
        let parsed = match self.walk.read(read, before_first) {
            // A crash leaves an incomplete line in the last segment only.
            Err(DefectKind::Torn { .. }) if !in_last_segment => return Err(DefectKind::Malformed),
            other => other?,
        };
        if self.first == 0 {
            self.first = parsed.seq;
        }
        if parsed.seq > self.trusted.0.seq {
            self.bytes_after_head += read.bytes.len() as u64 + 1;
        }
        self.agrees(&self.trusted.0, &parsed)?;
        for anchor in self.anchors {
            if anchor.chain == self.trusted.0.chain && anchor.seq == parsed.seq {
                self.agrees(anchor, &parsed).map_err(|_| DefectKind::AnchorDiffers { seq: anchor.seq })?;
                self.anchored += 1;
            }
        }
        let location = Location::new(segment, read.number, Some(parsed.seq));
        self.end = location.clone();
        if parsed.sig.is_some() {
            let (head, key) = &self.trusted;
            if self.every_signature && parsed.is_signed_by(key, &head.chain) != Some(true) {
                return Err(DefectKind::BadSignature);
            }
            (self.signed, self.unsigned) = (Some((parsed, location)), None);
        } else if self.unsigned.is_none() {
            self.unsigned = Some(location);
        }
        Ok(())
    }

    /// A head and its line have the same hash.
    fn agrees(&self, head: &Head, line: &ParsedLine) -> Result<(), DefectKind> {
        let differs = head.seq == line.seq && head.last() != Some(line.link());
        if differs { Err(DefectKind::HeadDiffers { seq: head.seq }) } else { Ok(()) }
    }

    fn ending(&mut self) -> Option<Defect> {
        let (head, key) = &self.trusted;
        let last = self.walk.last.map_or(0, |link| link.seq);
        if let Some((line, location)) = &self.signed
            && line.is_signed_by(key, &head.chain) != Some(true)
        {
            return Some(Defect { location: location.clone(), kind: DefectKind::BadSignature });
        }
        let after = Location { line: self.end.line + 1, seq: Some(last + 1), ..self.end.clone() };
        if head.seq > last {
            // The torn line was whole when the head was signed.
            if let Some((location, bytes)) = &self.torn {
                return Some(Defect { location: location.clone(), kind: DefectKind::Torn { bytes: *bytes } });
            }
            return Some(Defect { location: after, kind: DefectKind::Cut { last, head: head.seq } });
        }
        let anchors = || self.anchors.iter().filter(|anchor| anchor.chain == head.chain);
        if let Some(anchor) = anchors().find(|anchor| anchor.seq > last) {
            let kind = DefectKind::Old { last, anchor: anchor.seq, at: anchor.signed_at.clone() };
            return Some(Defect { location: after, kind });
        }
        // Retention may drop anchored lines. But the holder of the key could sign any beginning, so a log that begins
        // after its last anchor is not anchored at all.
        if self.anchored == 0
            && let Some(anchor) = anchors().max_by_key(|anchor| anchor.seq)
            && anchor.last() != head.before_first()
        {
            let at = anchor.signed_at.clone();
            let kind = DefectKind::AnchorsDropped { first: head.begins, anchor: anchor.seq, at };
            return Some(Defect { location: Location::new("head", 0, None), kind });
        }
        // The last line of a group is signed, so a group that was written whole does not end like this.
        if let Some(location) = self.unsigned.as_ref().filter(|_| self.torn.is_none()) {
            return Some(Defect { location: location.clone(), kind: DefectKind::Unsigned });
        }
        None
    }

    /// What follows the head's line, in a chain without a defect.
    fn incomplete_tail(&self) -> Option<IncompleteTail> {
        let torn_bytes = self.torn.as_ref().map_or(0, |(_, bytes)| *bytes as u64);
        let last = self.walk.last.map_or(0, |link| link.seq);
        let lines = last.saturating_sub(self.trusted.0.seq);
        (lines > 0 || torn_bytes > 0).then(|| IncompleteTail {
            bytes: self.bytes_after_head + torn_bytes,
            lines,
            torn_bytes,
        })
    }
}

/// Follows a chain line by line.
#[derive(Default)]
pub struct ChainWalk {
    pub last: Option<Link>,
    pub lines: u64,
}

impl ChainWalk {
    /// Checks the next line. `before_first` is the line before the first one, if known.
    pub fn read(&mut self, read: &RawLine, before_first: Option<Link>) -> Result<ParsedLine, DefectKind> {
        if !read.ended {
            return Err(DefectKind::Torn { bytes: read.bytes.len() });
        }
        let parsed = parse(&read.bytes).map_err(DefectKind::from)?;
        let expected = match (self.last, before_first) {
            (Some(last), _) => Some(last),
            // Segments that retention is dropping may still exist for a moment.
            (None, Some(before)) if parsed.seq <= before.seq => (parsed.seq == 1).then_some(Link::START),
            (None, before) => before,
        };
        if let Some(expected) = expected {
            follows(expected, &parsed)?;
        }
        if let Some(before) = before_first.filter(|before| before.seq == parsed.seq)
            && before != parsed.link()
        {
            return Err(DefectKind::HeadDiffers { seq: before.seq });
        }
        self.last = Some(parsed.link());
        self.lines += 1;
        Ok(parsed)
    }
}

fn follows(last: Link, line: &ParsedLine) -> Result<(), DefectKind> {
    let expected = last.seq + 1;
    match line.seq {
        found if found > expected => Err(DefectKind::Missing { from: expected, to: found - 1 }),
        found if found < expected => Err(DefectKind::Again { expected, found }),
        _ if line.prev != last.hash => Err(DefectKind::Unlinked { seq: expected }),
        _ => Ok(()),
    }
}

/// Without retries, for a log that has no writer.
#[cfg(test)]
pub fn verify_closed(folder: &Path) -> Report {
    verify_once(folder, None, &[]).unwrap()
}
