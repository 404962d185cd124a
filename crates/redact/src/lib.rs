//! Secrets, the search for them in any encoding, and text that is proven to be free of them.
//!
//! A [`Secret`] is opened by `expose_secret` alone. A [`Redactor`] finds secrets in text however they are encoded, and
//! turns text into [`Redacted`], the only kind of text that leaves for an agent, a log or a recording. A value that is made
//! of nothing else derives [`RedactedFields`]. A [`PhraseSet`]
//! finds typed text and secrets in what a page draws, so that screenshots can be masked, and
//! [`picture::paint`] masks them. All three searches share one
//! encoder, one normalisation and one index.
//!
//! A [`Placeholder`] is what the browser holds in place of a secret; a [`Swapper`] replaces one by the other in bytes that
//! pass the egress proxy, in the usual encodings and without changing a length.

mod automaton;
mod cookie;
mod decoy;
mod encode;
mod escapes;
mod forms;
mod index;
mod phrases;
pub mod picture;
mod placeholder;
mod random;
mod redacted;
mod redacted_fields;
mod redactor;
mod secret;
mod send_in;
mod swap_escapes;
mod swap_forms;
mod swapper;
mod value_structure;
mod view;
mod work;

pub use cookie::{CookiePriority, SameSite};
pub use decoy::Decoys;
pub use encode::address_forms;
pub use forms::SHORTEST_COMPARED;
pub use phrases::{PhraseSet, in_utf16_units};
pub use placeholder::Placeholder;
pub use random::{ALPHANUMERIC, UNAMBIGUOUS, random_text};
pub use redact_derive::RedactedFields;
pub use redacted::{PreviouslyRedacted, Redacted, SafeText, count_holes, previously_redacted};
pub use redacted_fields::{RedactedFields, assert_redacted};
pub use redactor::{FoundSecret, JoinedFragments, MASK, Redactor};
pub use secret::{SHORTEST_SWAPPED, Secret};
pub use send_in::SendIn;
pub use swapper::{FormSet, NamedSecret, SwapPair, SwapStream, Swapper};
pub use view::is_invisible;
