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
    #[error("it has not the form of a line of the log")]
    Malformed,
    #[error("its text was changed: it does not have the hash that it says")]
    Changed,
    #[error("it has no end ({bytes} bytes): the rest of it was cut off")]
    Torn { bytes: usize },
    #[error("lines {from} to {to} are missing before it")]
    Missing { from: u64, to: u64 },
    #[error("it says it is number {found}, and number {expected} belongs here: repeated, moved or put in")]
    Again { expected: u64, found: u64 },
    #[error("it does not follow the line before it: number {seq} or the one before was replaced")]
    Unlinked { seq: u64 },
    #[error("its signature is not that of the log's key")]
    BadSignature,
    #[error("it is not signed: put in at the end, or the rest of its group was cut off")]
    Unsigned,
    #[error("the log ends with number {last}, and its signed head is at {head}: the end was cut off")]
    Cut { last: u64, head: u64 },
    #[error("the log ends with number {last}, and was at {anchor} when it was anchored at {at}: an old copy")]
    Old { last: u64, anchor: u64, at: String },
    #[error("number {seq} is not the line that was signed")]
    HeadDiffers { seq: u64 },
    #[error("number {seq} is not the line that was anchored")]
    AnchorDiffers { seq: u64 },
    #[error(
        "the log begins with number {first}, after its last anchor, number {anchor} at {at}: none is in it"
    )]
    AnchorsDropped { first: u64, anchor: u64, at: String },
    #[error("there is no signed head")]
    HeadMissing,
    #[error("the head is damaged, or was not signed by the key that it names")]
    HeadDamaged,
    #[error("the head was signed by another key")]
    OtherKey,
    #[error("a file was changed: it does not have the hash that the manifest says")]
    FileChanged,
    #[error("it is no bundle, or was cut off or damaged")]
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
