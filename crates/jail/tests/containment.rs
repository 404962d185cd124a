//! Containment and limits of the native runtime's jails, from inside and by exceeding them.
#![allow(clippy::unwrap_used, reason = "in tests, helpers included, a panic is the report")]

mod common;
#[path = "common/containment.rs"]
mod containment;
#[path = "common/limits.rs"]
mod limits;

fn home() -> common::Home {
    common::Home::new()
}
