//! The frames of a tab: their tree, the CDP session of each, and the isolated world of the page script in it.

use super::documents::{DocumentRegistry, NumberedDocument};
use crate::{
    cdp::{BoundedUrl, Id, SessionId, remote_objects::FrameworkKeys},
    error::StaleRefReason,
    snapshot::PageCounts,
};
use policy::Origin;
use std::collections::{HashMap, HashSet};
use tokio::time::Instant;

/// Frames beyond the bound are not tracked, read or acted in.
pub(super) const MAX_FRAMES: usize = 1000;

#[derive(Default)]
pub(crate) struct Frames {
    by_id: HashMap<String, FrameState>,
    attached: u64,
    /// The number of the main document.
    page: u64,
    has_untracked: bool,
    documents: DocumentRegistry,
}

#[derive(Debug)]
pub(crate) struct FrameState {
    pub parent: Option<String>,
    pub session: SessionId,
    pub url: String,
    /// In bytes; `url` may be truncated.
    pub url_length: usize,
    /// The isolated world of the page script in the present document.
    pub world: Option<FrameWorld>,
    /// The world of the page's own scripts.
    pub page_world: Option<Id>,
    /// The document's number in refs, issued when it is first read and never again.
    document: Option<NumberedDocument>,
    /// The world it had on a lost connection. If it is found again, its refs stay valid.
    suspended_world: Option<Id>,
    /// The parent's world whose script knows the element that owns this frame.
    pub owner_known_to: Option<Id>,
    /// Closed shadow roots that the script in `roots_known_to` holds, by backend node id.
    pub roots: HashSet<i64>,
    pub roots_known_to: Option<Id>,
    pub counted: Option<CountedWorld>,
    pub listeners: Option<KnownListeners>,
    order: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct FrameWorld {
    /// Unique over all processes, unlike `id`.
    pub unique: Id,
    pub id: i64,
}

/// A world in which the script counted as many nodes as Chromium, and until when the count is trusted.
#[derive(Debug)]
pub(crate) struct CountedWorld {
    pub world: Id,
    pub until: Instant,
}

/// A node that listens for what is inside of it. `place`: where the script keeps it; none is the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DelegatingNode {
    pub id: i64,
    pub place: Option<usize>,
}

/// A handle of a document in the page's own world, and its backend id.
#[derive(Clone, Debug)]
pub(crate) struct DocumentHandle {
    pub handle: Id,
    pub id: i64,
}

/// What is known of the listeners in one document.
#[derive(Debug)]
pub(crate) struct KnownListeners {
    pub world: Id,
    pub document: DocumentHandle,
    /// Backend ids of the nodes that the script was given.
    pub nodes: HashSet<i64>,
    /// The same of those that only listen for being hovered.
    pub hovered: HashSet<i64>,
    /// Those that listen for what is inside of them, and their handlers at the last reading.
    pub delegating: Vec<DelegatingNode>,
    pub handlers: Option<Vec<(i64, i64, i64)>>,
    /// Whether a framework dispatches events to elements, and where it keeps their handlers.
    pub dispatches: bool,
    pub framework: Option<FrameworkKeys>,
    /// A long list is not made again before.
    pub paused_until: Option<Instant>,
    /// The counts when all listening nodes of this document were known to the script.
    pub listed: Option<PageCounts>,
}

impl FrameState {
    pub fn set_url(&mut self, url: &BoundedUrl) {
        self.url = url.to_string();
        self.url_length = url.full_length();
    }

    pub fn is_counted(&self, now: Instant) -> bool {
        let world = self.world.as_ref().map(|world| &world.unique);
        self.counted.as_ref().is_some_and(|counted| Some(&counted.world) == world && now < counted.until)
    }
}

impl Frames {
    pub fn new(documents: &DocumentRegistry) -> Frames {
        Frames { page: documents.next_page(), documents: documents.clone(), ..Frames::default() }
    }

    /// The tab is closed, and all its frames with it.
    pub fn close(mut self) {
        let known: Vec<String> = self.by_id.keys().cloned().collect();
        let with_tab: Vec<u32> = self.by_id.values().filter_map(FrameState::serial).collect();
        for id in known {
            self.remove(&id);
        }
        self.documents.close_tab(&with_tab);
    }

