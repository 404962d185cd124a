//! End-to-end tests of the whole program: one file per subject.
//!
//! They are one test binary, because tests mostly wait for a browser, and others can run meanwhile.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]
#![allow(clippy::duplicate_mod, reason = "the helpers of several crates note which codes they saw")]

mod common;

/// The program that tests run: the product.
fn session_program() -> std::path::PathBuf {
    common::PROGRAM.into()
}

mod actions;
mod answers;
mod api;
mod approvals;
mod approvals_void;
mod approvals_waiting;
mod audit;
mod cli_commands;
mod cli_connect;
mod cli_contract;
mod cli_sessions;
mod clickable;
mod clients;
mod components;
mod console;
mod covers;
mod cpu_credit;
mod crash;
mod deltas;
mod display;
mod django;
mod docs;
mod effects_answers;
mod effects_consequential;
mod effects_in_browser;
mod effects_ordinary;
mod effects_swaps;
mod egress_policy;
mod errors;
mod fences;
mod first_run;
mod grants;
mod hostile_pages;
mod hostile_sizes;
mod inside;
mod kill;
mod kill_record;
mod leak;
mod logins;
mod logins_backends;
mod logins_origins;
mod logins_secrets;
mod operators;
mod recording;
mod refusals;
mod sealed;
mod sealed_echo;
mod sealed_guesses;
mod secrets;
mod session;
mod setup;
mod snapshot;
mod transcript;
mod transport;
mod tunnel;
mod unavailable;
