//! Tests of the driver against a real Chromium, and of its CDP layer against a scripted server.
//!
//! Without Chromium they fail; they are never skipped.

// Helpers outside of #[test] functions count as ordinary code for clippy; here a panic is the report.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod browser_features;
mod clickable_things;
mod closed_shadow_roots;
mod connection;
mod date_inputs;
mod deltas;
mod dialogs;
mod effects;
mod element_actions;
mod failures;
mod form_submission;
mod header_injection;
mod hidden_text;
mod history;
mod hostile_pages;
mod incremental_snapshots;
mod injection;
mod keyboard;
mod login_probe;
mod mask_before_cut;
mod navigation;
mod nested_controls;
mod oracle;
mod partial_reading;
mod pointer;
mod reconnection;
mod refs;
mod request_forgery;
mod screenshot_masks;
mod screenshot_races;
mod screenshots;
mod scrolling;
mod secret_fields;
mod secret_matrix;
mod secrets;
mod select_and_check;
mod settling;
mod site_issued_secrets;
mod snapshots;
mod style_contexts;
mod support;
mod tabs;
mod target_resolution;
mod unchanged_pages;
mod unusual_content;
mod waiting;
