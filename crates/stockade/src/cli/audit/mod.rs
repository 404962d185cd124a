//! `stockade audit`: reads, verifies and exports the audit log.

mod event_line;
mod export;
mod show;
mod tail;
mod verify;

use crate::cli::{Context, Reply};
use audit::EventFilter;
use clap::{Args, Subcommand};
use engine::error::Fault;
use error_code::ErrorCode;
use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Args)]
#[command(after_help = "\
These read the log in the state folder, whether a server runs or not.

Examples:
  stockade audit tail --follow
  stockade audit tail --session s-4f2kq7m9xw3c --decision deny --since 2h
  stockade audit show 128
  stockade audit verify
  stockade audit verify bundle.tar --key KEY
  stockade audit export --format csv --output log.csv")]
pub struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Print the last events, and new ones as they arrive
    Tail(tail::TailArgs),
    /// Print one event, or all events of one action
    Show(show::ShowArgs),
    /// Verify that the log, or a bundle, is unchanged
    Verify(verify::VerifyArgs),
    /// Write the log as JSON lines or CSV
    Export(export::ExportArgs),
}

/// Values of an event's `decision`: for actions, approval requests and paused sessions.
const DECISIONS: [&str; 5] = ["allow", "deny", "ask", "resume", "end"];

/// Which events are wanted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which events")]
struct FilterArgs {
    /// Of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Of this agent
    #[arg(long)]
    actor: Option<String>,
    /// Of this action, such as click, or of this kind, such as page_dialog
    #[arg(long)]
    action: Option<String>,
    /// Decided like this
    #[arg(long, value_parser = DECISIONS)]
    decision: Option<String>,
    /// Not before this time, or so long ago: 2026-11-16T08:00:00Z, 90s, 10m, 2h, 3d
    #[arg(long, value_parser = parse_since)]
    since: Option<Timestamp>,
}

impl FilterArgs {
    fn filter(&self) -> EventFilter {
        EventFilter {
            session: self.session.clone(),
            actor: self.actor.clone(),
            action: self.action.clone(),
            decision: self.decision.clone(),
            since: self.since,
        }
    }
}

pub(super) fn run(context: &Context, args: AuditArgs) -> Result<Reply, Fault> {
    match args.command {
        AuditCommand::Tail(args) => tail::run(context, &args),
        AuditCommand::Show(args) => show::run(context, &args),
        AuditCommand::Verify(args) => verify::run(context, &args),
        AuditCommand::Export(args) => export::run(context, &args),
    }
}

/// Parses a timestamp, or a duration before now.
fn parse_since(text: &str) -> Result<Timestamp, String> {
    let expected = || "a time such as 2026-11-16T08:00:00Z, or 90s, 10m, 2h or 3d ago".to_owned();
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(expected)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(expected()),
    };
    let number: u32 = number.parse().map_err(|_| expected())?;
    Timestamp::now()
        .checked_sub(SignedDuration::from_secs(i64::from(number) * seconds))
        .map_err(|_| expected())
}

/// The fault for an audit log that cannot be read.
pub(super) fn unreadable(error: &std::io::Error) -> Fault {
    Fault::io(ErrorCode::AuditUnreadable, "cannot read the audit log", error)
        .hint_if_none("Run this as the user that runs Stockade; --state names another state folder.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_accepts_a_timestamp_or_a_duration() {
        let age = |text: &str| Timestamp::now().duration_since(parse_since(text).unwrap()).as_secs();
        assert_eq!(parse_since("2026-01-02T03:04:05Z").unwrap().to_string(), "2026-01-02T03:04:05Z");
        for (text, seconds) in [("90s", 90), ("10m", 600), ("2h", 7200), ("3d", 259_200)] {
            assert!((seconds - 1..seconds + 60).contains(&age(text)), "{text}");
        }
        for bad in ["", "x", "10", "10y", "-1d", "ä"] {
            assert!(parse_since(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_unreadable_log_has_a_code_and_a_hint() {
        let fault = unreadable(&std::io::Error::from(std::io::ErrorKind::PermissionDenied));
        assert_eq!(fault.code, ErrorCode::AuditUnreadable);
        assert!(!fault.hint.is_empty());
    }
}
