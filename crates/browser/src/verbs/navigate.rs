//! Navigation to an address, and waiting for the requested load state.

use super::{Outcome, ReplyOptions, settle::has_reached};
use crate::{
    browser::Browser,
    cdp::{Id, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    snapshot::Snapshot,
    state::{Incident, State, Tab},
    text::{AttributedText, PageText, cut},
};
use policy::{LoadState, Navigate};
use std::{future::pending, sync::OnceLock, time::Duration};

/// Time limit for a loaded page to reach network idle; after it, the reply says that the page is still loading.
const NETWORK_IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Chromium reports a navigation as aborted first, and the download that caused it afterwards.
const DOWNLOAD_REPORT_TIMEOUT: Duration = Duration::from_millis(500);
/// A main thread that is silent for this long counts as hung, and its tab as lost.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
/// A page that has started so many navigations, none of which has come to a document, starts them over and over.
const MAX_PENDING_NAVIGATIONS: usize = 3;
/// How long a navigation may take to show its document after the page has started another one.
const OVERTAKEN_TIMEOUT: Duration = Duration::from_secs(1);
/// Error of a navigation that another one replaced.
const ABORTED: &str = "ERR_ABORTED";
/// Errors for addresses that Chromium refuses regardless of the network.
const SCHEME_ERRORS: [&str; 3] =
    ["net::ERR_UNSAFE_REDIRECT", "net::ERR_UNKNOWN_URL_SCHEME", "net::ERR_DISALLOWED_URL_SCHEME"];

/// The loader of a navigation, once Chromium has accepted it. Without one it stays within the document.
type AcceptedLoader = OnceLock<Option<Id>>;

impl Browser {
    pub(super) async fn navigate(
        &self,
        navigate: &Navigate,
        reply: &ReplyOptions,
        deadline: Deadline,
    ) -> Result<Outcome, BrowserError> {
        let cleanup = RESPONSE_TIMEOUT.min(deadline.left() / 4);
        let snapshot = match self.go_to(navigate, Some(reply), deadline.reserving(cleanup)).await {
            Err(error @ BrowserError::Timeout { .. }) => {
                self.stop_or_abandon(deadline.within(cleanup)).await?;
                return Err(error);
            }
            snapshot => snapshot?.ok_or(BrowserError::TabClosed)?,
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
        navigate: &Navigate,
        reply: Option<&ReplyOptions>,
        deadline: Deadline,
    ) -> Result<Option<Snapshot>, BrowserError> {
        self.ensure_tab_for_headers(navigate, deadline).await?;
        // A page that has reloaded itself may do so again and replace the requested page. So may one that has not
        // yet; then more than one document is shown.
        let loads_itself = self.document_count() > 1;
        self.begin_action();
        self.set_leaving(true);
        let opened = self.open_from_current_page(navigate, loads_itself, reply, deadline).await;
        self.set_leaving(false);
        opened
    }

    /// Opens a new tab for a site with injected headers if a page of another site has been in this one: headers are
    /// no longer added in such a tab, and no page can reach a new one.
    async fn ensure_tab_for_headers(
        &self,
        navigate: &Navigate,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let origin = navigate.url.origin();
        let needs_new_tab = {
            let state = self.shared.lock();
            let is_own_tab = state.tab.as_ref().is_some_and(|tab| tab.context_group.is_exclusive_to(&origin));
            state.injected.has_headers_for(&origin) && !is_own_tab
        };
        if !needs_new_tab {
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

    fn set_leaving(&self, leaving: bool) {
        if let Some(tab) = self.shared.lock().tab.as_mut() {
            tab.leaving = leaving;
        }
    }

    async fn open_from_current_page(
        &self,
        navigate: &Navigate,
        loads_itself: bool,
        reply: Option<&ReplyOptions>,
        deadline: Deadline,
    ) -> Result<Option<Snapshot>, BrowserError> {
        self.dismiss_dialog(deadline).await?;
        // Such a page may replace the requested one at any moment, but not in another tab.
        let pending = self.pending_navigation_count();
        if pending >= MAX_PENDING_NAVIGATIONS || (loads_itself && pending > 0) {
            self.replace_tab(deadline).await?;
            return self.open(navigate, reply, &OnceLock::new(), deadline).await;
        }
        let left = self.tab_url();
        let accepted = OnceLock::new();
        tokio::select! {
            // The page that is left is checked before it is left.
            biased;
            // A page with a hung main thread must not delay the next one.
            hung = self.page_hangs(deadline) => hung?,
            opened = self.open(navigate, reply, &accepted, deadline) => match opened {
                // The page to be left is gone, as requested.
                Err(BrowserError::TabCrashed { .. } | BrowserError::TabClosed | BrowserError::TooManyWindows)
                    if self.document_count() == 0 => {}
                // The page reloaded itself instead. Other aborted navigations are reported as they are.
                Err(BrowserError::NavigationFailed { net_error, .. })
                    if net_error == ABORTED
                        && (loads_itself
                            || self.document_count() > 0
                            || self.has_started_another(&accepted)) => {}
                Ok(_)
                    if (loads_itself || self.document_count() > 1)
                        && self.tab_url() == left
                        && navigate.url.as_str() != left => {}
                // The page that was left had requested another document before it was left.
                Ok(_) if self.is_replaced_by_page(&accepted) => {}
                opened => return opened,
            },
            // A page that keeps reloading itself can replace the next page, but not in another tab.
            () = self.page_keeps_reloading(&left, &accepted) => {}
            () = self.navigation_is_lost(&accepted) => {}
        }
        self.replace_tab(deadline).await?;
        self.open(navigate, reply, &OnceLock::new(), deadline).await
    }

    /// Whether the requested document was shown, and then one that neither it nor the driver had requested. That one may
    /// have been replaced by others since.
    fn is_replaced_by_page(&self, accepted: &AcceptedLoader) -> bool {
        let Some(Some(loader)) = accepted.get() else { return false };
        let state = self.shared.lock();
        state.tab.as_ref().is_some_and(|tab| tab.was_replaced_by_predecessor(loader))
    }

    /// Navigations that were started since the newest document was committed.
    fn pending_navigation_count(&self) -> usize {
        let state = self.shared.lock();
        state.tab.as_ref().map_or(0, |tab| {
            tab.started_navigations.iter().rev().take_while(|(_, commits)| *commits == tab.commits).count()
        })
    }

    /// Whether the page has started a navigation after the requested one.
    fn has_started_another(&self, accepted: &AcceptedLoader) -> bool {
        let state = self.shared.lock();
        state.tab.as_ref().is_some_and(|tab| is_overtaken(tab, accepted))
    }

    /// Completes when the page has started another navigation, and the requested document is not shown a while later.
    async fn navigation_is_lost(&self, accepted: &AcceptedLoader) {
        let overtaken =
            |state: &mut State| state.tab.as_ref().filter(|tab| is_overtaken(tab, accepted)).map(|_| ());
        self.shared.until(overtaken).await;
        tokio::time::sleep(OVERTAKEN_TIMEOUT).await;
        let is_shown = self.shared.lock().tab.as_ref().is_some_and(|tab| is_shown(tab, accepted));
        if is_shown {
            pending::<()>().await;
        }
    }

    /// The URL as Chromium reports it, to compare it with another.
    fn tab_url(&self) -> String {
        self.shared.lock().tab.as_ref().map(|tab| tab.url.clone()).unwrap_or_default()
    }

    /// Completes when the page that was left has been loaded repeatedly. Until the requested document is shown, every
    /// document is one of that page, whatever its address.
    async fn page_keeps_reloading(&self, left: &str, accepted: &AcceptedLoader) {
        self.shared
            .until(|state| {
                let tab = state.tab.as_ref().filter(|tab| tab.is_reloading_itself())?;
                (tab.url == left || !is_shown(tab, accepted)).then_some(())
            })
            .await;
    }

    async fn open(
        &self,
        navigate: &Navigate,
        reply: Option<&ReplyOptions>,
        accepted: &AcceptedLoader,
        deadline: Deadline,
    ) -> Result<Option<Snapshot>, BrowserError> {
        let url = navigate.url.as_str();
        let downloads = self.shared.lock().downloads;
        let navigated = self.call_tab(&p::Navigate { url }, deadline).await?;
        accepted.get_or_init(|| navigated.loader_id.clone());
        self.check_not_refused()?;
        if let Some(net_error) = navigated.error_text {
            return Err(self.navigation_error(url, &net_error, downloads, deadline).await?);
        }
        // Without a loader it is a navigation within the document, which is complete at once.
        if let Some(loader) = navigated.loader_id {
            self.wait_for_load_state(&loader, navigate.wait_for, deadline).await?;
        }
        self.wait_idle(deadline).await?;
        self.settle(navigate.wait_for, deadline).await?;
        match reply {
            Some(reply) => self.page_after(reply, deadline).await.map(Some),
            None => Ok(None),
        }
    }

    async fn wait_for_load_state(
        &self,
        loader: &str,
        wanted: LoadState,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let reached = async |wanted, deadline| {
            self.wait(deadline, |state| {
                let tab = state.tab.as_ref()?;
                let shown = tab.loaders.iter().any(|known| known == loader);
                (tab.refused_scheme.is_some() || (shown && has_reached(state, wanted))).then_some(())
            })
            .await
        };
        match wanted {
            LoadState::NetworkIdle => {
                reached(LoadState::Load, deadline).await?;
                match reached(LoadState::NetworkIdle, deadline.within(NETWORK_IDLE_TIMEOUT)).await {
                    Err(BrowserError::Timeout { .. }) => {
                        self.shared.lock().incidents.add(Incident::StillLoading);
                    }
                    other => other?,
                }
            }
            other => reached(other, deadline).await?,
        }
        self.check_not_refused()
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
            match self.wait(deadline.within(DOWNLOAD_REPORT_TIMEOUT), download).await {
                Ok(url) => return Ok(BrowserError::DownloadRefused { url }),
                Err(BrowserError::Timeout { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(classify_net_error(url, net_error))
    }

    /// Completes when the page that is left neither responds nor has been left.
    async fn page_hangs(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let limit = deadline.within(RESPONSE_TIMEOUT.min(deadline.left() / 4));
        let responds = self.tab_responds(limit).await;
        if matches!(responds, Ok(false)) {
            // It may have refused because it was just being left.
            tokio::time::sleep_until(limit.at).await;
        }
        match responds {
            Ok(false) if self.document_count() == 0 => Ok(()),
            // The navigation itself reports these.
            Ok(_)
            | Err(BrowserError::TabCrashed { .. } | BrowserError::TabClosed | BrowserError::TooManyWindows) => {
                pending().await
            }
            Err(error) => Err(error),
        }
    }

    /// After a timeout: stops loading, so that the page does not appear after the agent got the error. A hung tab is
    /// abandoned; the next call gets a new one.
    async fn stop_or_abandon(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let stopped = async {
            match self.call_tab(&p::StopLoading {}, deadline).await {
                // A tab between two pages refuses.
                Ok(_) | Err(BrowserError::Timeout { .. } | BrowserError::Protocol { .. }) => Ok(()),
                Err(error) => Err(error),
            }
        };
        let (responds, ()) = tokio::try_join!(self.tab_responds(deadline), stopped)?;
        if !responds {
            self.abandon_tab();
        }
        Ok(())
    }

    /// Whether the tab's main thread responds within the deadline.
    async fn tab_responds(&self, deadline: Deadline) -> Result<bool, BrowserError> {
        match self.call_tab(&p::GetLayoutMetrics {}, deadline).await {
            Ok(_) => Ok(true),
            // A tab that is stuck between two pages refuses.
            Err(BrowserError::Timeout { .. } | BrowserError::Protocol { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn is_shown(tab: &Tab, accepted: &AcceptedLoader) -> bool {
    match accepted.get() {
        None => false,
        Some(None) => true,
        Some(Some(loader)) => tab.loaders.contains(loader),
    }
}

/// Whether another navigation was started after the accepted one, which is not shown.
fn is_overtaken(tab: &Tab, accepted: &AcceptedLoader) -> bool {
    let Some(loader) = accepted.get().filter(|loader| loader.is_some()) else { return false };
    let newest = tab.started_navigations.back();
    newest.is_some_and(|(newest, _)| newest != loader) && !is_shown(tab, accepted)
}

fn classify_net_error(url: &str, net_error: &str) -> BrowserError {
    if SCHEME_ERRORS.contains(&net_error) {
        return BrowserError::SchemeRefused { scheme: AttributedText::Driver("non-web") };
    }
    let net_error = net_error.strip_prefix("net::").unwrap_or(net_error);
    BrowserError::NavigationFailed { url: PageText::new(url), net_error: cut(net_error, 64) }
}
