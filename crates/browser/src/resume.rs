//! Going on after a lost connection: the tab, its pages and the refs into them outlive it.

use crate::{
    browser::Browser,
    cdp::{Connection, Id, SessionId, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    inject::{Blank, Injected},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::Mutex;

/// How long a page may take to be taken over again; one that is silent for longer is left for a new tab.
const TAKING_OVER: Duration = Duration::from_secs(5);

/// What was found at the other end of a new connection.
#[must_use]
pub enum Resumed {
    /// The tab, as it was left.
    AsItWas(Browser),
    /// The same Chromium without the tab. There is a new one, and all that was put into the browser is there.
    NewTab(Browser),
    /// Chromium was started again. Nothing that was put into the one before is in it.
    Anew(Blank),
}

impl Browser {
    /// The same browser on a new connection. In any case numbers of refs and cursors go on, and so do the snapshots
    /// that cursors lead to.
    pub async fn resume(&self, connection: Connection) -> Result<Resumed, BrowserError> {
        let wanted = {
            let mut state = self.shared.lock();
            state.unclaimed.clear();
            state.resuming = true;
            // Their pages are closed with the spares: what was in front is what the agent was working on.
            while !state.behind.is_empty() {
                state.tab_gone(0);
            }
            let lives = state.ended.is_none();
            state.tab.as_mut().map(|tab| tab.suspend()).filter(|_| lives)
        };
        let browser = Browser {
            connection,
            shared: Arc::clone(&self.shared),
            options: self.options.clone(),
            turn: Mutex::new(()),
            snapshots: Arc::clone(&self.snapshots),
        };
        browser.watch();
        let deadline = Deadline::of(browser.limit(), "attach");
        // A bridge keeps one connection to Chromium for all of ours: what the last one attached to is let go of.
        browser
            .call(None, &p::SetAutoAttach { auto_attach: false, filter: Vec::new(), ..pages() }, deadline)
            .await?;
        let is_another = browser.greet(deadline).await?;
        // All pages that there were have been announced by now.
        browser.shared.lock().resuming = false;
        if let Some(target) = wanted {
            match browser.take_over(&target, deadline.within(TAKING_OVER)).await {
                Ok(true) => {
                    browser.close_spares(deadline).await?;
                    return Ok(Resumed::AsItWas(browser));
                }
                Ok(false) => {}
                Err(error @ BrowserError::BrowserLost { .. }) => return Err(error),
                Err(error) => tracing::warn!(%error, "a tab was not found as it was left"),
            }
        }
        if is_another {
            browser.shared.lock().injected = Injected::default();
        }
        browser.replace_tab(deadline).await?;
        browser.close_spares(deadline).await?;
        Ok(if is_another { Resumed::Anew(Blank::new(browser)) } else { Resumed::NewTab(browser) })
    }

    /// `false` if there is no such tab any more.
    async fn take_over(&self, target: &Id, deadline: Deadline) -> Result<bool, BrowserError> {
        let session = {
            let mut state = self.shared.lock();
            let found = state.unclaimed.iter().position(|page| page.target_info.target_id == *target);
            let Some(found) = found else { return Ok(false) };
            let page = state.unclaimed.swap_remove(found);
            let Some(tab) = state.tab.as_mut() else { return Ok(false) };
            tab.go_on(page.session_id.clone());
            page.session_id
        };
        // Frames first: worlds of frames that are not known are not taken note of.
        self.look_at_frames(&session, deadline).await?;
        self.set_up(&session, deadline).await?;
        self.look_at_other_processes(deadline).await?;
        let mut state = self.shared.lock();
        let Some(tab) = state.tab.as_mut() else { return Ok(false) };
        tab.frames.end_suspension();
        Ok(true)
    }

    /// Frames may have come, gone or moved on while nobody looked; one that is missed could take what is
    /// meant for another.
    async fn look_at_frames(&self, session: &SessionId, deadline: Deadline) -> Result<(), BrowserError> {
        let tree = self.call(Some(session), &p::GetFrameTree {}, deadline).await?;
        let mut state = self.shared.lock();
        let tab = state.tab.as_mut().ok_or(BrowserError::TabClosed)?;
        tab.know_frames(&tree.frame_tree, session);
        Ok(())
    }

    /// Frames in processes of their own attach by themselves, and then know only their outermost frame.
    async fn look_at_other_processes(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let mut looked_at = Vec::new();
        let next = |looked_at: &[SessionId]| {
            let state = self.shared.lock();
            let sessions = state.tab.as_ref().map(|tab| tab.frame_sessions.iter());
            sessions.into_iter().flatten().find(|session| !looked_at.contains(session)).cloned()
        };
        while let Some(session) = next(&looked_at) {
            self.look_at_frames(&session, deadline).await?;
            // Has its worlds announced once more, now that all of its frames are known.
            self.call(Some(&session), &p::DisableRuntime {}, deadline).await?;
            self.call(Some(&session), &p::EnableRuntime {}, deadline).await?;
            looked_at.push(session);
        }
        Ok(())
    }
}

/// Every page is paused before its first byte, so that a popup can be closed before it runs.
pub(crate) fn pages() -> p::SetAutoAttach {
    p::SetAutoAttach {
        auto_attach: true,
        wait_for_debugger_on_start: true,
        flatten: true,
        filter: vec![p::TargetFilter { r#type: "page", exclude: false }],
    }
}
