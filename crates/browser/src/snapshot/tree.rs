//! The JSON tree: roles, names and children, as S1's callers know it.

use super::{
    markdown,
    node::{Node, Page, States},
};
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
pub struct Tree {
    pub snapshot: TreeNode,
    pub interactive_elements: Vec<InteractiveElement>,
    /// The same page as Markdown, cut to its share of the reply.
    pub text_content: String,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct TreeNode {
    pub role: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(flatten)]
    pub states: States,
    /// At most 64 levels: deeper nodes are raised to the deepest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<TreeNode>,
}

#[derive(Clone, Debug, Serialize)]
pub struct InteractiveElement {
    pub role: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(rename = "ref")]
    pub reference: String,
}

/// What the braces, quotes and keys of one node take at most, beside its text.
const NODE_COST: usize = 60;
/// Quotes and control characters in page text may be written as up to six bytes each.
fn cost_of(text: &str) -> usize {
    text.chars().map(|c| if matches!(c, '"' | '\\') || c.is_control() { 6 } else { c.len_utf8() }).sum()
}

/// The tree gets half of the reply, the list and the text a quarter each.
/// Also returns how many nodes the tree had no room for.
pub(super) fn build(page: &Page, budget: usize) -> (Tree, usize) {
    let (shown, cut) = shown(page, budget / 2);
    let root = TreeNode { role: "RootWebArea".to_owned(), name: page.title.clone(), ..TreeNode::default() };
    let mut open: Vec<(usize, TreeNode)> = Vec::new();
    let mut root = root;
    for node in shown {
        close(&mut open, &mut root, Some(node.depth));
        open.push((node.depth, TreeNode::of(node)));
    }
    close(&mut open, &mut root, None);
    let left = page.left.saturating_add(cut);
    if left > 0 || !page.complete {
        let name = super::left_out_line(left, page.complete).trim_end().to_owned();
        root.children.push(TreeNode { role: "note".to_owned(), name, ..TreeNode::default() });
    }
    let interactive_elements = interactive(page, budget / 4);
    let (text_content, _) = markdown::write(page, budget / 4);
    (Tree { snapshot: root, interactive_elements, text_content }, cut)
}

fn shown(page: &Page, budget: usize) -> (&[Node], usize) {
    let mut spent = 0;
    let fits = page.nodes.iter().take_while(|node| {
        spent += NODE_COST + cost_of(&node.role) + cost_of(&node.name);
        spent += node.value.as_deref().map_or(0, cost_of);
        spent <= budget
    });
    let fits = fits.count();
    (&page.nodes[..fits], page.nodes.len() - fits)
}

/// Puts every open node that is not above `depth` into its parent.
fn close(open: &mut Vec<(usize, TreeNode)>, root: &mut TreeNode, depth: Option<usize>) {
    while open.last().is_some_and(|(last, _)| depth.is_none_or(|depth| *last >= depth)) {
        let Some((_, done)) = open.pop() else { return };
        open.last_mut().map_or(&mut *root, |(_, parent)| parent).children.push(done);
    }
}

fn interactive(page: &Page, budget: usize) -> Vec<InteractiveElement> {
    let mut spent = 0;
    page.nodes
        .iter()
        .filter_map(|node| Some((node, node.reference.clone()?)))
        .take_while(|(node, _)| {
            spent += NODE_COST + cost_of(&node.role) + cost_of(&node.name);
            spent <= budget
        })
        .map(|(node, reference)| InteractiveElement {
            role: node.role.clone(),
            name: node.name.clone(),
            reference,
        })
        .collect()
}

impl TreeNode {
    fn of(node: &Node) -> TreeNode {
        TreeNode {
            role: node.role.clone(),
            name: node.name.clone(),
            value: node.value.clone(),
            reference: node.reference.clone(),
            states: node.states.clone(),
            children: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::node::tests::page, *};

    #[test]
    fn a_page_is_a_tree_under_its_root() {
        let mut page = page(
            "0 banner
             1 link Home
             0 main
             1 heading Profile
             2 text x
             1 button Save",
        );
        page.title = "Settings".into();
        page.nodes[3].states.level = Some(1);
        page.nodes[5].reference = Some("e2".into());
        let (tree, cut) = build(&page, 100_000);
        assert_eq!(cut, 0);
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
    fn a_tree_keeps_to_its_budget_whatever_it_is_made_of() {
        for name in ["plain", "\"\"\"\"\"\"\"\"", "ääääää", "\u{1}\u{1}\u{1}"] {
            let lines: String = (0..2000).map(|n| format!("{} button {name}\n", n % 7)).collect();
            let mut page = page(&lines);
            page.nodes.iter_mut().for_each(|node| node.reference = Some("f12e3456".into()));
            let (tree, cut) = build(&page, 24_000);
            let json = serde_json::to_string(&tree).unwrap();
            assert!(json.len() <= 24_000, "{} bytes of {name:?}", json.len());
            assert!(cut > 0);
        }
    }
}
