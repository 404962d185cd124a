//! Navigation to an address, and waiting for the requested load state.

use super::{Outcome, Viewer, settle::has_reached};
use crate::{
    browser::Browser,
    cdp::protocol as p,
    deadline::Deadline,
    error::BrowserError,
    incident::Incident,
    page_text::{PageText, Words},
    snapshot::Snapshot,
    state::State,
    text::cut,
};
use policy::{LoadState, Navigate};
use std::{future::pending, time::Duration};

/// Time limit for a loaded page to reach network idle; after it, the reply says that the page is still loading.
const GOING_QUIET: Duration = Duration::from_secs(10);
/// Chromium reports a navigation as aborted first, and the download that caused it afterwards.
const DOWNLOAD_TOLD: Duration = Duration::from_millis(500);
/// A main thread that is silent for this long counts as hung, and its tab as lost.
const ANSWERING: Duration = Duration::from_secs(2);
/// Error of a navigation that another one replaced.
const ABORTED: &str = "ERR_ABORTED";
/// Errors for addresses that Chromium refuses regardless of the network.
const SCHEME_ERRORS: [&str; 3] =
    ["net::ERR_UNSAFE_REDIRECT", "net::ERR_UNKNOWN_URL_SCHEME", "net::ERR_DISALLOWED_URL_SCHEME"];

impl Browser {
    pub(super) async fn navigate(
        &self,
        wanted: &Navigate,
        viewer: &Viewer,
        deadline: Deadline,
    ) -> Result<Outcome, BrowserError> {
        let snapshot = match self.go_to(wanted, Some(viewer), deadline).await {
            Err(error @ BrowserError::Timeout { .. }) => {
                self.give_up().await?;
                return Err(error);
            }
            gone => gone?.ok_or(BrowserError::TabClosed)?,
        };
        let incidents = self.shared.lock().take_incidents();
        Ok(Outcome::Navigated {
            final_url: snapshot.url.clone(),
            title: snapshot.title.clone(),
            status: snapshot.status,
            snapshot,
            incidents,
        })
    }

    /// Navigates, and renders the page for a reply if `reply` is given.
    pub(crate) async fn go_to(
        &self,
        wanted: &Navigate,
        viewer: Option<&Viewer>,
        deadline: Deadline,
    ) -> Result<Option<Snapshot>, BrowserError> {
        self.go_home(wanted, deadline).await?;
        // A page that has reloaded itself may do so again and replace the requested page. So may one that has not
        // yet; then more than one document is shown.
        let loads_itself = self.hops() > 1;
        self.start();
        self.leave(true);
        let opened = self.open_from(wanted, loads_itself, viewer, deadline).await;
        self.leave(false);
        opened
    }

    /// Opens a new tab for a site with injected headers if a page of another site has been in this one: headers are
    /// no longer added in such a tab, and no page can reach a new one.
    async fn go_home(&self, wanted: &Navigate, deadline: Deadline) -> Result<(), BrowserError> {
        let origin = wanted.url.origin();
        let is_away = {
            let state = self.shared.lock();
            let is_home = state.tab.as_ref().is_some_and(|tab| tab.family.is_home_of(&origin));
            state.injected.has_headers_for(&origin) && !is_home
        };
        if !is_away {
            return Ok(());
        }
        self.replace_tab(deadline).await?;
        let mut state = self.shared.lock();
        let tab = state.tab.as_ref().map(|tab| tab.id);
        if let Some(tab) = tab {
            state.incidents.add(Incident::TabChanged { tab });
        }
        Ok(())
    }

    fn leave(&self, leaving: bool) {
        if let Some(tab) = self.shared.lock().tab.as_mut() {
            tab.leaving = leaving;
        }
    }

    async fn open_from(
        &self,
        wanted: &Navigate,
        loads_itself: bool,
        viewer: Option<&Viewer>,
        deadline: Deadline,
    ) -> Result<Option<Snapshot>, BrowserError> {
        self.dismiss_dialog(deadline).await?;
        let left = self.page_facts().page_url;
        tokio::select! {
            // The page that is left is checked before it is left.
            biased;
            // A page with a hung main thread must not delay the next one.
            frozen = self.freezes(deadline) => frozen?,
            opened = self.open(wanted, viewer, deadline) => match opened {
                // The page to be left is gone, as requested.
                Err(BrowserError::TabCrashed { .. } | BrowserError::TabClosed) if self.hops() == 0 => {}
                // The page reloaded itself instead. Other aborted navigations are reported as they are.
                Err(BrowserError::NavigationFailed { net_error, .. })
                    if net_error == ABORTED && (loads_itself || self.hops() > 0) => {}
                Ok(_)
                    if (loads_itself || self.hops() > 1)
                        && self.state().url == left
                        && wanted.url.as_str() != left => {}
                opened => return opened,
            },
            // A page that keeps reloading itself can replace the next page, but not in another tab.
            () = self.comes_back(&left) => {}
        }
        self.replace_tab(deadline).await?;
        self.open(wanted, viewer, deadline).await
    }