    /// A new frame, or one that moved to another process and so to another session.
    pub fn attach(&mut self, id: &str, parent: Option<&str>, session: &SessionId) {
        self.attached += 1;
        if let Some(frame) = self.by_id.get_mut(id) {
            if frame.session != *session {
                frame.session = session.clone();
                frame.world = None;
                frame.page_world = None;
                if frame.suspended_world.is_none() {
                    frame.close_document(id, &self.documents);
                }
            }
            if let Some(parent) = parent {
                frame.parent = Some(parent.to_owned());
            }
        } else if self.by_id.len() < MAX_FRAMES {
            let frame = FrameState {
                parent: parent.map(str::to_owned),
                session: session.clone(),
                url: String::new(),
                url_length: 0,
                world: None,
                page_world: None,
                document: None,
                suspended_world: None,
                owner_known_to: None,
                roots: HashSet::new(),
                roots_known_to: None,
                counted: None,
                listeners: None,
                order: self.attached,
            };
            self.by_id.insert(id.to_owned(), frame);
        } else {
            self.mark_untracked();
        }
    }

    pub fn mark_untracked(&mut self) {
        self.has_untracked = true;
    }

    /// Whether the page has had frames beyond the bound.
    pub fn has_untracked(&self) -> bool {
        self.has_untracked
    }

