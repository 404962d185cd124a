//! What an agent sees of a page: one flat, pre-order list of nodes, written in one of three formats.
//!
//! Lists instead of trees, because a page may be 10,000 levels deep and nothing here recurses. A reply never
//! takes more than its budget: what does not fit is folded, and every fold has a cursor that opens it.

mod cursor;
mod find;
mod fold;
mod markdown;
mod node;
mod outline;
mod path;
mod shape;
mod store;
mod text;
mod tree;

pub use find::{BadPattern, Found, Match};
pub use node::States;
pub use tree::{InteractiveElement, Tree, TreeNode};

pub(crate) use cursor::{Cursor, Span};
pub(crate) use find::Query;
pub(crate) use node::{FrameSnapshot, Page, stitch};
pub(crate) use store::Store;

use fold::{Format, Limits, Plan, plan};
use policy::{ReadFormat, Tokens};

/// One reading of a page.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub url: String,
    pub title: String,
    /// The HTTP status of the document, when Chromium tells it.
    pub status: Option<u16>,
    pub content: Content,
    /// Nodes that are folded away, or that were beyond the bounds of the walk.
    pub left_out: usize,
}

#[derive(Clone, Debug)]
pub enum Content {
    Outline(String),
    Markdown(String),
    Tree(Tree),
}

/// How much of a reply is for the line above the snapshot: session, address, title.
pub fn head_room(tokens: Tokens) -> usize {
    const LEAST: usize = 160;
    LEAST + (tokens.bytes() - Tokens::LEAST as usize * 4) / 32
}

/// What of a page is shown, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub serial: u64,
    pub span: Span,
    pub format: ReadFormat,
    /// Bytes that the text, or the JSON of a tree, may take.
    pub bytes: usize,
    pub max_depth: usize,
}

pub(crate) struct Shown {
    pub content: Content,
    /// Whether there is something for a cursor to open.
    pub folds: bool,
    /// Nodes that are folded away.
    pub hidden: usize,
}

impl View {
    /// The whole of a page, in what a reply has room for beside its head.
    pub fn of(page: &Page, serial: u64, format: ReadFormat, tokens: Tokens, max_depth: usize) -> View {
        let bytes = tokens.bytes() - head_room(tokens);
        View { serial, span: page.whole(), format, bytes, max_depth }
    }
}

/// A text_content that has less room than this is left out: it could not even name what it leaves out.
const LEAST_TEXT: usize = 640;

impl Page {
    pub fn whole(&self) -> Span {
        Span::Nodes { first: 0, end: self.nodes.len() }
    }

    /// A node and all that is in it.
    pub fn subtree(&self, at: usize) -> Span {
        let depth = self.nodes[at].depth;
        let inside = self.nodes[at + 1..].iter().take_while(|node| node.depth > depth).count();
        Span::Nodes { first: at, end: at + 1 + inside }
    }

    pub(crate) fn show(&self, view: &View) -> Shown {
        let (content, plan) = match view.format {
            ReadFormat::Outline => {
                let (text, plan) = self.text::<outline::Outline>(view, outline::write);
                (Content::Outline(text), plan)
            }
            ReadFormat::Markdown => {
                let (text, plan) = self.text::<markdown::Markdown>(view, markdown::write);
                (Content::Markdown(text), plan)
            }
            ReadFormat::Tree => {
                let (tree, plan) = self.tree(view);
                (Content::Tree(tree), plan)
            }
        };
        let folds = plan.pieces.iter().any(|piece| matches!(piece, fold::Piece::Fold { .. }));
        Shown { content, folds, hidden: plan.hidden }
    }

    fn text<F: Format>(&self, view: &View, write: fn(&Page, &Plan, u64) -> String) -> (String, Plan) {
        let [before, after] = self.notes(view).map(|note| note.map(|note| note + "\n").unwrap_or_default());
        let bytes = view.bytes.saturating_sub(before.len() + after.len());
        let plan = plan::<F>(self, view.span, Limits { bytes, max_depth: view.max_depth });
        (before + &write(self, &plan, view.serial) + &after, plan)
    }

    /// The tree and its list get three quarters of the room, the text the rest.
    fn tree(&self, view: &View) -> (Tree, Plan) {
        let quarter = if view.bytes / 4 < LEAST_TEXT { 0 } else { view.bytes / 4 };
        let notes = self.notes(view);
        let title: String = self.title.chars().take(view.bytes / 64).collect();
        let around = tree::AROUND_TREE
            + tree::json_len(&title)
            + notes.iter().flatten().map(|note| tree::json_len(note) + 30).sum::<usize>();
        let bytes = (view.bytes - quarter).saturating_sub(around);
        let plan = plan::<tree::Json>(self, view.span, Limits { bytes, max_depth: view.max_depth });
        let mut tree = tree::build(self, &plan, view.serial, &title, notes);
        // In JSON a text takes up to twice its bytes and more: folded further until it fits.
        let mut room = quarter;
        while room >= LEAST_TEXT {
            let narrow = View { format: ReadFormat::Markdown, bytes: room, ..*view };
            let (text, _) = self.text::<markdown::Markdown>(&narrow, markdown::write);
            if tree::json_len(&text) <= quarter {
                tree.text_content = text;
                break;
            }
            room /= 2;
        }
        (tree, plan)
    }

    /// Where a part of the page stands, and what no cursor can reach.
    fn notes(&self, view: &View) -> [Option<String>; 2] {
        let first = match view.span {
            Span::Nodes { first, .. } => first,
            Span::Text { node, .. } => node,
        };
        let above = self.nodes.get(first).map(|_| path::path(self, first)).unwrap_or_default();
        let beyond = match (self.left, self.complete) {
            _ if view.span != self.whole() => None,
            (0, true) => None,
            (0, false) => Some("… the page is too large to be read to its end".to_owned()),
            (left, true) => Some(format!("… {left} parts of the page are beyond what a snapshot can hold")),
            (left, false) => {
                Some(format!("… at least {left} parts of the page are beyond what a snapshot can hold"))
            }
        };
        [(!above.is_empty()).then(|| format!("In {above}:")), beyond]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn view(page: &Page, format: ReadFormat, bytes: usize) -> View {
        View { serial: 1, span: page.whole(), format, bytes, max_depth: 64 }
    }

    pub fn shown(page: &Page, format: ReadFormat, bytes: usize) -> String {
        match page.show(&view(page, format, bytes)).content {
            Content::Outline(text) | Content::Markdown(text) => text,
            Content::Tree(tree) => serde_json::to_string(&tree).unwrap(),
        }
    }

    pub fn tree_of(page: &Page, bytes: usize) -> Tree {
        page.tree(&view(page, ReadFormat::Tree, bytes)).0
    }

    #[test]
    fn what_no_cursor_can_reach_is_told() {
        for (left, complete, expected) in [
            (0, true, None),
            (0, false, Some("… the page is too large to be read to its end")),
            (7, true, Some("… 7 parts of the page are beyond what a snapshot can hold")),
            (7, false, Some("… at least 7 parts of the page are beyond what a snapshot can hold")),
        ] {
            let page = Page { left, complete, ..node::tests::page("0 button Go") };
            for format in [ReadFormat::Outline, ReadFormat::Markdown, ReadFormat::Tree] {
                let text = shown(&page, format, 4_000);
                assert_eq!(text.contains('…'), expected.is_some(), "{format:?}: {text}");
                assert!(expected.is_none_or(|expected| text.contains(expected)), "{format:?}: {text}");
            }
        }
    }
}
