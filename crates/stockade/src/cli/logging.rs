//! Logs: to standard error only, because standard output belongs to answers and to MCP.

use crate::error::Fault;
use std::io::{self, IsTerminal};
use tracing_subscriber::EnvFilter;

/// `STOCKADE_LOG` says exactly what is logged; without it, each `-v` says more.
pub(super) fn start(verbosity: u8) -> Result<(), Fault> {
    let filter = match std::env::var("STOCKADE_LOG") {
        Ok(text) if !text.is_empty() => text.parse::<EnvFilter>().map_err(|error| {
            Fault::new("bad_log_filter", format!("STOCKADE_LOG='{}': {error}", text.escape_debug())).hint(
                "It is a level (error, warn, info, debug, trace) or a list like stockade=debug,jail=info.",
            )
        })?,
        _ => EnvFilter::new(default_filter(verbosity)),
    };
    let colors = io::stderr().is_terminal()
        && anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(colors)
        .with_target(verbosity > 1)
        .try_init()
        .map_err(|error| Fault::new("internal", format!("cannot start the log: {error}")))
}

/// Libraries stay quiet until the third `-v`.
fn default_filter(verbosity: u8) -> &'static str {
    const OURS_INFO: &str = "warn,stockade=info,jail=info,egress=info,browser=info,audit=info";
    const OURS_DEBUG: &str = "warn,stockade=debug,jail=debug,egress=debug,browser=debug,audit=debug";
    match verbosity {
        0 => "warn",
        1 => OURS_INFO,
        2 => OURS_DEBUG,
        _ => "trace",
    }
}
