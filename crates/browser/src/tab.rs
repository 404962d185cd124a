//! One tab: its frames, how far its document has come, what is on its way, and the question it may have put.

use crate::{
    cdp::{EventKind, Id, Reactions, SessionId, protocol as p},
    frames::{Frames, MOST_FRAMES, World},
    incident::{Incident, Incidents},
    inject::{Carried, Family, Injected},
    journal::PageEventKind,
    page_text::PageText,
    past::Book,
    roots::Look,
    script,
    text::cut,
};
use policy::TabId;
use std::collections::{HashMap, HashSet, VecDeque};

/// Titles and addresses come from pages; longer ones are cut.
pub(crate) const LONGEST_TITLE: usize = 512;
pub(crate) const LONGEST_URL: usize = 8 * 1024;
/// How many of a tab's documents are remembered, to tell that an awaited one has come and gone.
const LOADERS_KEPT: usize = 16;
/// A tab that has shown so many documents because of one action, or since, loads itself over and over.
const RESTLESS: u64 = 3;
/// Requests that are waited for; a page that makes more at once is not waited for longer.
const MOST_REQUESTS: usize = 128;
/// Dialogs that are answered for the agent between two of its actions. A page that opens more has the next one left
/// open, which stops it: a loop of alerts would never end otherwise.
const MOST_ANSWERED: usize = 20;
/// What may change a page when it comes. Pictures, sounds and streams do not, or never end.
const AWAITED: [&str; 5] = ["Document", "Script", "Stylesheet", "XHR", "Fetch"];

pub(crate) struct Tab {
    pub id: TabId,
    /// The target's id is also the id of its main frame.
    pub target: Id,
    pub session: SessionId,
    /// Sessions of frames that live in processes of their own.
    pub frame_sessions: HashSet<SessionId>,
    pub frames: Frames,
    pub url: String,
    pub title: String,
    pub loaders: VecDeque<Id>,
    /// How far the newest document has come.
    pub reached: Reached,
    /// Documents shown so far; tells whether an action led to another page.
    pub commits: u64,
    pub next: Next,
    /// The scheme of an address that no tab may go to.
    pub refused: Option<PageText>,
    /// `commits` as it was when the present action began.
    pub begun: u64,
    /// `commits` as it was when the agent's last picture was begun.
    pub pictured: Option<u64>,
    /// Steps within documents, which load nothing.
    pub steps: u64,
    /// What was asked of the network since the present action began and has not come yet, and whether its answer has begun.
    pub requests: HashMap<Id, bool>,
    /// The question that the page has put, and that waits for an answer; nothing of the page runs meanwhile.
    pub dialog: Option<OpenDialog>,
    /// Dialogs that were answered since the present action began.
    pub answered: usize,
    /// The agent is on its way to another page: what this one still asks is answered with no.
    pub leaving: bool,
    pub looked_for_roots: Option<Look>,
    /// Whether what was asked for last as the tab's document was more than a GET.
    asked_by_post: Option<bool>,
    /// Whether the document is the answer to such a request.
    pub posted: bool,
    /// The tabs whose pages can reach this one's.
    pub family: Family,
    pub carried: Carried,
}

#[derive(Clone, Debug)]
pub(crate) struct OpenDialog {
    pub session: SessionId,
    pub kind: &'static str,
    pub message: PageText,
    /// The page that asks.
    pub url: String,
    /// What a prompt is filled with; accepted without a word, that is the answer.
    pub filled: String,
}

/// A navigation that is on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Next {
    #[default]
    None,
    /// The page asked for it; it may still come to nothing.
    Requested,
    Started,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reached {
    pub dom_content_loaded: bool,
    pub load: bool,
    pub network_idle: bool,
}

