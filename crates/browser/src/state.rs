//! What the driver knows of its tabs, kept up to date by Chromium's events as they come.
//!
//! Events are applied on the connection's task, in order, so whoever gets an answer from Chromium sees
//! the effect of everything that came before it.

use crate::{
    cdp::{Event, EventKind, Id, Reactions, SessionId, protocol as p},
    incident::{Incident, Incidents},
    inject::{Family, Injected},
    page_text::PageText,
    past::Book,
    script,
    tab::{LONGEST_TITLE, LONGEST_URL, Tab, attach_to_frames},
    text::cut,
};
use policy::TabId;
use serde_json::value::RawValue;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Pages that wait to be claimed after a lost connection; others are closed at once.
const UNCLAIMED_KEPT: usize = 16;
/// Tabs of a session; a page that opens more has them closed at once.
pub(crate) const MOST_TABS: usize = 8;

pub(crate) struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
pub(crate) struct State {
    /// The tab in front, which is the one that all actions are about.
    pub tab: Option<Tab>,
    pub behind: Vec<Tab>,
    last_tab: u32,
    pub book: Book,
    /// Takes out of pages what must not be told.
    pub mask: Option<crate::mask::Mask>,
    /// Width and height of every tab.
    pub viewport: (u32, u32),
    /// Set while the driver opens a tab of its own, for which there is always room.
    pub opening: bool,
    /// Set while the driver looks for its tab on a new connection: pages wait, paused, until it is known which it is.
    pub resuming: bool,
    pub unclaimed: Vec<p::Attached>,
    pub incidents: Incidents,
    /// Downloads refused so far; tells whether a navigation ended in one.
    pub downloads: u64,
    /// What is being dragged, once the browser has taken over from the page.
    pub dragged: Option<Box<RawValue>>,
    /// How the tab in front ended, until there is a new one.
    pub ended: Option<Ended>,
    /// Whether a call has already told so.
    pub ended_told: bool,
    pub injected: Injected,
    /// Names the Chromium that all of this is about.
    pub chromium: Option<Id>,
}

#[derive(Clone, Debug)]
pub(crate) enum Ended {
    Crashed {
        status: Option<String>,
    },
    Closed,
    /// It hangs, and was given up.
    Abandoned,
}

