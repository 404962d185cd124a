//! The closed shadow roots of a document, as `DOM.describeNode` has them. No script of a page's world reaches them.

use super::bounded::BoundedText;
use serde::Deserialize;

/// The depth of one description. It nests twice as deep in JSON, whose limit is 128 levels.
pub const TREE_DEPTH: usize = 40;

/// The closed shadow roots in a described tree; all else is dropped.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "RawTreeNode")]
pub struct ClosedRoots {
    /// Backend node ids.
    pub closed: Vec<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawTreeNode {
    #[serde(default)]
    children: Vec<ClosedRoots>,
    #[serde(default)]
    shadow_roots: Vec<RawShadowRoot>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawShadowRoot {
    backend_node_id: i64,
    shadow_root_type: BoundedText,
}

impl From<RawTreeNode> for ClosedRoots {
    fn from(node: RawTreeNode) -> ClosedRoots {
        let own = node.shadow_roots.iter().filter(|root| root.shadow_root_type == "closed");
        let mut closed: Vec<i64> = own.map(|root| root.backend_node_id).collect();
        closed.extend(node.children.into_iter().flat_map(|child| child.closed));
        ClosedRoots { closed }
    }
}