    /// Completes when the page that was left has been loaded repeatedly.
    async fn comes_back(&self, left: &str) {
        self.shared
            .until(|state| state.tab.as_ref().filter(|tab| tab.url == left && tab.is_restless()).map(|_| ()))
            .await;
    }

    async fn open(
        &self,
        wanted: &Navigate,
        viewer: Option<&Viewer>,
        deadline: Deadline,
    ) -> Result<Option<Snapshot>, BrowserError> {
        let url = wanted.url.as_str();
        let downloads = self.shared.lock().downloads;
        let navigated = self.call_tab(&p::Navigate { url }, deadline).await?;
        self.not_refused()?;
        if let Some(net_error) = navigated.error_text {
            return Err(self.navigation_error(url, &net_error, downloads, deadline).await?);
        }
        // Without a loader it is a navigation within the document, which is complete at once.
        if let Some(loader) = navigated.loader_id {
            self.wait_for(&loader, wanted.wait_for, deadline).await?;
        }
        self.rest(deadline).await?;
        self.settle(wanted.wait_for, deadline).await?;
        match viewer {
            Some(viewer) => self.page_after(viewer, deadline).await.map(Some),
            None => Ok(None),
        }
    }

    async fn wait_for(
        &self,
        loader: &str,
        wanted: LoadState,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let reached = async |wanted, deadline| {
            self.wait(deadline, |state| {
                let tab = state.tab.as_ref()?;
                let shown = tab.loaders.iter().any(|known| known == loader);
                (tab.refused.is_some() || (shown && has_reached(state, wanted))).then_some(())
            })
            .await
        };
        match wanted {
            LoadState::NetworkIdle => {
                reached(LoadState::Load, deadline).await?;
                match reached(LoadState::NetworkIdle, deadline.within(GOING_QUIET)).await {
                    Err(BrowserError::Timeout { .. }) => {
                        self.shared.lock().incidents.add(Incident::StillLoading);
                    }
                    other => other?,
                }
            }
            other => reached(other, deadline).await?,
        }
        self.not_refused()
    }

    async fn navigation_error(
        &self,
        url: &str,
        net_error: &str,
        downloads: u64,
        deadline: Deadline,
    ) -> Result<BrowserError, BrowserError> {
        if net_error.strip_prefix("net::") == Some(ABORTED) {
            let download = |state: &mut State| {
                (state.downloads != downloads).then(|| state.incidents.take_download()).flatten()
            };
            match self.wait(deadline.within(DOWNLOAD_TOLD), download).await {
                Ok(url) => return Ok(BrowserError::DownloadRefused { url }),
                Err(BrowserError::Timeout { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(told(url, net_error))
    }

    /// Completes when the page that is left neither responds nor has been left.
    async fn freezes(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let limit = deadline.within(ANSWERING.min(deadline.left() / 4));
        let answers = self.answers(limit).await;
        if matches!(answers, Ok(false)) {
            // It may have refused because it was just being left.
            tokio::time::sleep_until(limit.at).await;
        }
        match answers {
            Ok(false) if self.hops() == 0 => Ok(()),
            // The navigation itself reports these.
            Ok(_) | Err(BrowserError::TabCrashed { .. } | BrowserError::TabClosed) => pending().await,
            Err(error) => Err(error),
        }
    }

    /// After a timeout: stops loading, so that the page does not appear after the agent got the error. A hung tab is
    /// abandoned; the next call gets a new one.
    async fn give_up(&self) -> Result<(), BrowserError> {
        let deadline = Deadline::after(ANSWERING, "navigate");
        let stopped = async {
            match self.call_tab(&p::StopLoading {}, deadline).await {
                // A tab between two pages refuses.
                Ok(_) | Err(BrowserError::Timeout { .. } | BrowserError::Protocol { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        };
        let (answers, ()) = tokio::try_join!(self.answers(deadline), stopped)?;
        if !answers {
            self.abandon_tab();
        }
        Ok(())
    }

    /// Whether the tab's main thread responds within the deadline.
    async fn answers(&self, deadline: Deadline) -> Result<bool, BrowserError> {
        match self.call_tab(&p::GetLayoutMetrics {}, deadline).await {
            Ok(_) => Ok(true),
            // A tab that is stuck between two pages refuses.
            Err(BrowserError::Timeout { .. } | BrowserError::Protocol { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn told(url: &str, net_error: &str) -> BrowserError {
    if SCHEME_ERRORS.contains(&net_error) {
        return BrowserError::SchemeRefused { scheme: Words::Ours("non-web") };
    }
    let net_error = net_error.strip_prefix("net::").unwrap_or(net_error);
    BrowserError::NavigationFailed { url: PageText::new(url), net_error: cut(net_error, 64) }
}
