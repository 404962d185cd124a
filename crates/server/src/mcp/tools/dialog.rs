//! `browser_dialog`: answers an open JavaScript dialog.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::page::PageReply;
use super::{bad_arguments, describe};
use engine::error::Fault;
use policy::{Action, ActionKind, AnswerDialog};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

/// The longest prompt text, in bytes.
const MAX_TEXT_BYTES: usize = 10_000;

pub const NAME: &str = "browser_dialog";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DialogArguments {
    #[serde(flatten)]
    action: ActionArguments,
    /// true: OK. false: Cancel
    accept: bool,
    /// What to type into a prompt
    #[serde(default)]
    text: Option<String>,
}

pub fn tool() -> Tool {
    describe::<DialogArguments, PageReply>(
        NAME,
        "Answer a dialog",
        "Answer the confirm or prompt dialog that a page has opened and waits for, and return the page afterwards. A reply \
that has a dialog field, or the code dialog_open, says that there is one. Alerts are answered by themselves.",
        ActionKind::Dialog.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: DialogArguments) -> Result<ToolReply, Fault> {
    if arguments.text.as_ref().is_some_and(|text| text.len() > MAX_TEXT_BYTES) {
        return Err(bad_arguments(NAME, &format!("text has at most {MAX_TEXT_BYTES} bytes")));
    }
    if arguments.text.is_some() && !arguments.accept {
        return Err(bad_arguments(NAME, "text goes with accept: true"));
    }
    let answer = AnswerDialog { accept: arguments.accept, text: arguments.text };
    action::perform(call, NAME, arguments.action, Action::Dialog(answer)).await
}
