//! The JSON tree format: roles, names and children.

use super::{
    layout::{FormatCost, Layout, LayoutItem},
    node::{Node, NodeStates, Page, is_false},
};
use crate::text::cut;
use redact::RedactedFields;
use serde::Serialize;

#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct JsonTree<T = String> {
    pub snapshot: TreeNode<T>,
    pub interactive_elements: Vec<InteractiveElement<T>>,
    /// The same page as Markdown, limited to its share of the reply.
    pub text_content: T,
}

#[derive(Clone, Debug, Default, Serialize, RedactedFields)]
pub struct TreeNode<T = String> {
    pub role: T,
    /// None if it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<T>,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<T>,
    /// Position and size in CSS pixels of the viewport, if they were requested: x, y, width, height.
    #[serde(rename = "box", skip_serializing_if = "Option::is_none")]
    pub element_box: Option<Box<[i32; 4]>>,
    #[serde(flatten)]
    pub states: NodeStates<T>,
    /// Text that a person sees on the element, where it differs from the accessible name.
    #[serde(rename = "shows", skip_serializing_if = "Option::is_none")]
    pub visible_label: Option<T>,
    /// With role `fold`: the cursor that opens it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<T>,
    /// At most 64 levels: deeper nodes are raised to the deepest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TreeNode<T>>,
}

#[derive(Clone, Debug, Serialize, RedactedFields)]
pub struct InteractiveElement<T = String> {
    pub role: T,
    /// None if it is empty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<T>,
    #[serde(rename = "ref")]
    pub reference: T,
    #[serde(rename = "shows", skip_serializing_if = "Option::is_none")]
    pub visible_label: Option<T>,
    #[serde(skip_serializing_if = "is_false")]
    pub unseen: bool,
}

pub(super) struct JsonFormat;

impl FormatCost for JsonFormat {
    const INDENT: usize = 0;
    const INLINES_TEXT: bool = false;
    /// `{"role":"fold","name":"","cursor":""},`
    const FOLD_OVERHEAD: usize = 38;

    fn cost(node: &Node, _inside: Option<&str>) -> usize {
        // The comma after it, and the list of children that it may have.
        let around = 1 + r#","children":[]"#.len();
        let listed = InteractiveElement::from_node(node).map_or(0, |element| json_len(&element) + 1);
        json_len(&TreeNode::from_node(node)) + around + listed
    }
}

/// Measured by serializing: quotes and control characters in page text take up to six bytes each.
pub(super) fn json_len(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(usize::MAX / 2, |json| json.len())
}

/// Bytes around the nodes of a tree, without the title and the texts.
pub(super) const TREE_OVERHEAD: usize = 130;
/// `{"role":"note","name":},`
pub(super) const NOTE_OVERHEAD: usize = 25;

/// Builds a tree from a layout, with the notes before and after its nodes.
pub(super) fn build(
    page: &Page,
    layout: &Layout,
    serial: u64,
    title: &str,
    notes: [Option<String>; 2],
) -> JsonTree {
    let mut root = TreeNode { role: "RootWebArea".to_owned(), name: non_empty(title), ..TreeNode::default() };
    let mut interactive_elements = Vec::new();
    let mut open: Vec<(usize, TreeNode)> = Vec::new();
    let [before, after] = notes.map(|note| note.map(|name| TreeNode::with_name("note", name)));
    root.children.extend(before);
    for item in &layout.items {
        let (depth, node) = match item {
            LayoutItem::Node { at, depth, .. } => {
                interactive_elements.extend(InteractiveElement::from_node(&page.nodes[*at]));
                (*depth, TreeNode::from_node(&page.nodes[*at]))
            }
            LayoutItem::Part { at, depth, from, to } => {
                let part = page.nodes[*at].part(*from, *to);
                interactive_elements.extend(InteractiveElement::from_node(&part));
                (*depth, TreeNode::from_node(&part))
            }
            LayoutItem::Fold { depth, fold } => {
                let cursor = Some(fold.cursor(serial));
                (*depth, TreeNode { cursor, ..TreeNode::with_name("fold", fold.summary.clone()) })
            }
        };
        close_nodes(&mut open, &mut root, Some(depth));
        open.push((depth, node));
    }
    close_nodes(&mut open, &mut root, None);
    root.children.extend(after);
    JsonTree { snapshot: root, interactive_elements, text_content: String::new() }
}

