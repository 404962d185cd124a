//! The frames of a tab: who holds whom, which session speaks for each, and which world our script is in.

use crate::cdp::{Id, SessionId};
use policy::Origin;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

/// A page may make frames without end; those beyond the bound are not tracked, read or acted in.
pub(crate) const MOST_FRAMES: usize = 1000;

#[derive(Default)]
pub(crate) struct Frames {
    by_id: HashMap<String, Frame>,
    attached: u64,
    serials: Serials,
    untracked: bool,
}

/// Numbers of documents in refs: one row for all tabs of a session, so that none is given twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct Serials(Arc<AtomicU32>);

impl Serials {
    fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

#[derive(Debug)]
pub(crate) struct Frame {
    pub parent: Option<String>,
    pub session: SessionId,
    pub url: String,
    /// Where our script runs in the frame's present document.
    pub world: Option<World>,
    /// The document's number in refs, given when it is first read and never again.
    pub serial: Option<u32>,
    /// The parent's world that was told which of its elements shows this frame.
    pub known_to: Option<Id>,
    order: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct World {
    /// Unique over all processes; the plain id is not.
    pub unique: Id,
    pub id: i64,
}

impl Frames {
    pub fn counting(serials: &Serials) -> Frames {
        Frames { serials: serials.clone(), ..Frames::default() }
    }

    /// A new frame, or one that moved to another process and is spoken for by another session.
    pub fn attach(&mut self, id: &str, parent: Option<&str>, session: &SessionId) {
        self.attached += 1;
        if let Some(frame) = self.by_id.get_mut(id) {
            if frame.session != *session {
                frame.session = session.clone();
                frame.world = None;
                frame.serial = None;
            }
            if let Some(parent) = parent {
                frame.parent = Some(parent.to_owned());
            }
        } else if self.by_id.len() < MOST_FRAMES {
            let frame = Frame {
                parent: parent.map(str::to_owned),
                session: session.clone(),
                url: String::new(),
                world: None,
                serial: None,
                known_to: None,
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

    /// Removes a frame and all that is inside it.
    pub fn remove(&mut self, id: &str) {
        for inside in self.inside(id) {
            self.by_id.remove(&inside);
        }
    }

    pub fn keep_only(&mut self, id: &str) {
        self.by_id.retain(|known, _| known == id);
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
        for frame in self.by_id.values_mut() {
            if frame.world.as_ref().is_some_and(|world| world.unique == unique) {
                frame.world = None;
                frame.serial = None;
            }
        }
    }

    pub fn forget_worlds_of(&mut self, session: &SessionId) {
        for frame in self.by_id.values_mut().filter(|frame| frame.session == *session) {
            frame.world = None;
            frame.serial = None;
        }
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
        let serial = match frame.serial {
            Some(serial) => serial,
            None => *frame.serial.insert(self.serials.next()),
        };
        Some(prefix_of(serial))
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
        self.by_id.iter().find(|(_, frame)| frame.serial == Some(serial)).map(|(id, _)| id)
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
}
