//! Secrets, the search for them in any encoding, and text that is proven to be free of them.
//!
//! A [`Secret`] is opened by `expose_secret` alone. A [`Redactor`] finds secrets in text however they are encoded, and
//! turns text into [`Redacted`], the only kind of text that leaves for an agent, a log or a recording. A value that is made
//! of nothing else derives [`RedactedFields`]. A [`PhraseSet`]
//! finds typed text and secrets in what a page draws, so that screenshots can be masked. All three searches share one
//! encoder, one normalisation and one index.

mod cookie;
mod encode;
mod escapes;
mod forms;
mod index;
mod phrases;
mod random;
mod redacted;
mod redacted_fields;
mod redactor;
mod secret;
mod view;
mod work;

pub use cookie::{CookiePriority, SameSite};
pub use encode::address_forms;
pub use phrases::PhraseSet;
pub use random::{ALPHANUMERIC, UNAMBIGUOUS, random_text};
pub use redact_derive::RedactedFields;
pub use redacted::{PreviouslyRedacted, Redacted, SafeText, count_holes, previously_redacted};
pub use redacted_fields::{RedactedFields, assert_redacted};
pub use redactor::{MASK, RedactedStream, Redactor};
pub use secret::{SHORTEST_SECRET, Secret};
pub use view::is_invisible;
