//! Documents that were read and are gone, so that a ref into one can say what became of it.

use crate::text::cut;
use std::collections::VecDeque;

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

#[derive(Debug, Default)]
pub(crate) struct Past(VecDeque<Gone>);

impl Past {
    pub fn add(&mut self, frame: &str, mut given: Given) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        given.url = cut(&given.url, LONGEST_URL);
        self.0.push_back(Gone { given, frame: frame.to_owned(), with_tab: false });
    }

    /// What is past when a tab ends is past with it, whatever it was before.
    pub fn end_tab(&mut self, serials_of_tab: impl Fn(u32) -> bool) {
        for gone in self.0.iter_mut().filter(|gone| serials_of_tab(gone.given.serial)) {
            gone.with_tab = true;
        }
    }

    pub fn find(&self, serial: u32) -> Option<&Gone> {
        self.0.iter().rev().find(|gone| gone.given.serial == serial)
    }
}
