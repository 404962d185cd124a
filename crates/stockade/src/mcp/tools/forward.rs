//! `browser_forward`: the page after this one.

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

pub const NAME: &str = "browser_forward";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    #[serde(flatten)]
    action: ActionArguments,
}

pub fn tool() -> Tool {
    describe::<Arguments, PageFields>(
        NAME,
        "Go forward",
        "Go forward again after going back, and return the page.",
        Effect::Moves,
    )
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
    action::perform(call, NAME, arguments.action, Action::Forward).await
}
