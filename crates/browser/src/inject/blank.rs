//! A browser between its start and its first action.

use super::{Family, Injection, carry::BYPASS, handed::Passed};
use crate::{
    browser::Browser,
    cdp::SessionId,
    deadline::{Deadline, TimeLimit},
    error::BrowserError,
    state::State,
};
use std::sync::Arc;

/// A browser that shows nothing and has done nothing. All it can do is become a [`Browser`], clean or with something
/// in it: no action can come before that.
#[must_use = "a blank browser does nothing until it is made a browser"]
pub struct Blank(Browser);

impl Blank {
    pub(crate) fn new(browser: Browser) -> Blank {
        Blank(browser)
    }

    /// Nobody's.
    pub fn clean(self) -> Browser {
        self.0
    }

    /// Somebody's, or an error: what could not be put in whole is not handed out.
    pub async fn inject(self, injection: Injection, limit: TimeLimit) -> Result<Browser, BrowserError> {
        self.filled(injection, Deadline::of(limit, "inject")).await
    }

    pub(super) async fn filled(
        self,
        injection: Injection,
        deadline: Deadline,
    ) -> Result<Browser, BrowserError> {
        injection.check()?;
        let Injection { cookies, mut storage, headers } = injection;
        let browser = self.0;
        browser.connection.hear_all();
        {
            let mut state = browser.shared.lock();
            state.injected.passed = Some(Passed::default());
            state.injected.headers = Arc::new(headers);
        }
        let session = browser.tab_session()?;
        tokio::try_join!(
            browser.set_cookies(&cookies, deadline),
            browser.fill_stores(&session, &storage, deadline),
            browser.hear(&session, deadline),
        )?;
        drop(cookies);
        storage.retain_mut(|stores| {
            stores.local.clear();
            !stores.session.is_empty()
        });
        browser.shared.lock().injected.storage = Arc::new(storage);
        browser.start_family(&session);
        Ok(browser)
    }
}

impl Browser {
    /// A tab of the driver's own has the same in its stores as the first one had, and is in no other's company.
    pub(crate) async fn make_home(
        &self,
        session: &SessionId,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let storage = Arc::clone(&self.shared.lock().injected.storage);
        if !storage.is_empty() {
            self.fill_stores(session, &storage, deadline).await?;
        }
        self.start_family(session);
        Ok(())
    }

    /// What `State::adopt` does before a tab runs, for one that runs already.
    pub(crate) async fn watch_requests(
        &self,
        session: &SessionId,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let watch = self.shared.lock().injected.watch(true);
        if let Some(watch) = watch {
            tokio::try_join!(
                self.call(Some(session), &BYPASS, deadline),
                self.call(Some(session), &watch, deadline),
            )?;
        }
        Ok(())
    }

    fn start_family(&self, session: &SessionId) {
        let mut state = self.shared.lock();
        let State { tab, behind, incidents, .. } = &mut *state;
        if let Some(tab) = tab.iter_mut().chain(behind).find(|tab| tab.session == *session) {
            tab.family = Family::new();
            // Pages that stood in for others are no doing of a page.
            incidents.journal.forget_navigated(&tab.id.to_string());
        }
    }
}
