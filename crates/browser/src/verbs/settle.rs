//! Waits for what an action started, and no longer.

use crate::{
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    state::{Incident, PendingNavigation, State, Tab},
    text::AttributedText,
};
use policy::LoadState;
use std::time::Duration;

/// Time limit for a page that an action leads to; after it, the reply says that it is still loading.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// A requested navigation that has not started by then is ignored.
const START_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit for requests that a page makes because of an action.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);
/// Time limit for response bodies. A page that has not read them by then does not want them.
const BODY_TIMEOUT: Duration = Duration::from_secs(1);
/// Number of automatic navigations that are followed; after it, the reply says that the page is still loading.
const MAX_NAVIGATIONS: u64 = 5;
/// Limit of the loop; each round waits for something else.
const MAX_ROUNDS: usize = 20;

/// What an action has started and what is still outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outstanding {
    Nothing,
    /// A navigation was requested, and may not start.
    Navigation,
    Load,
    Responses,
    /// Bodies of responses that have begun.
    Bodies,
}

impl State {
    fn outstanding(&self, load_state: LoadState) -> Outstanding {
        let Some(tab) = &self.tab else { return Outstanding::Nothing };
        match tab.navigation {
            PendingNavigation::None if self.is_held => Outstanding::Nothing,
            PendingNavigation::Requested => Outstanding::Navigation,
            PendingNavigation::Started => Outstanding::Load,
            PendingNavigation::None
                if tab.commits != tab.commits_at_start && !has_reached(self, load_state) =>
            {
                Outstanding::Load
            }
            PendingNavigation::None if tab.requests.values().any(|answered| !answered) => {
                Outstanding::Responses
            }
            PendingNavigation::None if !tab.requests.is_empty() => Outstanding::Bodies,
            PendingNavigation::None => Outstanding::Nothing,
        }
    }
}

impl Browser {
    /// Forgets navigations and requests from before an action.
    pub(super) fn begin_action(&self) {
        let mut state = self.shared.lock();
        state.closed_popups = 0;
        if let Some(tab) = &mut state.tab {
            tab.refused_scheme = None;
            tab.answered_dialogs = 0;
            tab.leaving = false;
            tab.requests.clear();
            tab.commits_at_start = tab.commits;
        }
    }

    /// Waits for what the action has started: navigations, requests, and the page's work with their responses.
    pub(super) async fn settle(&self, load_state: LoadState, deadline: Deadline) -> Result<(), BrowserError> {
        // The rest of the time is for reading the page.
        let most = deadline.left() * 3 / 4;
        let loading = deadline.within(LOAD_TIMEOUT.min(most));
        let fetching = deadline.within(REQUEST_TIMEOUT.min(most));
        for _ in 0..MAX_ROUNDS {
            let outstanding = self.shared.lock().outstanding(load_state);
            if outstanding != Outstanding::Nothing && self.document_count() > MAX_NAVIGATIONS {
                break;
            }
            let patience = match outstanding {
                Outstanding::Nothing => {
                    self.note_stopped_loading();
                    return self.check_not_refused();
                }
                Outstanding::Navigation => loading.within(START_TIMEOUT),
                Outstanding::Load => loading,
                Outstanding::Responses => fetching,
                Outstanding::Bodies => fetching.within(BODY_TIMEOUT),
            };
            self.snapshots().set_settled(None);
            let moved_on = |state: &mut State| (state.outstanding(load_state) != outstanding).then_some(());
            match self.wait(patience, moved_on).await {
                Ok(()) => {}
                Err(BrowserError::Timeout { .. }) if outstanding == Outstanding::Navigation => {
                    self.forget_navigation()
                }
                Err(BrowserError::Timeout { .. }) if outstanding == Outstanding::Bodies => {
                    self.forget_bodies()
                }
                Err(BrowserError::Timeout { .. }) => {
                    self.shared.lock().incidents.add(Incident::StillLoading);
                    self.stop_loading(deadline).await?;
                    return self.check_not_refused();
                }
                Err(error) => return Err(error),
            }
            self.check_not_refused()?;
            if matches!(outstanding, Outstanding::Responses | Outstanding::Bodies) {
                self.wait_idle_after_responses(deadline).await?;
            } else {
                self.wait_idle(deadline).await?;
            }
        }
        self.shared.lock().incidents.add(Incident::StillLoading);
        self.check_not_refused()
    }

    /// Notes that the document that the action led to is not complete.
    fn note_stopped_loading(&self) {
        let mut state = self.shared.lock();
        let is_stopped = |tab: &Tab| tab.load_progress.stopped && tab.commits != tab.commits_at_start;
        if state.tab.as_ref().is_some_and(is_stopped) {
            state.incidents.add(Incident::LoadingStopped);
        }
    }

    /// Documents shown since the action began.
    pub(super) fn document_count(&self) -> u64 {
        self.shared.lock().tab.as_ref().map_or(0, |tab| tab.commits - tab.commits_at_start)
    }

    /// Waits for a navigation in progress, because Chromium answers nothing for the present page meanwhile. Stops one
    /// that does not finish.
    pub(super) async fn wait_for_navigation(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let arrived = |state: &mut State| {
            let coming = state.tab.as_ref().is_some_and(|tab| tab.navigation == PendingNavigation::Started);
            (!coming).then_some(())
        };
        match self.wait(deadline.within(LOAD_TIMEOUT.min(deadline.left() / 2)), arrived).await {
            Err(BrowserError::Timeout { .. }) => {
                self.shared.lock().incidents.add(Incident::StillLoading);
                self.stop_loading(deadline).await
            }
            arrived => arrived,
        }
    }

    async fn stop_loading(&self, deadline: Deadline) -> Result<(), BrowserError> {
        if !self.shared.lock().tab.as_ref().is_some_and(|tab| tab.navigation == PendingNavigation::Started) {
            return Ok(());
        }
        match self.call_tab(&p::StopLoading {}, deadline).await {
            // A tab between two pages refuses.
            Ok(_) | Err(BrowserError::Protocol { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn forget_bodies(&self) {
        if let Some(tab) = self.shared.lock().tab.as_mut() {
            tab.requests.retain(|_, answered| !*answered);
        }
    }

    fn forget_navigation(&self) {
        if let Some(tab) = self.shared.lock().tab.as_mut()
            && tab.navigation == PendingNavigation::Requested
        {
            tab.navigation = PendingNavigation::None;
        }
    }

    /// Fails if the tab navigated to a forbidden scheme; it has been taken back by then.
    pub(super) fn check_not_refused(&self) -> Result<(), BrowserError> {
        let refused = self.shared.lock().tab.as_mut().and_then(|tab| tab.refused_scheme.take());
        refused.map_or(Ok(()), |scheme| {
            Err(BrowserError::SchemeRefused { scheme: AttributedText::Page(scheme) })
        })
    }
}

pub(super) fn has_reached(state: &State, load_state: LoadState) -> bool {
    let Some(progress) = state.tab.as_ref().map(|tab| tab.load_progress) else { return false };
    // What was stopped reaches no state any more.
    progress.stopped
        || match load_state {
            LoadState::DomContentLoaded => progress.dom_content_loaded,
            LoadState::Load => progress.load,
            LoadState::NetworkIdle => progress.network_idle,
        }
}
