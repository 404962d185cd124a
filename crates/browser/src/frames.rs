//! The frames of a tab: who holds whom, which session speaks for each, and which world our script is in.

use crate::{
    cdp::{Address, Id, SessionId},
    fate::Fate,
    past::{Book, Given},
    tab::LONGEST_URL,
    text::cut,
};
use policy::Origin;
use std::collections::{HashMap, HashSet};
use tokio::time::Instant;

/// A page may make frames without end; those beyond the bound are not tracked, read or acted in.
pub(crate) const MOST_FRAMES: usize = 1000;

#[derive(Default)]
pub(crate) struct Frames {
    by_id: HashMap<String, Frame>,
    attached: u64,
    /// The number of the main document.
    page: u64,
    untracked: bool,
    book: Book,
}

#[derive(Debug)]
pub(crate) struct Frame {
    pub parent: Option<String>,
    pub session: SessionId,
    pub url: String,
    /// In bytes: what is kept of its address may be less.
    pub url_length: usize,
    /// Where our script runs in the frame's present document.
    pub world: Option<World>,
    /// The document's number in refs, given when it is first read and never again.
    given: Option<Given>,
    /// The world it had on a connection that was lost; if it is met again, refs into it go on.
    before: Option<Id>,
    /// The parent's world that was told which of its elements shows this frame.
    pub known_to: Option<Id>,
    /// Closed shadow roots that the script of that world was given, by backend id.
    pub roots: HashSet<i64>,
    pub roots_known_to: Option<Id>,
    pub counted: Option<Counted>,
    order: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Unique over all processes; the plain id is not.
    pub unique: Id,
    pub id: i64,
}

/// A world whose count of nodes was Chromium's, and until when that is believed.
#[derive(Debug)]
pub(crate) struct Counted {
    pub world: Id,
    pub until: Instant,
}

impl Frame {
    pub fn is_at(&mut self, address: &Address) {
        self.url = cut(address, LONGEST_URL);
        self.url_length = address.whole_length();
    }

    pub fn is_counted(&self, now: Instant) -> bool {
        let world = self.world.as_ref().map(|world| &world.unique);
        self.counted.as_ref().is_some_and(|counted| Some(&counted.world) == world && now < counted.until)
    }
}

impl Frames {
    /// None yet; documents are numbered in the session's book.
    pub fn in_book(book: &Book) -> Frames {
        Frames { page: book.next_page(), book: book.clone(), ..Frames::default() }
    }

    /// Their tab is gone, and all of them with it.
    pub fn end(mut self) {
        let known: Vec<String> = self.by_id.keys().cloned().collect();
        let with_tab: Vec<u32> = self.by_id.values().filter_map(Frame::serial).collect();
        for id in known {
            self.remove(&id);
        }
        self.book.end_tab(&with_tab);
    }

    /// A new frame, or one that moved to another process and is spoken for by another session.
    pub fn attach(&mut self, id: &str, parent: Option<&str>, session: &SessionId) {
        self.attached += 1;
        if let Some(frame) = self.by_id.get_mut(id) {
            if frame.session != *session {
                frame.session = session.clone();
                frame.world = None;
                if frame.before.is_none() {
                    frame.retire(id, &self.book);
                }
            }
            if let Some(parent) = parent {
                frame.parent = Some(parent.to_owned());
            }
        } else if self.by_id.len() < MOST_FRAMES {
            let frame = Frame {
                parent: parent.map(str::to_owned),
                session: session.clone(),
                url: String::new(),
                url_length: 0,
                world: None,
                given: None,
                before: None,
                known_to: None,
                roots: HashSet::new(),
                roots_known_to: None,
                counted: None,
                order: self.attached,
            };
            self.by_id.insert(id.to_owned(), frame);
        } else {
            self.leave_untracked();
        }
    }

    pub fn leave_untracked(&mut self) {
        self.untracked = true;
    }

    /// Whether the page has had frames beyond the bound.
    pub fn untracked(&self) -> bool {
        self.untracked
    }

