//! What is kept of a session beside the log itself: what may be said of it, anchors, bundles, replays, and for how long.

mod anchor;
mod bundle;
mod bundle_archive;
mod check;
mod open;
mod replay;
mod retention;
mod veil;

pub use anchor::{Anchors, read_anchors};
pub use bundle::{Made, Parts, events_of, write as write_bundle};
pub use check::{Checked, check_bundle, read_bundle};
pub use open::{key_file, load_key, open_log};
pub use replay::page as replay_page;
pub use retention::{Rules as RetentionRules, keep_sweeping};
pub use veil::Veil;
