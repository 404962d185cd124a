//! `browser_click`: press an element with the mouse.

use super::super::answer::Answer;
use super::super::server::Call;
use super::action::{self, ActionArguments};
use super::page::PageFields;
use super::target::TargetArguments;
use super::{Held, bad_arguments, describe, modifiers};
use engine::error::Fault;
use policy::{Action, ActionKind, Click, MouseButton};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_click";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    #[serde(flatten)]
    action: ActionArguments,
    #[serde(flatten)]
    target: TargetArguments,
    /// "left" (default), "middle" or "right"
    #[serde(default)]
    #[schemars(with = "Option<Button>")]
    button: Option<MouseButton>,
    /// 1 (default), 2 for a double click, 3 for a triple click
    #[serde(default)]
    count: Option<u8>,
    /// Keys to hold down: Alt, Control, Meta, Shift
    #[serde(default)]
    modifiers: Vec<Held>,
}

/// [`MouseButton`] as the schema shows it; `policy` knows no JSON Schema.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum Button {
    Left,
    Middle,
    Right,
}

pub fn tool() -> Tool {
    describe::<Arguments, PageFields>(
        NAME,
        "Click an element",
        "Click an element and return what that changed on the page, or all of the page. Name the element by its ref from the last snapshot, by role and \
accessible name, by selector, by visible_text, or by x and y. The click is a real one, on what is really there: what \
covers the element is reported instead.",
        ActionKind::Click.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
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
