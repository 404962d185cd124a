//! Nodes as the script sends them, and the stitching of frames into one page.

use crate::text::{cut, seen};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, SeqAccess, Visitor},
};
use std::{collections::HashMap, fmt};

/// Deeper nodes are shown at this depth: nothing is lost, and no reader has to nest further.
const DEEPEST: usize = 64;
/// The script sends no more of one frame, and counts the rest; an answer with more is not ours.
pub(crate) const MOST_NODES: usize = 120_000;

/// The longest role of ARIA is `menuitemcheckbox`.
const LONGEST_ROLE: usize = 32;

/// What a control shows is told up to this many bytes, so that the smallest reply has room for it.
const MOST_SHOWN: usize = 80;

/// One frame, as its script tells it. Short keys: there may be 120,000 of these in a reply.
///
/// It comes as JSON in a string: handing 10,000 objects over one by one takes Chromium longer than reading the page.
#[derive(Debug)]
pub(crate) struct FrameSnapshot(Frame);

impl TryFrom<String> for FrameSnapshot {
    type Error = serde_json::Error;

    fn try_from(json: String) -> Result<FrameSnapshot, serde_json::Error> {
        serde_json::from_str(&json).map(FrameSnapshot)
    }
}

/// What the script answers: the frame, or that it is too large to be read just so.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct FrameAnswer(Option<FrameSnapshot>);

impl TryFrom<String> for FrameAnswer {
    type Error = serde_json::Error;

    fn try_from(text: String) -> Result<FrameAnswer, serde_json::Error> {
        if text == "large" {
            return Ok(FrameAnswer(None));
        }
        FrameSnapshot::try_from(text).map(|frame| FrameAnswer(Some(frame)))
    }
}

impl FrameAnswer {
    pub fn into_snapshot(self) -> Option<FrameSnapshot> {
        self.0
    }
}

#[derive(Debug, Deserialize)]
struct Frame {
    #[serde(deserialize_with = "bounded_nodes")]
    nodes: Vec<Node>,
    left: usize,
    complete: bool,
    title: String,
    status: Option<u16>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Node {
    #[serde(rename = "d")]
    pub depth: usize,
    #[serde(rename = "r")]
    pub role: String,
    #[serde(rename = "n", default)]
    pub name: String,
    #[serde(rename = "v")]
    pub value: Option<String>,
    #[serde(rename = "e")]
    pub reference: Option<String>,
    #[serde(rename = "u")]
    pub href: Option<String>,
    /// What a person sees on it, where its name says something else.
    #[serde(rename = "w")]
    pub shows: Option<String>,
    /// The frame that is shown here; empty when it is not known which.
    #[serde(rename = "f")]
    pub(super) frame: Option<String>,
    #[serde(rename = "s", default)]
    pub states: States,
}

impl FrameSnapshot {
    /// Takes from one frame only what it may say: words that can be seen, and refs to its own elements.
    /// A renderer that a page took over sends what it likes.
    pub fn of_frame(mut self, prefix: &str) -> FrameSnapshot {
        self.0.title = seen(&self.0.title);
        for node in &mut self.0.nodes {
            if node.role.len() > LONGEST_ROLE || !node.role.bytes().all(|b| b.is_ascii_lowercase()) {
                node.role = "generic".to_owned();
            }
            node.name = seen(&node.name);
            node.value = node.value.as_deref().map(seen);
            node.href = node.href.as_deref().map(seen);
            node.shows = node.shows.as_deref().map(|shows| cut(shows, MOST_SHOWN));
            node.reference.take_if(|reference| !is_ref_of(reference, prefix));
        }
        self
    }
}

fn is_ref_of(reference: &str, prefix: &str) -> bool {
    let number = reference.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('e'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// A node takes 20 times the memory of its shortest JSON, so their number has a bound of its own.
fn bounded_nodes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Node>, D::Error> {
    struct Nodes;

    impl<'de> Visitor<'de> for Nodes {
        type Value = Vec<Node>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MOST_NODES} nodes")
        }

        fn visit_seq<S: SeqAccess<'de>>(self, mut sent: S) -> Result<Vec<Node>, S::Error> {
            let mut nodes = Vec::new();
            while let Some(node) = sent.next_element()? {
                if nodes.len() == MOST_NODES {
                    return Err(S::Error::invalid_length(MOST_NODES + 1, &self));
                }
                nodes.push(node);
            }
            Ok(nodes)
        }
    }

    deserializer.deserialize_seq(Nodes)
}

/// Only what is set; an absent one is false or does not apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct States {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expanded: Option<bool>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub pressed: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub selected: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub disabled: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub required: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub readonly: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub invalid: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub current: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub multiline: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub focused: bool,
    /// A field whose value is never shown.
    #[serde(default, skip_serializing_if = "is_false")]
    pub secret: bool,
    /// What it is told by cannot be seen by a person.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unseen: bool,
    /// Declared hidden, or not rendered.
    #[serde(default, skip_serializing_if = "is_false")]
    pub hidden: bool,
}

