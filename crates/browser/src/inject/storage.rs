//! Stores are filled before the first page of their origin: an empty page stands in for it, and nothing is asked of the
//! network meanwhile.

use super::{InjectedEntry, InjectedStorage, carry::BYPASS, check::not_injected};
use crate::{
    browser::Browser,
    cdp::{CallError, Command, SessionId, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    script,
    state::{Shared, State},
};
use policy::Origin;
use serde::Serialize;
use std::time::Duration;

/// How long to leave a tab that is between two pages.
const BETWEEN_PAGES: Duration = Duration::from_micros(500);
/// What Chromium names the first script that a session adds; ours is the only one. Were it another, it would stay.
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

/// While it lives, nothing that the tab asks for leaves the browser.
struct Filling<'a>(&'a Shared);

impl<'a> Filling<'a> {
    fn begin(shared: &'a Shared, session: &SessionId) -> Filling<'a> {
        shared.lock().injected.filling = Some(session.clone());
        Filling(shared)
    }
}

impl Drop for Filling<'_> {
    fn drop(&mut self) {
        self.0.lock().injected.filling = None;
    }
}

impl Browser {
    /// Fills the stores of a tab that shows nothing yet, and leaves it showing nothing, with no history. From then on
    /// its requests are watched, if any of them are to carry something.
    pub(super) async fn fill_stores(
        &self,
        session: &SessionId,
        storage: &[InjectedStorage],
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        if storage.is_empty() {
            return self.watch_requests(session, deadline).await;
        }
        let to = Some(session);
        let watch = self.shared.lock().injected.watch(true);
        let pattern =
            p::RequestPattern { url_pattern: "*".to_owned(), resource_type: None, request_stage: "Request" };
        let hold = p::WatchRequests { patterns: vec![pattern] };
        let _filling = Filling::begin(&self.shared, session);
        // Pages that stand in for others are not read, and without our script they are there sooner.
        self.post(session, &p::RemoveScript { identifier: FIRST_SCRIPT }, deadline).await?;
        if watch.is_some() {
            self.post(session, &BYPASS, deadline).await?;
        }
        // Before any page is on its way.
        self.call(to, &hold, deadline).await?;
        for stores in storage {
            self.show(session, &format!("{}/", stores.origin), deadline).await?;
            self.fill(session, stores, deadline).await?;
        }
        self.show(session, "about:blank", deadline).await?;
        let let_go = async {
            match &watch {
                Some(watch) => self.call(to, watch, deadline).await,
                None => self.call(to, &p::LetRequestsPass {}, deadline).await,
            }
        };
        tokio::try_join!(self.forget_history(session, deadline), let_go)?;
        self.post(session, &script::added(), deadline).await
    }

    /// What comes after it finds it done; nobody waits for that.
    async fn post<C: Command>(
        &self,
        session: &SessionId,
        command: &C,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let sent = self.connection.send(Some(session), command, deadline.at).await;
        sent.map(drop).map_err(|error| deadline.error(error))
    }

    /// The page is told of before the browser has done with it, and a tab between two pages refuses.
    async fn forget_history(&self, session: &SessionId, deadline: Deadline) -> Result<(), BrowserError> {
        loop {
            match self.connection.call(Some(session), &p::ForgetHistory {}, deadline.at).await {
                Ok(_) => return Ok(()),
                Err(CallError::Refused { .. }) if !deadline.left().is_zero() => {
                    tokio::time::sleep(BETWEEN_PAGES).await;
                }
                Err(error) => return Err(deadline.error(error)),
            }
        }
    }

    async fn fill(
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

    async fn show(&self, session: &SessionId, url: &str, deadline: Deadline) -> Result<(), BrowserError> {
        let shown = |state: &mut State| {
            let mut tabs = state.tab.iter().chain(&state.behind);
            tabs.find(|tab| tab.session == *session).map(|tab| (tab.commits, tab.url == url))
        };
        let before = shown(&mut self.shared.lock()).map(|(commits, _)| commits);
        let navigated = self.call(Some(session), &p::Navigate { url }, deadline).await?;
        if navigated.error_text.is_some() {
            return Err(not_injected(format!("the stores of {url}"), "the browser does not go there"));
        }
        let come = |state: &mut State| {
            shown(state).filter(|(commits, there)| *there && Some(*commits) != before).map(|_| ())
        };
        self.wait(deadline, come).await
    }
}

fn refused(origin: &Origin, name: &str, is_local_storage: bool) -> BrowserError {
    let store = if is_local_storage { "localStorage" } else { "sessionStorage" };
    not_injected(format!("{name:?} in the {store} of {origin}"), "the browser refused it")
}
