//! Waiting for what an action started, and no longer.

use crate::{
    ask::AskError,
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    incident::Incident,
    page_text::Words,
    state::{Next, State},
};
use policy::LoadState;
use std::time::Duration;

/// A page that an action leads to may take this long; then the reply says that it is still loading.
const LOADING: Duration = Duration::from_secs(10);
/// A navigation that a page has asked for and that has not started by then is taken for none.
const STARTING: Duration = Duration::from_secs(1);
/// Two frames of the page; more only if its main thread is busy.
const RESTING: Duration = Duration::from_millis(500);
/// Pages that lead on by themselves are followed this many times.
const MOST_HOPS: usize = 5;

impl Browser {
    /// Forgets what happened before an action; returns the count that tells whether it led to another page.
    pub(super) fn start(&self) -> u64 {
        let mut state = self.shared.lock();
        state.incidents.take();
        state.tab.as_mut().map_or(0, |tab| {
            tab.refused = None;
            tab.commits
        })
    }

    /// Lets the page come to rest: two frames, and any navigation that is on its way by then.
    pub(super) async fn settle(&self, wanted: LoadState, deadline: Deadline) -> Result<(), BrowserError> {
        let loading = deadline.within(LOADING);
        for _ in 0..MOST_HOPS {
            self.rest(deadline).await?;
            let next = self.shared.lock().tab.as_ref().map(|tab| tab.next).unwrap_or_default();
            let patience = match next {
                Next::None => return self.not_refused(),
                Next::Requested => loading.within(STARTING),
                Next::Started => loading,
            };
            let arrived = self
                .wait(patience, |state| {
                    let tab = state.tab.as_ref()?;
                    let moved_on = tab.next != next;
                    (moved_on && (tab.next == Next::Started || has_reached(state, wanted))).then_some(())
                })
                .await;
            match arrived {
                Ok(()) => {}
                Err(BrowserError::Timeout { .. }) if next == Next::Requested => self.give_up_on_request(),
                Err(BrowserError::Timeout { .. }) => {
                    self.shared.lock().incidents.add(Incident::StillLoading);
                    return self.not_refused();
                }
                Err(error) => return Err(error),
            }
            self.not_refused()?;
        }
        Ok(())
    }

    async fn rest(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let Some(main) = self.shared.lock().tab.as_ref().map(|tab| tab.target.clone()) else {
            return Ok(());
        };
        match self.ask::<_, String>(&main, "rest", &(), deadline.within(RESTING)).await {
            // A page that is busy or on its way out has come to no rest; what follows finds out which.
            Ok(_) | Err(AskError::Gone | AskError::Failed(BrowserError::Timeout { .. })) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn give_up_on_request(&self) {
        if let Some(tab) = self.shared.lock().tab.as_mut()
            && tab.next == Next::Requested
        {
            tab.next = Next::None;
        }
    }

    /// Fails if the tab went where no tab may go; it has been taken back by then.
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