pub(super) fn is_false(value: &bool) -> bool {
    !value
}

/// All frames as one list.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub nodes: Vec<Node>,
    pub title: String,
    pub status: Option<u16>,
    pub left: usize,
    pub complete: bool,
}

impl Page {
    /// A node that is followed by exactly one text and nothing else inside it: its line can hold both.
    /// A text with a mark has a line of its own, or the mark would seem to be the node's.
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

/// Puts each frame's nodes under the node that shows it.
pub(crate) fn stitch(FrameSnapshot(main): FrameSnapshot, mut frames: HashMap<String, FrameSnapshot>) -> Page {
    let mut page = Page {
        nodes: Vec::with_capacity(main.nodes.len()),
        title: main.title,
        status: main.status,
        left: main.left,
        complete: main.complete,
    };
    let mut open = vec![(main.nodes.into_iter(), 0)];
    while let Some((nodes, base)) = open.last_mut() {
        let Some(mut node) = nodes.next() else {
            open.pop();
            continue;
        };
        node.depth = node.depth.saturating_add(*base).min(DEEPEST);
        let inside = node.frame.as_ref().and_then(|frame| frames.remove(frame));
        let below = node.depth + 1;
        page.nodes.push(node);
        if let Some(FrameSnapshot(frame)) = inside {
            page.left = page.left.saturating_add(frame.left);
            page.complete &= frame.complete;
            open.push((frame.nodes.into_iter(), below));
        }
    }
    page
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// `depth role name` a line; the rest of a node is left at its default.
    pub fn page(lines: &str) -> Page {
        let nodes = lines.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
            let mut words = line.splitn(3, ' ');
            let depth = words.next().unwrap().parse().unwrap();
            let role = words.next().unwrap().to_owned();
            Node { depth, role, name: words.next().unwrap_or_default().to_owned(), ..Node::default() }
        });
        Page { nodes: nodes.collect(), complete: true, ..Page::default() }
    }

    fn frame(json: &str) -> FrameSnapshot {
        let json = format!(r#"{{"nodes":{json},"left":1,"complete":true,"title":"T","status":null}}"#);
        FrameSnapshot::try_from(json).unwrap()
    }

    #[test]
    fn frames_are_put_where_they_are_shown() {
        let main = frame(
            r#"[{"d":0,"r":"main"},{"d":1,"r":"iframe","f":"A"},{"d":1,"r":"iframe","f":"gone"},{"d":0,"r":"text"}]"#,
        );
        let inner = frame(r#"[{"d":0,"r":"button","n":"Pay"},{"d":0,"r":"iframe","f":"B"}]"#);
        let innermost = frame(r#"[{"d":0,"r":"link"}]"#);
        let page = stitch(main, HashMap::from([("A".to_owned(), inner), ("B".to_owned(), innermost)]));
        let told: Vec<_> = page.nodes.iter().map(|node| (node.depth, node.role.as_str())).collect();
        assert_eq!(
            told,
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
        assert_eq!(page.left, 3);
    }

    #[test]
    fn a_frame_tells_of_itself_in_words_that_can_be_seen() {
        let told = frame(
            r#"[{"d":0,"r":"link\n- button","n":"a\nb\u200b","v":"\u202ex","e":"e3"},{"d":0,"r":"button","e":"f2e3"},
                {"d":0,"r":"button","e":"f2e3]"},{"d":0,"r":"button","e":"f21e3"}]"#,
        );
        let nodes = told.of_frame("f2").0.nodes;
        assert_eq!((nodes[0].role.as_str(), nodes[0].name.as_str()), ("generic", "a b"));
        assert_eq!(nodes[0].value.as_deref(), Some("x"));
        let refs: Vec<_> = nodes.iter().map(|node| node.reference.as_deref()).collect();
        assert_eq!(refs, [None, Some("f2e3"), None, None]);
    }

    #[test]
    fn more_nodes_than_the_script_sends_are_refused() {
        let snapshot = |nodes: usize| {
            let nodes = vec![r#"{"d":0,"r":"x"}"#; nodes].join(",");
            let json = format!(r#"{{"nodes":[{nodes}],"left":0,"complete":true,"title":"","status":null}}"#);
            FrameSnapshot::try_from(json)
        };
        assert_eq!(snapshot(MOST_NODES).unwrap().0.nodes.len(), MOST_NODES);
        let error = snapshot(MOST_NODES + 1).unwrap_err().to_string();
        assert!(error.contains("at most 120000 nodes"), "{error}");
    }

    #[test]
    fn a_node_takes_fields_it_does_not_know() {
        let frame = frame(r#"[{"d":0,"r":"button","new":{"x":1},"s":{"checked":"mixed","novel":true}}]"#);
        assert_eq!(frame.0.nodes[0].states.checked.as_deref(), Some("mixed"));
    }
}
