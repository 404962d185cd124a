//! Checks a chain from its first kept line to its signed head, and names the first thing that is wrong.

mod lines;
mod wrong;

pub use lines::{Lines, Read};
pub use wrong::{Bad, Place, Wrong};

use crate::chain::{Segment, segments};
use crate::head::{self, Head, Heads};
use crate::key::PublicKey;
use crate::line::{Link, Parsed, parse};
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufRead};
use std::path::Path;
use std::time::Duration;

/// A writer signs its head a moment after the lines: so long is waited for one that lags.
const LAG: Duration = Duration::from_millis(200);
const LOOKS: u32 = 5;

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub chain: Option<String>,
    /// The first and last line, by number; 0 for an empty log.
    pub first: u64,
    pub last: u64,
    pub segments: usize,
    /// Lines before `first` that retention has dropped, by the signed head's word.
    pub dropped: u64,
    /// The key that signed, in hexadecimal.
    pub key: Option<String>,
    /// How many anchored heads were found in the log.
    pub anchors: usize,
    pub bad: Option<Bad>,
}

impl Report {
    pub fn ok(&self) -> bool {
        self.bad.is_none()
    }
}

/// Checks the chain in `folder`. `key` is the only one that may have signed, if given; each of `anchors` is a head
/// that was kept elsewhere, and must still be part of the log.
pub fn verify(folder: &Path, key: Option<&PublicKey>, anchors: &[Head]) -> io::Result<Report> {
    for _ in 1..LOOKS {
        match look(folder, key, anchors) {
            // Only a log that is being written right now looks like this and then does not.
            Ok(report) if report.bad.as_ref().is_some_and(|bad| bad.wrong.may_pass()) => {}
            // A segment that retention has just dropped.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        std::thread::sleep(LAG);
    }
    look(folder, key, anchors)
}

/// Checks lines that stand alone, such as those of a bundle, each against the one before it.
pub fn verify_lines(name: &str, input: impl BufRead, after: Option<Link>) -> io::Result<(u64, Option<Bad>)> {
    let mut walk = Walk { last: after, ..Walk::default() };
    let mut lines = Lines::new(input);
    while let Some(read) = lines.read()? {
        if let Err(wrong) = walk.read(&read, None) {
            return Ok((walk.lines, Some(Bad { place: Place::new(name, read.number, wrong.seq()), wrong })));
        }
    }
    Ok((walk.lines, None))
}

fn look(folder: &Path, key: Option<&PublicKey>, anchors: &[Head]) -> io::Result<Report> {
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
        bad: None,
    };
    let trusted = match trusted(&heads, key) {
        Ok(trusted) => trusted,
        Err(wrong) => {
            report.bad = Some(Bad { place: Place::new("head", 0, None), wrong });
            return Ok(report);
        }
    };
    let mut chain = Chain::new(trusted, anchors);
    let bad = match chain.run(&segments)? {
        // A chain that was written anew fits together: its signatures do not.
        Some(bad) if bad.wrong == Wrong::BadSignature => {
            let mut again = Chain { every_signature: true, ..Chain::new(chain.trusted, anchors) };
            let first = again.run(&segments)?;
            chain = again;
            first.or(Some(bad))
        }
        other => other,
    };
    (report.first, report.last) = (chain.first, chain.walk.last.map_or(0, |link| link.seq));
    report.anchors = chain.anchored;
    report.bad = bad.or_else(|| {
        let damaged = Bad { place: Place::new("head", 0, None), wrong: Wrong::HeadDamaged };
        (heads.damaged > 0).then_some(damaged)
    });
    Ok(report)
}

/// A head that can be believed, and its key.
fn trusted(heads: &Heads, key: Option<&PublicKey>) -> Result<(Head, PublicKey), Wrong> {
    let Some(head) = &heads.newest else {
        return Err(if heads.damaged > 0 { Wrong::HeadDamaged } else { Wrong::HeadMissing });
    };
    let signer = PublicKey::parse(&head.key).map_err(|_| Wrong::HeadDamaged)?;
    if key.is_some_and(|key| *key != signer) {
        return Err(Wrong::OtherKey);
    }
    Ok((head.clone(), signer))
}

/// One pass over a chain's segments.
struct Chain<'a> {
    trusted: (Head, PublicKey),
    anchors: &'a [Head],
    anchored: usize,
    every_signature: bool,
    first: u64,
    walk: Walk,
    /// The last line with a signature, and where it stands.
    signed: Option<(Parsed, Place)>,
    unsigned: Option<Place>,
    end: Place,
}

