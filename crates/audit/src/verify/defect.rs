//! Defects of a log and their locations.

use crate::line::LineDefect;
use serde::Serialize;
use std::fmt;

/// A line in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file's name in the chain's folder.
    pub segment: String,
    /// Counted from 1; 0 for a whole file.
    pub line: u64,
    /// The sequence number that the line has, or should have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

impl Location {
    pub fn new(segment: &str, line: u64, seq: Option<u64>) -> Location {
        Location { segment: segment.to_owned(), line, seq }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.segment),
            line => write!(f, "{}, line {line}", self.segment),
        }
    }
}

/// A defect of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Defect {
    #[serde(flatten)]
    pub location: Location,
    #[serde(flatten)]
    pub kind: DefectKind,
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.kind)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "wrong", rename_all = "snake_case")]
pub enum DefectKind {
    #[error("it is not a line of an audit log")]
    Malformed,
    #[error("its text was changed: its hash does not match")]
    Changed,
    #[error("it has no end ({bytes} bytes): the rest of it was cut off")]
    Torn { bytes: usize },
    #[error("lines {from} to {to} are missing before it")]
    Missing { from: u64, to: u64 },
    #[error("it has number {found} where number {expected} is expected: it was repeated, moved or inserted")]
    Again { expected: u64, found: u64 },
    #[error("it does not follow the line before it: number {seq} or the one before was replaced")]
    Unlinked { seq: u64 },
    #[error("its signature was not made with the log's key")]
    BadSignature,
    #[error("it is not signed: it was added at the end, or the rest of its group was cut off")]
    Unsigned,
    #[error("the log ends with number {last}, but its signed head is at {head}: the end was cut off")]
    Cut { last: u64, head: u64 },
    #[error(
        "the log ends with number {last}, but had reached {anchor} when it was anchored at {at}: it is an old copy"
    )]
    Old { last: u64, anchor: u64, at: String },
    #[error("number {seq} is not the line that was signed")]
    HeadDiffers { seq: u64 },
    #[error("number {seq} is not the line that was anchored")]
    AnchorDiffers { seq: u64 },
    #[error(
        "the log begins with number {first}, after its last anchor (number {anchor} at {at}): no anchored line is left"
    )]
    AnchorsDropped { first: u64, anchor: u64, at: String },
    #[error("there is no signed head")]
    HeadMissing,
    #[error("the head is damaged, or was not signed by the key that it names")]
    HeadDamaged,
    #[error("the head was signed by another key")]
    OtherKey,
    #[error("a file was changed: its hash does not match the manifest")]
    FileChanged,
    #[error("it is not a bundle, or it was cut off or damaged")]
    NoBundle,
    #[error("the manifest was changed, or was not signed by the key that it names")]
    ManifestDamaged,
}

impl DefectKind {
    /// The number of the line, if the defect knows it.
    pub(super) fn seq(&self) -> Option<u64> {
        match self {
            DefectKind::Missing { from: seq, .. }
            | DefectKind::Again { expected: seq, .. }
            | DefectKind::Unlinked { seq }
            | DefectKind::HeadDiffers { seq }
            | DefectKind::AnchorDiffers { seq } => Some(*seq),
            _ => None,
        }
    }

    /// Whether a log that is being written can have this defect for a moment.
    pub(super) fn is_transient(&self) -> bool {
        matches!(
            self,
            DefectKind::Cut { .. }
                | DefectKind::HeadDamaged
                | DefectKind::Missing { .. }
                | DefectKind::Torn { .. }
                | DefectKind::Unsigned
        )
    }
}

impl From<LineDefect> for DefectKind {
    fn from(flaw: LineDefect) -> DefectKind {
        match flaw {
            LineDefect::Malformed => DefectKind::Malformed,
            LineDefect::Changed => DefectKind::Changed,
        }
    }
}
