//! `browser_type`: type text into a field.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::page::PageReply;
use super::target::TargetArguments;
use super::{bad_arguments, describe};
use engine::error::Fault;
use policy::{Action, ActionKind, TypeText};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

/// The longest text typed in one call, in bytes.
const MAX_TEXT_BYTES: usize = 100_000;

pub const NAME: &str = "browser_type";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TypeArguments {
    #[serde(flatten)]
    action: ActionArguments,
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
}

pub fn tool() -> Tool {
    describe::<TypeArguments, PageReply>(
        NAME,
        "Type into a field",
        "Type text into a field and return what that changed on the page, or all of the page. The field is named as for browser_click, usually by ref, or \
by role (textbox, searchbox, combobox) and name; without a name the text goes to what has the focus. Dates and times are typed as 2026-11-16 and 13:45. Password fields \
are refused, always: do not ask the person for a password.",
        ActionKind::Type.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: TypeArguments) -> Result<ToolReply, Fault> {
    if arguments.text.len() > MAX_TEXT_BYTES {
        return Err(bad_arguments(NAME, &format!("text has at most {MAX_TEXT_BYTES} bytes")));
    }
    let typing = TypeText {
        target: arguments.target.or_focused(NAME)?,
        text: arguments.text,
        clear_first: arguments.clear_first,
        submit: arguments.submit,
    };
    action::perform(call, NAME, arguments.action, Action::Type(typing)).await
}
