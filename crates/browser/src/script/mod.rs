//! The script that runs inside pages, in an isolated world that a page's own scripts can neither see nor change.
//!
//! Its ES modules are bundled by build.rs. `main.js` lists the functions that Rust calls; [`ScriptFunction`] is made out
//! of that list.

#[cfg(test)]
mod bundle;
#[cfg(test)]
mod tests;

use crate::cdp::protocol::AddScript;
use serde_json::value::RawValue;
use std::sync::LazyLock;

include!(concat!(env!("OUT_DIR"), "/script_function.rs"));

/// The isolated world's name. Only execution contexts of this name are called.
pub(crate) const WORLD: &str = "stockade";

/// Runs in the current document too; where it has run before, it returns at once.
pub(crate) fn install_command() -> AddScript<'static> {
    AddScript { source: source(), world_name: WORLD, run_immediately: true }
}

/// The bundle as JSON, encoded once: it is evaluated in every new document before the page's own scripts, and again
/// where it was missed.
pub(crate) fn source() -> &'static RawValue {
    static ENCODED: LazyLock<Box<RawValue>> = LazyLock::new(|| {
        // Every string can be encoded as JSON.
        serde_json::value::to_raw_value(include_str!(concat!(env!("OUT_DIR"), "/script.js")))
            .unwrap_or_default()
    });
    &ENCODED
}
