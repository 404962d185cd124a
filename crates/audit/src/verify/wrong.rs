//! What can be wrong with a log, and where.

use crate::line::Flaw;
use serde::Serialize;
use std::fmt;

/// A line, as a person finds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file's name in the chain's folder.
    pub segment: String,
    /// Counted from 1; 0 for what is no line.
    pub line: u64,
    /// The number that the line has, or should have, in the chain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

impl Place {
    pub fn new(segment: &str, line: u64, seq: Option<u64>) -> Place {
        Place { segment: segment.to_owned(), line, seq }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}", self.segment),
            line => write!(f, "{}, line {line}", self.segment),
        }
    }
}

/// The first thing that is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bad {
    #[serde(flatten)]
    pub place: Place,
    #[serde(flatten)]
    pub wrong: Wrong,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.wrong)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "wrong", rename_all = "snake_case")]
pub enum Wrong {
    #[error("it has not the form of a line of the log")]
    Malformed,
    #[error("its text was changed: it does not have the hash that it says")]
    Changed,
    #[error("it has no end ({bytes} bytes): a crash broke it off; the next start mends and notes it")]
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
    #[error("the log goes on to number {last} after its signed head at {head}; the next start signs it")]
    Ahead { head: u64, last: u64 },
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

impl Wrong {
    /// The number of the line, where what is wrong tells it.
    pub(super) fn seq(&self) -> Option<u64> {
        match self {
            Wrong::Missing { from: seq, .. }
            | Wrong::Again { expected: seq, .. }
            | Wrong::Unlinked { seq }
            | Wrong::HeadDiffers { seq }
            | Wrong::AnchorDiffers { seq } => Some(*seq),
            _ => None,
        }
    }

    /// Whether a log that is being written can look like this for a moment.
    pub(super) fn may_pass(&self) -> bool {
        matches!(
            self,
            Wrong::Ahead { .. }
                | Wrong::Cut { .. }
                | Wrong::HeadDamaged
                | Wrong::Missing { .. }
                | Wrong::Torn { .. }
                | Wrong::Unsigned
        )
    }
}

impl From<Flaw> for Wrong {
    fn from(flaw: Flaw) -> Wrong {
        match flaw {
            Flaw::Malformed => Wrong::Malformed,
            Flaw::Changed => Wrong::Changed,
        }
    }
}
