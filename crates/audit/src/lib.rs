//! The append-only record of what was asked, decided and done.
//!
//! One line of JSON an event. An intent is durable before the browser hears of it: [`Log::intend`] is
//! what turns a [`policy::Permit`] into the [`policy::Permitted`] that the driver takes.

mod event;
mod input;
mod log;
mod text;
mod writer;

pub use event::{About, Correlation, Event, EventKind};
pub use log::{AuditError, Log};
pub use text::plain;
