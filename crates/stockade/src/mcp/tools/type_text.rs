//! `browser_type`: type text into a field.

use super::super::answer::Answer;
use super::super::server::Call;
use super::page::{self, PageFields};
use super::target::TargetArguments;
use super::{bad_arguments, timeout};
use crate::error::Fault;
use policy::{Action, TypeText};
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_type";

/// The longest text typed in one call, in bytes.
const LONGEST: usize = 100_000;

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    /// The session's id or name; over stdio it may be left out
    #[serde(default)]
    session_id: Option<String>,
    #[serde(flatten)]
    target: TargetArguments,
    /// The text to type
    text: String,
    /// Empty the field first
    #[serde(default)]
    clear_first: bool,
    /// Press Enter afterwards
    #[serde(default)]
    submit: bool,
    /// Return all of the page, not only what the action changed
    #[serde(default)]
    full: bool,
    /// How long it may take, at most 120; 30 if left out
    #[serde(default)]
    timeout_seconds: Option<f64>,
}

pub fn tool() -> Tool {
    Tool::new(NAME, "Type text into a field and return what that changed on the page, or all of the page. Name the field by the ref from the last \
snapshot, or by role (usually textbox or searchbox) and accessible name. Password fields are refused, always: do not \
ask the person for a password.", serde_json::Map::new())
        .with_input_schema::<Arguments>()
        .with_output_schema::<PageFields>()
        .with_annotations(ToolAnnotations::with_title("Type into a field").read_only(false).destructive(true).idempotent(false).open_world(true))
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
    if arguments.text.len() > LONGEST {
        return Err(bad_arguments(NAME, &format!("text has at most {LONGEST} bytes")));
    }
    let target = arguments.target.target(NAME)?;
    let timeout = timeout(NAME, arguments.timeout_seconds)?;
    let session = call.session(arguments.session_id).await?;
    let typing = TypeText {
        target,
        text: arguments.text,
        clear_first: arguments.clear_first,
        submit: arguments.submit,
    };
    page::answer(call.act(&session, Action::Type(typing), timeout, arguments.full).await?)
}
