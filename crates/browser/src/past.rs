//! The numbers of a session's documents, and those that are gone: a ref into one can say what became of it.

use crate::text::cut;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Of so many documents it is known where they were; refs into older ones are told without.
const KEPT: usize = 64;
const LONGEST_URL: usize = 300;

/// A document that refs were given for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// Its number in refs.
    pub serial: u32,
    pub url: String,
    /// The tab's page at that time, by number.
    pub page: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Gone {
    pub given: Given,
    pub frame: String,
    /// It went with its tab.
    pub with_tab: bool,
}

/// One for all tabs of a session, so that no number is given twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book(Arc<Mutex<Pages>>);

#[derive(Debug, Default)]
struct Pages {
    serials: u32,
    pages: u64,
    gone: VecDeque<Gone>,
}

impl Book {
    pub fn next_serial(&self) -> u32 {
        let mut pages = self.lock();
        pages.serials += 1;
        pages.serials
    }

    pub fn last_serial(&self) -> u32 {
        self.lock().serials
    }

    pub fn next_page(&self) -> u64 {
        let mut pages = self.lock();
        pages.pages += 1;
        pages.pages
    }

    pub fn add(&self, frame: &str, mut given: Given) {
        let mut pages = self.lock();
        if pages.gone.len() == KEPT {
            pages.gone.pop_front();
        }
        given.url = cut(&given.url, LONGEST_URL);
        pages.gone.push_back(Gone { given, frame: frame.to_owned(), with_tab: false });
    }

    /// What is past when a tab ends is past with it, whatever it was before.
    pub fn end_tab(&self, serials_of_tab: &[u32]) {
        for gone in self.lock().gone.iter_mut().filter(|gone| serials_of_tab.contains(&gone.given.serial)) {
            gone.with_tab = true;
        }
    }

    pub fn find(&self, serial: u32) -> Option<Gone> {
        self.lock().gone.iter().rev().find(|gone| gone.given.serial == serial).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        // Numbers and a list are whole after any panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
