//! Find: takes a fresh snapshot and searches it for a text, a pattern, a role or a name.

use super::read::{Links, PageReading, ReadingScope};
use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    snapshot::{SearchQuery, SearchResult, header_bytes},
};
use policy::Find;
use std::sync::Arc;

impl Browser {
    pub(super) async fn find(&self, find: &Find, deadline: Deadline) -> Result<SearchResult, BrowserError> {
        let bytes = find.tokens.bytes() - header_bytes(find.tokens);
        let query = SearchQuery::new(find, bytes).map_err(|source| BrowserError::BadPattern { source })?;
        // Half of the time is for reading all of the page, whatever its size.
        let patience = Some(deadline.left() / 2);
        let scope = ReadingScope { patience, ..ReadingScope::whole(Links::Omitted) };
        let PageReading { url, page, .. } = self.read_page(scope, deadline).await?;
        let serial = self.snapshots().next_serial();
        let searched = Arc::clone(&page);
        // The pattern is the caller's: a slow one must not block other calls.
        let search = move || query.search(&searched, serial, deadline.at.into_std());
        let result = match tokio::task::spawn_blocking(search).await {
            Ok(result) => result,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Only a runtime that is shutting down cancels it.
                Err(_) => return Err(deadline.timeout()),
            },
        };
        if !result.matches.is_empty() {
            self.snapshots().store(serial, &url, &page);
        }
        Ok(SearchResult { url, ..result })
    }
}
