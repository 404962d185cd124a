//! Test and demo code outside the product crates.

pub mod runtime;
