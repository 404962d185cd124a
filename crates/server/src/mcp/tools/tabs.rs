//! `browser_tabs`: lists, opens, switches and closes tabs.

use super::super::server::Call;
use super::super::tool_reply::{ErrorReply, ToolReply};
use super::{bad_arguments, describe, page, timeout};
use browser::{Outcome, RedactedPageText, TabInfo};
use engine::error::Fault;
use policy::{Action, ActionKind, TabId, Tabs};
use redact::{Redacted, RedactedFields, redacted};
use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const NAME: &str = "browser_tabs";

#[derive(Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TabsArguments {
    /// The session's id or name; over stdio it may be left out
    #[serde(default)]
    session_id: Option<String>,
    /// "list" (default), "new" for an empty tab, "switch" or "close"
    #[serde(default)]
    action: TabsVerb,
    /// Which one to switch to or to close, such as t2
    #[serde(default)]
    tab: Option<String>,
    /// How long it may take, at most 120; 30 if left out
    #[serde(default)]
    timeout_seconds: Option<f64>,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "Verb")]
enum TabsVerb {
    #[default]
    List,
    New,
    Switch,
    Close,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
pub struct TabsReply {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tabs: Option<Vec<TabEntry>>,
    /// The tab in front, which all other tools act on
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actions_left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorReply>,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
#[schemars(rename = "TabFields")]
struct TabEntry {
    tab: Redacted,
    /// The page's own words, as the title is
    url: Redacted,
    title: Redacted,
    current: bool,
}

pub fn tool() -> Tool {
    describe::<TabsArguments, TabsReply>(
        NAME,
        "List, open, switch and close tabs",
        "List the tabs of the session, open an empty one, bring one to the front, or close one. Every other tool acts on \
the tab in front. A page that opens a window opens a tab, which stays behind until it is switched to.",
        ActionKind::Tabs.class(),
    )
}

pub async fn run(call: &Call<'_>, arguments: TabsArguments) -> Result<ToolReply, Fault> {
    let timeout = timeout(NAME, arguments.timeout_seconds)?;
    let tabs = match (arguments.action, arguments.tab.as_deref()) {
        (TabsVerb::List, None) => Tabs::List,
        (TabsVerb::New, None) => Tabs::New,
        (TabsVerb::Switch, Some(tab)) => Tabs::Switch(tab_id(tab)?),
        (TabsVerb::Close, Some(tab)) => Tabs::Close(tab_id(tab)?),
        (TabsVerb::List | TabsVerb::New, Some(_)) => {
            return Err(bad_arguments(NAME, "tab goes with action switch or close"));
        }
        (TabsVerb::Switch | TabsVerb::Close, None) => {
            return Err(bad_arguments(NAME, "name the tab, such as t2; the action list shows them"));
        }
    };
    let session = call.session(arguments.session_id).await?;
    let reply = call.act(&session, Action::Tabs(tabs), timeout, false).await?;
    let tabs = match reply.outcome {
        Outcome::Tabs(tabs) => tabs,
        other => return Err(page::unexpected_outcome(other)),
    };
    let mut text = redacted!("Session {}\n", reply.session.id);
    for tab in &tabs {
        let mark = if tab.current { "*" } else { " " };
        let (url, title) = (page::excerpt(&tab.url), page::excerpt(&tab.title));
        text.push(redacted!("{} {} {} · {}\n", mark, tab.id, url, title));
    }
    let fields = TabsReply {
        success: true,
        session_id: Some(Redacted::from_safe(&reply.session.id)),
        current: tabs.iter().find(|tab| tab.current).map(|tab| Redacted::from_safe(tab.id)),
        tabs: Some(tabs.into_iter().map(entry_of).collect()),
        actions_left: Some(reply.actions_left),
        error: None,
    };
    ToolReply::new(text, &fields)
}

fn entry_of(TabInfo { id, url, title, current }: TabInfo<RedactedPageText>) -> TabEntry {
    let (url, title) = (url.into_redacted(), title.into_redacted());
    TabEntry { tab: Redacted::from_safe(id), url, title, current }
}

fn tab_id(text: &str) -> Result<TabId, Fault> {
    TabId::parse(text).ok_or_else(|| bad_arguments(NAME, "a tab is t and a number, such as t2"))
}
