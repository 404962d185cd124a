//! Builds the crate again when a migration is added: `sqlx::migrate!` reads the folder, and Cargo does not know that.
#![allow(clippy::print_stdout, reason = "Cargo reads a build script's instructions from its output")]

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
