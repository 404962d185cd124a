//! Opens, replaces and closes tabs.

use super::{Browser, BrowserOptions};
use crate::{
    cdp::{CallError, Command, SessionId, protocol as p},
    credentials::{BYPASS_SERVICE_WORKERS, BrowsingContextGroup},
    deadline::Deadline,
    error::BrowserError,
    script,
    state::{SharedState, State, Tab, TabEnd, attach_to_frames},
};
use policy::TabId;
use std::sync::Arc;
use std::time::Duration;

/// How long a new page that Chromium has created may take to be attached.
const ATTACH_WAIT: Duration = Duration::from_secs(2);

/// Reserves room for a tab that the driver opens, until it is there or the call is cancelled.
struct OpeningTab<'a>(&'a SharedState);

impl<'a> OpeningTab<'a> {
    fn begin(shared: &'a SharedState) -> OpeningTab<'a> {
        shared.lock().opening = true;
        OpeningTab(shared)
    }
}

impl Drop for OpeningTab<'_> {
    fn drop(&mut self) {
        self.0.lock().opening = false;
    }
}

impl Browser {
    /// Gives up a tab that hangs; the next call opens a new one. The present call reports it.
    pub(crate) fn abandon_tab(&self) {
        let mut state = self.shared.lock();
        state.ended.get_or_insert(TabEnd::Abandoned);
        state.end_reported = true;
    }

    /// Uses an empty page that Chromium started with, or opens one, and closes all others.
    pub(crate) async fn open_first_tab(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let empty = {
            let state = self.shared.lock();
            let empty = state.background.iter().find(|tab| tab.url == "about:blank");
            empty.map(|tab| (tab.id, tab.session.clone()))
        };
        let id = match empty {
            Some((id, session)) => {
                self.wait_set_up(&session, deadline).await?;
                self.prepare_own_tab(&session, deadline).await?;
                id
            }
            None => self.open_page(deadline).await?,
        };
        let others = {
            let mut state = self.shared.lock();
            state.bring_to_front(id);
            state.incidents.take();
            std::mem::take(&mut state.background)
        };
        // Last, because a Chromium with a window exits with its last page.
        for other in others {
            self.close_target(&other.target, deadline).await?;
        }
        Ok(())
    }

    /// Opens a new tab and makes it the active one.
    pub(crate) async fn add_tab(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let id = self.open_page(deadline).await?;
        let mut state = self.shared.lock();
        let old = state.bring_to_front(id);
        state.background.extend(old);
        Ok(())
    }

    /// Continues in a new tab and closes the old one, even if it hangs.
    pub(crate) async fn replace_tab(&self, deadline: Deadline) -> Result<(), BrowserError> {
        // If no new tab opens, the old one stays, and the next call tries again.
        let id = self.open_page(deadline).await?;
        let old = self.shared.lock().bring_to_front(id);
        let Some(Tab { target, frames, .. }) = old else { return Ok(()) };
        frames.close();
        self.close_target(&target, deadline).await
    }

    /// Opens a page for the driver alone. An existing empty page may be a popup, which its opener can reach.
    async fn open_page(&self, deadline: Deadline) -> Result<TabId, BrowserError> {
        let _room = OpeningTab::begin(&self.shared);
        let created = self.call(None, &p::CreateTarget { url: "about:blank" }, deadline).await?;
        let opened = |state: &mut State| {
            let tab = state.background.iter().find(|tab| tab.target == created.target_id)?;
            Some((tab.id, tab.session.clone()))
        };
        // Chromium attaches it before it replies. One that does not appear crashed at once, and is closed again.
        let (id, session) = match self.wait(deadline.within(ATTACH_WAIT), opened).await {
            Err(BrowserError::Timeout { .. }) => return Err(BrowserError::TabCrashed { status: None }),
            opened => opened?,
        };
        self.shared.lock().incidents.forget_opened(id);
        self.wait_set_up(&session, deadline).await?;
        self.prepare_own_tab(&session, deadline).await?;
        Ok(id)
    }

    /// Waits for the last command of `State::adopt`: a tab that navigates before its renderer has handled them would not
    /// report anything of the new page.
    async fn wait_set_up(&self, session: &SessionId, deadline: Deadline) -> Result<(), BrowserError> {
        self.call(Some(session), &p::SetLifecycleEvents { enabled: true }, deadline).await.map(|_| ())
    }

