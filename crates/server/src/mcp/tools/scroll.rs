//! `browser_scroll`: scroll the page, a part of it, or to an element.

use super::super::answer::Answer;
use super::super::server::Call;
use super::action::{self, ActionArguments};
use super::page::PageFields;
use super::target::TargetArguments;
use super::{bad_arguments, describe};
use engine::error::Fault;
use policy::{Action, ActionKind, Direction, Distance, Scroll};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_scroll";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    #[serde(flatten)]
    action: ActionArguments,
    #[serde(flatten)]
    target: TargetArguments,
    /// "up", "down", "left" or "right"; left out: scroll until the element that is named is in view
    #[serde(default)]
    #[schemars(with = "Option<Way>")]
    direction: Option<Direction>,
    /// How far: a number of pixels, "page" (default) or "end"
    #[serde(default)]
    amount: Option<Amount>,
}

/// [`Direction`] as the schema shows it.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum Way {
    Up,
    Down,
    Left,
    Right,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Amount {
    Pixels(u32),
    Named(Far),
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Far {
    Page,
    End,
}

/// The farthest in one call, in pixels; pages are hardly longer, and "end" goes as far as there is.
const FARTHEST: u32 = 1_000_000;

pub fn tool() -> Tool {
    describe::<Arguments, PageFields>(
        NAME,
        "Scroll",
        "Scroll and return the page afterwards. With a direction: the page, or the part of it that holds the element named \
as for browser_click. Without one: until that element is in view. Elements need no scrolling before they are clicked; \
this is for pages that load more as they are scrolled.",
        ActionKind::Scroll.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
    let target = arguments.target.optional(NAME)?;
    let scroll = match (arguments.direction, arguments.amount, target) {
        (None, None, Some(target)) => Scroll::To(target),
        (None, _, _) => {
            return Err(bad_arguments(NAME, "give a direction, or only the element to scroll to"));
        }
        (Some(direction), amount, over) => {
            let distance = match amount.unwrap_or(Amount::Named(Far::Page)) {
                Amount::Pixels(pixels) if (1..=FARTHEST).contains(&pixels) => Distance::Pixels(pixels),
                Amount::Pixels(_) => {
                    return Err(bad_arguments(NAME, &format!("amount is from 1 to {FARTHEST} pixels")));
                }
                Amount::Named(Far::Page) => Distance::Page,
                Amount::Named(Far::End) => Distance::End,
            };
            Scroll::By { over, direction, distance }
        }
    };
    action::perform(call, NAME, arguments.action, Action::Scroll(scroll)).await
}