impl Tab {
    /// The book is that of all tabs: no ref is given twice in a session.
    pub fn new(id: TabId, target: Id, session: SessionId, book: &Book) -> Tab {
        let mut frames = Frames::in_book(book);
        frames.attach(&target, None, &session);
        Tab {
            id,
            target,
            session,
            frame_sessions: HashSet::new(),
            frames,
            url: "about:blank".to_owned(),
            title: String::new(),
            loaders: VecDeque::new(),
            reached: Reached::default(),
            commits: 0,
            pictured: None,
            next: Next::None,
            refused: None,
            begun: 0,
            steps: 0,
            requests: HashMap::new(),
            dialog: None,
            answered: 0,
            leaving: false,
            looked_for_roots: None,
            asked_by_post: None,
            posted: false,
            family: Family::mixed(),
            carried: Carried::default(),
        }
    }

    /// The connection is lost. Returns which tab to look for on the next one.
    pub fn suspend(&mut self) -> Id {
        self.session = SessionId::from("");
        self.frame_sessions.clear();
        self.frames.suspend();
        self.next = Next::None;
        self.dialog = None;
        self.requests.clear();
        // What comes while nobody looks is not seen.
        self.family.mix();
        self.target.clone()
    }

    pub fn go_on(&mut self, session: SessionId) {
        self.frames.attach(&self.target, None, &session);
        self.session = session;
    }

    /// The frames that one session speaks for, as they are now.
    pub fn know_frames(&mut self, root: &p::FrameTree, session: &SessionId) {
        let mut waiting = vec![root];
        while let Some(tree) = waiting.pop() {
            self.frames.attach(&tree.frame.id, tree.frame.parent_id.as_deref(), session);
            if let Some(known) = self.frames.get_mut(&tree.frame.id) {
                known.is_at(&tree.frame.url);
            }
            if tree.frame.id == self.target {
                self.url = cut(tree.frame.unreachable_url.as_deref().unwrap_or(&tree.frame.url), LONGEST_URL);
            }
            waiting.extend(tree.child_frames.iter().rev());
        }
    }

    pub fn owns(&self, session: &SessionId) -> bool {
        self.session == *session || self.frame_sessions.contains(session)
    }

    pub fn is_restless(&self) -> bool {
        self.commits - self.begun >= RESTLESS
    }

