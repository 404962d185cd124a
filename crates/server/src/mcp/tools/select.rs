//! `browser_select`: choose from a list.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::page::PageReply;
use super::target::TargetArguments;
use super::{bad_arguments, describe};
use engine::error::Fault;
use policy::{Action, ActionKind, Select, SelectOption};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

/// The most options in one call, and the longest in bytes.
const MAX_OPTIONS: usize = 100;
const MAX_OPTION_BYTES: usize = 1_000;

pub const NAME: &str = "browser_select";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SelectArguments {
    #[serde(flatten)]
    action: ActionArguments,
    #[serde(flatten)]
    target: TargetArguments,
    /// The option, by what is read on it
    #[serde(default)]
    option: Option<String>,
    /// The option, by its place in the list, from 0
    #[serde(default)]
    option_index: Option<usize>,
    /// All options that are to be chosen, in a list that takes several
    #[serde(default)]
    options: Vec<String>,
}

pub fn tool() -> Tool {
    describe::<SelectArguments, PageReply>(
        NAME,
        "Choose from a list",
        "Choose from a list (role combobox or listbox of a native select) and return the page afterwards. Say which by \
option, option_index or options. A list that a page draws itself is not one: click it, then click the option. The list \
is named as for browser_click.",
        ActionKind::Select.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: SelectArguments) -> Result<ToolReply, Fault> {
    let options = match (arguments.option, arguments.option_index, arguments.options) {
        (Some(label), None, labels) if labels.is_empty() => vec![SelectOption::Label(label)],
        (None, Some(index), labels) if labels.is_empty() => vec![SelectOption::Index(index)],
        (None, None, labels) if !labels.is_empty() => labels.into_iter().map(SelectOption::Label).collect(),
        _ => return Err(bad_arguments(NAME, "give one of option, option_index and options")),
    };
    let too_long = |option: &SelectOption| matches!(option, SelectOption::Label(label) if label.len() > MAX_OPTION_BYTES);
    if options.len() > MAX_OPTIONS || options.iter().any(too_long) {
        let most = format!("at most {MAX_OPTIONS} options of {MAX_OPTION_BYTES} bytes are chosen at once");
        return Err(bad_arguments(NAME, &most));
    }
    let select = Select { target: arguments.target.target(NAME)?, options };
    action::perform(call, NAME, arguments.action, Action::Select(select)).await
}
