//! `browser_click`: press an element with the mouse.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::page::PageReply;
use super::target::TargetArguments;
use super::{ModifierKey, bad_arguments, describe, modifiers};
use engine::error::Fault;
use policy::{Action, ActionKind, Click, MouseButton};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_click";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ClickArguments {
    #[serde(flatten)]
    action: ActionArguments,
    #[serde(flatten)]
    target: TargetArguments,
    /// "left" (default), "middle" or "right"
    #[serde(default)]
    #[schemars(with = "Option<MouseButtonSchema>")]
    button: Option<MouseButton>,
    /// 1 (default), 2 for a double click, 3 for a triple click
    #[serde(default)]
    count: Option<u8>,
    /// Keys to hold down: Alt, Control, Meta, Shift
    #[serde(default)]
    modifiers: Vec<ModifierKey>,
}

/// [`MouseButton`] as the schema shows it; `policy` knows no JSON Schema.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
#[schemars(rename = "Button")]
enum MouseButtonSchema {
    Left,
    Middle,
    Right,
}

pub fn tool() -> Tool {
    describe::<ClickArguments, PageReply>(
        NAME,
        "Click an element",
        "Click an element and return what that changed on the page, or all of the page. Name the element by its ref from the last snapshot, by role and \
accessible name, by selector, by visible_text, or by x and y. The click is a real one, on what is really there: what \
covers the element is reported instead.",
        ActionKind::Click.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: ClickArguments) -> Result<ToolReply, Fault> {
    let count = arguments.count.unwrap_or(1);
    if !(1..=3).contains(&count) {
        return Err(bad_arguments(NAME, "count is from 1 to 3"));
    }
    let click = Click {
        target: arguments.target.target(NAME)?,
        button: arguments.button.unwrap_or_default(),
        count,
        modifiers: modifiers(&arguments.modifiers),
    };
    action::perform(call, NAME, arguments.action, Action::Click(click)).await
}
