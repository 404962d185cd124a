//! Credential injection: cookies, storage and headers, before the first action; and the secrets sites issue afterwards.

mod cookies;
mod probe;
mod responses;
mod site_secrets;

pub use probe::{ProbePage, ProbeResult};

use crate::{
    browser::Browser,
    credentials::{Injection, IssuedValueLog},
    deadline::{Deadline, TimeLimit},
    effects::EffectInterceptor,
    error::BrowserError,
};
use std::sync::Arc;

/// A browser that shows nothing and has done nothing. It can only become a [`Browser`], with credentials or without, so
/// no action can come before the injection.
#[must_use = "an uninitialized browser does nothing until it becomes a browser"]
pub struct UninitializedBrowser(Browser);

impl UninitializedBrowser {
    pub(crate) fn new(browser: Browser) -> UninitializedBrowser {
        UninitializedBrowser(browser)
    }

    pub fn without_credentials(self) -> Browser {
        self.0
    }

    /// Injects all credentials or fails; never partially.
    pub async fn inject(self, injection: Injection, limit: TimeLimit) -> Result<Browser, BrowserError> {
        self.inject_all(injection, Deadline::of(limit, "inject")).await
    }

    async fn inject_all(self, injection: Injection, deadline: Deadline) -> Result<Browser, BrowserError> {
        injection.validate()?;
        let Injection { cookies, mut storage, headers, effects } = injection;
        let effects = effects.map(EffectInterceptor::new);
        let mut browser = self.0;
        browser.effect_task = effects.as_ref().map(|effects| effects.start(&browser.connection));
        browser.connection.enable_opt_in_events();
        {
            let mut state = browser.shared.lock();
            state.injected.issued_values = Some(IssuedValueLog::default());
            state.injected.headers = Arc::new(headers);
            state.injected.effects = effects;
        }
        let session = browser.tab_session()?;
        tokio::try_join!(
            browser.intercept_effects(deadline),
            browser.set_cookies(&cookies, deadline),
            browser.fill_storage(&session, &storage, deadline),
            browser.enable_network(&session, deadline),
        )?;
        drop(cookies);
        // `localStorage` is shared by all tabs; `sessionStorage` is filled again in each new tab.
        storage.retain_mut(|stores| {
            stores.local.clear();
            !stores.session.is_empty()
        });
        browser.shared.lock().injected.storage = Arc::new(storage);
        browser.isolate_tab(&session);
        Ok(browser)
    }
}