    pub fn get(&self, id: &str) -> Option<&FrameState> {
        self.by_id.get(id)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut FrameState> {
        self.by_id.get_mut(id)
    }

    pub fn listeners_of_world(&mut self, world: &Id) -> Option<&mut KnownListeners> {
        let all = self.by_id.values_mut().filter_map(|frame| frame.listeners.as_mut());
        all.into_iter().find(|known| known.world == *world)
    }

    pub fn of_session(&self, session: &SessionId) -> impl Iterator<Item = &FrameState> {
        self.by_id.values().filter(move |frame| frame.session == *session)
    }

    /// Removes a frame and its descendants.
    pub fn remove(&mut self, id: &str) {
        for inside in self.inside(id) {
            if let Some(mut frame) = self.by_id.remove(&inside) {
                frame.close_document(&inside, &self.documents);
            }
        }
    }

    /// The main frame shows another document.
    pub fn keep_only(&mut self, id: &str) {
        let documents = &self.documents;
        self.by_id.retain(|known, frame| {
            if known != id {
                frame.close_document(known, documents);
            }
            known == id
        });
        self.page = self.documents.next_page();
        self.has_untracked = false;
    }

    pub fn remove_session(&mut self, session: &SessionId) {
        let gone: Vec<String> = self
            .by_id
            .iter()
            .filter(|(_, frame)| frame.session == *session)
            .map(|(id, _)| id.clone())
            .collect();
        for id in gone {
            self.remove(&id);
        }
    }

    pub fn forget_world(&mut self, unique: &str) {
        for (id, frame) in &mut self.by_id {
            if frame.world.as_ref().is_some_and(|world| world.unique == unique) {
                frame.world = None;
                frame.close_document(id, &self.documents);
            }
            frame.page_world.take_if(|world| *world == *unique);
        }
    }

    pub fn forget_worlds_of(&mut self, session: &SessionId) {
        for (id, frame) in self.by_id.iter_mut().filter(|(_, frame)| frame.session == *session) {
            frame.world = None;
            frame.page_world = None;
            frame.close_document(id, &self.documents);
        }
    }

    pub fn set_page_world(&mut self, id: &str, unique: &Id, session: &SessionId) {
        if let Some(frame) = self.by_id.get_mut(id).filter(|frame| frame.session == *session) {
            frame.page_world = Some(unique.clone());
        }
    }

    /// The page script's world in a frame's document: new, or found again on a new connection.
    pub fn set_world(&mut self, id: &str, world: FrameWorld, session: &SessionId) {
        let Some(frame) = self.by_id.get_mut(id) else { return };
        if frame.world.as_ref().is_some_and(|known| known.unique == world.unique) {
            return;
        }
        if frame.suspended_world.take_if(|suspended| *suspended == world.unique).is_some() {
            frame.session = session.clone();
            frame.world = Some(world);
        } else if frame.session == *session {
            frame.world = Some(world);
            frame.close_document(id, &self.documents);
        }
    }

    /// The connection is lost: sessions end, while documents and their worlds may live on.
    pub fn suspend(&mut self) {
        for frame in self.by_id.values_mut() {
            if let Some(world) = frame.world.take() {
                frame.suspended_world = Some(world.unique);
            }
            frame.page_world = None;
            frame.session = SessionId::from("");
        }
    }

    /// Removes everything that was not found again on the new connection.
    pub fn end_suspension(&mut self) {
        for (id, frame) in &mut self.by_id {
            if frame.suspended_world.is_some() || frame.world.is_none() {
                frame.close_document(id, &self.documents);
            }
        }
        self.remove_session(&SessionId::from(""));
    }

    /// The frame and its descendants, parents before children, siblings in order of attachment.
    pub fn inside(&self, root: &str) -> Vec<String> {
        let mut children: HashMap<&str, Vec<(&u64, &String)>> = HashMap::new();
        for (id, frame) in &self.by_id {
            if let Some(parent) = &frame.parent {
                children.entry(parent).or_default().push((&frame.order, id));
            }
        }
        let mut found = Vec::new();
        let mut waiting = vec![root];
        while let Some(id) = waiting.pop() {
            if !self.by_id.contains_key(id) || found.len() > MAX_FRAMES {
                continue;
            }
            found.push(id.to_owned());
            if let Some(below) = children.get_mut(id) {
                below.sort_unstable_by(|a, b| b.cmp(a));
                waiting.extend(below.iter().map(|(_, id)| id.as_str()));
            }
        }
        found
    }

    /// The ref prefix of a frame's present document: empty for the first, then `f2` and so on.
    pub fn prefix(&mut self, id: &str) -> Option<String> {
        let frame = self.by_id.get_mut(id)?;
        let (documents, page, url) = (&self.documents, self.page, &frame.url);
        let document = frame.document.get_or_insert_with(|| NumberedDocument {
            serial: documents.next_serial(),
            url: url.clone(),
            page,
        });
        Some(prefix_of(document.serial))
    }

    /// Why `by_serial` does not find a document, and its URL.
    pub fn stale_reason(&self, serial: u32, main: &str) -> (StaleRefReason, Option<String>) {
        if serial > self.documents.last_serial() {
            return (StaleRefReason::NeverIssued, None);
        }
        let Some(closed) = self.documents.find(serial) else {
            return (StaleRefReason::PageNavigated, None);
        };
        let reason = if closed.with_tab {
            StaleRefReason::TabClosed
        } else if closed.document.page != self.page || closed.frame == main {
            StaleRefReason::PageNavigated
        } else if self.by_id.contains_key(&closed.frame) {
            StaleRefReason::FrameNavigated
        } else {
            StaleRefReason::FrameRemoved
        };
        (reason, Some(closed.document.url.clone()).filter(|url| !url.is_empty()))
    }

    /// The origin of a frame; about: documents inherit it from their parent.
    pub fn origin(&self, id: &str) -> Origin {
        let mut at = self.by_id.get(id);
        for _ in 0..self.by_id.len() {
            let Some(frame) = at else { break };
            let inherits = frame.url.is_empty() || frame.url.starts_with("about:");
            match frame.parent.as_ref().filter(|_| inherits) {
                Some(parent) => at = self.by_id.get(parent),
                None => return Origin::of(&frame.url),
            }
        }
        Origin::of("")
    }

    pub fn by_serial(&self, serial: u32) -> Option<&String> {
        self.by_id.iter().find(|(_, frame)| frame.serial() == Some(serial)).map(|(id, _)| id)
    }
}

impl FrameState {
    fn serial(&self) -> Option<u32> {
        self.document.as_ref().map(|document| document.serial)
    }

