//! `browser_press_key`: press a key or a chord.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::page::PageReply;
use super::target::TargetArguments;
use super::{bad_arguments, describe};
use engine::error::Fault;
use policy::{Action, ActionKind, Chord, Press};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_press_key";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PressKeyArguments {
    #[serde(flatten)]
    action: ActionArguments,
    #[serde(flatten)]
    target: TargetArguments,
    /// A key or a chord: Enter, Escape, Tab, ArrowDown, a, Control+A, Shift+Tab
    key: String,
}

pub fn tool() -> Tool {
    describe::<PressKeyArguments, PageReply>(
        NAME,
        "Press a key",
        "Press a key, or a key with others held down, and return the page afterwards. It goes to the element named as for \
browser_click, or to what has the focus. Copying, cutting and pasting are refused. For text use browser_type.",
        ActionKind::Press.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: PressKeyArguments) -> Result<ToolReply, Fault> {
    let chord = Chord::parse(&arguments.key).map_err(|unknown| bad_arguments(NAME, &unknown.to_string()))?;
    let press = Press { target: arguments.target.or_focused(NAME)?, chord };
    action::perform(call, NAME, arguments.action, Action::Press(press)).await
}
