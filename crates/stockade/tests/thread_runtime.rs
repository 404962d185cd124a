//! The session suite once more, on the second runtime: the same program with jails launched by a thread.
//!
//! The modules are those of `main.rs`. What holds on both runtimes does not depend on how jails are launched.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]
#![allow(clippy::duplicate_mod, reason = "the helpers of several crates note which codes they saw")]

mod common;

mod actions;
mod crash;
mod session;

/// The program that tests run: the example beside the product.
fn session_program() -> std::path::PathBuf {
    let folder = std::path::Path::new(common::PROGRAM).parent().unwrap();
    let program = folder.join("examples/stockade-thread");
    assert!(program.exists(), "build it first: cargo build -p stockade --example stockade-thread");
    program
}
