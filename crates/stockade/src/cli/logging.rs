//! Logs: to standard error only, because standard output belongs to answers and to MCP.

use engine::error::Fault;
use error_code::ErrorCode;
use std::io::{self, IsTerminal};
use tracing::Level;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// `STOCKADE_LOG` says exactly what is logged; without it, each `-v` says more.
pub(super) fn start(verbosity: u8) -> Result<(), Fault> {
    let filter = match std::env::var("STOCKADE_LOG") {
        Ok(text) if !text.is_empty() => text.parse::<EnvFilter>().map_err(|error| {
            Fault::new(ErrorCode::BadLogFilter, format!("STOCKADE_LOG='{}': {error}", text.escape_debug())).hint(
                "It is a level (error, warn, info, debug, trace) or a list like stockade=debug,jail=info.",
            )
        })?,
        _ => EnvFilter::new(default_filter(verbosity)),
    };
    let colors = io::stderr().is_terminal()
        && anstream::AutoStream::choice(&io::stderr()) != anstream::ColorChoice::Never;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(colors)
        .with_target(verbosity > 1)
        .with_filter(filter_fn(|event| !tells_contents(event.target(), *event.level())));
    tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .try_init()
        .map_err(|error| Fault::new(ErrorCode::Internal, format!("cannot start the log: {error}")))
}

/// Libraries that carry what agents, pages and vaults say, and would write it down when asked for more.
const CARRIERS: [&str; 9] = [
    "rmcp",
    "tungstenite",
    "tokio_tungstenite",
    "hyper",
    "hyper_util",
    "h2",
    "axum",
    "tower_http",
    "sqlx_postgres",
];

/// Whether a line could hold a grant, a cookie or what was typed: no level of the log may.
fn tells_contents(target: &str, level: Level) -> bool {
    let library = target.split("::").next().unwrap_or_default();
    level > Level::INFO && CARRIERS.contains(&library)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_level_of_the_log_tells_what_is_carried() {
        for (target, level, expected) in [
            ("rmcp::service", Level::DEBUG, true),
            ("rmcp", Level::TRACE, true),
            ("tungstenite::protocol", Level::TRACE, true),
            ("rmcp::service", Level::INFO, false),
            ("stockade::session", Level::TRACE, false),
            ("rmcpx", Level::DEBUG, false),
        ] {
            assert_eq!(tells_contents(target, level), expected, "{target} {level}");
        }
    }
}
