//! Collects the secrets that sites have issued: cookies, header values, web storage and response bodies.

use super::cookies::{FoundCookie, GetCookies};
use crate::{
    browser::Browser,
    cdp::{CallError, SessionId, protocol as p},
    credentials::{IssuedCookie, IssuedStorageEntry, SiteIssuedSecrets},
    deadline::{Deadline, TimeLimit},
    error::BrowserError,
    page::MAX_SCRIPT_REPLY,
    script::ScriptFunction,
    state::Tab,
};
use futures_util::future::join_all;
use policy::Origin;
use redact::{CookiePriority, SameSite, Secret};
use serde::{Deserialize, Serialize};
use std::{marker::PhantomData, time::Duration};

/// More than Chromium keeps.
const MAX_COOKIES: usize = 4000;
/// Of all documents together. One document may send as much by itself, counted in UTF-16 units.
const MAX_STORAGE_ENTRIES: usize = 1000;
const MAX_STORAGE_BYTES: usize = 1 << 20;
/// Chromium encodes a non-ASCII character as six bytes.
const MAX_ENCODED_BYTES: usize = 6;
/// How long a document may take to answer; one that hangs is left out.
pub(super) const DOCUMENT_WAIT: Duration = Duration::from_secs(1);

impl FoundCookie {
    fn into_issued(self) -> IssuedCookie {
        let host = self.domain.strip_prefix('.');
        IssuedCookie {
            host_only: host.is_none(),
            domain: host.unwrap_or(&self.domain).to_owned(),
            name: self.name,
            value: self.value,
            path: self.path,
            // A cast of a float saturates.
            expires: (!self.session && self.expires >= 0.0).then_some(self.expires as i64),
            http_only: self.http_only,
            secure: self.secure,
            same_site: SameSite::ALL
                .into_iter()
                .find(|known| self.same_site.as_deref() == Some(known.as_str())),
            priority: CookiePriority::ALL
                .into_iter()
                .find(|known| self.priority.as_deref() == Some(known.as_str())),
            partition_key: self.partition_key.map(|key| key.top_level_site),
        }
    }
}

/// A document whose web storage is read.
struct StorageDocument {
    session: SessionId,
    origin: Origin,
    /// The isolated world of the page script, if it runs there already.
    world: Option<String>,
    /// It lives in the tab's own process: all tabs share its `localStorage`.
    is_in_tab_process: bool,
    read_local: bool,
}

#[derive(Serialize)]
struct StorageRequest {
    local: bool,
    entries: usize,
    units: usize,
}

#[derive(Deserialize)]
struct DocumentStorage {
    origin: String,
    entries: Vec<(bool, String, Secret)>,
    cut: bool,
}

impl Browser {
    /// All cookies, and the web storage and responses of these origins, the former as far as their documents are open.
    /// Changes nothing, and may run while an action does.
    pub async fn collect_site_issued_secrets(
        &self,
        origins: &[Origin],
        limit: TimeLimit,
    ) -> Result<SiteIssuedSecrets, BrowserError> {
        let deadline = Deadline::of(limit, "handed_out");
        let (documents, mut truncated) = self.storage_documents(origins);
        let storages = join_all(documents.iter().map(|document| self.storage_of(document, deadline)));
        let (cookies, storages, responses) = tokio::join!(
            self.call(None, &GetCookies {}, deadline),
            storages,
            self.collect_responses(origins, deadline)
        );
        let cookies = cookies?.cookies;
        truncated |= responses.truncated | (cookies.len() > MAX_COOKIES);
        let cookies = cookies.into_iter().take(MAX_COOKIES).map(FoundCookie::into_issued).collect();
        let (mut storage_entries, mut room): (Vec<IssuedStorageEntry>, _) = (Vec::new(), MAX_STORAGE_BYTES);
        for (document, storage) in documents.iter().zip(storages) {
            let Some(storage) = storage else {
                truncated = true;
                continue;
            };
            truncated |= storage.cut;
            for (local, name, value) in storage.entries {
                let bytes = name.len() + value.expose_secret().len();
                if storage_entries.len() == MAX_STORAGE_ENTRIES || bytes > room {
                    truncated = true;
                    break;
                }
                room -= bytes;
                let origin = document.origin.clone();
                storage_entries.push(IssuedStorageEntry { origin, local, name, value });
            }
        }
        // Last, so that values which were set meanwhile are in one of the two lists.
        let log = self.shared.lock().injected.issued_values.as_mut().map(std::mem::take).unwrap_or_default();
        Ok(SiteIssuedSecrets {
            cookies,
            header_values: log.values,
            storage_entries,
            responses: responses.responses,
            missed: log.missed | responses.missed,
            truncated,
        })
    }

