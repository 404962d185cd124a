//! The driver against a real Chromium. Without one these tests fail; they are never skipped.

// Helpers outside of #[test] functions count as ordinary code for clippy; here a panic is the report.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod closed;
mod covers;
mod dates;
mod deltas;
mod dialogs;
mod elements;
mod ends;
mod failures;
mod flashes;
mod forging;
mod handing;
mod headers;
mod history;
mod hostile;
mod injecting;
mod keyboard;
mod lists;
mod matrix;
mod navigation;
mod parts;
mod pointer;
mod probing;
mod reading;
mod refs;
mod resuming;
mod screenshots;
mod scrolling;
mod secrets;
mod sending;
mod settling;
mod snapshots;
mod styles;
mod support;
mod tabs;
mod targets;
mod tricks;
mod unusual_content;
mod waiting;
mod ways;
