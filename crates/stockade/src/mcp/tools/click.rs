//! `browser_click`: press an element with the mouse.

use super::super::answer::Answer;
use super::super::server::Call;
use super::page::{self, PageFields};
use super::target::TargetArguments;
use super::timeout;
use crate::error::Fault;
use policy::{Action, Click};
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_click";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    /// The session's id or name; over stdio it may be left out
    #[serde(default)]
    session_id: Option<String>,
    #[serde(flatten)]
    target: TargetArguments,
    /// Return all of the page, not only what the action changed
    #[serde(default)]
    full: bool,
    /// How long it may take, at most 120; 30 if left out
    #[serde(default)]
    timeout_seconds: Option<f64>,
}

pub fn tool() -> Tool {
    Tool::new(NAME, "Click an element and return what that changed on the page, or all of the page. Name the element by the ref from the last \
snapshot, or by role and accessible name. The click is a real one: what covers the element is reported instead.", serde_json::Map::new())
        .with_input_schema::<Arguments>()
        .with_output_schema::<PageFields>()
        .with_annotations(ToolAnnotations::with_title("Click an element").read_only(false).destructive(true).idempotent(false).open_world(true))
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
    let target = arguments.target.target(NAME)?;
    let timeout = timeout(NAME, arguments.timeout_seconds)?;
    let session = call.session(arguments.session_id).await?;
    let action = Action::Click(Click { target });
    page::answer(call.act(&session, action, timeout, arguments.full).await?)
}