    /// `front` says that it is the tab the agent works in.
    pub fn apply(
        &mut self,
        kind: &EventKind,
        session: &SessionId,
        front: bool,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        if let EventKind::RequestSent(it) = kind
            && it.r#type == "Document"
            && it.frame_id.as_ref() == Some(&self.target)
        {
            // Told again for each redirect, and a form's answer is often the page that it leads to.
            self.asked_by_post = Some(&*it.request.method != "GET");
        }
        if let EventKind::RequestSent(it) = kind
            && it.redirect_response.is_some()
            && it.r#type == "Document"
            && it.frame_id.as_ref() == Some(&self.target)
        {
            incidents.journal.add(PageEventKind::Redirected, &it.request.url, &self.id.to_string());
        }
        if let EventKind::ResponseReceived(it) = kind {
            self.note_document(it);
        }
        match kind {
            EventKind::FrameAttached(it) => {
                self.frames.attach(&it.frame_id, Some(&it.parent_frame_id), session);
            }
            EventKind::FrameDetached(it) if it.reason != "swap" => self.frames.remove(&it.frame_id),
            EventKind::FrameNavigated(it) => self.navigated(&it.frame, session, incidents, reactions),
            EventKind::ContextCreated(it) => self.context_created(&it.context, session),
            EventKind::ContextDestroyed(it) => self.frames.forget_world(&it.execution_context_unique_id),
            EventKind::ContextsCleared(_) => self.frames.forget_worlds_of(session),
            EventKind::DialogOpening(it) => self.dialog_opening(it, session, front, incidents, reactions),
            EventKind::DialogClosed(_) => self.dialog = None,
            EventKind::FileChooserOpened(_) => incidents.add(Incident::UploadRefused),
            EventKind::RequestSent(it)
                if AWAITED.contains(&&*it.r#type) && self.requests.len() < MOST_REQUESTS =>
            {
                self.requests.insert(it.request_id.clone(), false);
            }
            // Such an answer never ends.
            EventKind::ResponseReceived(it) if it.response.mime_type == "text/event-stream" => {
                self.requests.remove(&it.request_id);
            }
            // A page that does not read what it is told is told no more.
            EventKind::ResponseReceived(it) if &*it.r#type == "Fetch" => {
                if let Some(answered) = self.requests.get_mut(&it.request_id) {
                    *answered = true;
                }
            }
            EventKind::RequestFinished(it) | EventKind::RequestFailed(it) => {
                self.requests.remove(&it.request_id);
            }
            EventKind::NavigatedWithin(it) if it.frame_id == self.target => {
                self.url = cut(&it.url, LONGEST_URL);
                self.next = Next::None;
                self.steps += 1;
                incidents.journal.add(
                    PageEventKind::Navigated,
                    &self.url,
                    &format!("{} within the page", self.id),
                );
            }
            EventKind::NavigatedWithin(it) => {
                if let Some(frame) = self.frames.get_mut(&it.frame_id) {
                    frame.is_at(&it.url);
                }
            }
            EventKind::Lifecycle(it) if it.frame_id == self.target => self.lifecycle(it),
            EventKind::NavigationRequested(it)
                if it.frame_id == self.target
                    && it.disposition == "currentTab"
                    && self.next == Next::None =>
            {
                self.next = Next::Requested;
            }
            // A page that reloads in a minute is not on its way yet.
            EventKind::NavigationScheduled(it)
                if it.frame_id == self.target && it.delay < 1.0 && self.next == Next::None =>
            {
                self.next = Next::Requested;
            }
            EventKind::NavigationStarted(it)
                if it.frame_id == self.target && !it.navigation_type.ends_with("ameDocument") =>
            {
                self.next = Next::Started;
            }
            EventKind::NavigationCleared(it)
                if it.frame_id == self.target && self.next == Next::Requested =>
            {
                self.next = Next::None;
            }
            EventKind::LoadingStopped(it) if it.frame_id == self.target => self.next = Next::None,
            _ => {}
        }
    }

