//! `browser_navigate`: go to an address.

use super::super::answer::Answer;
use super::super::server::Call;
use super::page::{self, PageFields};
use super::timeout;
use crate::error::Fault;
use policy::{Action, LoadState, Navigate, WebUrl};
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Deserialize;

pub const NAME: &str = "browser_navigate";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Arguments {
    /// The session's id or name; over stdio it may be left out
    #[serde(default)]
    session_id: Option<String>,
    /// The address, with http:// or https://
    url: String,
    /// The site whose login is meant, if it is not the one of the address; used by signed-in sessions
    #[serde(default)]
    #[expect(
        dead_code,
        reason = "S1's parameter, accepted; it chooses among granted hosts, and clean sessions have none"
    )]
    domain_hint: Option<String>,
    /// When the page counts as there: "load" (default), "domcontentloaded" or "networkidle"
    #[serde(default)]
    #[schemars(with = "Option<Wait>")]
    wait_for: Option<LoadState>,
    /// Return all of the page, not only what the action changed
    #[serde(default)]
    full: bool,
    /// How long it may take, at most 120; 30 if left out
    #[serde(default)]
    timeout_seconds: Option<f64>,
}

/// [`LoadState`] as the schema shows it; `policy` knows no JSON Schema.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only its schema is used")]
enum Wait {
    Load,
    DomContentLoaded,
    NetworkIdle,
}

pub fn tool() -> Tool {
    Tool::new(
        NAME,
        "Go to a web address and return the page as an outline with a ref for every element that can be \
acted on. Only http: and https: addresses; addresses inside private networks are refused.",
        serde_json::Map::new(),
    )
    .with_input_schema::<Arguments>()
    .with_output_schema::<PageFields>()
    .with_annotations(
        ToolAnnotations::with_title("Go to an address")
            .read_only(false)
            .destructive(false)
            .idempotent(true)
            .open_world(true),
    )
}

pub async fn run(call: &Call<'_>, arguments: Arguments) -> Result<Answer, Fault> {
    let url = WebUrl::parse(&arguments.url).map_err(|refusal| crate::gate::bad_address(&refusal))?;
    let timeout = timeout(NAME, arguments.timeout_seconds)?;
    let session = call.session(arguments.session_id).await?;
    let action = Action::Navigate(Navigate { url, wait_for: arguments.wait_for.unwrap_or_default() });
    page::answer(call.act(&session, action, timeout, arguments.full).await?)
}
