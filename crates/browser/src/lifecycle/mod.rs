//! The life of a browser: launch flags, attaching, resuming on a new connection, health checks.

mod health;
mod launch;
mod resume;

pub use launch::{Display, LaunchOptions, launch_flags};
pub use resume::Resumed;

use crate::{
    browser::{Browser, BrowserOptions},
    cdp::{Connection, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    injection::UninitializedBrowser,
    state::SharedState,
};
use std::sync::Arc;
use tokio::sync::Mutex;

impl Browser {
    /// Takes over a Chromium: denies downloads and permissions, and attaches to one empty tab.
    pub async fn attach(
        connection: Connection,
        options: BrowserOptions,
    ) -> Result<UninitializedBrowser, BrowserError> {
        let shared = Arc::new(SharedState::new((options.width, options.height)));
        let (turn, snapshots) = (Mutex::new(()), Arc::default());
        let browser = Browser { connection, shared, options, turn, snapshots, effect_task: None };
        browser.apply_events();
        let deadline = Deadline::of(browser.limit(), "attach");
        browser.configure(deadline).await?;
        browser.open_first_tab(deadline).await?;
        Ok(UninitializedBrowser::new(browser))
    }

    /// Applies every event of the connection to the state.
    fn apply_events(&self) {
        // On a new connection, events of the time without one are missed.
        if self.shared.lock().injected.mark_missed() {
            self.connection.enable_opt_in_events();
        }
        let observing = Arc::clone(&self.shared);
        self.connection.observe(move |event, reactions| observing.apply(event, reactions));
    }

    /// Sends the first commands; Chromium then announces its pages. Returns whether it may be another process than before.
    async fn configure(&self, deadline: Deadline) -> Result<bool, BrowserError> {
        let pages = attach_to_pages();
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
}

/// Every page attaches paused, before its first byte, so that a popup can be closed before it runs.
fn attach_to_pages() -> p::SetAutoAttach {
    p::SetAutoAttach {
        auto_attach: true,
        wait_for_debugger_on_start: true,
        flatten: true,
        filter: vec![p::TargetFilter { r#type: "page", exclude: false }],
    }
}
