//! `browser_check`: check or uncheck a box.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::describe;
use super::page::PageReply;
use super::target::TargetArguments;
use engine::error::Fault;
use policy::{Action, ActionKind, Check};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_check";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CheckArguments {
    #[serde(flatten)]
    action: ActionArguments,
    #[serde(flatten)]
    target: TargetArguments,
    /// true (default) checks, false unchecks
    #[serde(default)]
    checked: Option<bool>,
}

pub fn tool() -> Tool {
    describe::<CheckArguments, PageReply>(
        NAME,
        "Check or uncheck",
        "Check or uncheck a checkbox, radio button or switch, and return the page afterwards. One that is as it should be \
stays so. The element is named as for browser_click.",
        ActionKind::Check.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: CheckArguments) -> Result<ToolReply, Fault> {
    let check = Check { target: arguments.target.target(NAME)?, checked: arguments.checked.unwrap_or(true) };
    action::perform(call, NAME, arguments.action, Action::Check(check)).await
}
