//! The bridge: process 1 of a jail.
fn main() {}
