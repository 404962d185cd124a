//! What a reply tells of the page: the same fields after every action that may change it.

use super::super::answer::{Answer, ErrorFields};
use crate::error::Fault;
use crate::gate::Reply;
use crate::session::Session;
use browser::{After, Content, Incident, Outcome, PageText, head_line, page_block};
use policy::Tokens;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub struct PageFields {
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// HTTP status of the page, after a navigation
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Where the page is now; the page's own words, as the title is
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The same, after redirects
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The page after the action, as an outline between the marks of this reply: a line an element, with its role, name and ref
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// Instead of it, what is not as it was in the caller's last snapshot, when that is shorter: lines with - are gone,
    /// lines with + are new, below the path of elements that they are in
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<String>,
    /// True when there is changes instead of snapshot
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<bool>,
    /// The snapshot_id of the reply that changes goes on from
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// What happened on the side: a dialog that was answered, a window that was closed, several elements that matched; the page's words in it are between the marks of this reply
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<String>>,
    /// Calls the session may still take
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions_left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorFields>,
}

/// The answer of a navigation, a click or typing.
pub fn answer(reply: Reply) -> Result<Answer, Fault> {
    let (url, title, status, snapshot, incidents) = match reply.outcome {
        Outcome::Navigated { final_url, title, status, snapshot, incidents } => {
            (final_url, title, status, snapshot, incidents)
        }
        Outcome::Clicked(After { url, title, snapshot, incidents, .. })
        | Outcome::Typed(After { url, title, snapshot, incidents, .. }) => {
            (url, title, None, snapshot, incidents)
        }
        Outcome::Read(_) | Outcome::Found(_) | Outcome::Screenshot(_) => {
            return Err(Fault::new("internal", "an action came to something else"));
        }
    };
    let (page, since) = match snapshot.content {
        Content::Outline(text) => (page_block(&text), None),
        Content::Changes { since, text } => (page_block(&text), Some(since)),
        Content::Markdown(_) | Content::Tree(_) => {
            return Err(Fault::new("internal", "a page came in another format"));
        }
    };
    let mut notes: Vec<String> = incidents.iter().map(told).collect();
    if reply.matches > 1 {
        notes.push(format!(
            "{} elements matched and the one at the index asked for was used; name another by index or ref",
            reply.matches
        ));
    }
    if reply.actions_left < 10 {
        notes.push(format!("{} calls are left in this session", reply.actions_left));
    }
    let mut text = head(&reply.session, &url, &title, Tokens::default());
    for note in &notes {
        text.push_str(&format!("Note: {note}\n"));
    }
    text.push_str(&page);
    let (whole, changes) = if since.is_none() { (Some(page), None) } else { (None, Some(page)) };
    Answer::new(
        text,
        &PageFields {
            success: true,
            session_id: Some(reply.session.id.to_string()),
            status,
            url: Some(url.clone()),
            final_url: Some(url),
            title: Some(title),
            snapshot: whole,
            changes,
            delta: since.map(|_| true),
            since: since.map(number),
            snapshot_id: Some(number(snapshot.serial)),
            notes: (!notes.is_empty()).then_some(notes),
            actions_left: Some(reply.actions_left),
            error: None,
        },
    )
}

/// A snapshot's name, as its cursors begin with it.
pub fn number(serial: u64) -> String {
    format!("c{serial}")
}

/// The line above a snapshot, cut to the part of the budget that is its own; the fields have all of it.
pub fn head(session: &Session, url: &str, title: &str, tokens: Tokens) -> String {
    let ours = format!("Session {} · ", session.id);
    let room = head_line(tokens).saturating_sub(ours.len() + "\n".len());
    let theirs = PageText::new(&format!("{url} · {title:?}")).shortened(room);
    format!("{ours}{theirs}\n")
}

fn told(incident: &Incident) -> String {
    match incident {
        Incident::Dialog { kind, message, accepted } => {
            let answer = if *accepted { "accepted" } else { "dismissed" };
            format!("the page opened a {kind} dialog, which was {answer}; it said {message}")
        }
        Incident::PopupClosed { url } => format!("the page opened a window, which was closed: {url}"),
        Incident::DownloadRefused { url } => {
            format!("the page offered a download, which was refused: {url}")
        }
        Incident::SchemeRefused { scheme } => {
            format!("the page tried to leave for a {scheme}: address and was taken to about:blank")
        }
        Incident::StillLoading => "the page was still loading when this was taken".to_owned(),
    }
}
