//! `browser_back`: the page before this one.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::page::PageReply;
use super::{ToolEffect, describe};
use engine::error::Fault;
use policy::Action;
use rmcp::model::Tool;

pub const NAME: &str = "browser_back";

pub fn tool() -> Tool {
    describe::<ActionArguments, PageReply>(
        NAME,
        "Go back",
        "Go back to the page before this one, as the back button does, and return it.",
        ToolEffect::Moves,
    )
}

pub async fn run(call: &Call<'_>, arguments: ActionArguments) -> Result<ToolReply, Fault> {
    action::perform(call, NAME, arguments, Action::Back).await
}
