//! The browser handle: one Chromium, its state, and the CDP calls to it and to its active tab.

mod storage;
mod tabs;

use crate::{
    cdp::{Command, Connection, PendingReply, SessionId, protocol as p},
    deadline::{Deadline, TimeLimit},
    effects::EffectTask,
    error::BrowserError,
    snapshot::SnapshotStore,
    state::{PageEvents, SharedState, State, TabEnd},
    text::{TextCutter, TextRedactor},
};
use audit::{NavigationTicket, PermittedEffect};
use policy::Document;
use serde::Serialize;
use std::{
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Mutex;

/// How long Chromium may take to report why a tab crashed, after it has reported the crash.
const CRASH_STATUS_WAIT: Duration = Duration::from_millis(200);

#[derive(Clone, Debug)]
pub struct BrowserOptions {
    /// Bounds the attachment, and each call without a limit of its own.
    pub action_timeout: Duration,
    pub width: u32,
    pub height: u32,
    /// Width times height of the largest screenshot; a larger page is cropped. A CDP message can carry about 12
    /// megapixels, whatever the page shows, and larger values are reduced to that.
    pub max_pixels: u32,
    pub snapshot: SnapshotOptions,
}

/// Settings for all snapshots.
#[derive(Clone, Debug, Serialize)]
pub struct SnapshotOptions {
    /// Levels that are shown unless the call sets a depth; deeper ones are folded.
    #[serde(skip)]
    pub max_depth: usize,
    /// If false, elements that are not rendered are included and marked as hidden.
    pub exclude_hidden_elements: bool,
    pub exclude_password_fields: bool,
    /// Include form field values.
    pub values: bool,
}

impl Default for SnapshotOptions {
    fn default() -> SnapshotOptions {
        SnapshotOptions {
            max_depth: 10,
            exclude_hidden_elements: true,
            exclude_password_fields: true,
            values: true,
        }
    }
}

impl Default for BrowserOptions {
    fn default() -> BrowserOptions {
        BrowserOptions {
            action_timeout: Duration::from_secs(30),
            width: 1280,
            height: 800,
            max_pixels: u32::MAX,
            snapshot: SnapshotOptions::default(),
        }
    }
}

/// The browser of one session.
pub struct Browser {
    pub(crate) connection: Connection,
    pub(crate) shared: Arc<SharedState>,
    pub(crate) options: BrowserOptions,
    /// Serializes single calls: while one runs, no other changes the page under it. It is not held between `resolve` and
    /// `perform`; there the session's turn lock in the control plane keeps other actions out, from the facts through the
    /// decision to the action.
    pub(crate) turn: Mutex<()>,
    /// The pages that cursors refer to.
    pub(crate) snapshots: Arc<std::sync::Mutex<SnapshotStore>>,
    /// Decides on paused requests, on this connection.
    pub(crate) effect_task: Option<EffectTask>,
}

/// The active tab as of the last event; texts of the page are truncated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TabState {
    pub url: String,
    pub title: String,
    /// Another one after each navigation that is not within a document.
    pub document: Document,
    /// The tab crashed or closed; the next call opens a new one.
    pub ended: bool,
}

impl Browser {
    pub fn state(&self) -> TabState {
        let state = self.shared.lock();
        let ended = state.ended.is_some();
        state.tab.as_ref().map_or_else(TabState::default, |tab| TabState {
            url: state.shown_url(tab),
            title: state.shown_title(tab),
            document: Document { tab: tab.id.0, count: tab.commits },
            ended,
        })
    }

    pub(crate) fn snapshots(&self) -> MutexGuard<'_, SnapshotStore> {
        // The data is consistent after any panic.
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last reply did not reach its caller: the next snapshot is complete.
    pub fn forget_last_shown(&self) {
        self.snapshots().set_caller_baseline(None);
    }

    /// From now on. It is called at every reading, so what it redacts may grow.
    pub fn set_text_redactor(&self, redactor: TextRedactor) {
        self.shared.lock().set_text_cutter(TextCutter::new(redactor));
    }

    /// Masks and cuts text of pages.
    pub(crate) fn text_cutter(&self) -> TextCutter {
        self.shared.lock().text.clone()
    }

    /// While a request of the page is held, actions do not wait for responses: they may take as long as a person.
    pub fn set_held(&self, is_held: bool) {
        self.shared.set_held(is_held);
    }

    /// Lets a navigation that the driver keeps leave with the next navigation to its address. The permit comes back if the
    /// driver does not keep it.
    pub fn release_navigation(
        &self,
        ticket: NavigationTicket,
        permitted: PermittedEffect,
    ) -> Option<PermittedEffect> {
        let effects = self.shared.lock().injected.effects.clone();
        match effects {
            Some(effects) => effects.release_navigation(ticket, permitted),
            None => Some(permitted),
        }
    }

