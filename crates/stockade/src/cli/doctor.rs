//! `stockade doctor`: prints the checks of this machine, or the result of the leak test.

use crate::cli::output::{self, BAD, BOLD, DIM, GOOD, HINT};
use crate::cli::{Context, Reply};
use crate::doctor::leak::{self, LeakReport};
use crate::doctor::{self, Check, Verdict};
use clap::Args;
use engine::error::Fault;
use error_code::ErrorCode;
use serde_json::json;
use std::io::{IsTerminal, Write};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade doctor
  stockade doctor --leak    takes a minute or two; does not touch your data")]
pub struct DoctorArgs {
    /// Sign a session in with made-up secrets on a site that echoes them, drive every tool, and search all that comes out
    #[arg(long)]
    leak: bool,
}

/// Column of the findings, and their width.
const INDENT: usize = 19;
const WIDTH: usize = 80 - INDENT;

pub(super) fn run(context: &Context, args: DoctorArgs) -> Result<Reply, Fault> {
    if args.leak {
        return run_leak_check(context);
    }
    let config = context.load_config(Vec::new())?.config;
    let state = context.open_state()?;
    let checks = doctor::examine(&config, context.backend(&config), &state);
    let bad = checks.iter().filter(|check| check.verdict == Verdict::Bad).count();
    let mut human: String = checks.iter().map(render_check).collect();
    human.push_str(&if bad == 0 {
        format!("\n{GOOD}{}{GOOD:#}\n", describe_readiness(&checks))
    } else {
        format!(
            "\n{BAD}{bad} of {} checks failed.{BAD:#} The lines above say how to fix them.\n",
            checks.len()
        )
    });
    let problem = (bad > 0).then(|| {
        let message = format!("{bad} of {} checks failed", checks.len());
        Fault::outside_sessions(ErrorCode::ChecksFailed, message)
            .hint("Each failed check says how to fix it.")
    });
    Ok(Reply::with_problem(human, json!({ "checks": checks }), problem))
}

/// The last line when no check failed. Advice, such as a missing template, does not keep a session from starting.
fn describe_readiness(checks: &[Check]) -> &'static str {
    if checks.iter().any(|check| check.verdict == Verdict::Hint) {
        "Sessions can start. The lines with ! are advice."
    } else {
        "Everything a session needs is here."
    }
}

fn render_check(check: &Check) -> String {
    let (style, mark) = match check.verdict {
        Verdict::Good => (GOOD, "ok"),
        Verdict::Hint => (HINT, "!"),
        Verdict::Bad => (BAD, "X"),
    };
    let mut lines = wrap(&check.found).into_iter();
    let first = lines.next().unwrap_or_default();
    let mut out = format!("{style}{mark:>2}{style:#} {BOLD}{:<15}{BOLD:#} {first}\n", check.name);
    for line in lines {
        out.push_str(&format!("{:INDENT$}{line}\n", ""));
    }
    for line in check.fix.as_deref().map(wrap).unwrap_or_default() {
        out.push_str(&format!("{:INDENT$}{DIM}{line}{DIM:#}\n", ""));
    }
    out
}

/// Findings that are printed; `--json` has all.
const MOST_SHOWN: usize = 20;

fn run_leak_check(context: &Context) -> Result<Reply, Fault> {
    let program = std::env::current_exe()
        .map_err(|error| Fault::io(ErrorCode::Internal, "cannot find the path of this program", &error))?;
    let options = leak::LeakOptions { program, environment: Vec::new(), signed_in: true, sealed: true };
    let shows = !context.json() && std::io::stderr().is_terminal();
    let report_progress = move |what: &str| {
        if shows && write!(anstream::stderr(), "\r\x1b[2K{DIM}{what:.76}{DIM:#}").is_err() {
            tracing::debug!("nobody reads the progress");
        }
    };
    let report = context.block_on(leak::run(options, report_progress));
    if shows && write!(anstream::stderr(), "\r\x1b[2K").is_err() {
        tracing::debug!("nobody reads the progress");
    }
    let report = report?;
    let mut json = serde_json::to_value(&report).map_err(|e| Fault::caused(ErrorCode::Internal, &e))?;
    output::remove_verdict(&mut json);
    Ok(Reply::with_problem(render_leak_report(&report), json, report.error))
}

fn render_leak_report(report: &LeakReport) -> String {
    let mut human = format!(
        "{} canaries in {} encodings, {:.0} s, {} MB searched\n\n",
        report.canaries,
        report.forms,
        report.seconds,
        report.bytes / 1_000_000
    );
    for (category, places) in &report.searched {
        let finds = report.finds.iter().filter(|find| find.category == *category).count();
        let (style, mark) = if finds == 0 { (GOOD, "ok") } else { (BAD, "X") };
        let name = category.as_str();
        human.push_str(&format!("{style}{mark:>2}{style:#} {BOLD}{name:<15}{BOLD:#} {places:>6} places"));
        human.push_str(&if finds == 0 { "\n".to_owned() } else { format!(", {BAD}{finds} finds{BAD:#}\n") });
    }
    for find in report.finds.iter().take(MOST_SHOWN) {
        let echoed = find.echoed.as_ref().map_or_else(String::new, |echoed| format!(", echoed in {echoed}"));
        human.push_str(&format!("\n{BAD}{}{BAD:#} in {}\n", find.canary, find.category.as_str()));
        for line in wrap(&format!("{}, written {}{echoed}", find.place, find.writing)) {
            human.push_str(&format!("  {line}\n"));
        }
    }
    let confirming: Vec<&str> =
        report.guesses.iter().filter(|(_, (right, _))| *right > 0).map(|(tool, _)| tool.as_str()).collect();
    if !confirming.is_empty() {
        human.push_str(&format!(
            "\n{HINT} !{HINT:#} {BOLD}{:<15}{BOLD:#} a guess of how a value begins is confirmed by\n",
            "guesses"
        ));
        human.push_str(&format!("{:INDENT$}{}\n", "", confirming.join(", ")));
    }
    human.push('\n');
    if report.finds.len() > MOST_SHOWN {
        human.push_str(&format!("{} more; --json lists all.\n", report.finds.len() - MOST_SHOWN));
    }
    human.push_str(&match &report.error {
        Some(fault) => output::render_fault(fault),
        None => format!("{GOOD}No leaks in {} places.{GOOD:#}\n", report.places),
    });
    human
}

/// Wraps at spaces. A word longer than the line, such as a path, stays whole so that it can be copied.
fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut();
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