    /// One document for each origin and process, and whether some cannot be asked now.
    fn storage_documents(&self, origins: &[Origin]) -> (Vec<StorageDocument>, bool) {
        let state = self.shared.lock();
        let (mut documents, mut truncated): (Vec<StorageDocument>, _) = (Vec::new(), false);
        for tab in state.tab.iter().chain(&state.background).filter(|_| !origins.is_empty()) {
            let own = storage_documents_in(tab, origins);
            // A page runs no script while its dialog is open.
            truncated |= tab.dialog.is_some() && !own.is_empty();
            for mut next in own.into_iter().filter(|_| tab.dialog.is_none()) {
                let is_same =
                    |known: &StorageDocument| known.is_in_tab_process && known.origin == next.origin;
                next.read_local = !(next.is_in_tab_process && documents.iter().any(is_same));
                documents.push(next);
            }
        }
        (documents, truncated)
    }

    /// `None` if the document could not be read completely.
    async fn storage_of(&self, document: &StorageDocument, deadline: Deadline) -> Option<DocumentStorage> {
        let request = StorageRequest {
            local: document.read_local,
            entries: MAX_STORAGE_ENTRIES,
            units: MAX_STORAGE_BYTES,
        };
        let limits = self.text_cutter().script_limits();
        let command = p::CallFunction::<_, DocumentStorage> {
            function_declaration: ScriptFunction::ReadWebStorage.declaration(),
            unique_context_id: document.world.as_deref()?,
            arguments: (p::ByValue { value: &limits }, p::ByValue { value: &request }),
            return_by_value: true,
            await_promise: false,
            silent: true,
            max_reply: MAX_SCRIPT_REPLY + MAX_STORAGE_BYTES * MAX_ENCODED_BYTES,
            returns: PhantomData,
        };
        let limit = deadline.within(DOCUMENT_WAIT);
        match self.connection.call(Some(&document.session), &command, limit.at).await {
            // A document with an opaque origin has no storage, whatever its URL.
            Ok(reply) => {
                let is_own = |storage: &DocumentStorage| storage.origin == document.origin.as_str();
                reply
                    .result
                    .value
                    .map(|storage| if is_own(&storage) { storage } else { DocumentStorage::empty() })
            }
            // The document is gone.
            Err(CallError::Crashed { .. } | CallError::Detached { .. }) => Some(DocumentStorage::empty()),
            Err(_) => None,
        }
    }
}

impl DocumentStorage {
    fn empty() -> DocumentStorage {
        DocumentStorage { origin: String::new(), entries: Vec::new(), cut: false }
    }
}

fn storage_documents_in(tab: &Tab, origins: &[Origin]) -> Vec<StorageDocument> {
    let mut found: Vec<StorageDocument> = Vec::new();
    for id in tab.frames.inside(&tab.target) {
        let Some(frame) = tab.frames.get(&id) else { continue };
        // The prefix test is cheap and excludes most frames before a URL is parsed.
        let is_of =
            |origin: &&Origin| frame.url.starts_with(origin.as_str()) && Origin::of(&frame.url) == **origin;
        let Some(origin) = origins.iter().find(is_of) else { continue };
        if found.iter().any(|known| known.session == frame.session && known.origin == *origin) {
            continue;
        }
        let world = frame.world.as_ref().map(|world| world.unique.to_string());
        found.push(StorageDocument {
            session: frame.session.clone(),
            origin: origin.clone(),
            world,
            is_in_tab_process: frame.session == tab.session,
            read_local: true,
        });
    }
    found
}
