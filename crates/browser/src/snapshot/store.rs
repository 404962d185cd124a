//! The last snapshots of a session: a cursor opens the page it came from, even after the page has changed.

use super::{
    cursor::{Cursor, Span},
    frame_reply::{FrameBaseline, FrameSnapshot},
    node::{Node, Page},
    page_counts::ReadingStamp,
    partial::{DeferredRanges, PartSizes},
};
use crate::cdp::Id;
use std::{collections::VecDeque, sync::Arc};

/// Number of snapshots that are kept; the oldest is dropped first.
const MAX_SNAPSHOTS: usize = 4;
/// Memory limit for all of them. The newest is always kept, because its size is limited elsewhere.
const MAX_BYTES: usize = 64 << 20;

#[derive(Default)]
pub(crate) struct SnapshotStore {
    last_serial: u64,
    stored: VecDeque<StoredSnapshot>,
    /// Not counted in the limits above.
    caller_baseline: Option<CallerBaseline>,
    /// The last reply of the main frame's script.
    frame_baseline: Option<FrameBaseline>,
    /// The page as it was read when it had settled.
    settled: Option<SettledPage>,
    /// The last reading of a page that can be recognized as unchanged.
    unchanged: Option<UnchangedPage>,
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
pub(crate) type DocumentKey = (String, String);

/// The page that a caller has seen, whole or through deltas.
pub(crate) struct CallerBaseline {
    pub caller: CallerId,
    pub document: DocumentKey,
    pub serial: u64,
    pub page: Arc<Page>,
    /// Snapshots whose folds hold the parts that the caller has not seen.
    pub folded: Vec<u64>,
}

/// A page that was read when it became idle. Any wait afterwards makes it outdated.
pub(crate) struct SettledPage {
    pub frames: Vec<(String, String)>,
    pub snapshot: FrameSnapshot,
    /// The listeners of the page were listed just before.
    pub has_listeners: bool,
}

/// A reading of all frames of a page that can be recognized as unchanged.
#[derive(Clone)]
pub(crate) struct UnchangedPage {
    pub stamp: ReadingStamp,
    /// In the order of the stamp's frames.
    pub readings: Vec<FrameSnapshot>,
}

struct StoredSnapshot {
    serial: u64,
    bytes: usize,
    url: String,
    page: Arc<Page>,
    /// The number that it was shown with, if parts of it were filled in afterwards.
    shown: Option<(u64, PartSizes)>,
}

/// What a cursor opens.
pub(crate) struct OpenedCursor {
    pub url: String,
    pub page: Arc<Page>,
    pub span: Span,
    /// Another than the cursor's if positions in the page have changed since it was shown.
    pub serial: u64,
}

impl StoredSnapshot {
    fn has_serial(&self, serial: u64) -> bool {
        self.serial == serial || self.shown.as_ref().is_some_and(|(shown, _)| *shown == serial)
    }
}

impl SnapshotStore {
    /// The number of the next snapshot. Numbers are not reused.
    pub fn next_serial(&mut self) -> u64 {
        self.last_serial += 1;
        self.last_serial
    }

    /// Stores a page. Storing it again, as following a cursor does, makes it the newest.
    pub fn store(&mut self, serial: u64, url: &str, page: &Arc<Page>) {
        let before = self.stored.iter().position(|stored| stored.serial == serial);
        let shown = before.and_then(|at| self.stored.remove(at)).and_then(|stored| stored.shown);
        let page = Arc::clone(page);
        self.stored.push_back(StoredSnapshot {
            serial,
            bytes: page.memory_bytes(),
            url: url.to_owned(),
            page,
            shown,
        });
        while self.stored.len() > MAX_SNAPSHOTS
            || (self.stored.len() > 1
                && self.stored.iter().map(|stored| stored.bytes).sum::<usize>() > MAX_BYTES)
        {
            self.stored.pop_front();
        }
    }

    /// The page that this caller has seen of this document, if everything folded can still be opened.
    pub fn take_caller_baseline(
        &mut self,
        caller: &CallerId,
        document: &DocumentKey,
    ) -> Option<CallerBaseline> {
        let is_stored = |serial: &u64| self.stored.iter().any(|stored| stored.has_serial(*serial));
        let seen = self.caller_baseline.take()?;
        let is_known = seen.caller == *caller && seen.document == *document && seen.page.partial.is_none();
        (is_known && seen.folded.iter().all(is_stored)).then_some(seen)
    }

    /// The reply that this script's next reply may be a diff against.
    pub fn frame_baseline(&self, world: &Id) -> Option<FrameBaseline> {
        self.frame_baseline.clone().filter(|baseline| baseline.world == *world)
    }

    pub fn set_frame_baseline(&mut self, baseline: Option<FrameBaseline>) {
        self.frame_baseline = baseline;
    }

    pub fn set_settled(&mut self, settled: Option<SettledPage>) {
        self.settled = settled;
    }

    pub fn take_settled(&mut self) -> Option<SettledPage> {
        self.settled.take()
    }

    pub fn set_unchanged(&mut self, page: Option<UnchangedPage>) {
        self.unchanged = page;
    }

    /// The last reading, if its stamp is the same.
    pub fn unchanged(&self, stamp: &ReadingStamp) -> Option<&[FrameSnapshot]> {
        self.unchanged.as_ref().filter(|page| page.stamp.is_same(stamp)).map(|page| &*page.readings)
    }

