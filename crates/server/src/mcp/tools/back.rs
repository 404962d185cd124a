//! `browser_back`: the page before this one.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::describe;
use super::page::PageReply;
use engine::error::Fault;
use policy::{Action, ActionKind};
use rmcp::model::Tool;

pub const NAME: &str = "browser_back";

pub fn tool() -> Tool {
    describe::<ActionArguments, PageReply>(
        NAME,
        "Go back",
        "Go back to the page before this one, as the back button does, and return it.",
        ActionKind::Back.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: ActionArguments) -> Result<ToolReply, Fault> {
    action::perform(call, NAME, arguments, Action::Back).await
}
