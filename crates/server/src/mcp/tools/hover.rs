//! `browser_hover`: put the mouse over an element.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::describe;
use super::page::PageReply;
use super::target::TargetArguments;
use engine::error::Fault;
use policy::{Action, ActionKind, Hover};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_hover";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HoverArguments {
    #[serde(flatten)]
    action: ActionArguments,
    #[serde(flatten)]
    target: TargetArguments,
}

pub fn tool() -> Tool {
    describe::<HoverArguments, PageReply>(
        NAME,
        "Hover over an element",
        "Put the mouse over an element, as for a menu or a hint that opens by itself, and return the page afterwards. The \
element is named as for browser_click.",
        ActionKind::Hover.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: HoverArguments) -> Result<ToolReply, Fault> {
    let hover = Hover { target: arguments.target.target(NAME)? };
    action::perform(call, NAME, arguments.action, Action::Hover(hover)).await
}
