//! The book of what waits for a person: asked once, answered once, whoever answers and through whichever door.
//!
//! The row in the database is the truth. An answer is one statement that changes a row which still waits, so two
//! answers cannot both count, and one that comes from another process is found by looking at the row.

mod approval;
mod book;
mod bound;
mod rate;
mod rows;
mod waiting;

#[cfg(test)]
mod tests;

pub use approval::{
    Approval, ApprovalId, ApprovalPicture, Card, Change, Decider, Door, ElementCard, Filter, Kind,
    OFF_THE_LIST, Said, State, Verdict, is_other_site,
};
pub use book::{Ask, Book, pending, unknown};
pub use bound::{Bound, Given, Yes};
pub use waiting::Waiting;

use std::time::Duration;

/// How people are asked.
#[derive(Clone, Copy, Debug)]
pub struct ApprovalSettings {
    /// What is not answered in this time is denied.
    pub timeout: Duration,
    /// Questions of one session within a minute; the next are denied unseen.
    pub most_a_minute: u32,
}
