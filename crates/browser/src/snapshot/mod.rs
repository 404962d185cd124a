//! What an agent sees of a page: one flat, pre-order list of nodes, written in one of three formats.
//!
//! Lists instead of trees, because a page may be 10,000 levels deep and nothing here recurses. A reply never
//! takes more than its budget: what does not fit is folded, and every fold has a cursor that opens it.

mod cursor;
mod delta;
mod diff;
mod find;
mod fold;
mod markdown;
mod node;
mod outline;
mod path;
mod plan;
mod shape;
mod store;
mod telling;
mod text;
mod tree;

pub use find::{BadPattern, Found, Match};
pub use node::States;
pub use store::CallerId;
pub use tree::{InteractiveElement, Tree, TreeNode};

pub(crate) use cursor::{Cursor, Span};
pub(crate) use find::Query;
pub(crate) use node::{Page, stitch};
pub(crate) use store::{Document, Last, Store};
pub(crate) use telling::{FrameAnswer, FrameSnapshot, MOST_NODES, Told};

use crate::page_text::FENCE_BYTES;
use fold::plan;
use plan::{Format, Limits, Plan};
use policy::{ReadFormat, TokenBudget};

/// One reading of a page.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub url: String,
    pub title: String,
    /// The HTTP status of the document, when Chromium tells it.
    pub status: Option<u16>,
    /// Which one of the session's snapshots it is; cursors begin with it.
    pub serial: u64,
    pub content: Content,
    /// Nodes that are folded away, or that were beyond the bounds of the walk.
    pub left_out: usize,
}

#[derive(Clone, Debug)]
pub enum Content {
    Outline(String),
    Markdown(String),
    Tree(Box<Tree>),
    /// What is not as it was in an earlier snapshot of the same document.
    Changes {
        since: u64,
        text: String,
    },
}

/// Around the address and title, and around the snapshot, on lines of their own.
const FENCES: usize = 2 * FENCE_BYTES + "\n\n".len();

/// How much of a reply is for what stands around the snapshot: a line with session, address and title, and the fences.
pub(crate) fn head_room(tokens: TokenBudget) -> usize {
    FENCES + head_line(tokens)
}

/// How much of it the line itself may take.
pub fn head_line(tokens: TokenBudget) -> usize {
    const LEAST: usize = 160;
    LEAST + (tokens.bytes() - TokenBudget::MIN as usize * 4) / 32
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
    pub fn of(page: &Page, serial: u64, format: ReadFormat, tokens: TokenBudget, max_depth: usize) -> View {
        let bytes = tokens.bytes() - head_room(tokens);
        View { serial, span: page.whole(), format, bytes, max_depth }
    }
}

/// A text_content that has less room than this is left out: it could not even name what it leaves out.
const LEAST_TEXT: usize = 640;

/// A tree with less room than this spends none on title and notes: `title` and `left_out` are in the reply too.
const ROOMY_TREE: usize = 2_000;

/// What the text_content beside a tree may take: a quarter.
fn text_room(view: &View) -> usize {
    let quarter = view.bytes / 4;
    if quarter < LEAST_TEXT { 0 } else { quarter }
}

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

    /// What changed since an earlier reading of the same document, if that is shorter than `shown`.
    pub fn changes_since(&self, last: &Last, view: &View, shown: &Shown) -> Option<Shown> {
        let Content::Outline(whole) = &shown.content else { return None };
        let delta = delta::delta(&last.page, self, view, whole.len())?;
        let content = Content::Changes { since: last.serial, text: delta.text };
        Some(Shown { content, folds: delta.folds, hidden: delta.hidden })
    }

    pub(crate) fn show(&self, view: &View) -> Shown {
        match view.format {
            ReadFormat::Outline => {
                let (text, plan) = self.text::<outline::Outline>(view, outline::write);
                Shown { content: Content::Outline(text), folds: plan.has_folds(), hidden: plan.hidden }
            }
            ReadFormat::Markdown => {
                let (text, plan) = self.text::<markdown::Markdown>(view, markdown::write);
                Shown { content: Content::Markdown(text), folds: plan.has_folds(), hidden: plan.hidden }
            }
            ReadFormat::Tree => {
                let (mut tree, plan) = self.tree(view);
                let text = self.text_content(view);
                let folds = plan.has_folds() || text.as_ref().is_some_and(|(_, plan)| plan.has_folds());
                tree.text_content = text.map(|(text, _)| text).unwrap_or_default();
                Shown { content: Content::Tree(Box::new(tree)), folds, hidden: plan.hidden }
            }
        }
    }

    fn text<F: Format>(&self, view: &View, write: fn(&Page, &Plan, u64) -> String) -> (String, Plan) {
        let [before, after] = self.notes(view).map(|note| note.map(|note| note + "\n").unwrap_or_default());
        let bytes = view.bytes.saturating_sub(before.len() + after.len());
        let plan = plan::<F>(self, view.span, Limits { bytes, max_depth: view.max_depth });
        (before + &write(self, &plan, view.serial) + &after, plan)
    }

    /// The tree and the list beside it, in what the text leaves them.
    fn tree(&self, view: &View) -> (Tree, Plan) {
        let mut notes = self.notes(view);
        let mut title: String = self.title.chars().take(view.bytes / 64).collect();
        if view.bytes < ROOMY_TREE {
            notes = [None, None];
            title.clear();
        }
        let around = tree::AROUND_TREE
            + tree::json_len(&title)
            + notes.iter().flatten().map(|note| tree::json_len(note) + tree::AROUND_NOTE).sum::<usize>();
        let bytes = (view.bytes - text_room(view)).saturating_sub(around);
        let plan = plan::<tree::Json>(self, view.span, Limits { bytes, max_depth: view.max_depth });
        (tree::build(self, &plan, view.serial, &title, notes), plan)
    }

    /// In JSON a text takes up to twice its bytes and more, so it is folded further until it fits.
    fn text_content(&self, view: &View) -> Option<(String, Plan)> {
        let rooms = std::iter::successors(Some(text_room(view)), |room| Some(room / 2));
        rooms.take_while(|room| *room >= LEAST_TEXT).find_map(|bytes| {
            let (text, plan) = self.text::<markdown::Markdown>(&View { bytes, ..*view }, markdown::write);
            (tree::json_len(&text) <= text_room(view)).then_some((text, plan))
        })
    }

    /// Where a part of the page stands, and what no cursor can reach.
    fn notes(&self, view: &View) -> [Option<String>; 2] {
        let first = match view.span {
            Span::Nodes { first, .. } => first,
            Span::Text { node, .. } => node,
        };
        let above = self.nodes.get(first).map(|_| path::path(self, first)).unwrap_or_default();
        let beyond = if view.span == self.whole() { self.beyond() } else { None };
        [(!above.is_empty()).then(|| format!("In {above}:")), beyond]
    }

    /// What no cursor can reach.
    fn beyond(&self) -> Option<String> {
        match (self.left, self.complete) {
            (0, true) => None,
            (0, false) => Some("… the page is too large to be read to its end".to_owned()),
            (left, true) => Some(format!("… {left} parts of the page are beyond what a snapshot can hold")),
            (left, false) => {
                Some(format!("… at least {left} parts of the page are beyond what a snapshot can hold"))
            }
        }
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
            other => panic!("{other:?}"),
        }
    }

    pub fn tree_of(page: &Page, bytes: usize) -> Tree {
        match page.show(&view(page, ReadFormat::Tree, bytes)).content {
            Content::Tree(tree) => *tree,
            other => panic!("{other:?}"),
        }
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
