//! `browser_forward`: the page after this one.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::describe;
use super::page::PageReply;
use engine::error::Fault;
use policy::{Action, ActionKind};
use rmcp::model::Tool;

pub const NAME: &str = "browser_forward";

pub fn tool() -> Tool {
    describe::<ActionArguments, PageReply>(
        NAME,
        "Go forward",
        "Go forward again after going back, and return the page.",
        ActionKind::Forward.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: ActionArguments) -> Result<ToolReply, Fault> {
    action::perform(call, NAME, arguments, Action::Forward).await
}