    /// The document is gone; the next one gets a number of its own.
    fn close_document(&mut self, id: &str, documents: &DocumentRegistry) {
        self.suspended_world = None;
        if let Some(document) = self.document.take() {
            documents.close(id, document);
        }
    }
}

fn prefix_of(serial: u32) -> String {
    if serial == 1 { String::new() } else { format!("f{serial}") }
}

/// `e7` or `f2e7`: the document's serial and the element's number in it.
pub(crate) fn parse_ref(text: &str) -> Option<(u32, u64)> {
    let (serial, rest) = match text.strip_prefix('f') {
        Some(rest) => {
            let (serial, number) = rest.split_once('e')?;
            (serial.parse().ok().filter(|serial| *serial > 1)?, number)
        }
        None => (1, text.strip_prefix('e')?),
    };
    let plain = rest.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| rest.parse().ok()).flatten().map(|number| (serial, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_names_a_document_and_an_element() {
        for (text, expected) in [
            ("e7", Some((1, 7))),
            ("f2e7", Some((2, 7))),
            ("f1e7", None),
            ("e", None),
            ("e-1", None),
            ("e+1", None),
            ("f2", None),
            ("7", None),
            ("", None),
            ("e99999999999999999999999", None),
        ] {
            assert_eq!(parse_ref(text), expected, "{text}");
        }
    }

    #[test]
    fn frames_are_listed_in_the_order_of_the_page_and_go_with_their_parent() {
        let session = SessionId::from("S");
        let mut frames = Frames::default();
        for (id, parent) in [("main", None), ("a", Some("main")), ("b", Some("main")), ("a1", Some("a"))] {
            frames.attach(id, parent, &session);
        }
        assert_eq!(frames.inside("main"), ["main", "a", "a1", "b"]);
        frames.remove("a");
        assert_eq!(frames.inside("main"), ["main", "b"]);
    }

    #[test]
    fn a_new_document_gets_a_new_serial() {
        let session = SessionId::from("S");
        let mut frames = Frames::default();
        frames.attach("main", None, &session);
        assert_eq!(frames.prefix("main").as_deref(), Some(""));
        assert_eq!(frames.prefix("main").as_deref(), Some(""));
        frames.forget_worlds_of(&session);
        assert_eq!(frames.prefix("main").as_deref(), Some("f2"));
        assert_eq!(frames.by_serial(1), None);
    }

    fn id_of(text: &str) -> Id {
        serde_json::from_value(text.into()).unwrap()
    }

    /// A main frame and one inside it, both read: serials 1 and 2.
    fn read_twice() -> Frames {
        let session = SessionId::from("S");
        let mut frames = Frames::default();
        for (id, parent, url) in [("main", None, "http://a/"), ("inner", Some("main"), "http://b/")] {
            frames.attach(id, parent, &session);
            frames.set_world(id, FrameWorld { unique: id_of(id), id: 1 }, &session);
            frames.get_mut(id).unwrap().url = url.to_owned();
            frames.prefix(id).unwrap();
        }
        frames
    }

    fn end_tab(frames: &mut Frames) {
        let documents = frames.documents.clone();
        std::mem::replace(frames, Frames::new(&documents)).close();
    }

    #[test]
    fn a_stale_ref_says_what_happened_to_its_document() {
        type Case = (fn(&mut Frames), u32, StaleRefReason, Option<&'static str>);
        let cases: [Case; 7] = [
            (|_| {}, 3, StaleRefReason::NeverIssued, None),
            (|frames| frames.remove("inner"), 2, StaleRefReason::FrameRemoved, Some("http://b/")),
            (|frames| frames.forget_world("inner"), 2, StaleRefReason::FrameNavigated, Some("http://b/")),
            (|frames| frames.forget_world("main"), 1, StaleRefReason::PageNavigated, Some("http://a/")),
            (|frames| frames.keep_only("main"), 2, StaleRefReason::PageNavigated, Some("http://b/")),
            (end_tab, 1, StaleRefReason::TabClosed, Some("http://a/")),
            (end_tab, 3, StaleRefReason::NeverIssued, None),
        ];
        for (at, (change, serial, reason, url)) in cases.into_iter().enumerate() {
            let mut frames = read_twice();
            change(&mut frames);
            assert_eq!(frames.by_serial(serial), None, "{at}");
            assert_eq!(frames.stale_reason(serial, "main"), (reason, url.map(str::to_owned)), "{at}");
        }
    }

    #[test]
    fn documents_found_again_on_a_new_connection_keep_their_numbers() {
        let session = SessionId::from("T");
        for (found_again, expected) in [("main", Some("")), ("another", None)] {
            let mut frames = read_twice();
            frames.suspend();
            frames.attach("main", None, &session);
            frames.set_world("main", FrameWorld { unique: id_of(found_again), id: 7 }, &session);
            frames.end_suspension();
            assert_eq!(frames.by_serial(1).is_some(), expected.is_some(), "{found_again}");
            assert!(frames.get("inner").is_none(), "no session reported it again");
            assert_eq!(frames.prefix("main").as_deref(), Some(expected.unwrap_or("f3")));
        }
    }
}