impl<'a> Chain<'a> {
    fn new(trusted: (Head, PublicKey), anchors: &'a [Head]) -> Chain<'a> {
        Chain {
            trusted,
            anchors,
            anchored: 0,
            every_signature: false,
            first: 0,
            walk: Walk::default(),
            signed: None,
            unsigned: None,
            end: Place::new("", 0, None),
        }
    }

    fn run(&mut self, segments: &[Segment]) -> io::Result<Option<Bad>> {
        for (at, segment) in segments.iter().enumerate() {
            let mut lines = Lines::new(io::BufReader::new(File::open(&segment.path)?));
            let is_last = at + 1 == segments.len();
            while let Some(read) = lines.read()? {
                if let Err(wrong) = self.line(&segment.name(), &read, is_last) {
                    let place = Place::new(&segment.name(), read.number, wrong.seq());
                    return Ok(Some(Bad { place, wrong }));
                }
            }
        }
        Ok(self.ending())
    }

    fn line(&mut self, segment: &str, read: &Read, in_last_segment: bool) -> Result<(), Wrong> {
        let before_first = self.trusted.0.before_first();
        let parsed = match self.walk.read(read, before_first) {
            // A line without its end in the last segment is what a crash leaves; elsewhere it was cut.
            Err(Wrong::Torn { .. }) if !in_last_segment => return Err(Wrong::Malformed),
            other => other?,
        };
        if self.first == 0 {
            self.first = parsed.seq;
        }
        self.agrees(&self.trusted.0, &parsed)?;
        for anchor in self.anchors {
            if anchor.chain == self.trusted.0.chain && anchor.seq == parsed.seq {
                self.agrees(anchor, &parsed).map_err(|_| Wrong::AnchorDiffers { seq: anchor.seq })?;
                self.anchored += 1;
            }
        }
        let place = Place::new(segment, read.number, Some(parsed.seq));
        self.end = place.clone();
        if parsed.sig.is_some() {
            let (head, key) = &self.trusted;
            if self.every_signature && parsed.is_signed_by(key, &head.chain) != Some(true) {
                return Err(Wrong::BadSignature);
            }
            (self.signed, self.unsigned) = (Some((parsed, place)), None);
        } else if self.unsigned.is_none() {
            self.unsigned = Some(place);
        }
        Ok(())
    }

    /// A head and the line it speaks of have the same hash.
    fn agrees(&self, head: &Head, line: &Parsed) -> Result<(), Wrong> {
        let differs = head.seq == line.seq && head.last() != Some(line.link());
        if differs { Err(Wrong::HeadDiffers { seq: head.seq }) } else { Ok(()) }
    }

    fn ending(&mut self) -> Option<Bad> {
        let (head, key) = &self.trusted;
        let last = self.walk.last.map_or(0, |link| link.seq);
        if let Some((line, place)) = &self.signed
            && line.is_signed_by(key, &head.chain) != Some(true)
        {
            return Some(Bad { place: place.clone(), wrong: Wrong::BadSignature });
        }
        let after = Place { line: self.end.line + 1, seq: Some(last + 1), ..self.end.clone() };
        if head.seq > last {
            return Some(Bad { place: after, wrong: Wrong::Cut { last, head: head.seq } });
        }
        let anchors = || self.anchors.iter().filter(|anchor| anchor.chain == head.chain);
        if let Some(anchor) = anchors().find(|anchor| anchor.seq > last) {
            let wrong = Wrong::Old { last, anchor: anchor.seq, at: anchor.signed_at.clone() };
            return Some(Bad { place: after, wrong });
        }
        // Retention drops what was before an anchor, too. But whoever has the key could sign any beginning: a log that
        // begins after its last anchor is not held by one.
        if self.anchored == 0
            && let Some(anchor) = anchors().max_by_key(|anchor| anchor.seq)
            && anchor.last() != head.before_first()
        {
            let at = anchor.signed_at.clone();
            let wrong = Wrong::AnchorsDropped { first: head.begins, anchor: anchor.seq, at };
            return Some(Bad { place: Place::new("head", 0, None), wrong });
        }
        if let Some(place) = &self.unsigned {
            return Some(Bad { place: place.clone(), wrong: Wrong::Unsigned });
        }
        (last > head.seq)
            .then(|| Bad { place: self.end.clone(), wrong: Wrong::Ahead { head: head.seq, last } })
    }
}

/// Follows a chain line by line.
#[derive(Default)]
pub struct Walk {
    pub last: Option<Link>,
    pub lines: u64,
}

impl Walk {
    /// Takes the next line. `before_first` is what the first one follows, if that is known.
    pub fn read(&mut self, read: &Read, before_first: Option<Link>) -> Result<Parsed, Wrong> {
        if !read.ended {
            return Err(Wrong::Torn { bytes: read.bytes.len() });
        }
        let parsed = parse(&read.bytes).map_err(Wrong::from)?;
        let expected = match (self.last, before_first) {
            (Some(last), _) => Some(last),
            // Segments that retention has given up may still be there for a moment.
            (None, Some(before)) if parsed.seq <= before.seq => (parsed.seq == 1).then_some(Link::START),
            (None, before) => before,
        };
        if let Some(expected) = expected {
            follows(expected, &parsed)?;
        }
        if let Some(before) = before_first.filter(|before| before.seq == parsed.seq)
            && before != parsed.link()
        {
            return Err(Wrong::HeadDiffers { seq: before.seq });
        }
        self.last = Some(parsed.link());
        self.lines += 1;
        Ok(parsed)
    }
}

fn follows(last: Link, line: &Parsed) -> Result<(), Wrong> {
    let expected = last.seq + 1;
    match line.seq {
        found if found > expected => Err(Wrong::Missing { from: expected, to: found - 1 }),
        found if found < expected => Err(Wrong::Again { expected, found }),
        _ if line.prev != last.hash => Err(Wrong::Unlinked { seq: expected }),
        _ => Ok(()),
    }
}

/// For a log that nobody writes.
#[cfg(test)]
pub fn look_once(folder: &Path) -> Report {
    look(folder, None, &[]).unwrap()
}
