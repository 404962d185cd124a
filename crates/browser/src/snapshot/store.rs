//! The last snapshots of a session, so that a cursor shows the page it came from while the page moves on.

use super::{
    cursor::{Cursor, Span},
    node::Page,
};
use std::{collections::VecDeque, sync::Arc};

/// Snapshots that are kept; the oldest goes first.
const MOST_SNAPSHOTS: usize = 4;
/// What they may take together; the newest is kept whatever it takes, because its size has bounds of its own.
const MOST_BYTES: usize = 64 << 20;

#[derive(Default)]
pub(crate) struct Store {
    last_serial: u64,
    kept: VecDeque<Kept>,
}

struct Kept {
    serial: u64,
    bytes: usize,
    url: String,
    page: Arc<Page>,
}

impl Store {
    /// The number of the next snapshot. Numbers are not used again.
    pub fn next_serial(&mut self) -> u64 {
        self.last_serial += 1;
        self.last_serial
    }

    /// Keeping one again, as following a cursor does, makes it the newest.
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

    /// The page that a cursor belongs to and its address, if it is still kept and has such a part.
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
        let of_node = |node: &super::node::Node| {
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
