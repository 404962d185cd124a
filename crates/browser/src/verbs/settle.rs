//! Waits for what an action started, and no longer.

use crate::{
    browser::Browser, cdp::protocol as p, deadline::Deadline, error::BrowserError, incident::Incident,
    page_text::Words, state::State, tab::Next,
};
use policy::LoadState;
use std::time::Duration;

/// Time limit for a page that an action leads to; after it, the reply says that it is still loading.
const LOADING: Duration = Duration::from_secs(10);
/// A requested navigation that has not started by then is ignored.
const STARTING: Duration = Duration::from_secs(1);
/// Time limit for requests that a page makes because of an action.
const FETCHING: Duration = Duration::from_secs(3);
/// Time limit for response bodies. A page that has not read them by then does not want them.
const READING: Duration = Duration::from_secs(1);
/// Number of automatic navigations that are followed; after it, the reply says that the page is still loading.
const MOST_HOPS: u64 = 5;
/// Limit of the loop; each round waits for something else.
const MOST_LOOKS: usize = 20;

/// What an action has started and what is still outstanding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Awaited {
    Nothing,
    /// A navigation was requested, and may not start.
    Request,
    Page,
    Answers,
    /// Bodies of responses that have begun.
    Bodies,
}

impl State {
    fn awaited(&self, wanted: LoadState) -> Awaited {
        let Some(tab) = &self.tab else { return Awaited::Nothing };
        match tab.next {
            Next::Requested => Awaited::Request,
            Next::Started => Awaited::Page,
            Next::None if tab.commits != tab.begun && !has_reached(self, wanted) => Awaited::Page,
            Next::None if tab.requests.values().any(|answered| !answered) => Awaited::Answers,
            Next::None if !tab.requests.is_empty() => Awaited::Bodies,
            Next::None => Awaited::Nothing,
        }
    }
}

impl Browser {
    /// Forgets navigations and requests from before an action.
    pub(super) fn start(&self) {
        if let Some(tab) = &mut self.shared.lock().tab {
            tab.refused = None;
            tab.answered = 0;
            tab.leaving = false;
            tab.requests.clear();
            tab.begun = tab.commits;
        }
    }

    /// Waits for what the action has started: navigations, requests, and the page's work with their responses.
    pub(super) async fn settle(&self, wanted: LoadState, deadline: Deadline) -> Result<(), BrowserError> {
        // The rest of the time is for reading the page.
        let most = deadline.left() * 3 / 4;
        let loading = deadline.within(LOADING.min(most));
        let fetching = deadline.within(FETCHING.min(most));
        for _ in 0..MOST_LOOKS {
            let awaited = self.shared.lock().awaited(wanted);
            if awaited != Awaited::Nothing && self.hops() > MOST_HOPS {
                break;
            }
            let patience = match awaited {
                Awaited::Nothing => return self.not_refused(),
                Awaited::Request => loading.within(STARTING),
                Awaited::Page => loading,
                Awaited::Answers => fetching,
                Awaited::Bodies => fetching.within(READING),
            };
            self.snapshots().set_ready(None);
            let moved_on = |state: &mut State| (state.awaited(wanted) != awaited).then_some(());
            match self.wait(patience, moved_on).await {
                Ok(()) => {}
                Err(BrowserError::Timeout { .. }) if awaited == Awaited::Request => self.give_up_on_request(),
                Err(BrowserError::Timeout { .. }) if awaited == Awaited::Bodies => self.forget_bodies(),
                Err(BrowserError::Timeout { .. }) => {
                    self.shared.lock().incidents.add(Incident::StillLoading);
                    self.stop_waiting(deadline).await?;
                    return self.not_refused();
                }
                Err(error) => return Err(error),
            }
            self.not_refused()?;
            if matches!(awaited, Awaited::Answers | Awaited::Bodies) {
                self.rest_after_answers(deadline).await?;
            } else {
                self.rest(deadline).await?;
            }
        }
        self.shared.lock().incidents.add(Incident::StillLoading);
        self.not_refused()
    }

    /// Documents shown since the action began.
    pub(super) fn hops(&self) -> u64 {
        self.shared.lock().tab.as_ref().map_or(0, |tab| tab.commits - tab.begun)
    }

    /// Waits for a navigation in progress, because Chromium answers nothing for the present page meanwhile. Stops one
    /// that does not finish.
    pub(super) async fn arrive(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let arrived = |state: &mut State| {
            let coming = state.tab.as_ref().is_some_and(|tab| tab.next == Next::Started);
            (!coming).then_some(())
        };
        match self.wait(deadline.within(LOADING.min(deadline.left() / 2)), arrived).await {
            Err(BrowserError::Timeout { .. }) => {
                self.shared.lock().incidents.add(Incident::StillLoading);
                self.stop_waiting(deadline).await
            }
            arrived => arrived,
        }
    }

    async fn stop_waiting(&self, deadline: Deadline) -> Result<(), BrowserError> {
        if !self.shared.lock().tab.as_ref().is_some_and(|tab| tab.next == Next::Started) {
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

    fn give_up_on_request(&self) {
        if let Some(tab) = self.shared.lock().tab.as_mut()
            && tab.next == Next::Requested
        {
            tab.next = Next::None;
        }
    }

    /// Fails if the tab navigated to a forbidden scheme; it has been taken back by then.
    pub(super) fn not_refused(&self) -> Result<(), BrowserError> {
        let refused = self.shared.lock().tab.as_mut().and_then(|tab| tab.refused.take());
        refused.map_or(Ok(()), |scheme| Err(BrowserError::SchemeRefused { scheme: Words::Page(scheme) }))
    }
}

pub(super) fn has_reached(state: &State, wanted: LoadState) -> bool {
    state.tab.as_ref().is_some_and(|tab| match wanted {
        LoadState::DomContentLoaded => tab.reached.dom_content_loaded,
        LoadState::Load => tab.reached.load,
        LoadState::NetworkIdle => tab.reached.network_idle,
    })
}
