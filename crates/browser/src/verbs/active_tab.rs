//! The tab that an action runs in.

use crate::{browser::Browser, cdp::protocol as p, deadline::Deadline, error::BrowserError};
use policy::Action;

impl Browser {
    /// Makes sure that there is an active tab: opens a new one if it crashed or closed.
    ///
    /// The end of a tab between two actions is reported once, unless the agent leaves the tab anyway.
    pub(super) async fn ensure_tab(&self, action: &Action, deadline: Deadline) -> Result<(), BrowserError> {
        self.check_no_dialog_for(action)?;
        let ended = {
            let state = self.shared.lock();
            match &state.ended {
                None if state.tab.is_some() => return Ok(()),
                Some(ended) if !state.end_reported => Some(ended.clone()),
                _ => None,
            }
        };
        if self.shared.lock().activate_previous_tab() {
            self.call_tab(&p::BringToFront {}, deadline).await?;
        } else {
            self.replace_tab(deadline).await?;
        }
        match ended {
            Some(ended) if !matches!(action, Action::Navigate(_) | Action::Tabs(_)) => Err(ended.into()),
            _ => Ok(()),
        }
    }

    /// While a dialog is open, its page can neither be read nor acted on.
    fn check_no_dialog_for(&self, action: &Action) -> Result<(), BrowserError> {
        if matches!(action, Action::Dialog(_) | Action::Navigate(_) | Action::Tabs(_)) {
            return Ok(());
        }
        self.check_no_dialog()
    }
}
