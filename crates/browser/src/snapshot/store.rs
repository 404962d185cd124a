//! The last snapshots of a session: a cursor opens the page it came from, even after the page has changed.

use super::{
    cursor::{Cursor, Span},
    node::Page,
    telling::Told,
};
use crate::{cdp::Id, resting::Ready};
use std::{collections::VecDeque, sync::Arc};

/// Number of snapshots that are kept; the oldest is dropped first.
const MOST_SNAPSHOTS: usize = 4;
/// Memory limit for all of them. The newest is always kept, because its size is limited elsewhere.
const MOST_BYTES: usize = 64 << 20;

#[derive(Default)]
pub(crate) struct Store {
    last_serial: u64,
    kept: VecDeque<Kept>,
    /// Not counted in the limits above.
    last: Option<Last>,
    /// The last reply of the main frame's script.
    told: Option<Told>,
    /// The page as it was read when it had settled.
    ready: Option<Ready>,
}

/// Identifies a caller. Deltas are computed against what the same caller saw last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerId(Arc<str>);

impl CallerId {
    /// Names must be unique per caller; their content does not matter.
    pub fn new(name: &str) -> CallerId {
        CallerId(name.into())
    }
}

/// Identifies a document in a tab: its main frame, and the prefix of its refs, which is unique per document.
pub(crate) type Document = (String, String);

/// The page that a caller has seen, whole or through deltas.
pub(crate) struct Last {
    pub caller: CallerId,
    pub document: Document,
    pub serial: u64,
    pub page: Arc<Page>,
    /// Snapshots whose folds hold the parts that the caller has not seen.
    pub folded: Vec<u64>,
}

struct Kept {
    serial: u64,
    bytes: usize,
    url: String,
    page: Arc<Page>,
}

impl Store {
    /// The number of the next snapshot. Numbers are not reused.
    pub fn next_serial(&mut self) -> u64 {
        self.last_serial += 1;
        self.last_serial
    }

    /// Stores a page. Storing it again, as following a cursor does, makes it the newest.
    pub fn keep(&mut self, serial: u64, url: &str, page: &Arc<Page>) {
        self.kept.retain(|kept| kept.serial != serial);
        let page = Arc::clone(page);
        self.kept.push_back(Kept { serial, bytes: page.bytes(), url: url.to_owned(), page });
        while self.kept.len() > MOST_SNAPSHOTS
            || (self.kept.len() > 1 && self.kept.iter().map(|kept| kept.bytes).sum::<usize>() > MOST_BYTES)
        {
            self.kept.pop_front();
        }
    }

    /// The page that this caller has seen of this document, if everything folded can still be opened.
    pub fn take_last(&mut self, caller: &CallerId, document: &Document) -> Option<Last> {
        let kept = |serial: &u64| self.kept.iter().any(|kept| kept.serial == *serial);
        let last = self.last.take()?;
        (last.caller == *caller && last.document == *document && last.folded.iter().all(kept)).then_some(last)
    }

    /// The reply that this script's next reply may be a diff against.
    pub fn told_by(&self, world: &Id) -> Option<Told> {
        self.told.clone().filter(|told| told.world == *world)
    }

    pub fn set_told(&mut self, told: Option<Told>) {
        self.told = told;
    }

    pub fn set_ready(&mut self, ready: Option<Ready>) {
        self.ready = ready;
    }

    pub fn take_ready(&mut self) -> Option<Ready> {
        self.ready.take()
    }

    pub fn set_last(&mut self, last: Option<Last>) {
        self.last = last;
    }

    /// The page of a cursor and its address, if it is still stored and has such a part.
    pub fn find(&self, cursor: &Cursor) -> Option<(String, Arc<Page>)> {
        let kept = self.kept.iter().find(|kept| kept.serial == cursor.serial)?;
        let nodes = &kept.page.nodes;
        let there = match cursor.span {
            Span::Nodes { first, end } => first < end && end <= nodes.len(),
            Span::Text { node, from } => nodes.get(node).is_some_and(|node| node.is_part_start(from)),
        };
        there.then(|| (kept.url.clone(), Arc::clone(&kept.page)))
    }
}

impl Page {
    fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::capacity);
        let of_node = |node: &Arc<super::node::Node>| {
            size_of::<super::node::Node>()
                + node.role.capacity()
                + node.name.capacity()
                + text(&node.value)
                + text(&node.reference)
                + text(&node.href)
        };
        self.nodes.iter().map(of_node).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::node::tests::page, *};

    fn holds(store: &Store, cursor: &str) -> bool {
        store.find(&Cursor::parse(cursor).unwrap()).is_some()
    }

    #[test]
    fn a_cursor_finds_its_own_snapshot_or_none() {
        let mut store = Store::default();
        for _ in 0..3 {
            let serial = store.next_serial();
            store.keep(serial, "http://a.test/", &Arc::new(page("0 main\n1 text äbc")));
        }
        for (cursor, expected) in [
            ("c1.0-2", true),
            ("c3.1-2", true),
            ("c3.1t2", true),
            ("c4.0-1", false),
            ("c3.0-3", false),
            ("c3.1-1", false),
            ("c3.1t1", false),
            ("c3.1t4", false),
            ("c3.9t1", false),
        ] {
            assert_eq!(holds(&store, cursor), expected, "{cursor}");
        }
    }

    #[test]
    fn a_page_is_known_to_one_caller_in_one_document_while_its_folds_open() {
        let document = ("main".to_owned(), "f2".to_owned());
        let other = ("main".to_owned(), "f3".to_owned());
        for (caller, document_now, later, known) in [
            ("a", &document, 0, true),
            ("b", &document, 0, false),
            ("a", &other, 0, false),
            ("a", &document, MOST_SNAPSHOTS - 1, true),
            ("a", &document, MOST_SNAPSHOTS, false),
        ] {
            let mut store = Store::default();
            let shown = Arc::new(page("0 main"));
            store.keep(1, "", &shown);
            let (caller_then, folded) = (CallerId::new("a"), vec![1]);
            let document = document.clone();
            store.set_last(Some(Last { caller: caller_then, document, serial: 1, page: shown, folded }));
            for serial in 0..later {
                store.keep(10 + serial as u64, "", &Arc::new(page("0 main")));
            }
            let found = store.take_last(&CallerId::new(caller), document_now);
            assert_eq!(found.is_some(), known, "{caller} {document_now:?} {later}");
        }
    }

    #[test]
    fn old_snapshots_go_by_number_and_by_size() {
        let mut store = Store::default();
        for serial in 1..=6 {
            store.keep(serial, "", &Arc::new(page("0 main")));
        }
        assert!(!holds(&store, "c2.0-1") && holds(&store, "c3.0-1") && holds(&store, "c6.0-1"));
        let large = || Arc::new(page(&format!("0 text {}", "x".repeat(MOST_BYTES / 2 + 1))));
        store.keep(7, "", &large());
        assert!(holds(&store, "c7.0-1"));
        store.keep(8, "", &large());
        assert!(!holds(&store, "c7.0-1") && !holds(&store, "c6.0-1") && holds(&store, "c8.0-1"));
    }
}
