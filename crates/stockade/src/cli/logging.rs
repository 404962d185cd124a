//! Logging: to standard error only, because standard output carries replies and MCP.

use engine::error::Fault;
use error_code::ErrorCode;
use std::io::{self, IsTerminal};
use tracing::Level;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// Starts logging. `STOCKADE_LOG` sets the filter; without it, each `-v` adds detail.
pub(super) fn start(verbosity: u8) -> Result<(), Fault> {
    let filter = match std::env::var("STOCKADE_LOG") {
        Ok(text) if !text.is_empty() => text.parse::<EnvFilter>().map_err(|error| {
            Fault::outside_sessions(
                ErrorCode::BadLogFilter,
                format!("STOCKADE_LOG='{}': {error}", text.escape_debug()),
            )
            .hint(
                "Give a level (error, warn, info, debug, trace) or a list such as stockade=debug,jail=info.",
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
        .with_filter(filter_fn(|event| !may_hold_contents(event.target(), *event.level())));
    tracing_subscriber::registry().with(filter).with(lines).try_init().map_err(|error| {
        Fault::outside_sessions(ErrorCode::Internal, format!("cannot start the log: {error}"))
    })
}

/// Libraries that log message contents of agents, pages and vaults at debug level.
const CONTENT_LIBRARIES: [&str; 9] = [
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

/// Whether a log line could hold a grant, a cookie or typed text. Such lines are dropped at every level.
fn may_hold_contents(target: &str, level: Level) -> bool {
    let library = target.split("::").next().unwrap_or_default();
    level > Level::INFO && CONTENT_LIBRARIES.contains(&library)
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
    fn no_log_level_shows_message_contents() {
        for (target, level, expected) in [
            ("rmcp::service", Level::DEBUG, true),
            ("rmcp", Level::TRACE, true),
            ("tungstenite::protocol", Level::TRACE, true),
            ("rmcp::service", Level::INFO, false),
            ("stockade::session", Level::TRACE, false),
            ("rmcpx", Level::DEBUG, false),
        ] {
            assert_eq!(may_hold_contents(target, level), expected, "{target} {level}");
        }
    }
}
