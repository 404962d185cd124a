//! The reply of every action that may change the page.

use super::super::tool_reply::{ErrorReply, ToolReply};
use browser::{
    Content, Incident, Outcome, PageAfterAction, PageText, PendingDialog, RedactedOutcome, RedactedPageText,
    header_line_bytes, page_block,
};
use engine::error::Fault;
use engine::gate::Reply;
use engine::session::Session;
use error_code::ErrorCode;
use policy::TokenBudget;
use redact::{Redacted, RedactedFields, redacted};
use schemars::JsonSchema;
use serde::Serialize;

/// The longest address or message in a note, in bytes; a page can make them arbitrarily long.
const MAX_EXCERPT_BYTES: usize = 300;

#[derive(Serialize, JsonSchema, RedactedFields)]
pub struct PageReply {
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Redacted>,
    /// HTTP status of the page, after a navigation
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Where the page is now; the page's own words, as the title is
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<Redacted>,
    /// The same, after redirects
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_url: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Redacted>,
    /// Whether the action led to another page
    #[serde(skip_serializing_if = "Option::is_none")]
    pub navigated: Option<bool>,
    /// The page after the action, as an outline between the marks of this reply: a line an element, with its role, name and ref
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Redacted>,
    /// Instead of it, what is not as it was in the caller's last snapshot, when that is shorter: lines with - are gone,
    /// lines with + are new, below the path of elements that they are in
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Redacted>,
    /// True when there is changes instead of snapshot
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<bool>,
    /// The snapshot_id of the reply that changes goes on from
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Redacted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<Redacted>,
    /// A dialog of the page that waits: answer it with browser_dialog
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialog: Option<DialogReply>,
    /// Tabs that the page opened meanwhile; browser_tabs switches to one
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened_tabs: Option<Vec<Redacted>>,
    /// screenshot_id of the screenshot that was asked for with after_screenshot
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_screenshot: Option<Redacted>,
    /// The same in names: dialog_answered, tab_opened, tab_gone, tab_changed, upload_refused, popup_closed, download_refused, blocked_scheme, still_loading, loading_stopped
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incidents: Option<Vec<&'static str>>,
    /// What happened on the side: a dialog that was answered, a tab that was opened, a download that was refused, several elements that matched; the page's words in it are between the marks of this reply
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<Redacted>>,
    /// Calls the session may still take
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actions_left: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReply>,
}

#[derive(Serialize, JsonSchema, RedactedFields)]
#[schemars(rename = "DialogFields")]
pub struct DialogReply {
    /// "confirm" or "prompt"
    pub r#type: Redacted,
    /// The page's own words
    pub message: Redacted,
}

impl PageReply {
    /// A reply without a page.
    pub fn empty() -> PageReply {
        PageReply {
            success: true,
            session_id: None,
            status: None,
            url: None,
            final_url: None,
            title: None,
            navigated: None,
            snapshot: None,
            changes: None,
            delta: None,
            since: None,
            snapshot_id: None,
            dialog: None,
            opened_tabs: None,
            after_screenshot: None,
            incidents: None,
            notes: None,
            actions_left: None,
            error: None,
        }
    }
}

/// The outcome of the screenshot after an action.
pub enum AfterScreenshot {
    Kept(Redacted),
    /// The session records nothing.
    NotKept,
    /// The log says why.
    NotCovered,
    Failed(Fault),
}

