//! `browser_reload`: the same page once more.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::describe;
use super::page::PageReply;
use engine::error::Fault;
use policy::{Action, ActionKind};
use rmcp::model::Tool;

pub const NAME: &str = "browser_reload";

pub fn tool() -> Tool {
    describe::<ActionArguments, PageReply>(
        NAME,
        "Reload the page",
        "Load the page again and return it.",
        ActionKind::Reload.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: ActionArguments) -> Result<ToolReply, Fault> {
    action::perform(call, NAME, arguments, Action::Reload).await
}
