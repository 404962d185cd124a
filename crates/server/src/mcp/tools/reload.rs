//! `browser_reload`: the same page once more.

use super::super::answer::Answer;
use super::super::server::Call;
use super::action::{self, ActionArguments};
use super::describe;
use super::page::PageFields;
use engine::error::Fault;
use policy::{Action, ActionKind};
use rmcp::model::Tool;

pub const NAME: &str = "browser_reload";

pub fn tool() -> Tool {
    describe::<ActionArguments, PageFields>(
        NAME,
        "Reload the page",
        "Load the page again and return it.",
        ActionKind::Reload.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: ActionArguments) -> Result<Answer, Fault> {
    action::perform(call, NAME, arguments, Action::Reload).await
}
