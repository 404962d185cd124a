//! The integration tests of the rules, as tables.
//!
//! They are one program: it links once, and a test that waits lets another run.

#[path = "credentials.rs"]
mod credentials;
#[path = "effects.rs"]
mod effects;
#[path = "effects_measured.rs"]
mod effects_measured;
#[path = "table.rs"]
mod table;
