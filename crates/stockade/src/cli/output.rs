//! Prints replies, progress and errors.

use crate::cli::{Context, FAILURE};
use anstyle::{AnsiColor, Style};
use engine::error::{Fault, quote_page_text};
use error_code::ErrorCode;
use serde_json::Value;
use std::io::{self, Write};
use std::process::ExitCode;

/// What a command returns.
#[derive(Debug)]
pub struct Reply {
    /// For people: whole lines, with colours that are stripped if the output is no terminal.
    pub human: String,
    /// For programs.
    pub json: Value,
    /// False if the command ran and found something wrong.
    pub ok: bool,
}

impl Reply {
    pub fn new(human: impl Into<String>, json: Value) -> Reply {
        Reply { human: human.into(), json, ok: true }
    }

    /// Prints nothing, not even JSON: for a command whose standard output carries something else.
    pub fn silent() -> Reply {
        Reply::new("", Value::Null)
    }
}

pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const HINT: Style = AnsiColor::Yellow.on_default();
pub const BAD: Style = AnsiColor::Red.on_default().bold();

pub(super) fn print_reply(context: &Context, reply: &Reply) -> ExitCode {
    match write_stdout(&render_reply(context, reply)) {
        Ok(()) if reply.ok => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(FAILURE),
        Err(error) => report_lost_output(&error),
    }
}

/// Prints a reply while the command goes on.
pub fn print_now(context: &Context, reply: &Reply) -> Result<(), Fault> {
    write_stdout(&render_reply(context, reply)).map_err(|error| output_lost(&error))
}

/// Prints whole lines while the command goes on.
pub fn print_text(text: &str) -> Result<(), Fault> {
    write_stdout(text).map_err(|error| output_lost(&error))
}

fn output_lost(error: &io::Error) -> Fault {
    Fault::io(ErrorCode::OutputLost, "cannot write to standard output", error)
        .hint_if_none("Something has to read it, or it has to lead to a file with room.")
}

/// Prints one line for people while the command goes on. Nothing with `--json`: programs wait for the reply.
pub fn print_line(context: &Context, line: &str) {
    if !context.json()
        && let Err(error) = write_stdout(line)
    {
        tracing::debug!(%error, "nobody reads the lines");
    }
}

fn render_reply(context: &Context, reply: &Reply) -> String {
    match &reply.json {
        Value::Null => String::new(),
        json if context.json() => format!("{json:#}"),
        _ => reply.human.clone(),
    }
}

/// Prints a fault: with `--json` to standard output, as replies are; else to standard error.
pub(super) fn print_fault(json: bool, fault: &Fault, code: u8) -> ExitCode {
    if json {
        return match write_stdout(&format!("{:#}", serde_json::json!({ "error": fault }))) {
            Ok(()) => ExitCode::from(code),
            Err(error) => report_lost_output(&error),
        };
    }
    // If standard error is closed, only the exit code is left.
    match anstream::stderr().write_all(render_fault(fault).as_bytes()) {
        Ok(()) | Err(_) => ExitCode::from(code),
    }
}

/// Renders a fault for people.
pub(super) fn render_fault(fault: &Fault) -> String {
    let mut text =
        format!("{BAD}error[{}]{BAD:#}{BOLD}: {}{BOLD:#}\n", fault.code, quote_page_text(&fault.message));
    if let Some(cause) = &fault.cause {
        text.push_str(&format!("  cause: {cause}\n"));
    }
    if !fault.hint.is_empty() {
        text.push_str(&format!("  {GOOD}hint{GOOD:#}: {}\n", quote_page_text(&fault.hint)));
    }
    text
}

/// Prints a progress line to standard error; nothing with `--json`.
pub fn print_progress(context: &Context, line: &str) {
    if !context.json() && writeln!(anstream::stderr(), "{DIM}{line}{DIM:#}").is_err() {
        tracing::debug!("nobody reads the progress");
    }
}

fn write_stdout(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Logs why the reply could not be written. A closed pipe (`… | head -1`) is not logged.
fn report_lost_output(error: &io::Error) -> ExitCode {
    if error.kind() != io::ErrorKind::BrokenPipe {
        tracing::error!(%error, "cannot write the answer");
    }
    ExitCode::from(FAILURE)
}
