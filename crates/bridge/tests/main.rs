//! The integration tests of the bridge, with a fake browser and the real one.
//!
//! They are one program: it links once, and a test that waits lets another run.
#![allow(clippy::duplicate_mod, reason = "each file has its helpers with it")]

#[path = "carrying.rs"]
mod carrying;
#[path = "connections.rs"]
mod connections;
#[path = "readiness.rs"]
mod readiness;
#[path = "real.rs"]
mod real;
#[path = "tokens.rs"]
mod tokens;
