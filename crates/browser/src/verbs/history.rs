//! Back, forward and reload.

use super::ActionNote;
use crate::{browser::Browser, cdp::protocol as p, deadline::Deadline, error::BrowserError, state::State};
use policy::LoadState;
use std::time::Duration;

/// Time limit for a step within one document, which loads nothing, to be reported.
const STEP_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryStep {
    Back,
    Forward,
}

impl Browser {
    pub(super) async fn go_in_history(
        &self,
        step: HistoryStep,
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        let history = self.call_tab(&p::GetHistory {}, deadline).await?;
        let entry = match step {
            HistoryStep::Back => history.current_index - 1,
            HistoryStep::Forward => history.current_index + 1,
        };
        let entry = usize::try_from(entry).ok().and_then(|entry| history.entries.get(entry));
        let Some(entry) = entry else {
            let way = if step == HistoryStep::Back { "back" } else { "forward" };
            return Err(BrowserError::NoHistory { way });
        };
        self.begin_action();
        let before = self.navigation_counts();
        self.call_tab(&p::GoToEntry { entry_id: entry.id }, deadline).await?;
        self.wait_for_history_step(before, deadline).await
    }

    pub(super) async fn reload(&self, deadline: Deadline) -> Result<ActionNote, BrowserError> {
        self.begin_action();
        let before = self.navigation_counts();
        self.call_tab(&p::Reload {}, deadline).await?;
        self.wait_for_history_step(before, deadline).await
    }

    async fn wait_for_history_step(
        &self,
        before: (u64, u64),
        deadline: Deadline,
    ) -> Result<ActionNote, BrowserError> {
        let moved = |state: &mut State| {
            let tab = state.tab.as_ref()?;
            ((tab.commits, tab.same_document_navigations) != before || tab.refused_scheme.is_some())
                .then_some(())
        };
        match self.wait(deadline.within(STEP_TIMEOUT), moved).await {
            // The step is still in progress; `settle` waits for it.
            Ok(()) | Err(BrowserError::Timeout { .. }) => {}
            Err(error) => return Err(error),
        }
        self.settle(LoadState::Load, deadline).await?;
        Ok(None)
    }

    /// Documents that the tab has shown, and steps within them.
    fn navigation_counts(&self) -> (u64, u64) {
        self.shared.lock().tab.as_ref().map_or((0, 0), |tab| (tab.commits, tab.same_document_navigations))
    }
}
