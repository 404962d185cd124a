//! Tabs: list, open, switch, close.

use crate::{
    browser::Browser, cdp::protocol as p, deadline::Deadline, error::BrowserError, state::MAX_TABS,
    text::PageText,
};
use policy::{TabId, Tabs};
use redact::RedactedFields;

#[derive(Clone, Debug, PartialEq, Eq, RedactedFields)]
pub struct TabInfo<P = PageText> {
    pub id: TabId,
    pub url: P,
    pub title: P,
    /// Whether it is in front; all actions apply to that one.
    pub current: bool,
}

impl Browser {
    pub(super) async fn tabs(&self, tabs: &Tabs, deadline: Deadline) -> Result<Vec<TabInfo>, BrowserError> {
        match tabs {
            Tabs::List => {}
            Tabs::New => {
                if self.shared.lock().tab_count() >= MAX_TABS {
                    return Err(BrowserError::TooManyTabs { most: MAX_TABS });
                }
                self.dismiss_dialog(deadline).await?;
                self.add_tab(deadline).await?;
            }
            Tabs::Switch(id) => self.switch_to(*id, deadline).await?,
            Tabs::Close(id) => self.close_tab(*id, deadline).await?,
        }
        Ok(self.tab_list())
    }

    fn tab_list(&self) -> Vec<TabInfo> {
        let state = self.shared.lock();
        let front = state.tab.as_ref().map(|tab| tab.id);
        let mut tabs: Vec<_> = state
            .tab
            .iter()
            .chain(&state.background)
            .map(|tab| TabInfo {
                id: tab.id,
                url: PageText::new(&state.shown_url(tab)),
                title: PageText::new(&state.shown_title(tab)),
                current: front == Some(tab.id),
            })
            .collect();
        tabs.sort_by_key(|tab| tab.id.0);
        tabs
    }

    /// Brings a tab to the front. The open dialog of the present tab is dismissed, like every dialog of a background
    /// tab.
    async fn switch_to(&self, id: TabId, deadline: Deadline) -> Result<(), BrowserError> {
        {
            let state = self.shared.lock();
            if state.tab.as_ref().is_some_and(|tab| tab.id == id) {
                return Ok(());
            }
            if !state.background.iter().any(|tab| tab.id == id) {
                return Err(BrowserError::NoSuchTab { tab: id });
            }
        }
        self.dismiss_dialog(deadline).await?;
        {
            let mut state = self.shared.lock();
            let old = state.bring_to_front(id);
            state.background.extend(old);
        }
        self.call_tab(&p::BringToFront {}, deadline).await.map(|_| ())
    }

    /// Closes a tab. The last one is replaced by an empty tab: a session always has one.
    async fn close_tab(&self, id: TabId, deadline: Deadline) -> Result<(), BrowserError> {
        let (target, front, last) = {
            let state = self.shared.lock();
            let mut tabs = state.tab.iter().chain(&state.background);
            let tab = tabs.find(|tab| tab.id == id).ok_or(BrowserError::NoSuchTab { tab: id })?;
            let front = state.tab.as_ref().is_some_and(|tab| tab.id == id);
            (tab.target.clone(), front, state.background.is_empty())
        };
        match (front, last) {
            (true, true) => return self.replace_tab(deadline).await,
            (true, false) => {
                let next = self.shared.lock().background.last().map(|tab| tab.id);
                if let Some(next) = next {
                    self.switch_to(next, deadline).await?;
                }
            }
            (false, _) => {}
        }
        {
            let mut state = self.shared.lock();
            if let Some(at) = state.background.iter().position(|tab| tab.id == id) {
                state.background.remove(at).frames.close();
            }
        }
        self.close_target(&target, deadline).await
    }
}