    /// An alert asks nothing, and leaving a page is the agent's wish; what a page behind asks is answered with no. Any
    /// other question waits for the agent.
    fn dialog_opening(
        &mut self,
        dialog: &p::DialogOpening,
        session: &SessionId,
        front: bool,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        let message = PageText::cut(&dialog.message, LONGEST_TITLE);
        let kind = match &*dialog.r#type {
            "alert" => "alert",
            "beforeunload" => "beforeunload",
            "prompt" => "prompt",
            _ => "confirm",
        };
        let asks = front && matches!(kind, "confirm" | "prompt");
        if (asks || self.answered == MOST_ANSWERED) && !self.leaving {
            let url = cut(&dialog.url, LONGEST_URL);
            let filled =
                dialog.default_prompt.as_ref().map(|text| cut(text, LONGEST_URL)).unwrap_or_default();
            incidents.journal.add(
                PageEventKind::Dialog,
                &url,
                &format!("{kind} {:?}, waits", message.as_str()),
            );
            self.dialog = Some(OpenDialog { session: session.clone(), kind, message, url, filled });
            return;
        }
        self.answered = (self.answered + 1).min(MOST_ANSWERED);
        let accept = matches!(kind, "alert" | "beforeunload");
        reactions.post(Some(session), &p::HandleDialog { accept, prompt_text: None });
        incidents.add(Incident::Dialog { kind: kind.to_owned(), message, accepted: accept });
    }

    pub fn adopt_frame(
        &mut self,
        session: &SessionId,
        target: &p::TargetInfo,
        injected: &Injected,
        reactions: &mut Reactions<'_>,
    ) {
        if self.frame_sessions.len() == MOST_FRAMES {
            self.frames.leave_untracked();
            // Its documents are not seen either.
            self.family.mix();
            reactions.post(Some(session), &p::Resume {});
            return;
        }
        self.frame_sessions.insert(session.clone());
        self.frames.attach(&target.target_id, target.parent_frame_id.as_deref(), session);
        let to = Some(session);
        reactions.post(to, &p::EnablePage {});
        reactions.post(to, &p::EnableRuntime {});
        reactions.post(to, &script::added());
        reactions.post(to, &attach_to_frames());
        injected.hear(session, reactions);
        injected.set_up(session, false, reactions);
        reactions.post(to, &p::Resume {});
    }

    fn navigated(
        &mut self,
        frame: &p::Frame,
        session: &SessionId,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        // Known before it came: see `State::request_paused` and `note_document`.
        self.family.joined_by(&frame.url);
        if frame.id == self.target {
            self.frames.keep_only(&frame.id);
            self.commits += 1;
            // A page that came without a request was kept, and what asked for it then is not known any more.
            self.posted = self.asked_by_post.take().unwrap_or(frame.url.starts_with("http"));
            self.next = Next::None;
            self.requests.clear();
            self.dialog = None;
            self.leaving = false;
            self.url = cut(frame.unreachable_url.as_deref().unwrap_or(&frame.url), LONGEST_URL);
            if self.url != "about:blank" {
                incidents.journal.add(PageEventKind::Navigated, &self.url, &self.id.to_string());
            }
            if let Some(scheme) = refused_scheme(&frame.url) {
                self.refused = Some(scheme.clone());
                incidents.add(Incident::SchemeRefused { scheme });
                reactions.post(Some(&self.session), &p::Navigate { url: "about:blank" });
            }
        }
        self.frames.attach(&frame.id, frame.parent_id.as_deref(), session);
        if let Some(known) = self.frames.get_mut(&frame.id) {
            known.is_at(&frame.url);
        }
    }

    fn context_created(&mut self, context: &p::Context, session: &SessionId) {
        let Some(data) = context.aux_data.as_ref().filter(|_| context.name == script::WORLD) else { return };
        let world = World { unique: context.unique_id.clone(), id: context.id };
        self.frames.enter(&data.frame_id, world, session);
    }

    fn lifecycle(&mut self, event: &p::Lifecycle) {
        if event.name == "init" {
            self.reached = Reached::default();
            if self.loaders.len() == LOADERS_KEPT {
                self.loaders.pop_front();
            }
            self.loaders.push_back(event.loader_id.clone());
        }
        if self.loaders.back() != Some(&event.loader_id) {
            return;
        }
        match &*event.name {
            "DOMContentLoaded" => self.reached.dom_content_loaded = true,
            "load" => self.reached.load = true,
            "networkIdle" => self.reached.network_idle = true,
            _ => {}
        }
    }
}

/// Frames in processes of their own attach by themselves, paused until they are set up. Workers are only told to go on:
/// Chromium pauses them with the frames, asked for or not.
pub(crate) fn attach_to_frames() -> p::SetAutoAttach {
    p::SetAutoAttach {
        auto_attach: true,
        wait_for_debugger_on_start: true,
        flatten: true,
        filter: ["iframe", "worker"].map(|r#type| p::TargetFilter { r#type, exclude: false }).into(),
    }
}

/// Only web pages, the empty page and Chromium's own error page may fill a tab.
fn refused_scheme(url: &str) -> Option<PageText> {
    let scheme = url.split(':').next().unwrap_or_default();
    let allowed =
        matches!(scheme, "http" | "https" | "chrome-error") || url == "about:blank" || url.is_empty();
    (!allowed).then(|| PageText::cut(scheme, 32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_web_pages_may_fill_a_tab() {
        for (url, refused) in [
            ("http://a/", None),
            ("https://a/", None),
            ("about:blank", None),
            ("", None),
            ("chrome-error://chromewebdata/", None),
            ("about:srcdoc", Some("about")),
            ("blob:http://a/1", Some("blob")),
            ("data:text/html,x", Some("data")),
            ("file:///etc/passwd", Some("file")),
            ("chrome://version", Some("chrome")),
        ] {
            assert_eq!(refused_scheme(url).as_ref().map(PageText::as_str), refused, "{url}");
        }
    }
}