    /// Forgets a navigation, if the driver keeps it.
    pub fn discard_navigation(&self, ticket: NavigationTicket) {
        if let Some(effects) = &self.shared.lock().injected.effects {
            effects.discard_navigation(ticket);
        }
    }

    /// Makes Chromium pause the requests of sites that are decided on in the browser.
    pub(crate) async fn intercept_effects(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let command = self.shared.lock().injected.effects.as_ref().map(|effects| effects.command());
        match command {
            Some(command) => self.call(None, &command, deadline).await.map(|_| ()),
            None => Ok(()),
        }
    }

    pub fn page_events(&self) -> PageEvents {
        PageEvents::new(&self.shared)
    }

    /// For a call without a limit of its own.
    pub(crate) fn limit(&self) -> TimeLimit {
        TimeLimit::new(self.options.action_timeout)
    }

    pub(crate) async fn call<C: Command>(
        &self,
        session: Option<&SessionId>,
        command: &C,
        deadline: Deadline,
    ) -> Result<C::Response, BrowserError> {
        match self.connection.call(session, command, deadline.at).await {
            Ok(response) => Ok(response),
            Err(error) => Err(self.with_crash_status(deadline.error(error)).await),
        }
    }

    /// A call to the active tab.
    pub(crate) async fn call_tab<C: Command>(
        &self,
        command: &C,
        deadline: Deadline,
    ) -> Result<C::Response, BrowserError> {
        let session = self.tab_session()?;
        self.call(Some(&session), command, deadline).await
    }

    /// Sends input to the active tab without waiting for the reply. Chromium handles input in the order of sending.
    pub(crate) async fn send_tab<C: Command>(
        &self,
        command: &C,
        deadline: Deadline,
    ) -> Result<PendingReply<C::Response>, BrowserError> {
        let session = self.tab_session()?;
        match self.connection.send(Some(&session), command, deadline.at).await {
            Ok(answering) => Ok(answering),
            Err(error) => Err(self.with_crash_status(deadline.error(error)).await),
        }
    }

    /// Waits until Chromium has handled all of these.
    pub(crate) async fn wait_handled(
        &self,
        inputs: Vec<PendingReply<p::Nothing>>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        for input in inputs {
            if let Err(error) = input.wait(deadline.at).await {
                return Err(self.with_crash_status(deadline.error(error)).await);
            }
        }
        Ok(())
    }

    pub(crate) fn tab_session(&self) -> Result<SessionId, BrowserError> {
        self.shared.lock().tab.as_ref().map(|tab| tab.session.clone()).ok_or(BrowserError::TabClosed)
    }

    /// Waits for a state; fails when the tab, the connection or the time ends first.
    pub(crate) async fn wait<T>(
        &self,
        deadline: Deadline,
        mut check: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, BrowserError> {
        let mut closed = self.connection.closed();
        let found = self.shared.until(|state| match check(state) {
            Some(found) => Some(Ok(found)),
            None if state.opening => None,
            None => state.ended.clone().map(|ended| Err(BrowserError::from(ended))),
        });
        let result = tokio::select! {
            found = found => found,
            () = tokio::time::sleep_until(deadline.at) => Err(deadline.timeout()),
            ended = closed.wait_for(Option::is_some) => Err(match ended.ok().and_then(|ended| ended.clone()) {
                Some(closed) => BrowserError::BrowserLost { closed },
                None => BrowserError::TabClosed,
            }),
        };
        match result {
            Ok(found) => Ok(found),
            Err(error) => Err(self.with_crash_status(error).await),
        }
    }

    /// Adds the status that Chromium reports shortly after a crash, and notes that the end of the tab is reported.
    pub(crate) async fn with_crash_status(&self, error: BrowserError) -> BrowserError {
        if !matches!(
            error,
            BrowserError::TabCrashed { .. } | BrowserError::TabClosed | BrowserError::TooManyWindows
        ) {
            return error;
        }
        {
            let mut state = self.shared.lock();
            if matches!(state.ended, Some(TabEnd::OpenedTooManyWindows)) {
                state.end_reported = true;
                return BrowserError::TooManyWindows;
            }
        }
        let status = self.shared.until(|state| match &state.ended {
            Some(TabEnd::Crashed { status: Some(status) }) => Some(status.clone()),
            _ => None,
        });
        let status = tokio::time::timeout(CRASH_STATUS_WAIT, status).await.ok();
        self.shared.lock().end_reported = true;
        match error {
            BrowserError::TabCrashed { .. } => BrowserError::TabCrashed { status },
            other => other,
        }
    }
}

impl From<TabEnd> for BrowserError {
    fn from(ended: TabEnd) -> BrowserError {
        match ended {
            TabEnd::Crashed { status } => BrowserError::TabCrashed { status },
            TabEnd::Closed | TabEnd::Abandoned => BrowserError::TabClosed,
            TabEnd::OpenedTooManyWindows => BrowserError::TooManyWindows,
        }
    }
}
