//! The append-only record of what was asked, decided and done.
//!
//! One line of JSON an event, each with its number and the hash of the line before it, in segments, under a
//! signed head. An intent is durable before the browser hears of it: [`Log::intend`] is what turns a
//! [`policy::Permit`] into the [`policy::Permitted`] that the driver takes.

mod chain;
mod error;
mod event;
mod export;
mod head;
mod hex;
mod input;
mod key;
mod line;
mod log;
mod read;
mod recover;
mod store;
mod text;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub use chain::{chain_folders, segments};
pub use error::AuditError;
pub use event::{About, Correlation, Event, EventKind, Picture};
pub use export::{COLUMNS, csv_header, csv_row};
pub use head::{Head, read_head};
pub use hex::{digest, sha256};
pub use key::{Key, KeyError, PublicKey};
pub use line::{LONGEST_LINE, parse as parse_line};
pub use log::{Context, Intent, Log, LogOptions};
pub use read::{Entry, Filter, Follower, all, last};
pub use text::{plain, plain_within};
pub use verify::{Bad, Place, Report, Wrong, verify, verify_lines};
