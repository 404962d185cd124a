//! `browser_wait_for`: waits for a condition of the page.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::page::PageReply;
use super::target::TargetArguments;
use super::{LoadStateSchema, bad_arguments, describe};
use engine::error::Fault;
use policy::{Action, ActionKind, Condition, LoadState, WaitFor};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// The longest timed wait, in seconds; the page is read after it.
const MAX_WAIT_SECONDS: f64 = 100.0;
/// The longest text or address to wait for, in bytes.
const MAX_TEXT_BYTES: usize = 1_000;

pub const NAME: &str = "browser_wait_for";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct WaitForArguments {
    #[serde(flatten)]
    action: ActionArguments,
    #[serde(flatten)]
    target: TargetArguments,
    /// Until this text is on the page, in any case
    #[serde(default)]
    text: Option<String>,
    /// Until this text is on the page no longer
    #[serde(default)]
    text_gone: Option<String>,
    /// With an element: until it is there no longer
    #[serde(default)]
    gone: bool,
    /// Until the address holds this, or is this with * for anything
    #[serde(default)]
    url: Option<String>,
    /// Until the page has come this far: "load", "domcontentloaded" or "networkidle"
    #[serde(default)]
    #[schemars(with = "Option<LoadStateSchema>")]
    load_state: Option<LoadState>,
    /// For so long, at most 100
    #[serde(default)]
    seconds: Option<f64>,
}

pub fn tool() -> Tool {
    describe::<WaitForArguments, PageReply>(
        NAME,
        "Wait",
        "Wait for one thing and return the page then: a text, a text that goes away, an element (named as for browser_click; \
with gone, its absence), an address, a load state, or some seconds. Every action already waits for what it started, so \
this is for what comes later by itself.",
        ActionKind::WaitFor.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: WaitForArguments) -> Result<ToolReply, Fault> {
    let (condition, asked) = condition(arguments)?;
    action::perform(call, NAME, asked, Action::WaitFor(WaitFor { condition })).await
}

fn condition(arguments: WaitForArguments) -> Result<(Condition, ActionArguments), Fault> {
    let WaitForArguments { mut action, target, text, text_gone, gone, url, load_state, seconds } = arguments;
    let target = target.optional(NAME)?;
    for (argument, given) in [("text", &text), ("text_gone", &text_gone), ("url", &url)] {
        if given.as_ref().is_some_and(|given| given.is_empty() || given.len() > MAX_TEXT_BYTES) {
            return Err(bad_arguments(NAME, &format!("{argument} is from 1 to {MAX_TEXT_BYTES} bytes long")));
        }
    }
    if gone && target.is_none() {
        return Err(bad_arguments(NAME, "gone goes with an element; for a text there is text_gone"));
    }
    let condition = match (text, text_gone, target, url, load_state, seconds) {
        (Some(text), None, None, None, None, None) => Condition::Text(text),
        (None, Some(text), None, None, None, None) => Condition::TextGone(text),
        (None, None, Some(target), None, None, None) if gone => Condition::ElementGone(target),
        (None, None, Some(target), None, None, None) => Condition::Element(target),
        (None, None, None, Some(url), None, None) => Condition::Url(url),
        (None, None, None, None, Some(state), None) => Condition::Load(state),
        (None, None, None, None, None, Some(seconds)) => {
            if !(seconds > 0.0 && seconds <= MAX_WAIT_SECONDS) {
                return Err(bad_arguments(
                    NAME,
                    &format!("seconds is more than 0 and at most {MAX_WAIT_SECONDS}"),
                ));
            }
            action.leave_room_for(NAME, seconds)?;
            Condition::Time(Duration::from_secs_f64(seconds))
        }
        _ => {
            let ways = "wait for one thing: text, text_gone, an element, url, load_state or seconds";
            return Err(bad_arguments(NAME, ways));
        }
    };
    Ok((condition, action))
}
