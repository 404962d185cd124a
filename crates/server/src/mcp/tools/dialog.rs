//! `browser_dialog`: answer the question that a page has put.

use super::super::answer::Answer;
use super::super::server::Call;
use super::action::{self, ActionArguments};
use super::page::PageFields;
use super::{bad_arguments, describe};
use engine::error::Fault;
use policy::{Action, ActionKind, AnswerDialog};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

/// The longest answer, in bytes.
const LONGEST: usize = 10_000;

pub const NAME: &str = "browser_dialog";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    #[serde(flatten)]
    action: ActionArguments,
    /// true: OK. false: Cancel
    accept: bool,
    /// What to type into a prompt
    #[serde(default)]
    text: Option<String>,
}

pub fn tool() -> Tool {
    describe::<Arguments, PageFields>(
        NAME,
        "Answer a dialog",
        "Answer the confirm or prompt dialog that a page has opened and waits for, and return the page afterwards. A reply \
that has a dialog field, or the code dialog_open, says that there is one. Alerts are answered by themselves.",
        ActionKind::Dialog.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
    if arguments.text.as_ref().is_some_and(|text| text.len() > LONGEST) {
        return Err(bad_arguments(NAME, &format!("text has at most {LONGEST} bytes")));
    }
    if arguments.text.is_some() && !arguments.accept {
        return Err(bad_arguments(NAME, "text goes with accept: true"));
    }
    let answer = AnswerDialog { accept: arguments.accept, text: arguments.text };
    action::perform(call, NAME, arguments.action, Action::Dialog(answer)).await
}