    pub fn get(&self, id: &str) -> Option<&Frame> {
        self.by_id.get(id)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut Frame> {
        self.by_id.get_mut(id)
    }

    pub fn of_session(&self, session: &SessionId) -> impl Iterator<Item = &Frame> {
        self.by_id.values().filter(move |frame| frame.session == *session)
    }

    /// Removes a frame and all that is inside it.
    pub fn remove(&mut self, id: &str) {
        for inside in self.inside(id) {
            if let Some(mut frame) = self.by_id.remove(&inside) {
                frame.retire(&inside, &self.book);
            }
        }
    }

    /// The main frame shows another document.
    pub fn keep_only(&mut self, id: &str) {
        let book = &self.book;
        self.by_id.retain(|known, frame| {
            if known != id {
                frame.retire(known, book);
            }
            known == id
        });
        self.page = self.book.next_page();
        self.untracked = false;
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
                frame.retire(id, &self.book);
            }
        }
    }

    pub fn forget_worlds_of(&mut self, session: &SessionId) {
        for (id, frame) in self.by_id.iter_mut().filter(|(_, frame)| frame.session == *session) {
            frame.world = None;
            frame.retire(id, &self.book);
        }
    }

    /// Our script's world in a frame's document, made by us or met again on a new connection.
    pub fn enter(&mut self, id: &str, world: World, session: &SessionId) {
        let Some(frame) = self.by_id.get_mut(id) else { return };
        if frame.world.as_ref().is_some_and(|known| known.unique == world.unique) {
            return;
        }
        if frame.before.take_if(|before| *before == world.unique).is_some() {
            frame.session = session.clone();
            frame.world = Some(world);
        } else if frame.session == *session {
            frame.world = Some(world);
            frame.retire(id, &self.book);
        }
    }

    /// The connection is lost: sessions end, documents and the worlds in them may live on.
    pub fn suspend(&mut self) {
        for frame in self.by_id.values_mut() {
            if let Some(world) = frame.world.take() {
                frame.before = Some(world.unique);
            }
            frame.session = SessionId::from("");
        }
    }

    /// What was not met again on the new connection is gone.
    pub fn end_suspension(&mut self) {
        for (id, frame) in &mut self.by_id {
            if frame.before.is_some() || frame.world.is_none() {
                frame.retire(id, &self.book);
            }
        }
        self.remove_session(&SessionId::from(""));
    }

    /// The frame and everything inside it, parents before children, siblings in the order they came.
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
            if !self.by_id.contains_key(id) || found.len() > MOST_FRAMES {
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

    /// The prefix of refs to elements of a frame's present document: none for the first, `f2` and so on after.
    pub fn prefix(&mut self, id: &str) -> Option<String> {
        let frame = self.by_id.get_mut(id)?;
        let (book, page, url) = (&self.book, self.page, &frame.url);
        let given =
            frame.given.get_or_insert_with(|| Given { serial: book.next_serial(), url: url.clone(), page });
        Some(prefix_of(given.serial))
    }

    /// What became of a document that `by_serial` does not find, and its address.
    pub fn fate(&self, serial: u32, main: &str) -> (Fate, Option<String>) {
        if serial > self.book.last_serial() {
            return (Fate::NeverGiven, None);
        }
        let Some(gone) = self.book.find(serial) else { return (Fate::PageLeft, None) };
        let fate = if gone.with_tab {
            Fate::TabGone
        } else if gone.given.page != self.page || gone.frame == main {
            Fate::PageLeft
        } else if self.by_id.contains_key(&gone.frame) {
            Fate::FrameLeft
        } else {
            Fate::FrameGone
        };
        (fate, Some(gone.given.url.clone()).filter(|url| !url.is_empty()))
    }

    /// Whose page a frame shows; frames without an address of their own are their parent's.
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

impl Frame {
    fn serial(&self) -> Option<u32> {
        self.given.as_ref().map(|given| given.serial)
    }

    /// Its document is gone; the next one gets a number of its own.
    fn retire(&mut self, id: &str, book: &Book) {
        self.before = None;
        if let Some(given) = self.given.take() {
            book.add(id, given);
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
            frames.enter(id, World { unique: id_of(id), id: 1 }, &session);
            frames.get_mut(id).unwrap().url = url.to_owned();
            frames.prefix(id).unwrap();
        }
        frames
    }

    fn end_tab(frames: &mut Frames) {
        let book = frames.book.clone();
        std::mem::replace(frames, Frames::in_book(&book)).end();
    }

    #[test]
    fn a_document_that_is_gone_is_told_with_what_became_of_it() {
        type Case = (fn(&mut Frames), u32, Fate, Option<&'static str>);
        let cases: [Case; 7] = [
            (|_| {}, 3, Fate::NeverGiven, None),
            (|frames| frames.remove("inner"), 2, Fate::FrameGone, Some("http://b/")),
            (|frames| frames.forget_world("inner"), 2, Fate::FrameLeft, Some("http://b/")),
            (|frames| frames.forget_world("main"), 1, Fate::PageLeft, Some("http://a/")),
            (|frames| frames.keep_only("main"), 2, Fate::PageLeft, Some("http://b/")),
            (end_tab, 1, Fate::TabGone, Some("http://a/")),
            (end_tab, 3, Fate::NeverGiven, None),
        ];
        for (at, (change, serial, fate, url)) in cases.into_iter().enumerate() {
            let mut frames = read_twice();
            change(&mut frames);
            assert_eq!(frames.by_serial(serial), None, "{at}");
            assert_eq!(frames.fate(serial, "main"), (fate, url.map(str::to_owned)), "{at}");
        }
    }

    #[test]
    fn documents_that_are_met_again_on_a_new_connection_keep_their_numbers() {
        let session = SessionId::from("T");
        for (met_again, expected) in [("main", Some("")), ("another", None)] {
            let mut frames = read_twice();
            frames.suspend();
            frames.attach("main", None, &session);
            frames.enter("main", World { unique: id_of(met_again), id: 7 }, &session);
            frames.end_suspension();
            assert_eq!(frames.by_serial(1).is_some(), expected.is_some(), "{met_again}");
            assert!(frames.get("inner").is_none(), "nobody spoke for it any more");
            assert_eq!(frames.prefix("main").as_deref(), Some(expected.unwrap_or("f3")));
        }
    }
}
