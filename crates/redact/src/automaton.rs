//! Many patterns in one pass over bytes that come in pieces (Aho and Corasick).
//!
//! The crate `aho-corasick` does not say how much of a pattern the bytes so far could be the beginning of, and a stream
//! may hold back exactly that and no more. This one does, and it wipes the patterns when it is dropped.

use std::collections::VecDeque;
use zeroize::Zeroizing;

/// No node, no pattern.
const NONE: u32 = u32::MAX;
const ROOT: u32 = 0;

/// A trie whose nodes stand for beginnings of patterns.
pub(crate) struct Automaton {
    /// The children of the root by byte: most bytes of a page go no further.
    first: Vec<u32>,
    nodes: Zeroizing<Vec<Node>>,
}

#[derive(Clone, Copy)]
struct Node {
    /// The first of its children, and the next child of its own parent.
    child: u32,
    sibling: u32,
    /// The node of the longest end of this one that is a beginning too.
    fallback: u32,
    /// The longest end of it that is a whole pattern, itself included.
    ending: u32,
    /// The last pattern that was added of those that are exactly this node.
    pattern: u32,
    depth: u32,
    /// How many of the last bytes could go on to be a longer pattern.
    open: u32,
    byte: u8,
}

impl zeroize::DefaultIsZeroes for Node {}

impl Default for Node {
    fn default() -> Node {
        Node {
            child: NONE,
            sibling: NONE,
            fallback: ROOT,
            ending: NONE,
            pattern: NONE,
            depth: 0,
            open: 0,
            byte: 0,
        }
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Default)]
pub(crate) struct State(u32);

impl Automaton {
    /// `room` is the number of bytes of all patterns: the table never moves, so no copy of it stays behind.
    pub(crate) fn with_room(room: usize) -> Automaton {
        let mut nodes = Zeroizing::new(Vec::with_capacity(room + 1));
        nodes.push(Node::default());
        Automaton { first: vec![NONE; 256], nodes }
    }

    /// The number of its nodes.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a pattern, and returns the one that was there before.
    pub(crate) fn add(&mut self, bytes: impl IntoIterator<Item = u8>, pattern: u32) -> Option<u32> {
        let mut at = ROOT;
        for byte in bytes {
            at = match self.child(at, byte) {
                NONE => self.grow(at, byte),
                child => child,
            };
        }
        let before = std::mem::replace(&mut self.nodes[at as usize].pattern, pattern);
        (before != NONE).then_some(before)
    }

    fn grow(&mut self, parent: u32, byte: u8) -> u32 {
        let new = self.nodes.len() as u32;
        let above = self.nodes[parent as usize];
        self.nodes.push(Node { sibling: above.child, depth: above.depth + 1, byte, ..Node::default() });
        self.nodes[parent as usize].child = new;
        if parent == ROOT {
            self.first[usize::from(byte)] = new;
        }
        new
    }

    /// Links the nodes, once all patterns are in.
    pub(crate) fn link(&mut self) {
        let mut queue = VecDeque::from([ROOT]);
        while let Some(at) = queue.pop_front() {
            let mut child = self.nodes[at as usize].child;
            while child != NONE {
                let node = self.nodes[child as usize];
                let fallback =
                    if at == ROOT { ROOT } else { self.next(self.nodes[at as usize].fallback, node.byte) };
                let behind = self.nodes[fallback as usize];
                let linked = &mut self.nodes[child as usize];
                linked.fallback = fallback;
                linked.ending = if node.pattern == NONE { behind.ending } else { child };
                linked.open = if node.child == NONE { behind.open } else { node.depth };
                queue.push_back(child);
                child = node.sibling;
            }
        }
    }

    pub(crate) fn step(&self, state: State, byte: u8) -> State {
        State(self.next(state.0, byte))
    }

    /// The whole patterns that end here, longest first: each with its length.
    pub(crate) fn endings(&self, state: State) -> impl Iterator<Item = (u32, usize)> {
        let mut at = self.nodes[state.0 as usize].ending;
        std::iter::from_fn(move || {
            let node = self.nodes.get(at as usize)?;
            at = self.nodes[node.fallback as usize].ending;
            Some((node.pattern, node.depth as usize))
        })
    }

    /// How many of the last bytes are a proper beginning of a pattern.
    pub(crate) fn open(&self, state: State) -> usize {
        self.nodes[state.0 as usize].open as usize
    }

    fn next(&self, mut at: u32, byte: u8) -> u32 {
        loop {
            if at == ROOT {
                let first = self.first[usize::from(byte)];
                return if first == NONE { ROOT } else { first };
            }
            match self.child(at, byte) {
                NONE => at = self.nodes[at as usize].fallback,
                child => return child,
            }
        }
    }

    fn child(&self, parent: u32, byte: u8) -> u32 {
        if parent == ROOT {
            return self.first[usize::from(byte)];
        }
        let mut at = self.nodes[parent as usize].child;
        while let Some(node) = self.nodes.get(at as usize) {
            if node.byte == byte {
                return at;
            }
            at = node.sibling;
        }
        NONE
    }
}
