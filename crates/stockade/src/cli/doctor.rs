//! `stockade doctor`: what works here, what does not, what to do.

use crate::cli::output::{BAD, BOLD, DIM, GOOD, HINT};
use crate::cli::{Context, Reply};
use crate::doctor::{self, Check, Verdict};
use crate::error::Fault;
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub struct DoctorArgs {}

/// Where the findings stand, and how wide they may be.
const INDENT: usize = 19;
const WIDTH: usize = 80 - INDENT;

pub(super) fn run(context: &Context, _args: DoctorArgs) -> Result<Reply, Fault> {
    let config = context.load_config(Vec::new())?.config;
    let state = context.open_state()?;
    let checks = doctor::examine(&config, &state);
    let bad = checks.iter().filter(|check| check.verdict == Verdict::Bad).count();
    let mut human: String = checks.iter().map(told).collect();
    human.push_str(&if bad == 0 {
        format!("\n{GOOD}Everything a session needs is here.{GOOD:#}\n")
    } else {
        format!("\n{BAD}{bad} of {} checks failed.{BAD:#} The commands above mend them.\n", checks.len())
    });
    Ok(Reply { human, json: json!({"ok": bad == 0, "checks": checks}), ok: bad == 0 })
}

fn told(check: &Check) -> String {
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
    for line in check.mend.as_deref().map(wrap).unwrap_or_default() {
        out.push_str(&format!("{:INDENT$}{DIM}{line}{DIM:#}\n", ""));
    }
    out
}

/// Breaks at spaces; a word longer than the line, such as a path, is left whole so that it can be copied.
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
