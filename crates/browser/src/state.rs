//! What the driver knows of its tab, kept up to date by Chromium's events as they come.
//!
//! Events are applied on the connection's task, in order, so whoever gets an answer from Chromium sees
//! the effect of everything that came before it.

use crate::{
    cdp::{Event, EventKind, Id, Reactions, SessionId, protocol as p},
    frames::{Frames, MOST_FRAMES, World},
    incident::{Incident, Incidents},
    page_text::PageText,
    script,
    text::cut,
};
use std::{
    collections::{HashSet, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::watch;

/// Titles and addresses come from pages; longer ones are cut.
const LONGEST_TITLE: usize = 512;
const LONGEST_URL: usize = 8 * 1024;
/// How many of a tab's documents are remembered, to tell that an awaited one has come and gone.
const LOADERS_KEPT: usize = 16;
/// Page targets that wait to be claimed while a tab opens; others are closed at once.
const UNCLAIMED_KEPT: usize = 8;

pub(crate) struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
pub(crate) struct State {
    pub tab: Option<Tab>,
    /// Set while a tab is being opened: pages that attach wait, paused, until it is known which is ours.
    pub opening: bool,
    pub unclaimed: Vec<p::Attached>,
    pub incidents: Incidents,
    /// How the tab ended, until there is a new one.
    pub ended: Option<Ended>,
    /// Whether a call has already told so.
    pub ended_told: bool,
}

pub(crate) struct Tab {
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

#[derive(Clone, Debug)]
pub(crate) enum Ended {
    Crashed { status: Option<String> },
    Closed,
}

impl Shared {
    pub fn new() -> Shared {
        Shared { state: Mutex::default(), changed: watch::Sender::new(()) }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `check` finds what it looks for; the caller bounds the wait.
    pub async fn until<T>(&self, mut check: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(found) = check(&mut self.lock()) {
                return found;
            }
            if changed.changed().await.is_err() {
                // The sender lives in self, so this does not come about.
                std::future::pending::<()>().await;
            }
        }
    }

    pub fn apply(&self, event: &Event, reactions: &mut Reactions<'_>) {
        self.lock().apply(event, reactions);
        self.changed.send_replace(());
    }
}

impl State {
    fn apply(&mut self, event: &Event, reactions: &mut Reactions<'_>) {
        match (&event.kind, &event.session) {
            (EventKind::Attached(attached), _) => self.attached(attached, event.session.as_ref(), reactions),
            (EventKind::Detached(gone), _) => self.detached(&gone.session_id),
            (EventKind::TargetCrashed(crash), _) => self.target_crashed(crash),
            (EventKind::TargetChanged(changed), _) => {
                if let Some(tab) = self.tab.as_mut().filter(|tab| tab.target == changed.target_info.target_id)
                {
                    tab.title = cut(&changed.target_info.title, LONGEST_TITLE);
                }
            }
            (EventKind::DownloadWillBegin(download), _) => {
                self.incidents
                    .add(Incident::DownloadRefused { url: PageText::cut(&download.url, LONGEST_URL) });
            }
            (EventKind::RendererCrashed(_), Some(session)) => {
                if self.tab.as_ref().is_some_and(|tab| tab.session == *session) {
                    self.ended.get_or_insert(Ended::Crashed { status: None });
                }
            }
            (kind, Some(session)) => {
                let incidents = &mut self.incidents;
                if let Some(tab) = self.tab.as_mut().filter(|tab| tab.owns(session)) {
                    tab.apply(kind, session, incidents, reactions);
                }
            }
            (_, None) => {}
        }
    }

    fn attached(
        &mut self,
        attached: &p::Attached,
        parent: Option<&SessionId>,
        reactions: &mut Reactions<'_>,
    ) {
        let p::Attached { session_id, target_info } = attached;
        let ours = self.tab.as_mut().filter(|tab| parent.is_some_and(|parent| tab.owns(parent)));
        match (&*target_info.r#type, ours) {
            ("iframe", Some(tab)) => tab.adopt_frame(session_id, target_info, reactions),
            ("page", _) if self.opening && self.unclaimed.len() < UNCLAIMED_KEPT => {
                self.unclaimed.push(attached.clone());
            }
            ("page", _) => close_popup(attached, reactions),
            // A frame of a tab that is gone, or a kind that was not asked for: let it be.
            _ => reactions.post(Some(session_id), &p::Resume {}),
        }
    }

    fn detached(&mut self, session: &SessionId) {
        self.unclaimed.retain(|unclaimed| unclaimed.session_id != *session);
        let Some(tab) = self.tab.as_mut() else { return };
        if tab.session == *session {
            self.ended.get_or_insert(Ended::Closed);
        } else if tab.frame_sessions.remove(session) {
            tab.frames.remove_session(session);
        }
    }

    fn target_crashed(&mut self, crash: &p::TargetCrashed) {
        let Some(tab) = self.tab.as_ref() else { return };
        if tab.target == crash.target_id {
            let status = format!("{}, {}", cut(&crash.status, 64), crash.error_code);
            self.ended = Some(Ended::Crashed { status: Some(status) });
        }
    }
}

impl Tab {
    /// `frames` goes on from the tab before: no ref is given twice in a session.
    pub fn new(target: Id, session: SessionId, mut frames: Frames) -> Tab {
        frames.attach(&target, None, &session);
        Tab {
            target,
            session,
            frame_sessions: HashSet::new(),
            frames,
            url: "about:blank".to_owned(),
            title: String::new(),
            loaders: VecDeque::new(),
            reached: Reached::default(),
            commits: 0,
            next: Next::None,
            refused: None,
        }
    }

    /// The connection is lost. Returns which tab to look for on the next one.
    pub fn suspend(&mut self) -> Id {
        self.session = SessionId::from("");
        self.frame_sessions.clear();
        self.frames.suspend();
        self.next = Next::None;
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
                known.url = cut(&tree.frame.url, LONGEST_URL);
            }
            if tree.frame.id == self.target {
                self.url = cut(tree.frame.unreachable_url.as_deref().unwrap_or(&tree.frame.url), LONGEST_URL);
            }
            waiting.extend(tree.child_frames.iter().rev());
        }
    }

    fn owns(&self, session: &SessionId) -> bool {
        self.session == *session || self.frame_sessions.contains(session)
    }

    fn apply(
        &mut self,
        kind: &EventKind,
        session: &SessionId,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        match kind {
            EventKind::FrameAttached(it) => {
                self.frames.attach(&it.frame_id, Some(&it.parent_frame_id), session);
            }
            EventKind::FrameDetached(it) if it.reason != "swap" => self.frames.remove(&it.frame_id),
            EventKind::FrameNavigated(it) => self.navigated(&it.frame, session, incidents, reactions),
            EventKind::ContextCreated(it) => self.context_created(&it.context, session),
            EventKind::ContextDestroyed(it) => self.frames.forget_world(&it.execution_context_unique_id),
            EventKind::ContextsCleared(_) => self.frames.forget_worlds_of(session),
            EventKind::DialogOpening(dialog) => {
                // Leaving a page is the agent's wish; anything else a page asks is answered with no.
                let accept = dialog.r#type == "beforeunload";
                reactions.post(Some(session), &p::HandleDialog { accept });
                incidents.add(Incident::Dialog {
                    kind: cut(&dialog.r#type, 32),
                    message: PageText::cut(&dialog.message, LONGEST_TITLE),
                    accepted: accept,
                });
            }
            EventKind::WindowOpen(it) => {
                incidents.add(Incident::PopupClosed { url: PageText::cut(&it.url, LONGEST_URL) })
            }
            EventKind::NavigatedWithin(it) if it.frame_id == self.target => {
                self.url = cut(&it.url, LONGEST_URL);
                self.next = Next::None;
            }
            EventKind::NavigatedWithin(it) => {
                if let Some(frame) = self.frames.get_mut(&it.frame_id) {
                    frame.url = cut(&it.url, LONGEST_URL);
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

    fn adopt_frame(&mut self, session: &SessionId, target: &p::TargetInfo, reactions: &mut Reactions<'_>) {
        if self.frame_sessions.len() == MOST_FRAMES {
            self.frames.leave_untracked();
            reactions.post(Some(session), &p::Resume {});
            return;
        }
        self.frame_sessions.insert(session.clone());
        self.frames.attach(&target.target_id, target.parent_frame_id.as_deref(), session);
        let to = Some(session);
        reactions.post(to, &p::EnablePage {});
        reactions.post(to, &p::EnableRuntime {});
        let world_name = script::WORLD;
        reactions.post(to, &p::AddScript { source: script::SOURCE, world_name, run_immediately: true });
        reactions.post(to, &attach_to_frames());
        reactions.post(to, &p::Resume {});
    }

    fn navigated(
        &mut self,
        frame: &p::Frame,
        session: &SessionId,
        incidents: &mut Incidents,
        reactions: &mut Reactions<'_>,
    ) {
        if frame.id == self.target {
            self.frames.keep_only(&frame.id);
            self.commits += 1;
            self.next = Next::None;
            self.url = cut(frame.unreachable_url.as_deref().unwrap_or(&frame.url), LONGEST_URL);
            if let Some(scheme) = refused_scheme(&frame.url) {
                self.refused = Some(scheme.clone());
                incidents.add(Incident::SchemeRefused { scheme });
                reactions.post(Some(&self.session), &p::Navigate { url: "about:blank" });
            }
        }
        self.frames.attach(&frame.id, frame.parent_id.as_deref(), session);
        if let Some(known) = self.frames.get_mut(&frame.id) {
            known.url = cut(&frame.url, LONGEST_URL);
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

/// A popup never gets to load anything: its requests are held, and it is told to close.
///
/// It is told to go on all the same: a popup with an opener shares the opener's renderer, and the pause
/// of the one stops both.
fn close_popup(popup: &p::Attached, reactions: &mut Reactions<'_>) {
    let session = Some(&popup.session_id);
    reactions.post(session, &p::HoldRequests {});
    reactions.post(None, &p::CloseTarget { target_id: &popup.target_info.target_id });
    reactions.post(session, &p::Resume {});
}

/// Frames in processes of their own attach by themselves, paused until they are set up.
pub(crate) fn attach_to_frames() -> p::SetAutoAttach {
    p::SetAutoAttach {
        auto_attach: true,
        wait_for_debugger_on_start: true,
        flatten: true,
        filter: vec![p::TargetFilter { r#type: "iframe", exclude: false }],
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
