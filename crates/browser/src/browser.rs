//! One Chromium, one tab of it, and the calls that reach them.

use crate::{
    cdp::{Answering, CallError, Command, Connection, SessionId, protocol as p},
    deadline::{Deadline, TimeLimit},
    error::BrowserError,
    inject::Blank,
    resume::pages,
    script,
    snapshot::SnapshotStore,
    state::{Ended, Shared, State},
    tab::{Tab, attach_to_frames},
};
use policy::{Action, TabId};
use serde::Serialize;
use std::{
    sync::{Arc, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Mutex;

/// How long Chromium may take to tell why a tab crashed, once it has told that it did.
const CRASH_STATUS_WAIT: Duration = Duration::from_millis(200);

#[derive(Clone, Debug)]
pub struct BrowserOptions {
    /// Bounds the first attachment, and each call that is given no limit of its own.
    pub action_timeout: Duration,
    pub width: u32,
    pub height: u32,
    /// Width times height of the largest picture; a larger page is cut. About 12 megapixels are the most that
    /// a message can carry whatever the page shows, and more than that is not taken.
    pub max_pixels: u32,
    pub snapshot: SnapshotOptions,
}

/// What a snapshot tells, whatever the call says.
#[derive(Clone, Debug, Serialize)]
pub struct SnapshotOptions {
    /// Levels that are shown when the call does not say; deeper ones are folded.
    #[serde(skip)]
    pub max_depth: usize,
    /// False: what is not rendered is told too, marked as hidden.
    pub exclude_hidden_elements: bool,
    pub exclude_password_fields: bool,
    /// False: no field's value is told.
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
    pub(crate) shared: Arc<Shared>,
    pub(crate) options: BrowserOptions,
    /// One call at a time: an action must not find the page moved by another.
    pub(crate) turn: Mutex<()>,
    /// What cursors lead to.
    pub(crate) snapshots: Arc<std::sync::Mutex<SnapshotStore>>,
}

/// Keeps room for a tab of the driver's own, until it is there or the call is broken off.
struct Opening<'a>(&'a Shared);

impl<'a> Opening<'a> {
    fn begin(shared: &'a Shared) -> Opening<'a> {
        shared.lock().opening = true;
        Opening(shared)
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.lock().opening = false;
    }
}

/// What the tab shows, as of the last event; page-made text in it is bounded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TabState {
    pub url: String,
    pub title: String,
    /// The tab crashed or closed, and the next call opens a new one.
    pub ended: bool,
}

impl Browser {
    /// Takes over a Chromium: denies downloads and permissions, and attaches to one empty tab.
    pub async fn attach(connection: Connection, options: BrowserOptions) -> Result<Blank, BrowserError> {
        let shared = Arc::new(Shared::new((options.width, options.height)));
        let (turn, snapshots) = (Mutex::new(()), Arc::default());
        let browser = Browser { connection, shared, options, turn, snapshots };
        browser.watch();
        let deadline = Deadline::of(browser.limit(), "attach");
        browser.greet(deadline).await?;
        browser.first_tab(deadline).await?;
        Ok(Blank::new(browser))
    }

    /// Has every event of the connection applied to the state.
    pub(crate) fn watch(&self) {
        // On a new connection: what came while there was none was not heard.
        if self.shared.lock().injected.lose() {
            self.connection.hear_all();
        }
        let observing = Arc::clone(&self.shared);
        self.connection.observe(move |event, reactions| observing.apply(event, reactions));
    }

    /// What a Chromium is told first; the pages it has are announced. Returns whether it may be another than before.
    pub(crate) async fn greet(&self, deadline: Deadline) -> Result<bool, BrowserError> {
        let pages = pages();
        let discover = p::SetDiscoverTargets { discover: true, filter: pages.filter.clone() };
        let deny_downloads = p::SetDownloadBehavior { behavior: "deny", events_enabled: true };
        let deny_permissions = p::GrantPermissions { permissions: Vec::new() };
        let (contexts, ..) = tokio::try_join!(
            self.call(None, &p::GetContexts {}, deadline),
            self.call(None, &discover, deadline),
            self.call(None, &deny_downloads, deadline),
            self.call(None, &deny_permissions, deadline),
            self.call(None, &pages, deadline),
        )?;
        let chromium = contexts.default_browser_context_id;
        let known = std::mem::replace(&mut self.shared.lock().chromium, chromium.clone());
        Ok(chromium.is_none() || known != chromium)
    }

    pub fn state(&self) -> TabState {
        let state = self.shared.lock();
        let ended = state.ended.is_some();
        state.tab.as_ref().map_or_else(TabState::default, |tab| TabState {
            url: tab.url.clone(),
            title: tab.title.clone(),
            ended,
        })
    }

    pub(crate) fn snapshots(&self) -> MutexGuard<'_, SnapshotStore> {
        // A list of pages is whole after any panic.
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last reply did not reach its caller: the next one tells everything.
    pub fn forget_last_shown(&self) {
        self.snapshots().set_caller_baseline(None);
    }

    /// For a call that is given none of its own.
    pub(crate) fn limit(&self) -> TimeLimit {
        TimeLimit::new(self.options.action_timeout)
    }

    /// A tab to work in: the present one, or a new one if it crashed or closed.
    ///
    /// A tab that ended while nobody was asking is told of once, unless the agent is leaving it anyway.
    pub(crate) async fn ensure_tab(&self, action: &Action, deadline: Deadline) -> Result<(), BrowserError> {
        self.not_asked(action)?;
        let ended = {
            let state = self.shared.lock();
            match &state.ended {
                None if state.tab.is_some() => return Ok(()),
                Some(ended) if !state.ended_told => Some(ended.clone()),
                _ => None,
            }
        };
        if self.shared.lock().fall_back() {
            self.call_tab(&p::BringToFront {}, deadline).await?;
        } else {
            self.replace_tab(deadline).await?;
        }
        match ended {
            Some(ended) if !matches!(action, Action::Navigate(_) | Action::Tabs(_)) => Err(ended.into()),
            _ => Ok(()),
        }
    }

    /// While a page waits for the answer to its question, nothing can be read of it or done to it.
    fn not_asked(&self, action: &Action) -> Result<(), BrowserError> {
        if matches!(action, Action::Dialog(_) | Action::Navigate(_) | Action::Tabs(_)) {
            return Ok(());
        }
        self.pending_dialog().map_or(Ok(()), |dialog| Err(dialog.into_error()))
    }

    /// Leaves a tab that hangs; the next call opens a new one. Its caller is told by the error at hand.
    pub(crate) fn abandon_tab(&self) {
        let mut state = self.shared.lock();
        state.ended.get_or_insert(Ended::Abandoned);
        state.ended_told = true;
    }

    /// An empty page that Chromium started with will do; the others of them are closed.
    async fn first_tab(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let empty = {
            let state = self.shared.lock();
            let empty = state.behind.iter().find(|tab| tab.url == "about:blank");
            empty.map(|tab| (tab.id, tab.session.clone()))
        };
        let id = match empty {
            Some((id, session)) => {
                self.is_set_up(&session, deadline).await?;
                self.make_home(&session, deadline).await?;
                id
            }
            None => self.new_page(deadline).await?,
        };
        let others = {
            let mut state = self.shared.lock();
            state.bring_to_front(id);
            state.incidents.take();
            std::mem::take(&mut state.behind)
        };
        // CallerBaseline, because a Chromium with a window exits with its last page.
        for other in others {
            self.close_target(&other.target, deadline).await?;
        }
        Ok(())
    }

    /// A new tab in front of the others.
    pub(crate) async fn add_tab(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let id = self.new_page(deadline).await?;
        let mut state = self.shared.lock();
        let old = state.bring_to_front(id);
        state.behind.extend(old);
        Ok(())
    }

    /// Goes on in a new tab; the old one is closed, whether it answers or not.
    pub(crate) async fn replace_tab(&self, deadline: Deadline) -> Result<(), BrowserError> {
        // Without a new tab the old one stays, with what it knows: the next call tries again.
        let id = self.new_page(deadline).await?;
        let old = self.shared.lock().bring_to_front(id);
        let Some(Tab { target, frames, .. }) = old else { return Ok(()) };
        frames.end();
        self.close_target(&target, deadline).await
    }

    /// A page made for the driver and none other: an empty one may be a popup, which its opener can reach.
    async fn new_page(&self, deadline: Deadline) -> Result<TabId, BrowserError> {
        let _room = Opening::begin(&self.shared);
        let created = self.call(None, &p::CreateTarget { url: "about:blank" }, deadline).await?;
        let ours = |state: &mut State| {
            let tab = state.behind.iter().find(|tab| tab.target == created.target_id)?;
            Some((tab.id, tab.session.clone()))
        };
        let (id, session) = self.wait(deadline, ours).await?;
        self.shared.lock().incidents.forget_opened(id);
        self.is_set_up(&session, deadline).await?;
        self.make_home(&session, deadline).await?;
        Ok(id)
    }

    /// Waits for the answer to the last of what `State::adopt` sent: a tab that goes to another page before its
    /// renderer has heard of it all would tell nothing of that page.
    async fn is_set_up(&self, session: &SessionId, deadline: Deadline) -> Result<(), BrowserError> {
        self.call(Some(session), &p::SetLifecycleEvents { enabled: true }, deadline).await.map(|_| ())
    }

    /// Closes the pages that nobody claimed.
    pub(crate) async fn close_spares(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let spares = std::mem::take(&mut self.shared.lock().unclaimed);
        for spare in spares {
            // As a popup is closed, which it may be: see `close_popup`.
            self.tell(&spare.session_id, &p::HoldRequests {}, deadline).await?;
            self.tell(&spare.session_id, &p::Resume {}, deadline).await?;
            self.close_target(&spare.target_info.target_id, deadline).await?;
        }
        Ok(())
    }

    pub(crate) async fn close_target(&self, target_id: &str, deadline: Deadline) -> Result<(), BrowserError> {
        match self.call(None, &p::CloseTarget { target_id }, deadline).await {
            // It is gone already, which is what was wanted.
            Ok(_) | Err(BrowserError::Protocol { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// For a page that may be gone already, which is as good.
    async fn tell<C: Command>(
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

    /// Our script runs in the document that is there, too; where it has run before, it notices and stops.
    pub(crate) async fn set_up(&self, session: &SessionId, deadline: Deadline) -> Result<(), BrowserError> {
        let to = Some(session);
        let BrowserOptions { width, height, .. } = self.options;
        let metrics = p::SetDeviceMetrics { width, height, device_scale_factor: 1.0, mobile: false };
        let script = script::added();
        let frames = attach_to_frames();
        tokio::try_join!(
            self.call(to, &p::EnableInspector {}, deadline),
            self.call(to, &p::EnablePage {}, deadline),
            self.call(to, &p::SetLifecycleEvents { enabled: true }, deadline),
            self.call(to, &p::EnableRuntime {}, deadline),
            self.call(to, &script, deadline),
            self.call(to, &frames, deadline),
            self.hear(session, deadline),
            self.call(to, &p::InterceptFileChooser { enabled: true, cancel: true }, deadline),
            self.call(to, &metrics, deadline),
            self.call(to, &p::Resume {}, deadline),
        )?;
        self.watch_requests(session, deadline).await
    }

    /// What is on its way in a tab, and what came if somebody will ask.
    pub(crate) async fn hear(&self, session: &SessionId, deadline: Deadline) -> Result<(), BrowserError> {
        let (network, keep) = self.shared.lock().injected.hearing();
        self.call(Some(session), &network, deadline).await?;
        match keep {
            None => Ok(()),
            // A Chromium that does not know it keeps bodies until their page is left.
            Some(keep) => self.tell(session, &keep, deadline).await,
        }
    }

    pub(crate) async fn call<C: Command>(
        &self,
        session: Option<&SessionId>,
        command: &C,
        deadline: Deadline,
    ) -> Result<C::Response, BrowserError> {
        match self.connection.call(session, command, deadline.at).await {
            Ok(response) => Ok(response),
            Err(error) => Err(self.explain(deadline.error(error)).await),
        }
    }

    /// A call to the tab itself.
    pub(crate) async fn call_tab<C: Command>(
        &self,
        command: &C,
        deadline: Deadline,
    ) -> Result<C::Response, BrowserError> {
        let session = self.tab_session()?;
        self.call(Some(&session), command, deadline).await
    }

    /// Sends input to the tab and leaves the answer for later; what is sent in order is handled in order.
    pub(crate) async fn send_tab<C: Command>(
        &self,
        command: &C,
        deadline: Deadline,
    ) -> Result<Answering<C::Response>, BrowserError> {
        let session = self.tab_session()?;
        match self.connection.send(Some(&session), command, deadline.at).await {
            Ok(answering) => Ok(answering),
            Err(error) => Err(self.explain(deadline.error(error)).await),
        }
    }

    /// Waits until all of these have been handled.
    pub(crate) async fn handled(
        &self,
        inputs: Vec<Answering<p::Nothing>>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        for input in inputs {
            if let Err(error) = input.wait(deadline.at).await {
                return Err(self.explain(deadline.error(error)).await);
            }
        }
        Ok(())
    }

    pub(crate) fn tab_session(&self) -> Result<SessionId, BrowserError> {
        self.shared.lock().tab.as_ref().map(|tab| tab.session.clone()).ok_or(BrowserError::TabClosed)
    }

    /// Waits for a state of the tab; fails when the tab, the connection or the time ends first.
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
            Err(error) => Err(self.explain(error).await),
        }
    }

    /// Adds to a crash what Chromium tells of it a moment later, and remembers that it was told.
    pub(crate) async fn explain(&self, error: BrowserError) -> BrowserError {
        if !matches!(error, BrowserError::TabCrashed { .. } | BrowserError::TabClosed) {
            return error;
        }
        let status = self.shared.until(|state| match &state.ended {
            Some(Ended::Crashed { status: Some(status) }) => Some(status.clone()),
            _ => None,
        });
        let status = tokio::time::timeout(CRASH_STATUS_WAIT, status).await.ok();
        self.shared.lock().ended_told = true;
        match error {
            BrowserError::TabCrashed { .. } => BrowserError::TabCrashed { status },
            other => other,
        }
    }
}

impl From<Ended> for BrowserError {
    fn from(ended: Ended) -> BrowserError {
        match ended {
            Ended::Crashed { status } => BrowserError::TabCrashed { status },
            Ended::Closed | Ended::Abandoned => BrowserError::TabClosed,
        }
    }
}
