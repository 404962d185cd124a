//! `browser_drag`: drag one element onto another.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::describe;
use super::page::PageReply;
use super::target::{self, TargetArguments};
use engine::error::Fault;
use policy::{Action, ActionKind, Drag};
use rmcp::model::{JsonObject, Tool};
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_drag";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DragArguments {
    #[serde(flatten)]
    action: ActionArguments,
    #[serde(flatten)]
    target: TargetArguments,
    /// The element to drop it on, named as the first one is: {"ref": "e7"}, {"role": "listitem", "name": "Done"}
    #[schemars(with = "TargetArguments")]
    to: JsonObject,
}

pub fn tool() -> Tool {
    describe::<DragArguments, PageReply>(
        NAME,
        "Drag an element",
        "Drag an element with the mouse, drop it on another, and return the page afterwards. The element to drag is named as \
for browser_click, the one to drop it on in the same way inside of to.",
        ActionKind::Drag.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: DragArguments) -> Result<ToolReply, Fault> {
    let drag = Drag { from: arguments.target.target(NAME)?, to: target::nested(NAME, "to", arguments.to)? };
    action::perform(call, NAME, arguments.action, Action::Drag(drag)).await
}
