//! Find: takes a fresh snapshot and searches it for a text, a pattern, a role or a name.

use super::read::{Links, Reading};
use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    snapshot::{Found, Query, head_room},
};
use policy::Find;
use std::sync::Arc;

impl Browser {
    pub(super) async fn find(&self, find: &Find, deadline: Deadline) -> Result<Found, BrowserError> {
        let bytes = find.tokens.bytes() - head_room(find.tokens);
        let query = Query::new(find, bytes).map_err(|source| BrowserError::BadPattern { source })?;
        let Reading { url, page, .. } = self.read_page(Links::LeftOut, deadline).await?;
        let serial = self.snapshots().next_serial();
        let searched = Arc::clone(&page);
        // The pattern is the caller's: a slow one must not block other calls.
        let search = move || query.search(&searched, serial, deadline.at.into_std());
        let found = match tokio::task::spawn_blocking(search).await {
            Ok(found) => found.ok_or_else(|| deadline.timeout())?,
            Err(failed) => match failed.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Only a runtime that is shutting down cancels it.
                Err(_) => return Err(deadline.timeout()),
            },
        };
        if !found.matches.is_empty() {
            self.snapshots().keep(serial, &url, &page);
        }
        Ok(Found { url, ..found })
    }
}
