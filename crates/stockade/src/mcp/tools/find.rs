//! `browser_find`: where on the page something is, without reading all of it.

use super::super::answer::{Answer, ErrorFields};
use super::super::server::Call;
use super::{Effect, bad_arguments, describe, page, timeout, tokens};
use crate::error::Fault;
use browser::{Outcome, page_block};
use policy::{Action, Find, Pattern};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const NAME: &str = "browser_find";

const DEFAULT_LIMIT: usize = 20;
const MOST_MATCHES: usize = 100;
/// Longer texts and patterns are refused, in bytes.
const LONGEST_QUERY: usize = 1_000;

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    /// The session's id or name; over stdio it may be left out
    #[serde(default)]
    session_id: Option<String>,
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
    /// The page's own words, as the texts and paths of matches are
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<MatchFields>>,
    /// How many elements match, returned or not
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// The offset to go on with, when there are more
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    /// True when the page was too large to be searched to its end
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actions_left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorFields>,
}

#[derive(Serialize, JsonSchema)]
struct MatchFields {
    role: String,
    /// The name, text or value around the match
    text: String,
    /// To act on it
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// What a person sees on it, where its name says something else
    #[serde(skip_serializing_if = "Option::is_none")]
    shows: Option<String>,
    /// True when a person cannot see it
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen: Option<bool>,
    /// What it is inside of
    path: String,
    /// For browser_read: the match and what is around it
    cursor: String,
}

pub fn tool() -> Tool {
    describe::<Arguments, Fields>(
        NAME,
        "Find on the page",
        "Search the whole page, folded parts too, by text or regex, role and name; all that is given must match. \
Each match has its ref if it can be acted on, the path of elements it is inside of, and a cursor that opens its \
surroundings with browser_read. Passwords and other secret fields have no text to be found by.",
        Effect::Reads,
    )
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
    let session = arguments.session_id.clone();
    let timeout = timeout(NAME, arguments.timeout_seconds)?;
    let find = find(arguments)?;
    let tokens = find.tokens;
    let session = call.session(session).await?;
    let reply = call.act(&session, Action::Find(find), timeout, false).await?;
    let found = match reply.outcome {
        Outcome::Found(found) => found,
        other => return Err(page::unexpected(other)),
    };
    let text = page::head(&reply.session, &found.url, &found.title, tokens) + &page_block(&found.text);
    let matches = found.matches.into_iter().map(|one| MatchFields {
        role: one.role,
        text: one.excerpt,
        reference: one.reference,
        shows: one.shows,
        unseen: one.unseen.then_some(true),
        path: one.path,
        cursor: one.cursor,
    });
    let fields = Fields {
        success: true,
        session_id: Some(reply.session.id.to_string()),
        url: Some(found.url),
        title: Some(found.title),
        matches: Some(matches.collect()),
        total: Some(found.total),
        next_offset: found.next_offset,
        partial: found.partial.then_some(true),
        actions_left: Some(reply.actions_left),
        error: None,
    };
    Answer::new(text, &fields)
}

fn find(arguments: Arguments) -> Result<Find, Fault> {
    let Arguments { text, regex, role, name, limit, offset, max_tokens, .. } = arguments;
    for (argument, given) in [("text", &text), ("regex", &regex), ("role", &role), ("name", &name)] {
        let length = given.as_ref().map(String::len);
        if length.is_some_and(|length| length == 0 || length > LONGEST_QUERY) {
            return Err(bad_arguments(NAME, &format!("{argument} is from 1 to {LONGEST_QUERY} bytes long")));
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
    if !(1..=MOST_MATCHES).contains(&limit) {
        return Err(bad_arguments(NAME, &format!("limit is from 1 to {MOST_MATCHES}")));
    }
    let tokens = tokens(NAME, max_tokens)?;
    Ok(Find { pattern, role, name, limit, offset: offset.unwrap_or(0), tokens })
}
