//! The driver against a real Chromium. Without one these tests fail; they are never skipped.

// Helpers outside of #[test] functions count as ordinary code for clippy; here a panic is the report.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod dialogs;
mod elements;
mod failures;
mod hostile;
mod navigation;
mod reading;
mod screenshots;
mod secrets;
mod snapshots;
mod support;
mod tabs;
