//! Nodes as the script sends them, and the stitching of frames into one page.

use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Deeper nodes are shown at this depth: nothing is lost, and no reader has to nest further.
const DEEPEST: usize = 64;

/// One frame, as its script tells it. Short keys: there may be 20,000 of these in a reply.
#[derive(Debug, Deserialize)]
pub(crate) struct FrameSnapshot {
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
    /// The frame that is shown here; empty when it is not known which.
    #[serde(rename = "f")]
    pub(super) frame: Option<String>,
    #[serde(rename = "s", default)]
    pub states: States,
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
    /// A field whose value is never shown.
    #[serde(default, skip_serializing_if = "is_false")]
    pub secret: bool,
}

fn is_false(value: &bool) -> bool {
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
    pub fn only_text(&self, at: usize) -> Option<&str> {
        let depth = self.nodes[at].depth;
        let text = self.nodes.get(at + 1).filter(|next| next.role == "text" && next.depth > depth)?;
        let alone = self.nodes.get(at + 2).is_none_or(|after| after.depth <= depth);
        alone.then_some(text.name.as_str())
    }
}

/// Puts each frame's nodes under the node that shows it.
pub(crate) fn stitch(main: FrameSnapshot, mut frames: HashMap<String, FrameSnapshot>) -> Page {
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
        node.depth = (node.depth + *base).min(DEEPEST);
        let inside = node.frame.as_ref().and_then(|frame| frames.remove(frame));
        let below = node.depth + 1;
        page.nodes.push(node);
        if let Some(frame) = inside {
            page.left += frame.left;
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
        serde_json::from_str(&json).unwrap()
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
    fn a_node_takes_fields_it_does_not_know() {
        let frame = frame(r#"[{"d":0,"r":"button","new":{"x":1},"s":{"checked":"mixed","novel":true}}]"#);
        assert_eq!(frame.nodes[0].states.checked.as_deref(), Some("mixed"));
    }
}
