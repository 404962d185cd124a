//! `browser_reload`: the same page once more.

use super::super::answer::Answer;
use super::super::server::Call;
use super::action::{self, ActionArguments};
use super::page::PageFields;
use super::{Effect, describe};
use crate::error::Fault;
use policy::Action;
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_reload";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    #[serde(flatten)]
    action: ActionArguments,
}

pub fn tool() -> Tool {
    describe::<Arguments, PageFields>(
        NAME,
        "Reload the page",
        "Load the page again and return it.",
        Effect::Moves,
    )
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
    action::perform(call, NAME, arguments.action, Action::Reload).await
}
