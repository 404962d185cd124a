//! `browser_navigate`: go to an address.

use super::super::server::Call;
use super::super::tool_reply::ToolReply;
use super::action::{self, ActionArguments};
use super::page::PageReply;
use super::{LoadStateSchema, bad_arguments, describe};
use engine::error::Fault;
use policy::{Action, ActionKind, LoadState, Navigate, WebUrl};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::Deserialize;
use vault::Host;

pub const NAME: &str = "browser_navigate";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct NavigateArguments {
    #[serde(flatten)]
    action: ActionArguments,
    /// The address, with http:// or https://
    url: String,
    /// The site whose login is meant, if it is not the one of the address. It matters where no session is named and the
    /// operator set a standing grant: the session that is opened is signed in there
    #[serde(default)]
    domain_hint: Option<String>,
    /// When the page counts as there: "load" (default), "domcontentloaded" or "networkidle"
    #[serde(default)]
    #[schemars(with = "Option<LoadStateSchema>")]
    wait_for: Option<LoadState>,
}

pub fn tool() -> Tool {
    describe::<NavigateArguments, PageReply>(
        NAME,
        "Go to an address",
        "Go to a web address and return the page as an outline with a ref for every element that can be \
acted on. Only http: and https: addresses; addresses inside private networks are refused.",
        ActionKind::Navigate.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: NavigateArguments) -> Result<ToolReply, Fault> {
    let url = WebUrl::parse(&arguments.url).map_err(|refusal| engine::error::bad_address(&refusal))?;
    let host = match arguments.domain_hint.as_deref() {
        Some(hint) => {
            Some(Host::parse(hint).map_err(|error| bad_arguments(NAME, &format!("domain_hint: {error}")))?)
        }
        None => Host::parse(url.host()).ok(),
    };
    let action = Action::Navigate(Navigate { url, wait_for: arguments.wait_for.unwrap_or_default() });
    action::perform_at(call, NAME, arguments.action, action, host.as_ref()).await
}
