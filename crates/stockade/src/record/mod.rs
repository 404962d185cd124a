//! What is kept of a session beside the log itself: what may be said of it, pictures, anchors, bundles, and for how long.

mod anchor;
mod open;
mod pages;
mod veil;

pub use anchor::{Anchors, read_anchors};
pub use open::{key_file, open_log};
pub use pages::note_pages;
pub use veil::Veil;
