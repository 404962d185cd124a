//! Resuming on a new connection: the active tab, its documents and their refs survive a lost one.

use super::attach_to_pages;
use crate::{
    browser::Browser,
    cdp::{Connection, Id, SessionId, protocol as p},
    credentials::InjectionState,
    deadline::Deadline,
    error::BrowserError,
    injection::UninitializedBrowser,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::Mutex;

/// How long a page may take to answer; after that it is replaced by a new tab.
const TAKE_OVER_WAIT: Duration = Duration::from_secs(5);

/// What the new connection led to.
#[must_use]
pub enum Resumed {
    /// The same tab.
    SameTab(Browser),
    /// The same Chromium without the tab: a new tab, with all injected credentials.
    NewTab(Browser),
    /// Another Chromium, without credentials.
    NewChromium(UninitializedBrowser),
}

impl Browser {
    /// The same browser on a new connection. In every case the numbering of refs and cursors continues, and the snapshots
    /// of cursors are kept.
    pub async fn resume(&self, connection: Connection) -> Result<Resumed, BrowserError> {
        let wanted = {
            let mut state = self.shared.lock();
            state.unclaimed.clear();
            state.resuming = true;
            // Only the active tab is kept. The pages of the others are closed with the unclaimed ones.
            while !state.background.is_empty() {
                state.remove_background_tab(0);
            }
            let is_alive = state.ended.is_none();
            state.tab.as_mut().map(|tab| tab.suspend()).filter(|_| is_alive)
        };
        let effects = self.shared.lock().injected.effects.clone();
        let effect_task = effects.map(|effects| effects.start(&connection));
        let browser = Browser {
            connection,
            shared: Arc::clone(&self.shared),
            options: self.options.clone(),
            turn: Mutex::new(()),
            snapshots: Arc::clone(&self.snapshots),
            effect_task,
        };
        browser.apply_events();
        let deadline = Deadline::of(browser.limit(), "attach");
        // The bridge keeps one connection to Chromium for all of ours: detach from what the last one attached to.
        browser
            .call(
                None,
                &p::SetAutoAttach { auto_attach: false, filter: Vec::new(), ..attach_to_pages() },
                deadline,
            )
            .await?;
        let is_another = browser.configure(deadline).await?;
        browser.intercept_effects(deadline).await?;
        // All existing pages have been announced by now.
        browser.shared.lock().resuming = false;
        if let Some(target) = wanted {
            match browser.take_over(&target, deadline.within(TAKE_OVER_WAIT)).await {
                Ok(true) => {
                    browser.close_unclaimed(deadline).await?;
                    return Ok(Resumed::SameTab(browser));
                }
                Ok(false) => {}
                Err(error @ BrowserError::BrowserLost { .. }) => return Err(error),
                Err(error) => tracing::warn!(%error, "the tab was not found again"),
            }
        }
        if is_another {
            browser.shared.lock().injected = InjectionState::default();
        }
        browser.replace_tab(deadline).await?;
        browser.close_unclaimed(deadline).await?;
        Ok(if is_another {
            Resumed::NewChromium(UninitializedBrowser::new(browser))
        } else {
            Resumed::NewTab(browser)
        })
    }

    /// `false` if the tab is gone.
    async fn take_over(&self, target: &Id, deadline: Deadline) -> Result<bool, BrowserError> {
        let session = {
            let mut state = self.shared.lock();
            let found = state.unclaimed.iter().position(|page| page.target_info.target_id == *target);
            let Some(found) = found else { return Ok(false) };
            let page = state.unclaimed.swap_remove(found);
            let Some(tab) = state.tab.as_mut() else { return Ok(false) };
            tab.reattach(page.session_id.clone());
            page.session_id
        };
        // Frames first: worlds of unknown frames are ignored.
        self.sync_frames(&session, deadline).await?;
        self.set_up(&session, deadline).await?;
        self.sync_frame_processes(deadline).await?;
        let mut state = self.shared.lock();
        let Some(tab) = state.tab.as_mut() else { return Ok(false) };
        tab.frames.end_suspension();
        Ok(true)
    }

    /// Frames may have been added, removed or navigated meanwhile. An unknown frame could receive input that is meant for
    /// another.
    async fn sync_frames(&self, session: &SessionId, deadline: Deadline) -> Result<(), BrowserError> {
        let tree = self.call(Some(session), &p::GetFrameTree {}, deadline).await?;
        let mut state = self.shared.lock();
        let tab = state.tab.as_mut().ok_or(BrowserError::TabClosed)?;
        tab.sync_frames(&tree.frame_tree, session);
        Ok(())
    }

    /// Out-of-process frames attach by themselves, and report only their outermost frame.
    async fn sync_frame_processes(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let mut synced = Vec::new();
        let next = |synced: &[SessionId]| {
            let state = self.shared.lock();
            let sessions = state.tab.as_ref().map(|tab| tab.frame_sessions.iter());
            sessions.into_iter().flatten().find(|session| !synced.contains(session)).cloned()
        };
        while let Some(session) = next(&synced) {
            self.sync_frames(&session, deadline).await?;
            // Announces its worlds once more, now that all its frames are known.
            self.call(Some(&session), &p::DisableRuntime {}, deadline).await?;
            self.call(Some(&session), &p::EnableRuntime {}, deadline).await?;
            synced.push(session);
        }
        Ok(())
    }
}
