//! The state of one Chromium: its tabs, frames and documents, kept up to date by events.
//!
//! Events are applied on the connection's task, in order. Whoever gets a reply from Chromium therefore sees the effect
//! of every event that came before it.

mod documents;
mod events;
mod frames;
mod header_injection;
mod incidents;
mod page_events;
mod tab;
mod tab_events;

pub(crate) use frames::{
    CountedWorld, DelegatingNode, DocumentHandle, FrameWorld, KnownListeners, parse_ref,
};
pub use incidents::Incident;
pub(crate) use incidents::Incidents;
pub use page_events::{PageEvent, PageEventKind, PageEvents};
pub(crate) use tab::{PendingNavigation, RootScan, Tab, attach_to_frames};

use crate::{
    cdp::{Event, Id, Reactions, SessionId, protocol as p},
    credentials::InjectionState,
    text::{Limit, MAX_URL, PageText, TextCutter},
};
use documents::DocumentRegistry;
use policy::TabId;
use serde_json::value::RawValue;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Tabs of a session; further popups are closed at once.
pub(crate) const MAX_TABS: usize = 8;

/// Popups that are closed in one action before the tab that opens them is. Each takes Chromium tens of milliseconds,
/// and its page can do nothing else meanwhile. No other command of CDP stops a script that opens windows.
pub(crate) const MAX_CLOSED_POPUPS: usize = 24;

/// [`State`] behind a lock, with a notification after each event.
pub(crate) struct SharedState {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

#[derive(Default)]
pub(crate) struct State {
    /// The active tab, which all actions are about.
    pub tab: Option<Tab>,
    /// All other tabs; the last was active most recently.
    pub background: Vec<Tab>,
    last_tab: u32,
    pub documents: DocumentRegistry,
    /// Applied to all text of pages before anything is searched or returned.
    pub text: TextCutter,
    /// Width and height of every tab.
    pub viewport: (u32, u32),
    /// Popups closed since the present action began.
    pub closed_popups: usize,
    /// The driver is opening a tab, for which there is always room.
    pub opening: bool,
    /// The driver looks for its tab on a new connection. Pages stay paused until it is found.
    pub resuming: bool,
    /// Pages that attached while resuming.
    pub unclaimed: Vec<p::Attached>,
    pub incidents: Incidents,
    /// Downloads refused so far; shows whether a navigation ended in one.
    pub downloads: u64,
    /// The data of a drag that Chromium has intercepted.
    pub drag_data: Option<Box<RawValue>>,
    /// How the active tab ended, until there is a new one.
    pub ended: Option<TabEnd>,
    /// Whether a call has already reported it.
    pub end_reported: bool,
    pub injected: InjectionState,
    /// A request of the page is held until a person answers: nothing is waited for meanwhile.
    pub is_held: bool,
    /// Identifies the Chromium process.
    pub chromium: Option<Id>,
}

#[derive(Clone, Debug)]
pub(crate) enum TabEnd {
    Crashed {
        status: Option<String>,
    },
    Closed,
    /// It hung, and the driver gave it up.
    Abandoned,
    /// It opened windows without end, and the driver closed it.
    OpenedTooManyWindows,
}

impl SharedState {
    pub fn new(viewport: (u32, u32)) -> SharedState {
        let state = State { viewport, ..State::default() };
        SharedState { state: Mutex::new(state), changed: watch::Sender::new(()) }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `check` returns a value; the caller bounds the wait.
    pub async fn until<T>(&self, mut check: impl FnMut(&mut State) -> Option<T>) -> T {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(found) = check(&mut self.lock()) {
                return found;
            }
            if changed.changed().await.is_err() {
                // Unreachable: the sender lives in self.
                std::future::pending::<()>().await;
            }
        }
    }

    pub fn set_held(&self, is_held: bool) {
        self.lock().is_held = is_held;
        self.changed.send_replace(());
    }

    pub fn apply(&self, event: &Event, reactions: &mut Reactions<'_>) {
        self.lock().apply(event, reactions);
        self.changed.send_replace(());
    }
}

impl State {
    /// The tab that a CDP session belongs to, and whether it is the active one.
    fn tab_of(&mut self, session: &SessionId) -> Option<(&mut Tab, bool)> {
        let front = self.tab.as_mut().filter(|tab| tab.owns(session)).map(|tab| (tab, true));
        front.or_else(|| self.background.iter_mut().find(|tab| tab.owns(session)).map(|tab| (tab, false)))
    }

    pub fn set_text_cutter(&mut self, text: TextCutter) {
        self.incidents.page_events.text = text.clone();
        self.text = text;
    }

    /// A tab keeps its URL and title unmasked: what is masked may grow until they are shown.
    pub fn shown_url(&self, tab: &Tab) -> String {
        self.text.redact_and_cut_url(&tab.url, MAX_URL)
    }

    pub fn shown_title(&self, tab: &Tab) -> String {
        self.text.redact_and_cut(&tab.title, Limit::Bytes(tab::MAX_TITLE))
    }

    /// The incidents since the last call, with the present URLs of new tabs.
    pub fn take_incidents(&mut self) -> Vec<Incident> {
        let mut incidents = self.incidents.take();
        for incident in &mut incidents {
            // When a tab opens, Chromium does not know its URL yet.
            if let Incident::TabOpened { tab, url } = incident
                && let Some(opened) = self.tab.iter().chain(&self.background).find(|known| known.id == *tab)
            {
                *url = PageText::new(&self.shown_url(opened));
            }
        }
        incidents
    }

    pub fn next_tab_id(&mut self) -> TabId {
        self.last_tab += 1;
        TabId(self.last_tab)
    }

    pub fn tab_count(&self) -> usize {
        self.background.len() + usize::from(self.tab.is_some())
    }

    /// Makes a background tab the active one; returns the one that was active.
    pub fn bring_to_front(&mut self, id: TabId) -> Option<Tab> {
        let at = self.background.iter().position(|tab| tab.id == id)?;
        let new = self.background.remove(at);
        self.ended = None;
        self.end_reported = false;
        self.tab.replace(new)
    }

    /// If the active tab closed itself, the tab that was active before takes its place.
    pub fn activate_previous_tab(&mut self) -> bool {
        if !matches!(self.ended, Some(TabEnd::Closed)) {
            return false;
        }
        let Some(next) = self.background.last().map(|tab| tab.id) else { return false };
        if let Some(gone) = self.bring_to_front(next) {
            gone.frames.close();
        }
        self.incidents.add(Incident::TabChanged { tab: next });
        true
    }

    pub fn remove_background_tab(&mut self, at: usize) {
        let gone = self.background.remove(at);
        self.incidents.add(Incident::TabGone { tab: gone.id });
        gone.frames.close();
    }
}
