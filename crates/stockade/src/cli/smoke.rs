//! `stockade smoke URL`: runs the smoke test and prints its steps.

use crate::cli::output::{self, BAD, DIM, GOOD, print_line};
use crate::cli::{Context, Reply};
use crate::smoke::{self, SmokeReport, SmokeStep};
use clap::Args;
use engine::control::Control;
use engine::error::Fault;
use engine::storage::Storage;
use error_code::ErrorCode;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stockade smoke https://example.org/
  stockade smoke --demo --screenshot shop.png
  stockade smoke http://intranet.test/ \\
    --set 'egress.hosts={intranet.test: 10.0.0.7:80}'")]
pub struct SmokeArgs {
    /// The page to try
    #[arg(required_unless_present = "demo")]
    url: Option<String>,
    /// Try the demo shop, served for this run
    #[arg(long)]
    demo: bool,
    /// Put a copy of the screenshot here
    #[arg(long, alias = "picture", value_name = "FILE")]
    screenshot: Option<PathBuf>,
}

pub(super) fn run(context: &Context, args: SmokeArgs) -> Result<Reply, Fault> {
    let mut config = context.load_config(Vec::new())?.enabled()?;
    let state = context.open_state()?;
    let report = context.block_on(async {
        if args.demo {
            super::serve::start_demo(&mut config).await?;
        }
        let url = args.url.unwrap_or_else(|| "http://shop.test/".to_owned());
        let storage = Storage::open(&state.database()).await?;
        let control = Control::start_on(context.backend(&config)?, &config, &state, storage).await?;
        let mut report_step = |step: &SmokeStep| print_line(context, &render_step(step));
        let report = smoke::run(&control, &url, args.screenshot.as_deref(), &mut report_step).await;
        control.shut_down().await;
        Ok(report)
    })?;
    let mut json = serde_json::to_value(&report).map_err(|e| Fault::caused(ErrorCode::Internal, &e))?;
    output::remove_verdict(&mut json);
    Ok(Reply::with_problem(render_summary(&report), json, report.error))
}

fn render_step(step: &SmokeStep) -> String {
    let mark = if step.ok { format!("{GOOD}ok{GOOD:#}    ") } else { format!("{BAD}failed{BAD:#}") };
    let detail: String = step.detail.chars().take(46).collect();
    format!("{:<11} {mark} {:>8.1} ms  {DIM}{detail}{DIM:#}", step.step, step.ms)
}

fn render_summary(report: &SmokeReport) -> String {
    if let Some(fault) = &report.error {
        return output::render_fault(fault);
    }
    let mut text = format!("{GOOD}All five steps worked.{GOOD:#}\n");
    if let Some(screenshot) = &report.screenshot {
        text.push_str(&format!("  screenshot  {}\n", screenshot.display()));
    }
    if let Some(archive) = &report.archive {
        text.push_str(&format!("  archive     {}\n", archive.display()));
    }
    text
}
