//! `browser_read_dom`: the page as cleaned HTML, where the operator allows it.

use super::super::answer::{Answer, ErrorFields};
use super::super::server::Call;
use super::{Effect, describe, page, timeout, tokens};
use crate::error::Fault;
use browser::{FENCE_BYTES, Outcome, head_line, page_block};
use policy::{Action, ReadDom};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const NAME: &str = "browser_read_dom";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    /// The session's id or name; over stdio it may be left out
    #[serde(default)]
    session_id: Option<String>,
    /// What the reply may cost: 250 to 50000 tokens of four bytes, 6000 if left out
    #[serde(default)]
    max_tokens: Option<u32>,
    /// How long it may take, at most 120; 30 if left out
    #[serde(default)]
    timeout_seconds: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
pub struct Fields {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The page's own words
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    /// The bytes it was cut to, if it was
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated_to: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actions_left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorFields>,
}

pub fn tool() -> Tool {
    describe::<Arguments, Fields>(
        NAME,
        "Read the page's HTML",
        "Return the page as HTML without scripts, styles, hidden inputs and values, cut to the budget. It costs far more \
than browser_read and has no refs: use it only when a snapshot lacks what you need.",
        Effect::Reads,
    )
}

/// Off unless the operator turned it on.
pub fn disabled() -> Fault {
    Fault::new("read_dom_disabled", "reading a page's HTML is turned off here")
        .hint("Use browser_read; an operator can turn this on with `read_dom: true` in the configuration.")
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
    if !call.control.read_dom {
        return Err(disabled());
    }
    let tokens = tokens(NAME, arguments.max_tokens)?;
    let timeout = timeout(NAME, arguments.timeout_seconds)?;
    let session = call.session(arguments.session_id).await?;
    // The fence around the HTML stands on lines of its own.
    let bytes = tokens.bytes().saturating_sub(head_line(tokens) + FENCE_BYTES + "\n\n\n".len());
    let reply = call.act(&session, Action::ReadDom(ReadDom { bytes }), timeout, false).await?;
    let dom = match reply.outcome {
        Outcome::Dom(dom) => dom,
        other => return Err(page::unexpected(other)),
    };
    let text = page::head(&reply.session, &dom.url, &dom.title, tokens) + &page_block(dom.html.as_str());
    let html = dom.html.as_str().to_owned();
    let fields = Fields {
        success: true,
        session_id: Some(reply.session.id.to_string()),
        url: Some(dom.url),
        title: Some(dom.title),
        truncated_to: dom.truncated.then_some(html.len()),
        html: Some(html),
        actions_left: Some(reply.actions_left),
        error: None,
    };
    Answer::new(text, &fields)
}