    /// Closes the pages that were not claimed while resuming.
    pub(crate) async fn close_unclaimed(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let unclaimed = std::mem::take(&mut self.shared.lock().unclaimed);
        for page in unclaimed {
            // It may be a popup: see `close_popup` in `state/events.rs`.
            self.call_ignoring_gone(&page.session_id, &p::HoldRequests {}, deadline).await?;
            self.call_ignoring_gone(&page.session_id, &p::Resume {}, deadline).await?;
            self.close_target(&page.target_info.target_id, deadline).await?;
        }
        Ok(())
    }

    pub(crate) async fn close_target(&self, target_id: &str, deadline: Deadline) -> Result<(), BrowserError> {
        match self.call(None, &p::CloseTarget { target_id }, deadline).await {
            // It is gone already.
            Ok(_) | Err(BrowserError::Protocol { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Succeeds if the target is gone already.
    async fn call_ignoring_gone<C: Command>(
        &self,
        session: &SessionId,
        command: &C,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        match self.connection.call(Some(session), command, deadline.at).await {
            Ok(_) | Err(CallError::Refused { .. } | CallError::Detached { .. }) => Ok(()),
            Err(error) => Err(deadline.error(error)),
        }
    }

    /// Sets up a tab that runs already. The page script stops by itself where it has run before.
    pub(crate) async fn set_up(&self, session: &SessionId, deadline: Deadline) -> Result<(), BrowserError> {
        let to = Some(session);
        // Counts of another connection mean nothing here.
        self.snapshots().set_unchanged(None);
        let BrowserOptions { width, height, .. } = self.options;
        let metrics = p::SetDeviceMetrics { width, height, device_scale_factor: 1.0, mobile: false };
        let script = script::install_command();
        let frames = attach_to_frames();
        tokio::try_join!(
            self.call(to, &p::EnableInspector {}, deadline),
            self.call(to, &p::EnablePage {}, deadline),
            self.call(to, &p::SetLifecycleEvents { enabled: true }, deadline),
            self.call(to, &p::EnableRuntime {}, deadline),
            self.call(to, &script, deadline),
            self.call(to, &frames, deadline),
            self.enable_network(session, deadline),
            self.call(to, &p::InterceptFileChooser { enabled: true, cancel: true }, deadline),
            self.call(to, &metrics, deadline),
            self.call_ignoring_gone(session, &p::EnablePerformance {}, deadline),
            self.call(to, &p::Resume {}, deadline),
        )?;
        self.intercept_requests(session, deadline).await
    }

    /// Makes a tab report its requests, and keep response bodies if they are recorded.
    pub(crate) async fn enable_network(
        &self,
        session: &SessionId,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let (network, keep) = self.shared.lock().injected.network_commands();
        self.call(Some(session), &network, deadline).await?;
        match keep {
            None => Ok(()),
            // A Chromium without this command keeps bodies until their page is left.
            Some(keep) => self.call_ignoring_gone(session, &keep, deadline).await,
        }
    }

    /// Gives a tab that the driver opened the same `sessionStorage` as the first one, and a context group of its own.
    async fn prepare_own_tab(&self, session: &SessionId, deadline: Deadline) -> Result<(), BrowserError> {
        let storage = Arc::clone(&self.shared.lock().injected.storage);
        if !storage.is_empty() {
            self.fill_storage(session, &storage, deadline).await?;
        }
        self.isolate_tab(session);
        Ok(())
    }

    /// Puts a tab that no page can reach into a new browsing context group.
    pub(crate) fn isolate_tab(&self, session: &SessionId) {
        let mut state = self.shared.lock();
        let State { tab, background, incidents, .. } = &mut *state;
        if let Some(tab) = tab.iter_mut().chain(background).find(|tab| tab.session == *session) {
            tab.context_group = BrowsingContextGroup::isolated();
            // The driver navigated it while it filled the storage.
            incidents.page_events.forget_navigated(&tab.id.to_string());
        }
    }

    /// What `State::adopt` does before a tab runs, for one that runs already.
    pub(super) async fn intercept_requests(
        &self,
        session: &SessionId,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let interception = self.shared.lock().injected.interception(true);
        if let Some(interception) = interception {
            tokio::try_join!(
                self.call(Some(session), &BYPASS_SERVICE_WORKERS, deadline),
                self.call(Some(session), &interception, deadline),
            )?;
        }
        Ok(())
    }
}
