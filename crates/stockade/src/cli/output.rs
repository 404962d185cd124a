//! How answers and errors are printed.

use crate::cli::{Context, FAILURE};
use anstyle::{AnsiColor, Style};
use engine::error::{Fault, in_quotes};
use error_code::ErrorCode;
use serde_json::Value;
use std::io::{self, Write};
use std::process::ExitCode;

/// A command's answer.
#[derive(Debug)]
pub struct Reply {
    /// For people: whole lines, with colours that are dropped where nobody sees them.
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

    /// For a command whose standard output was somebody else's to write: nothing is added, not even in JSON.
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
    match write_stdout(&text_of(context, reply)) {
        Ok(()) if reply.ok => ExitCode::SUCCESS,
        Ok(()) => ExitCode::from(FAILURE),
        Err(error) => lost(&error),
    }
}

/// An answer in the middle of a command that goes on.
pub fn print_now(context: &Context, reply: &Reply) -> Result<(), Fault> {
    write_stdout(&text_of(context, reply)).map_err(|error| output_lost(&error))
}

/// Whole lines in the middle of a command that goes on.
pub fn print_text(text: &str) -> Result<(), Fault> {
    write_stdout(text).map_err(|error| output_lost(&error))
}

fn output_lost(error: &io::Error) -> Fault {
    Fault::io(ErrorCode::OutputLost, "cannot write to standard output", error)
        .hint_if_none("Something has to read it, or it has to lead to a file with room.")
}

/// One line for people, while a command goes on; programs wait for the whole answer.
pub fn line(context: &Context, line: &str) {
    if !context.json()
        && let Err(error) = write_stdout(line)
    {
        tracing::debug!(%error, "nobody reads the lines");
    }
}

fn text_of(context: &Context, reply: &Reply) -> String {
    match &reply.json {
        Value::Null => String::new(),
        json if context.json() => format!("{json:#}"),
        _ => reply.human.clone(),
    }
}

/// In JSON an error is an answer, so it goes where answers go.
pub(super) fn print_fault(json: bool, fault: &Fault, code: u8) -> ExitCode {
    if json {
        return match write_stdout(&format!("{:#}", serde_json::json!({ "error": fault }))) {
            Ok(()) => ExitCode::from(code),
            Err(error) => lost(&error),
        };
    }
    // If standard error is gone, the exit code is all that can still be said.
    match anstream::stderr().write_all(told(fault).as_bytes()) {
        Ok(()) | Err(_) => ExitCode::from(code),
    }
}

/// A fault as people read it.
pub(super) fn told(fault: &Fault) -> String {
    let mut text =
        format!("{BAD}error[{}]{BAD:#}{BOLD}: {}{BOLD:#}\n", fault.code, in_quotes(&fault.message));
    if !fault.hint.is_empty() {
        text.push_str(&format!("  {GOOD}hint{GOOD:#}: {}\n", in_quotes(&fault.hint)));
    }
    text
}

/// One line of progress; people see it, programs that read standard output do not.
pub fn progress(context: &Context, line: &str) {
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

/// The answer did not arrive. A reader that went away (`… | head -1`) knows; other reasons are said.
fn lost(error: &io::Error) -> ExitCode {
    if error.kind() != io::ErrorKind::BrokenPipe {
        tracing::error!(%error, "cannot write the answer");
    }
    ExitCode::from(FAILURE)
}
