//! Numbers the documents of a session for refs, and remembers closed ones: a stale ref can say what happened to its
//! document.

use crate::text::{MAX_DECODED_TEXT, cut_at};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Closed documents that are remembered; a stale ref into an older one is reported without its URL.
const MAX_CLOSED: usize = 64;

/// A document that refs were issued for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NumberedDocument {
    /// Its number in refs.
    pub serial: u32,
    pub url: String,
    /// The number of the tab's page at that time.
    pub page: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct ClosedDocument {
    pub document: NumberedDocument,
    pub frame: String,
    /// Its tab was closed.
    pub with_tab: bool,
}

/// Shared by all tabs of a session, so that no number is issued twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct DocumentRegistry(Arc<Mutex<Registered>>);

#[derive(Debug, Default)]
struct Registered {
    serials: u32,
    pages: u64,
    closed: VecDeque<ClosedDocument>,
}

impl DocumentRegistry {
    pub fn next_serial(&self) -> u32 {
        let mut registered = self.lock();
        registered.serials += 1;
        registered.serials
    }

    pub fn last_serial(&self) -> u32 {
        self.lock().serials
    }

    pub fn next_page(&self) -> u64 {
        let mut registered = self.lock();
        registered.pages += 1;
        registered.pages
    }

    pub fn close(&self, frame: &str, mut document: NumberedDocument) {
        let mut registered = self.lock();
        if registered.closed.len() == MAX_CLOSED {
            registered.closed.pop_front();
        }
        // Masked and cut when it is shown.
        document.url.truncate(cut_at(&document.url, MAX_DECODED_TEXT));
        registered.closed.push_back(ClosedDocument { document, frame: frame.to_owned(), with_tab: false });
    }

    /// Marks documents of a tab as closed with it.
    pub fn close_tab(&self, serials_of_tab: &[u32]) {
        for closed in
            self.lock().closed.iter_mut().filter(|closed| serials_of_tab.contains(&closed.document.serial))
        {
            closed.with_tab = true;
        }
    }

    pub fn find(&self, serial: u32) -> Option<ClosedDocument> {
        self.lock().closed.iter().rev().find(|closed| closed.document.serial == serial).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Registered> {
        // The data is consistent after any panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
