//! Prints replies, progress and errors.
//!
//! With `--json` every document has one of two forms: `{"success": true, "data": …}`, or
//! `{"success": false, "error": {code, message, hint, retryable}}`. The second also has `data` if the command ran to its
//! end and found something wrong. The HTTP API answers in the same form.

use crate::cli::hints;
use crate::cli::{Context, FAILURE, USAGE};
use anstyle::{AnsiColor, Style};
use engine::error::{Fault, quote_page_text};
use error_code::ErrorCode;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::process::ExitCode;

/// What a command returns.
#[derive(Debug)]
pub struct Reply {
    /// For people: whole lines, with colours that are stripped if the output is no terminal.
    pub human: String,
    /// For programs: the `data` of the JSON document.
    pub json: Value,
    /// Set if the command ran to its end and found something wrong. `human` says so in its own words.
    pub problem: Option<Fault>,
    /// An exit code other than the usual one.
    pub exit_code: Option<u8>,
}

impl Reply {
    pub fn new(human: impl Into<String>, json: Value) -> Reply {
        Reply { human: human.into(), json, problem: None, exit_code: None }
    }

    /// The reply of a command that ran to its end and found something wrong.
    pub fn with_problem(human: impl Into<String>, json: Value, problem: Option<Fault>) -> Reply {
        Reply { human: human.into(), json, problem, exit_code: None }
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
        Ok(()) => match (reply.exit_code, &reply.problem) {
            (Some(code), _) => ExitCode::from(code),
            (None, None) => ExitCode::SUCCESS,
            (None, Some(_)) if context.flags_are_wrong() => ExitCode::from(USAGE),
            (None, Some(_)) => ExitCode::from(FAILURE),
        },
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
        .hint_if_none("Check that the reader of the pipe still runs, or that the disk has space.")
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
        data if context.json() => match &reply.problem {
            None => format!("{:#}", success(data)),
            Some(fault) => {
                format!("{:#}", json!({ "success": false, "error": hints::for_person(fault), "data": data }))
            }
        },
        _ => reply.human.clone(),
    }
}

/// Removes the fields of a report that stand around `data`.
pub fn remove_verdict(report: &mut Value) {
    if let Some(fields) = report.as_object_mut() {
        fields.remove("ok");
        fields.remove("error");
    }
}

/// The JSON document of a success.
pub fn success(data: &Value) -> Value {
    json!({ "success": true, "data": data })
}

/// Prints a fault: with `--json` to standard output, as replies are; else to standard error.
pub(super) fn print_fault(json: bool, fault: &Fault, code: u8) -> ExitCode {
    let fault = &hints::for_person(fault);
    if json {
        return match write_stdout(&format!("{:#}", json!({ "success": false, "error": fault }))) {
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