impl Shared {
    pub fn new(viewport: (u32, u32)) -> Shared {
        let state = State { viewport, ..State::default() };
        Shared { state: Mutex::new(state), changed: watch::Sender::new(()) }
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
    /// The tab that a session speaks for, and whether it is the one in front.
    fn tab_of(&mut self, session: &SessionId) -> Option<(&mut Tab, bool)> {
        let front = self.tab.as_mut().filter(|tab| tab.owns(session)).map(|tab| (tab, true));
        front.or_else(|| self.behind.iter_mut().find(|tab| tab.owns(session)).map(|tab| (tab, false)))
    }

    /// What happened on the side since this was last asked, with what is known of it by now.
    pub fn take_incidents(&mut self) -> Vec<Incident> {
        let mut incidents = self.incidents.take();
        for incident in &mut incidents {
            // When a tab opens, Chromium does not say yet where it goes.
            if let Incident::TabOpened { tab, url } = incident
                && let Some(opened) = self.tab.iter().chain(&self.behind).find(|known| known.id == *tab)
            {
                *url = PageText::cut(&opened.url, LONGEST_URL);
            }
        }
        incidents
    }

    pub fn next_tab(&mut self) -> TabId {
        self.last_tab += 1;
        TabId(self.last_tab)
    }

    fn apply(&mut self, event: &Event, reactions: &mut Reactions<'_>) {
        match (&event.kind, &event.session) {
            (EventKind::Attached(attached), _) => self.attached(attached, event.session.as_ref(), reactions),
            (EventKind::Detached(gone), _) => self.detached(&gone.session_id),
            (EventKind::TargetCrashed(crash), _) => self.target_crashed(crash, reactions),
            (EventKind::TargetChanged(changed), _) => {
                let info = &changed.target_info;
                let mut tabs = self.tab.iter_mut().chain(&mut self.behind);
                if let Some(tab) = tabs.find(|tab| tab.target == info.target_id) {
                    tab.title = cut(&info.title, LONGEST_TITLE);
                }
            }
            (EventKind::DownloadWillBegin(download), _) => {
                let url = PageText::cut(&download.url, LONGEST_URL);
                self.incidents.add(Incident::DownloadRefused { url });
                self.downloads += 1;
            }
            (EventKind::HeadReceived(set), _) => {
                if let Some(passed) = &mut self.injected.passed {
                    passed.note(&set.headers);
                }
            }
            (EventKind::RequestPaused(paused), Some(session)) => {
                self.request_paused(paused, session, reactions);
            }
            (EventKind::DragIntercepted(drag), Some(session)) => {
                if self.tab.as_ref().is_some_and(|tab| tab.owns(session)) {
                    self.dragged = Some(drag.data.clone());
                }
            }
            (EventKind::RendererCrashed(_), Some(session)) => {
                if self.tab.as_ref().is_some_and(|tab| tab.session == *session) {
                    self.ended.get_or_insert(Ended::Crashed { status: None });
                }
            }
            (kind, Some(session)) => {
                if self.injected.passed.is_some() && self.injected.filling.as_ref() != Some(session) {
                    self.injected.replies.note(kind, session);
                }
                // Taken out meanwhile, because the tab is a part of the state too.
                let mut incidents = std::mem::take(&mut self.incidents);
                match (self.tab_of(session), kind) {
                    (Some((tab, front)), _) => tab.apply(kind, session, front, &mut incidents, reactions),
                    // A tab that is being closed must not wait for an answer.
                    (None, EventKind::DialogOpening(_)) => {
                        reactions.post(Some(session), &p::HandleDialog { accept: true, prompt_text: None });
                    }
                    (None, _) => {}
                }
                self.incidents = incidents;
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
        match &*target_info.r#type {
            "iframe" => {
                let mut tabs = self.tab.iter_mut().chain(&mut self.behind);
                match parent.and_then(|parent| tabs.find(|tab| tab.owns(parent))) {
                    Some(tab) => tab.adopt_frame(session_id, target_info, &self.injected, reactions),
                    // Of a tab that is gone.
                    None => reactions.post(Some(session_id), &p::Resume {}),
                }
            }
            "page" if self.resuming && self.unclaimed.len() < UNCLAIMED_KEPT => {
                self.unclaimed.push(attached.clone());
            }
            "page" if !self.resuming && self.tabs() < MOST_TABS + usize::from(self.opening) => {
                self.adopt(attached, reactions);
            }
            "page" => {
                let url = PageText::cut(&target_info.url, LONGEST_URL);
                self.incidents.add(Incident::PopupClosed { url });
                close_popup(attached, reactions);
            }
            // A worker, or a kind that was not asked for: let it be.
            _ => {
                if self.injected.passed.is_some() {
                    // What its requests are answered with is told to itself alone.
                    self.injected.hear(session_id, reactions);
                }
                reactions.post(Some(session_id), &p::Resume {});
            }
        }
    }

    pub fn tabs(&self) -> usize {
        self.behind.len() + usize::from(self.tab.is_some())
    }

    /// Puts a tab in front; returns the one that was there.
    pub fn bring_to_front(&mut self, id: TabId) -> Option<Tab> {
        let at = self.behind.iter().position(|tab| tab.id == id)?;
        let new = self.behind.remove(at);
        self.ended = None;
        self.ended_told = false;
        self.tab.replace(new)
    }

    /// When the tab in front has closed itself, the one that was in front before takes its place.
    pub fn fall_back(&mut self) -> bool {
        if !matches!(self.ended, Some(Ended::Closed)) {
            return false;
        }
        let Some(next) = self.behind.last().map(|tab| tab.id) else { return false };
        if let Some(gone) = self.bring_to_front(next) {
            gone.frames.end();
        }
        self.incidents.add(Incident::TabChanged { tab: next });
        true
    }

    /// Every page is one of the session's tabs, whoever opened it: it is set up before it runs.
    ///
    /// Nothing is waited for: a popup with an opener shares the opener's renderer, and the pause of the one stops both.
    fn adopt(&mut self, page: &p::Attached, reactions: &mut Reactions<'_>) {
        let p::Attached { session_id, target_info } = page;
        let id = self.next_tab();
        let mut tab = Tab::new(id, target_info.target_id.clone(), session_id.clone(), &self.book);
        if !target_info.url.is_empty() {
            tab.url = cut(&target_info.url, LONGEST_URL);
        }
        let mut tabs = self.tab.iter().chain(&self.behind);
        let opener = target_info.opener_id.as_ref().and_then(|opener| tabs.find(|tab| tab.target == *opener));
        // The driver's own tabs have no opener, and are told apart where they are opened.
        tab.family =
            opener.map_or_else(Family::mixed, |opener| opener.family.of_popup(target_info.can_access_opener));
        let url = PageText::new(&tab.url);
        self.incidents.add(Incident::TabOpened { tab: id, url });
        self.behind.push(tab);
        let to = Some(session_id);
        let (width, height) = self.viewport;
        // The same as `Browser::set_up` does with a tab that is met again.
        reactions.post(to, &p::EnableInspector {});
        reactions.post(to, &p::EnablePage {});
        reactions.post(to, &p::SetLifecycleEvents { enabled: true });
        reactions.post(to, &p::EnableRuntime {});
        reactions.post(to, &script::added());
        reactions.post(to, &attach_to_frames());
        self.injected.hear(session_id, reactions);
        reactions.post(to, &p::InterceptFileChooser { enabled: true, cancel: true });
        reactions.post(to, &p::SetDeviceMetrics { width, height, device_scale_factor: 1.0, mobile: false });
        self.injected.set_up(session_id, true, reactions);
        reactions.post(to, &p::Resume {});
    }

    fn detached(&mut self, session: &SessionId) {
        self.unclaimed.retain(|unclaimed| unclaimed.session_id != *session);
        self.injected.replies.forget(session);
        if let Some(gone) = self.behind.iter().position(|tab| tab.session == *session) {
            self.tab_gone(gone);
        } else if self.tab.as_ref().is_some_and(|tab| tab.session == *session) {
            // An action that is under way must not go on in another tab.
            self.ended.get_or_insert(Ended::Closed);
        } else if let Some((tab, _)) = self.tab_of(session)
            && tab.frame_sessions.remove(session)
        {
            tab.frames.remove_session(session);
        }
    }

    pub fn tab_gone(&mut self, at: usize) {
        let gone = self.behind.remove(at);
        self.incidents.add(Incident::TabGone { tab: gone.id });
        gone.frames.end();
    }

    fn target_crashed(&mut self, crash: &p::TargetCrashed, reactions: &mut Reactions<'_>) {
        if self.tab.as_ref().is_some_and(|tab| tab.target == crash.target_id) {
            let status = format!("{}, {}", cut(&crash.status, 64), crash.error_code);
            self.ended = Some(Ended::Crashed { status: Some(status) });
        } else if let Some(gone) = self.behind.iter().position(|tab| tab.target == crash.target_id) {
            self.tab_gone(gone);
            reactions.post(None, &p::CloseTarget { target_id: &crash.target_id });
        }
    }
}

/// A popup never gets to load anything: its requests are held, and it is told to close.
///
/// It is told to go on all the same, and before it is told to close: a popup with an opener shares the opener's
/// renderer, and the pause of one that is gone would stop the opener for good.
fn close_popup(popup: &p::Attached, reactions: &mut Reactions<'_>) {
    let session = Some(&popup.session_id);
    reactions.post(session, &p::HoldRequests {});
    reactions.post(session, &p::Resume {});
    reactions.post(None, &p::CloseTarget { target_id: &popup.target_info.target_id });
}
