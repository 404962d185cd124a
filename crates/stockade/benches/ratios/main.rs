//! `make bench`: what Stockade costs, as ratios to bare Chromium measured in the same run.
//!
//! Each pair is measured in turns, so that a slow moment of the machine meets both, and told by its median.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a measurement that cannot be made stops the run"
)]

mod bare;
#[path = "../../tests/common/mod.rs"]
mod common;
mod jailed;
mod link;

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

const OPENINGS: usize = 21;
const CALLS: usize = 2_000;

fn main() -> ExitCode {
    // The control plane starts its own program again as its keeper, and here that program is this one.
    if std::env::args().nth(1).is_some_and(|argument| argument == "jail-keeper") {
        return jail::keeper::main();
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut report = String::from("\nStockade against bare Chromium, medians of one run\n\n");
    runtime.block_on(async {
        openings(&mut report).await;
        calls(&mut report).await;
    });
    memory(&mut report);
    std::io::stdout().write_all(report.as_bytes()).unwrap();
    ExitCode::SUCCESS
}

/// A cold session (jail, readiness, page attached) against the time the bare shell takes to be ready.
async fn openings(report: &mut String) {
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    let stockade = jailed::Stockade::start().await;
    // The first of each warms the page cache, and is not counted.
    for _ in 0..=OPENINGS {
        bare.push(bare::time_to_ready());
        ours.push(stockade.time_to_open().await);
    }
    let (ours, bare) = (median(&mut ours[1..]), median(&mut bare[1..]));
    line(report, "cold session open", ours, "bare shell ready", bare, 2.5);
    stockade.stop().await;
}

/// One small CDP call through socket and bridge, against the same on a direct WebSocket.
async fn calls(report: &mut String) {
    let jailed = jailed::Jail::start().await;
    let shell = bare::Shell::start();
    let direct = shell.connection().await;
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    for _ in 0..CALLS {
        bare.push(direct.round_trip().await);
        ours.push(jailed.link.round_trip().await);
    }
    let (ours, bare) = (median(&mut ours[CALLS / 10..]), median(&mut bare[CALLS / 10..]));
    line(report, "CDP call through the bridge", ours, "on a direct WebSocket", bare, 1.5);
}

/// The control plane's own memory, without its keeper and jails.
fn memory(report: &mut String) {
    let (none, five) = jailed::memory_with_none_and_five();
    writeln!(report, "control plane's own memory   {:>7.1} MB with 0 sessions, {:.1} MB with 5", none, five)
        .unwrap();
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn line(report: &mut String, what: &str, ours: Duration, peer: &str, bare: Duration, most: f64) {
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    let verdict = if ratio <= most { "ok" } else { "OVER" };
    writeln!(
        report,
        "{what:<28} {:>8.3} ms   {peer:<22} {:>8.3} ms   ratio {ratio:.2} (at most {most}) {verdict}",
        ours.as_secs_f64() * 1e3,
        bare.as_secs_f64() * 1e3,
    )
    .unwrap();
}
