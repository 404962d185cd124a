//! `browser_read_dom`: the page as cleaned HTML, where the operator allows it.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::reading::{ReadingArguments, ReadingReply};
use super::{describe, page};
use browser::{FENCE_BYTES, Outcome, header_line_bytes, page_block};
use engine::error::Fault;
use error_code::ErrorCode;
use policy::{Action, ActionKind, ReadDom};
use redact::{Redacted, RedactedFields, redacted};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const NAME: &str = "browser_read_dom";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReadDomArguments {
    #[serde(flatten)]
    reading: ReadingArguments,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
pub struct ReadDomReply {
    #[serde(flatten)]
    page: ReadingReply,
    /// The page's own words
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<Redacted>,
    /// The bytes it was cut to, if it was
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated_to: Option<usize>,
}

pub fn tool() -> Tool {
    describe::<ReadDomArguments, ReadDomReply>(
        NAME,
        "Read the page's HTML",
        "Return the page as HTML without scripts, styles, hidden inputs and values, cut to the budget. It costs far more \
than browser_read and has no refs: use it only when a snapshot lacks what you need.",
        ActionKind::ReadDom.class(),
    )
}

/// The fault while the operator has not enabled the tool.
pub fn disabled() -> Fault {
    Fault::new(ErrorCode::ReadDomDisabled, "reading a page's HTML is turned off here")
        .hint("Use browser_read; an operator can turn this on with `read_dom: true` in the configuration.")
}

pub async fn run(call: &Call<'_>, arguments: ReadDomArguments) -> Result<ToolReply, Fault> {
    if !call.control.read_dom {
        return Err(disabled());
    }
    let reading = arguments.reading.check(NAME)?;
    let tokens = reading.tokens;
    // The delimiters around the HTML take lines of their own.
    let bytes = tokens.bytes().saturating_sub(header_line_bytes(tokens) + FENCE_BYTES + "\n\n\n".len());
    let reply = reading.act(call, Action::ReadDom(ReadDom { bytes })).await?;
    let dom = match reply.outcome {
        Outcome::Dom(dom) => dom,
        other => return Err(page::unexpected_outcome(other)),
    };
    let html = dom.html.into_redacted();
    let head = page::header_line(&reply.session, &dom.url, &dom.title, tokens);
    let text = redacted!("{}{}", head, page_block(&html));
    let fields = ReadDomReply {
        page: ReadingReply::new(&reply.session, dom.url, dom.title, reply.actions_left),
        truncated_to: dom.truncated.then_some(html.len()),
        html: Some(html),
    };
    ToolReply::new(text, &fields)
}
