//! The integration tests of credentials and grants, with real backends.
//!
//! They are one program: it links once, and tests run while others wait.
#![allow(clippy::duplicate_mod, reason = "each file has its helpers with it")]

#[path = "fuzz.rs"]
mod fuzz;
#[path = "grants.rs"]
mod grants;
#[path = "kv.rs"]
mod kv;
#[path = "rotated.rs"]
mod rotated;
#[path = "sops.rs"]
mod sops;
#[path = "store.rs"]
mod store;
#[path = "suite.rs"]
mod suite;