/// Moves every open node at or below `depth` into its parent.
fn close_nodes(open: &mut Vec<(usize, TreeNode)>, root: &mut TreeNode, depth: Option<usize>) {
    while open.last().is_some_and(|(last, _)| depth.is_none_or(|depth| *last >= depth)) {
        let Some((_, done)) = open.pop() else { return };
        open.last_mut().map_or(&mut *root, |(_, parent)| parent).children.push(done);
    }
}

/// The list has shortened names; the tree has the whole ones.
const LISTED_NAME_BYTES: usize = 40;
const LISTED_LABEL_BYTES: usize = 20;

impl InteractiveElement {
    fn from_node(node: &Node) -> Option<InteractiveElement> {
        let reference = node.reference.clone()?;
        let name = node.name[..node.part_end(0, LISTED_NAME_BYTES.min(node.name.len()))].to_owned();
        let visible_label = node.visible_label.as_deref().map(|label| cut(label, LISTED_LABEL_BYTES));
        Some(InteractiveElement {
            role: node.role.clone(),
            name: non_empty(&name),
            reference,
            visible_label,
            unseen: node.states.unseen,
        })
    }
}

impl TreeNode {
    fn from_node(node: &Node) -> TreeNode {
        TreeNode {
            role: node.role.clone(),
            name: non_empty(&node.name),
            value: node.value.clone(),
            reference: node.reference.clone(),
            element_box: node.element_box.filter(|_| node.reference.is_some()).map(Box::new),
            states: node.states.clone(),
            visible_label: node.visible_label.clone(),
            cursor: None,
            children: Vec::new(),
        }
    }

    fn with_name(role: &str, name: String) -> TreeNode {
        TreeNode { role: role.to_owned(), name: non_empty(&name), ..TreeNode::default() }
    }
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::{node::tests::page, tests::tree_of};
    use std::sync::Arc;

    #[test]
    fn renders_a_page_as_a_tree_under_its_root() {
        let mut page = page(
            "0 banner
             1 link Home
             0 main
             1 heading Profile
             2 text x
             1 button Save",
        );
        page.title = "Settings".into();
        Arc::make_mut(&mut page.nodes[3]).states.level = Some(1);
        Arc::make_mut(&mut page.nodes[5]).reference = Some("e2".into());
        let tree = tree_of(&page, 100_000);
        let json = serde_json::to_string(&tree.snapshot).unwrap();
        let expected = concat!(
            r#"{"role":"RootWebArea","name":"Settings","children":["#,
            r#"{"role":"banner","children":[{"role":"link","name":"Home"}]},"#,
            r#"{"role":"main","children":[{"role":"heading","name":"Profile","level":1,"#,
            r#""children":[{"role":"text","name":"x"}]},{"role":"button","name":"Save","ref":"e2"}]}]}"#,
        );
        assert_eq!(json, expected);
        let listed = serde_json::to_string(&tree.interactive_elements).unwrap();
        assert_eq!(listed, r#"[{"role":"button","name":"Save","ref":"e2"}]"#);
    }

    #[test]
    fn a_tree_never_exceeds_its_budget() {
        for name in ["plain", "\"\"\"\"\"\"\"\"", "ääääää", "\u{1}\u{1}\u{1}"] {
            let lines: String = (0..2000).map(|n| format!("{} button {name}\n", n % 7)).collect();
            let mut page = page(&lines);
            page.nodes.iter_mut().for_each(|node| Arc::make_mut(node).reference = Some("f12e3456".into()));
            let tree = tree_of(&page, 24_000);
            let json = serde_json::to_string(&tree).unwrap();
            assert!(json.len() <= 24_000, "{} bytes of {name:?}", json.len());
            assert!(json.contains("cursor"), "{json}");
        }
    }
}
