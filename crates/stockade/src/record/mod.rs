//! What is kept of a session beside the log itself: what may be said of it, pictures, anchors, bundles, and for how long.

mod open;
mod veil;

pub use open::open_log;
pub use veil::Veil;
