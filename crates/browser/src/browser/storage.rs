//! Fills web storage before the first page of an origin loads: an empty page stands in for it, without any network
//! request.

use super::Browser;
use crate::{
    cdp::{CallError, Command, SessionId, protocol as p},
    credentials::{BYPASS_SERVICE_WORKERS, InjectedEntry, InjectedStorage},
    deadline::Deadline,
    error::BrowserError,
    script,
    state::{SharedState, State},
};
use policy::Origin;
use serde::Serialize;
use std::time::Duration;

/// How long to wait for a tab that is between two pages.
const BETWEEN_PAGES: Duration = Duration::from_micros(500);
/// Chromium's identifier for the first script of a session, which is ours.
const FIRST_SCRIPT: &str = "1";

/// It derives no `Debug`: it holds a secret.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SetItem<'a> {
    storage_id: StorageId<'a>,
    key: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StorageId<'a> {
    security_origin: &'a str,
    is_local_storage: bool,
}

impl Command for SetItem<'_> {
    const METHOD: &'static str = "DOMStorage.setDOMStorageItem";
    type Response = p::Nothing;
}

/// While it lives, no request of the tab leaves the browser.
struct FillingStorage<'a>(&'a SharedState);

impl<'a> FillingStorage<'a> {
    fn begin(shared: &'a SharedState, session: &SessionId) -> FillingStorage<'a> {
        shared.lock().injected.filling = Some(session.clone());
        FillingStorage(shared)
    }
}

impl Drop for FillingStorage<'_> {
    fn drop(&mut self) {
        self.0.lock().injected.filling = None;
    }
}

impl Browser {
    /// Fills the storage of an empty tab, and leaves it empty and without history. From then on its requests are
    /// intercepted, if there are headers to inject.
    pub(crate) async fn fill_storage(
        &self,
        session: &SessionId,
        storage: &[InjectedStorage],
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        if storage.is_empty() {
            return self.intercept_requests(session, deadline).await;
        }
        let to = Some(session);
        let interception = self.shared.lock().injected.interception(true);
        let pattern =
            p::RequestPattern { url_pattern: "*".to_owned(), resource_type: None, request_stage: "Request" };
        let hold = p::InterceptRequests { patterns: vec![pattern] };
        let _filling = FillingStorage::begin(&self.shared, session);
        // The stand-in pages are not read, and load faster without the page script.
        self.post(session, &p::RemoveScript { identifier: FIRST_SCRIPT }, deadline).await?;
        if interception.is_some() {
            self.post(session, &BYPASS_SERVICE_WORKERS, deadline).await?;
        }
        // Before any navigation starts.
        self.call(to, &hold, deadline).await?;
        for stores in storage {
            self.show_stand_in(session, &format!("{}/", stores.origin), deadline).await?;
            self.set_items(session, stores, deadline).await?;
        }
        self.show_stand_in(session, "about:blank", deadline).await?;
        let let_go = async {
            match &interception {
                Some(interception) => self.call(to, interception, deadline).await,
                None => self.call(to, &p::DisableInterception {}, deadline).await,
            }
        };
        tokio::try_join!(self.clear_history(session, deadline), let_go)?;
        self.post(session, &script::install_command(), deadline).await
    }

    /// Sends a command without waiting for the reply. Later commands find it done.
    async fn post<C: Command>(
        &self,
        session: &SessionId,
        command: &C,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let sent = self.connection.send(Some(session), command, deadline.at).await;
        sent.map(drop).map_err(|error| deadline.error(error))
    }

    /// Chromium reports a commit before the navigation is finished, and refuses this until then.
    async fn clear_history(&self, session: &SessionId, deadline: Deadline) -> Result<(), BrowserError> {
        loop {
            match self.connection.call(Some(session), &p::ResetHistory {}, deadline.at).await {
                Ok(_) => return Ok(()),
                Err(CallError::Refused { .. }) if !deadline.left().is_zero() => {
                    tokio::time::sleep(BETWEEN_PAGES).await;
                }
                Err(error) => return Err(deadline.error(error)),
            }
        }
    }

    async fn set_items(
        &self,
        session: &SessionId,
        stores: &InjectedStorage,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let InjectedStorage { origin, local, session: tabs } = stores;
        let mut answers = Vec::with_capacity(local.len() + tabs.len());
        for (entries, is_local_storage) in [(local, true), (tabs, false)] {
            for InjectedEntry { name, value } in entries {
                let storage_id = StorageId { security_origin: origin.as_str(), is_local_storage };
                let set = SetItem { storage_id, key: name, value: value.expose_secret() };
                let sent = self.connection.send(Some(session), &set, deadline.at).await;
                answers.push((name, is_local_storage, sent.map_err(|error| deadline.error(error))?));
            }
        }
        for (name, is_local_storage, answer) in answers {
            match answer.wait(deadline.at).await {
                Ok(_) => {}
                Err(CallError::Refused { .. }) => return Err(refused(origin, name, is_local_storage)),
                Err(error) => return Err(deadline.error(error)),
            }
        }
        Ok(())
    }

    async fn show_stand_in(
        &self,
        session: &SessionId,
        url: &str,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let shown = |state: &mut State| {
            let mut tabs = state.tab.iter().chain(&state.background);
            tabs.find(|tab| tab.session == *session).map(|tab| (tab.commits, tab.url == url))
        };
        let before = shown(&mut self.shared.lock()).map(|(commits, _)| commits);
        let navigated = self.call(Some(session), &p::Navigate { url }, deadline).await?;
        if navigated.error_text.is_some() {
            return Err(BrowserError::not_injected(
                format!("the stores of {url}"),
                "the browser does not go there",
            ));
        }
        let has_committed = |state: &mut State| {
            shown(state).filter(|(commits, there)| *there && Some(*commits) != before).map(|_| ())
        };
        self.wait(deadline, has_committed).await
    }
}

fn refused(origin: &Origin, name: &str, is_local_storage: bool) -> BrowserError {
    let store = if is_local_storage { "localStorage" } else { "sessionStorage" };
    BrowserError::not_injected(format!("{name:?} in the {store} of {origin}"), "the browser refused it")
}