/// Renders the reply. `index` is the position among the matches, where it is known.
pub fn render(
    reply: Reply,
    picture: Option<AfterScreenshot>,
    index: Option<usize>,
) -> Result<ToolReply, Fault> {
    let mut notes: Vec<Redacted> = Vec::new();
    let (after, status) = match reply.outcome {
        Outcome::Navigated { final_url, title, status, snapshot, incidents } => {
            let (snapshot, dialog, note) = (Some(snapshot), None, None);
            (
                PageAfterAction { url: final_url, title, navigated: true, snapshot, dialog, note, incidents },
                status,
            )
        }
        Outcome::Acted(after) => {
            let status = after.snapshot.as_ref().filter(|_| after.navigated).and_then(|page| page.status);
            if after.navigated {
                notes.push("the action led to a new page".into());
            }
            (after, status)
        }
        other => return Err(unexpected_outcome(other)),
    };
    if let Some(status) = status.filter(|status| !(200..300).contains(status)) {
        notes.push(redacted!("the site answered with HTTP status {}", status));
    }
    notes.extend(after.note);
    notes.extend(after.incidents.iter().map(describe_incident));
    if reply.matches > 1 {
        let used = match index {
            Some(0) => "the first".into(),
            Some(index) => redacted!("the one at index {}", index),
            None => "the one that was asked for, or else the first,".into(),
        };
        notes.push(redacted!(
            "{} elements matched, and {} was used; name another by index 0 to {}, or by its ref",
            reply.matches,
            used,
            reply.matches - 1
        ));
    }
    let after_screenshot = match picture {
        Some(AfterScreenshot::Kept(id)) => Some(id),
        Some(AfterScreenshot::NotKept) => {
            notes.push("no screenshot was kept: this session records none".into());
            None
        }
        Some(AfterScreenshot::NotCovered) => {
            notes.push("no screenshot was kept: typed text could not be masked in it".into());
            None
        }
        Some(AfterScreenshot::Failed(fault)) => {
            notes.push(redacted!("no screenshot was taken: {}: {}", fault.code, fault.message));
            None
        }
        None => None,
    };
    if let Some(note) = &reply.note {
        notes.push(redacted!("the operator says: {}", note));
    }
    if reply.actions_left < 10 {
        notes.push(redacted!("{} actions are left in this session", reply.actions_left));
    }
    let mut text = header_line(&reply.session, &after.url, &after.title, TokenBudget::default());
    if let Some(dialog) = &after.dialog {
        text.push(describe_dialog(dialog));
    }
    if let Some(id) = &after_screenshot {
        text.push(redacted!("Picture: {}\n", id));
    }
    for note in &notes {
        text.push(redacted!("Note: {}\n", note));
    }
    let serial = after.snapshot.as_ref().map(|snapshot| snapshot.serial);
    let (page, since) = match after.snapshot.map(|snapshot| snapshot.content) {
        Some(Content::Outline(text)) => (Some(page_block(&text)), None),
        Some(Content::Changes { since, text }) => (Some(page_block(&text)), Some(since)),
        Some(Content::Markdown(_) | Content::Tree(_)) => {
            return Err(Fault::new(ErrorCode::Internal, "a page came in another format"));
        }
        None => (None, None),
    };
    if let Some(page) = &page {
        text.push(page);
    }
    let (snapshot, changes) = if since.is_none() { (page, None) } else { (None, page) };
    let opened = after.incidents.iter().filter_map(|incident| match incident {
        Incident::TabOpened { tab, .. } => Some(Redacted::from_safe(tab)),
        _ => None,
    });
    let opened: Vec<Redacted> = opened.collect();
    let codes: Vec<_> = after.incidents.iter().map(incident_code).collect();
    ToolReply::new(
        text,
        &PageReply {
            success: true,
            session_id: Some(Redacted::from_safe(&reply.session.id)),
            status,
            url: Some(after.url.clone()),
            final_url: Some(after.url),
            title: Some(after.title),
            navigated: Some(after.navigated),
            snapshot,
            changes,
            delta: since.map(|_| true),
            since: since.map(snapshot_id),
            snapshot_id: serial.map(snapshot_id),
            dialog: after.dialog.map(|dialog| DialogReply {
                r#type: dialog.kind.into(),
                message: dialog.message.into_redacted(),
            }),
            opened_tabs: (!opened.is_empty()).then_some(opened),
            after_screenshot,
            incidents: (!codes.is_empty()).then_some(codes),
            notes: (!notes.is_empty()).then_some(notes),
            actions_left: Some(reply.actions_left),
            error: None,
        },
    )
}

/// The fault for an outcome of another kind: a dialog opened meanwhile, or a bug of ours.
pub fn unexpected_outcome(outcome: RedactedOutcome) -> Fault {
    match outcome {
        Outcome::Acted(PageAfterAction { dialog: Some(PendingDialog { kind, message }), .. }) => {
            let open = browser::BrowserError::DialogOpen { kind, message: PageText::default() };
            Fault::new(open.code(), redacted!("a {} dialog waits for an answer; it says {}", kind, message))
                .hint(open.hint())
                .retryable_if(open.retryable())
        }
        _ => Fault::new(ErrorCode::Internal, "an action came to something else"),
    }
}

