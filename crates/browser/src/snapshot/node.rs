//! Nodes of a page, and the merge of its frames into one list.

use super::{frame_reply::FrameSnapshot, partial::DeferredRanges};
use redact::RedactedFields;
use serde::Serialize;
use std::{collections::HashMap, sync::Arc};

/// Deeper nodes are rendered at this depth, which bounds the nesting for readers.
pub(super) const MAX_DEPTH: usize = 64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub depth: usize,
    pub role: String,
    pub name: String,
    pub value: Option<String>,
    pub reference: Option<String>,
    pub href: Option<String>,
    /// Text that a person sees on the element, where it differs from the accessible name.
    pub visible_label: Option<String>,
    /// Position and size in CSS pixels of the viewport, if they were requested: x, y, width, height.
    pub element_box: Option<[i32; 4]>,
    /// Id of the frame embedded here; empty if unknown.
    pub(super) frame: Option<String>,
    pub states: NodeStates,
    /// A part of the page that was counted and not read; the other fields are those of its first element.
    pub deferred: Option<Box<DeferredPart>>,
}

/// What a part that was not read holds, as far as it is known without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeferredPart {
    pub siblings: usize,
    pub lines: usize,
    pub actionable: usize,
}

impl Node {
    /// Lines that a node takes in an outline.
    pub fn lines(&self) -> usize {
        self.deferred.as_ref().map_or(1, |part| part.lines)
    }

    /// Elements that a node stands for, itself included.
    pub fn siblings(&self) -> usize {
        self.deferred.as_ref().map_or(1, |part| part.siblings)
    }
}

/// Serializes only what is set. An absent state is false or does not apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, RedactedFields)]
pub struct NodeStates<T = String> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expanded: Option<bool>,
    #[serde(skip_serializing_if = "is_false")]
    pub pressed: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub selected: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub disabled: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub required: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub readonly: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub invalid: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub current: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub multiline: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub focused: bool,
    /// A field whose value is never included.
    #[serde(skip_serializing_if = "is_false")]
    pub secret: bool,
    /// A person cannot see the text that names it.
    #[serde(skip_serializing_if = "is_false")]
    pub unseen: bool,
    /// Declared hidden, or not rendered.
    #[serde(skip_serializing_if = "is_false")]
    pub hidden: bool,
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

/// All frames of a page as one pre-order list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    /// Unchanged nodes are shared with earlier readings of the same page.
    pub nodes: Vec<Arc<Node>>,
    pub title: String,
    pub status: Option<u16>,
    /// Nodes beyond the limits of the page script.
    pub omitted_nodes: usize,
    pub complete: bool,
    /// Whether something is unseen while animations run that end soon.
    pub animating: bool,
    /// The serial of the script's reply, if it deferred parts of the page.
    pub partial: Option<u64>,
    /// The parts that earlier readings deferred; None if they were not looked for.
    pub parts: Option<Vec<DeferredRanges>>,
}

impl Page {
    /// The text of a node that contains exactly one text and nothing else, so that one line can hold both.
    /// A marked text needs a line of its own; otherwise the mark would seem to belong to the node.
    pub fn only_text(&self, at: usize) -> Option<&str> {
        let depth = self.nodes[at].depth;
        let text = self.nodes.get(at + 1).filter(|next| next.role == "text" && next.depth > depth)?;
        if text.states.unseen || text.states.hidden {
            return None;
        }
        let alone = self.nodes.get(at + 2).is_none_or(|after| after.depth <= depth);
        alone.then_some(text.name.as_str())
    }
}

/// Inserts each frame's nodes below the node that embeds it. What the main frame's parts are ranges of moves accordingly.
pub(crate) fn merge_frames(main: FrameSnapshot, mut frames: HashMap<String, FrameSnapshot>) -> Page {
    // Where each node of the main frame is in the page, and where the page ends.
    let mut places = Vec::with_capacity(main.nodes.len() + 1);
    let mut page = Page {
        nodes: Vec::with_capacity(main.nodes.len()),
        title: main.title,
        status: main.status,
        omitted_nodes: main.omitted_nodes,
        complete: main.complete,
        animating: main.animating,
        partial: main.partial,
        parts: main.parts,
    };
    let mut open = vec![(main.nodes.into_iter(), 0, (0, 0))];
    loop {
        let is_main = open.len() == 1;
        let Some((nodes, base, (left, top))) = open.last_mut() else { break };
        let Some(mut node) = nodes.next() else {
            open.pop();
            continue;
        };
        if *base > 0 {
            let node = Arc::make_mut(&mut node);
            node.depth = node.depth.saturating_add(*base).min(MAX_DEPTH);
            if let Some([x, y, ..]) = &mut node.element_box {
                (*x, *y) = (x.saturating_add(*left), y.saturating_add(*top));
            }
        }
        let inside = node.frame.as_ref().and_then(|frame| frames.remove(frame));
        let below = node.depth + 1;
        if is_main {
            places.push(page.nodes.len());
        }
        let origin = node.element_box.map_or((0, 0), |[x, y, ..]| (x, y));
        page.nodes.push(node);
        if let Some(frame) = inside {
            page.omitted_nodes = page.omitted_nodes.saturating_add(frame.omitted_nodes);
            page.complete &= frame.complete;
            open.push((frame.nodes.into_iter(), below, origin));
        }
    }
    places.push(page.nodes.len());
    let place = |at: usize| places.get(at).copied().unwrap_or(page.nodes.len());
    for range in page.parts.iter_mut().flatten().flat_map(|ranges| &mut ranges.parts) {
        *range = place(range.start)..place(range.end);
    }
    page
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::snapshot::frame_reply::tests::frame;

    /// One node a line, as `depth role name`; the other fields have their defaults.
    pub fn page(lines: &str) -> Page {
        let nodes = lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
            let mut words = line.splitn(3, ' ');
            let depth = words.next().unwrap().parse().unwrap();
            let role = words.next().unwrap().to_owned();
            let name = words.next().unwrap_or_default().to_owned();
            Arc::new(Node { depth, role, name, ..Node::default() })
        });
        Page { nodes: nodes.collect(), complete: true, ..Page::default() }
    }

    #[test]
    fn frames_are_merged_where_they_are_embedded() {
        let main = frame(&["0 main", "1 iframe  fA", "1 iframe  fgone", "0 "]);
        let inner = frame(&["0 button Pay", "0 iframe  fB"]);
        let innermost = frame(&["0 link"]);
        let page = merge_frames(main, HashMap::from([("A".to_owned(), inner), ("B".to_owned(), innermost)]));
        let merged: Vec<_> = page.nodes.iter().map(|node| (node.depth, node.role.as_str())).collect();
        assert_eq!(
            merged,
            [
                (0, "main"),
                (1, "iframe"),
                (2, "button"),
                (2, "iframe"),
                (3, "link"),
                (1, "iframe"),
                (0, "text")
            ]
        );
        assert_eq!(page.omitted_nodes, 3);
    }

    #[test]
    fn deferred_parts_hold_the_frames_that_are_embedded_in_them() {
        let mut main = frame(&["0 main", "1 iframe  fA", "1 button", "1 iframe  fB", "0 "]);
        main.parts = Some(vec![DeferredRanges { reading: 3, parts: vec![1..2, 3..5, 5..5] }]);
        let inner = frame(&["0 button Pay", "0 "]);
        let page =
            merge_frames(main, HashMap::from([("A".to_owned(), inner.clone()), ("B".to_owned(), inner)]));
        assert_eq!(page.parts.unwrap()[0].parts, [1..4, 5..9, 9..9]);
    }
}