    pub fn set_caller_baseline(&mut self, baseline: Option<CallerBaseline>) {
        self.caller_baseline = baseline;
    }

    /// Whether the reply to this caller is likely to be a delta.
    pub fn has_caller_baseline(&self, caller: &CallerId, document: &DocumentKey) -> bool {
        self.caller_baseline.as_ref().is_some_and(|seen| seen.caller == *caller && seen.document == *document)
    }

    /// The readings that deferred parts of snapshots which can still be opened.
    pub fn partial_readings(&self) -> Vec<u64> {
        let mut readings: Vec<u64> = self.stored.iter().filter_map(|stored| stored.page.partial).collect();
        readings.dedup();
        readings
    }

    /// Whether the snapshot of a cursor lacks parts.
    pub fn is_partial(&self, cursor: &Cursor) -> bool {
        let is_meant = |stored: &&StoredSnapshot| stored.has_serial(cursor.serial);
        self.stored.iter().find(is_meant).is_some_and(|stored| stored.page.partial.is_some())
    }

    /// Fills in what was deferred. Snapshots whose parts are still missing cannot be opened, and are dropped.
    pub fn complete(&mut self, later: &[Arc<Node>], ranges: &[DeferredRanges]) {
        for stored in &mut self.stored {
            if let Some((page, sizes)) = stored.page.completed(later, ranges) {
                stored.bytes = page.memory_bytes();
                stored.page = Arc::new(page);
                // Cursors into this page must not be taken for those into the page as it was shown.
                self.last_serial += 1;
                stored.shown = Some((std::mem::replace(&mut stored.serial, self.last_serial), sizes));
            }
        }
        self.stored.retain(|stored| stored.page.partial.is_none());
        let serial = self.caller_baseline.as_ref().map(|seen| seen.serial);
        let shown = self.stored.iter().find(|stored| serial.is_some_and(|serial| stored.has_serial(serial)));
        if let Some(seen) = self.caller_baseline.as_mut().filter(|seen| seen.page.partial.is_some()) {
            match shown {
                Some(shown) => seen.page = Arc::clone(&shown.page),
                None => self.caller_baseline = None,
            }
        }
    }

    /// The page of a cursor, if it is still stored and has such a part.
    pub fn open(&self, cursor: &Cursor) -> Option<OpenedCursor> {
        let stored = self.stored.iter().find(|stored| stored.has_serial(cursor.serial))?;
        let nodes = &stored.page.nodes;
        let span = match &stored.shown {
            Some((shown, sizes)) if *shown == cursor.serial => sizes.translate(cursor.span),
            _ => cursor.span,
        };
        let exists = match span {
            Span::Nodes { first, end } => first < end && end <= nodes.len(),
            Span::Text { node, from } => nodes.get(node).is_some_and(|node| node.is_part_start(from)),
        };
        let (url, page) = (stored.url.clone(), Arc::clone(&stored.page));
        exists.then_some(OpenedCursor { url, page, span, serial: stored.serial })
    }
}

impl Page {
    fn memory_bytes(&self) -> usize {
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

    fn holds(store: &SnapshotStore, cursor: &str) -> bool {
        store.open(&Cursor::parse(cursor).unwrap()).is_some()
    }

    #[test]
    fn a_cursor_opens_only_parts_of_its_own_snapshot() {
        let mut store = SnapshotStore::default();
        for _ in 0..3 {
            let serial = store.next_serial();
            store.store(serial, "http://a.test/", &Arc::new(page("0 main\n1 text äbc")));
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
    fn a_delta_baseline_is_valid_for_one_caller_and_document_while_its_folds_open() {
        let document = ("main".to_owned(), "f2".to_owned());
        let other = ("main".to_owned(), "f3".to_owned());
        for (caller, document_now, later, known) in [
            ("a", &document, 0, true),
            ("b", &document, 0, false),
            ("a", &other, 0, false),
            ("a", &document, MAX_SNAPSHOTS - 1, true),
            ("a", &document, MAX_SNAPSHOTS, false),
        ] {
            let mut store = SnapshotStore::default();
            let shown = Arc::new(page("0 main"));
            store.store(1, "", &shown);
            let (caller_then, folded) = (CallerId::new("a"), vec![1]);
            let document = document.clone();
            store.set_caller_baseline(Some(CallerBaseline {
                caller: caller_then,
                document,
                serial: 1,
                page: shown,
                folded,
            }));
            for serial in 0..later {
                store.store(10 + serial as u64, "", &Arc::new(page("0 main")));
            }
            let found = store.take_caller_baseline(&CallerId::new(caller), document_now);
            assert_eq!(found.is_some(), known, "{caller} {document_now:?} {later}");
        }
    }

    #[test]
    fn old_snapshots_are_dropped_by_number_and_by_size() {
        let mut store = SnapshotStore::default();
        for serial in 1..=6 {
            store.store(serial, "", &Arc::new(page("0 main")));
        }
        assert!(!holds(&store, "c2.0-1") && holds(&store, "c3.0-1") && holds(&store, "c6.0-1"));
        let large = || Arc::new(page(&format!("0 text {}", "x".repeat(MAX_BYTES / 2 + 1))));
        store.store(7, "", &large());
        assert!(holds(&store, "c7.0-1"));
        store.store(8, "", &large());
        assert!(!holds(&store, "c7.0-1") && !holds(&store, "c6.0-1") && holds(&store, "c8.0-1"));
    }
}
