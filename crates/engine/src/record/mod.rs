//! Records of a session besides the audit log: typed-text redaction, anchors, bundles, replays and retention.

mod anchor;
mod bundle;
mod bundle_archive;
mod check;
mod egress_log;
mod har;
mod open;
mod replay;
mod retention;
mod typed_text;

pub use anchor::{Anchors, read_anchors};
pub use bundle::{BundleContents, WrittenBundle, events_of, write as write_bundle};
pub use check::{BundleReport, check_bundle, read_bundle};
pub use egress_log::{EgressReport, RecordedEgress, egress_of};
pub use har::har;
pub use open::{close_interrupted_sessions, key_file, load_key, open_log};
pub use replay::page as replay_page;
pub use retention::{RetentionRules, sweep_periodically};
pub use typed_text::TypedTextRedactor;
