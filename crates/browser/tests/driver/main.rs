//! The driver against a real Chromium. Without one these tests fail; they are never skipped.

mod elements;
mod failures;
mod navigation;
mod screenshots;
mod snapshots;
mod support;
