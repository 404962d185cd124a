//! `browser_find`: searches the page without reading all of it.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::reading::{Reading, ReadingArguments, ReadingReply};
use super::{bad_arguments, describe, page};
use browser::{Outcome, page_block};
use engine::error::Fault;
use policy::{Action, ActionKind, Find, Pattern};
use redact::{Redacted, RedactedFields, redacted};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const NAME: &str = "browser_find";

const DEFAULT_LIMIT: usize = 20;
const MAX_MATCHES: usize = 100;
/// Longer texts and patterns are refused, in bytes.
const MAX_QUERY_BYTES: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FindArguments {
    #[serde(flatten)]
    reading: ReadingArguments,
    /// Text to look for in names, texts and values, in any case
    #[serde(default)]
    text: Option<String>,
    /// Regular expression instead of text; begin it with (?i) for any case
    #[serde(default)]
    regex: Option<String>,
    /// Only elements of this ARIA role, such as link, row or heading
    #[serde(default)]
    role: Option<String>,
    /// Only elements whose accessible name, or only text, holds this, in any case
    #[serde(default)]
    name: Option<String>,
    /// Matches to return, 1 to 100; 20 if left out
    #[serde(default)]
    limit: Option<usize>,
    /// Matches to pass over: the offset that the last reply gave to go on
    #[serde(default)]
    offset: Option<usize>,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
pub struct FindReply {
    #[serde(flatten)]
    page: ReadingReply,
    /// Their texts and paths are the page's own words
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<FindMatch>>,
    /// How many elements match, returned or not
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// The offset to go on with, when there are more
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// True when the page was not searched to its end
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<bool>,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
#[schemars(rename = "MatchFields")]
struct FindMatch {
    role: Redacted,
    /// The name, text or value around the match
    text: Redacted,
    /// To act on it
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<Redacted>,
    /// What a person sees on it, where its name says something else
    #[serde(skip_serializing_if = "Option::is_none")]
    shows: Option<Redacted>,
    /// True when a person cannot see it
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen: Option<bool>,
    /// What it is inside of
    path: Redacted,
    /// For browser_read: the match and what is around it
    cursor: Redacted,
}

pub fn tool() -> Tool {
    describe::<FindArguments, FindReply>(
        NAME,
        "Find on the page",
        "Search the whole page, folded parts too, by text or regex, role and name; all that is given must match. \
Each match has its ref if it can be acted on, the path of elements it is inside of, and a cursor that opens its \
surroundings with browser_read. Passwords and other secret fields have no text to be found by.",
        ActionKind::Find.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: FindArguments) -> Result<ToolReply, Fault> {
    let (reading, find) = find(arguments)?;
    let tokens = find.tokens;
    let reply = reading.act(call, Action::Find(find)).await?;
    let found = match reply.outcome {
        Outcome::Found(found) => found,
        other => return Err(page::unexpected_outcome(other)),
    };
    let text = redacted!(
        "{}{}",
        page::header_line(&reply.session, &found.url, &found.title, tokens),
        page_block(&found.text)
    );
    let matches = found.matches.into_iter().map(|one| FindMatch {
        role: one.role,
        text: one.excerpt,
        reference: one.reference,
        shows: one.visible_label,
        unseen: one.unseen.then_some(true),
        path: one.path,
        cursor: one.cursor,
    });
    let fields = FindReply {
        page: ReadingReply::new(&reply.session, found.url, found.title, reply.actions_left),
        matches: Some(matches.collect()),
        total: Some(found.total),
        next_offset: found.next_offset,
        partial: found.partial.then_some(true),
    };
    ToolReply::new(text, &fields)
}

fn find(arguments: FindArguments) -> Result<(Reading, Find), Fault> {
    let FindArguments { reading, text, regex, role, name, limit, offset } = arguments;
    for (argument, given) in [("text", &text), ("regex", &regex), ("role", &role), ("name", &name)] {
        let length = given.as_ref().map(String::len);
        if length.is_some_and(|length| length == 0 || length > MAX_QUERY_BYTES) {
            return Err(bad_arguments(
                NAME,
                &format!("{argument} is from 1 to {MAX_QUERY_BYTES} bytes long"),
            ));
        }
    }
    let pattern = match (text, regex) {
        (Some(text), None) => Some(Pattern::Text(text)),
        (None, Some(regex)) => Some(Pattern::Regex(regex)),
        (None, None) if role.is_some() || name.is_some() => None,
        (None, None) => return Err(bad_arguments(NAME, "say what to look for: text, regex, role or name")),
        (Some(_), Some(_)) => return Err(bad_arguments(NAME, "give text or regex, not both")),
    };
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_MATCHES).contains(&limit) {
        return Err(bad_arguments(NAME, &format!("limit is from 1 to {MAX_MATCHES}")));
    }
    let reading = reading.check(NAME)?;
    let find = Find { pattern, role, name, limit, offset: offset.unwrap_or(0), tokens: reading.tokens };
    Ok((reading, find))
}