/// The id of a snapshot, with which its cursors begin.
pub fn snapshot_id(serial: u64) -> Redacted {
    redacted!("c{}", serial)
}

/// The line above a snapshot, cut to its part of the budget; the fields have the whole values.
pub fn header_line(session: &Session, url: &Redacted, title: &Redacted, tokens: TokenBudget) -> Redacted {
    let ours = redacted!("Session {} · ", session.id);
    let room = header_line_bytes(tokens).saturating_sub(ours.len() + "\n".len());
    let title = title.transform(|title| format!("{title:?}"));
    let theirs = RedactedPageText::new(&redacted!("{} · {}", url, title)).shortened(room);
    redacted!("{}{}\n", ours, theirs)
}

fn describe_dialog(PendingDialog { kind, message }: &PendingDialog<RedactedPageText>) -> Redacted {
    redacted!(
        "The page has opened a {} dialog and waits for the answer; it says {}\nAnswer it with browser_dialog: \
nothing else works on this page until then.\n",
        *kind,
        excerpt(message)
    )
}

fn incident_code(incident: &Incident<RedactedPageText>) -> &'static str {
    match incident {
        Incident::Dialog { .. } => "dialog_answered",
        Incident::TabOpened { .. } => "tab_opened",
        Incident::TabGone { .. } => "tab_gone",
        Incident::TabChanged { .. } => "tab_changed",
        Incident::UploadRefused => "upload_refused",
        Incident::PopupClosed { .. } => "popup_closed",
        Incident::DownloadRefused { .. } => "download_refused",
        Incident::SchemeRefused { .. } => "blocked_scheme",
        Incident::StillLoading => "still_loading",
        Incident::LoadingStopped => "loading_stopped",
    }
}

/// Cuts an address, a title or a message for use in a note.
pub fn excerpt(words: &RedactedPageText) -> RedactedPageText {
    words.clone().shortened(MAX_EXCERPT_BYTES)
}

fn describe_incident(incident: &Incident<RedactedPageText>) -> Redacted {
    match incident {
        Incident::Dialog { kind, message, accepted } => {
            let answer = if *accepted { "accepted" } else { "dismissed" };
            let article = if *kind == "alert" { "an" } else { "a" };
            redacted!(
                "the page opened {} {} dialog, which was {}; it said {}",
                article,
                *kind,
                answer,
                excerpt(message)
            )
        }
        Incident::TabOpened { tab, url } => {
            redacted!("the page opened tab {} for {}; browser_tabs switches to it", tab, excerpt(url))
        }
        Incident::TabGone { tab } => redacted!("tab {} is gone", tab),
        Incident::TabChanged { tab } => {
            redacted!("the tab that was in front is gone, and {} is in front now", tab)
        }
        Incident::UploadRefused => {
            "the page asked for a file, which was refused: nothing is uploaded from this machine".into()
        }
        Incident::PopupClosed { url } => {
            redacted!("the page opened a window too many, which was closed: {}", excerpt(url))
        }
        Incident::DownloadRefused { url } => {
            redacted!("the page offered a download, which was refused: {}", excerpt(url))
        }
        Incident::SchemeRefused { scheme } => redacted!(
            "the page tried to leave for a {}: address and was taken to about:blank",
            excerpt(scheme)
        ),
        Incident::StillLoading => "the page was still loading when this was taken".into(),
        Incident::LoadingStopped => {
            "the page stopped loading before it was complete: this is as far as it came".into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_dialog_is_reported_as_one() {
        let dialog = Some(PendingDialog { kind: "confirm", message: RedactedPageText::new(&"Sure?".into()) });
        let after = PageAfterAction {
            url: "".into(),
            title: "".into(),
            navigated: false,
            snapshot: None,
            dialog,
            note: None,
            incidents: Vec::new(),
        };
        assert_eq!(unexpected_outcome(Outcome::Acted(after)).code, ErrorCode::DialogOpen);
        assert_eq!(unexpected_outcome(Outcome::Tabs(Vec::new())).code, ErrorCode::Internal);
    }
}
