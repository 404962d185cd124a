//! Snapshots: what an agent sees of a page. One flat, pre-order list of nodes, rendered in one of three formats.
//!
//! Lists instead of trees, because a page may be 10,000 levels deep and nothing here recurses. A reply never exceeds
//! its byte budget: what does not fit is folded, and every fold has a cursor that opens it.

mod ancestor_path;
mod cursor;
mod delta;
mod diff;
mod frame_reply;
mod json_tree;
mod layout;
mod layout_builder;
mod markdown;
mod node;
mod node_text;
mod outline;
mod page_counts;
mod partial;
mod search;
mod store;
mod subtree_index;
mod text_redactor;

pub use json_tree::{InteractiveElement, JsonTree, TreeNode};
pub use node::NodeStates;
pub use search::{PatternError, SearchMatch, SearchResult};
pub use store::CallerId;

pub(crate) use cursor::{Cursor, Span};
pub(crate) use frame_reply::{FrameBaseline, FrameReply, FrameSnapshot, MAX_NODES};
pub(crate) use node::{Page, merge_frames};
pub(crate) use page_counts::{PageCounts, ReadingStamp};
pub(crate) use search::SearchQuery;
pub(crate) use store::{
    CallerBaseline, DocumentKey, OpenedCursor, SettledPage, SnapshotStore, UnchangedPage,
};

use crate::text::FENCE_BYTES;
use layout::{FormatCost, Layout, Limits};
use layout_builder::build_layout;
use policy::{ReadFormat, TokenBudget};
use redact::RedactedFields;

/// One rendered reading of a page.
#[derive(Clone, Debug, RedactedFields)]
pub struct Snapshot<T = String> {
    pub url: T,
    pub title: T,
    /// HTTP status of the document, if Chromium reports it.
    pub status: Option<u16>,
    /// Number of this snapshot in the session; its cursors begin with it.
    pub serial: u64,
    pub content: Content<T>,
    /// Nodes that are folded, or that exceeded the limits of the page script.
    pub left_out: usize,
}

#[derive(Clone, Debug, RedactedFields)]
pub enum Content<T = String> {
    Outline(T),
    Markdown(T),
    Tree(Box<JsonTree<T>>),
    /// What changed since an earlier snapshot of the same document.
    Changes {
        since: u64,
        text: T,
    },
}

/// Fences around the header line and around the snapshot, each on a line of its own.
const FENCE_OVERHEAD: usize = 2 * FENCE_BYTES + "\n\n".len();

/// Bytes of a reply that are reserved for its header line (session, address, title) and the fences.
pub(crate) fn header_bytes(tokens: TokenBudget) -> usize {
    FENCE_OVERHEAD + header_line_bytes(tokens)
}

/// Bytes of a reply that its header line may take.
pub fn header_line_bytes(tokens: TokenBudget) -> usize {
    const MIN: usize = 160;
    MIN + (tokens.bytes() - TokenBudget::MIN as usize * 4) / 32
}

/// Which part of a page to render, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub serial: u64,
    pub span: Span,
    pub format: ReadFormat,
    /// Budget for the text, or for the JSON of a tree.
    pub bytes: usize,
    pub max_depth: usize,
}

pub(crate) struct RenderedView {
    pub content: Content,
    /// Whether a cursor can open something.
    pub folds: bool,
    /// Number of folded nodes.
    pub hidden: usize,
}

impl View {
    /// The whole page, in the bytes that the header leaves.
    pub fn whole_page(
        page: &Page,
        serial: u64,
        format: ReadFormat,
        tokens: TokenBudget,
        max_depth: usize,
    ) -> View {
        let bytes = tokens.bytes() - header_bytes(tokens);
        View { serial, span: page.whole_span(), format, bytes, max_depth }
    }
}

/// With a smaller budget `text_content` is omitted: not even its folds would fit.
const MIN_TEXT_BYTES: usize = 640;

/// With a smaller budget a tree has no title and no notes; the reply has `title` and `left_out` anyway.
const MIN_BYTES_FOR_NOTES: usize = 2_000;

/// Budget of the `text_content` beside a tree: a quarter.
fn text_content_bytes(view: &View) -> usize {
    let quarter = view.bytes / 4;
    if quarter < MIN_TEXT_BYTES { 0 } else { quarter }
}

impl Page {
    pub fn whole_span(&self) -> Span {
        Span::Nodes { first: 0, end: self.nodes.len() }
    }

    /// A node with its subtree.
    pub fn subtree_span(&self, at: usize) -> Span {
        let depth = self.nodes[at].depth;
        let inside = self.nodes[at + 1..].iter().take_while(|node| node.depth > depth).count();
        Span::Nodes { first: at, end: at + 1 + inside }
    }

    /// What changed since the caller's last snapshot of this document, if that is shorter than the whole page.
    pub fn render_delta(
        &self,
        seen: &CallerBaseline,
        view: &View,
        rendered: &RenderedView,
    ) -> Option<RenderedView> {
        let Content::Outline(whole) = &rendered.content else { return None };
        let delta = delta::render_delta(&seen.page, self, view, whole.len())?;
        // A page that is shown whole is more use than a part of what changed in it.
        if delta.folds && !rendered.folds {
            return None;
        }
        let content = Content::Changes { since: seen.serial, text: delta.text };
        Some(RenderedView { content, folds: delta.folds, hidden: delta.hidden })
    }

    pub(crate) fn render(&self, view: &View) -> RenderedView {
        match view.format {
            ReadFormat::Outline => {
                let (text, layout) = self.render_text::<outline::OutlineFormat>(view, outline::render);
                RenderedView {
                    content: Content::Outline(text),
                    folds: layout.has_folds(),
                    hidden: layout.hidden,
                }
            }
            ReadFormat::Markdown => {
                let (text, layout) = self.render_text::<markdown::MarkdownFormat>(view, markdown::render);
                RenderedView {
                    content: Content::Markdown(text),
                    folds: layout.has_folds(),
                    hidden: layout.hidden,
                }
            }
            ReadFormat::Tree => {
                let (mut tree, layout) = self.render_tree(view);
                let text = self.render_text_content(view);
                let folds = layout.has_folds() || text.as_ref().is_some_and(|(_, layout)| layout.has_folds());
                tree.text_content = text.map(|(text, _)| text).unwrap_or_default();
                RenderedView { content: Content::Tree(Box::new(tree)), folds, hidden: layout.hidden }
            }
        }
    }

    fn render_text<F: FormatCost>(
        &self,
        view: &View,
        render: fn(&Page, &Layout, u64) -> String,
    ) -> (String, Layout) {
        let [before, after] = self.notes(view).map(|note| note.map(|note| note + "\n").unwrap_or_default());
        let bytes = view.bytes.saturating_sub(before.len() + after.len());
        let layout = build_layout::<F>(self, view.span, Limits { bytes, max_depth: view.max_depth });
        (before + &render(self, &layout, view.serial) + &after, layout)
    }

    /// The tree and its list of interactive elements, in the bytes that `text_content` leaves.
    fn render_tree(&self, view: &View) -> (JsonTree, Layout) {
        let mut notes = self.notes(view);
        let mut title: String = self.title.chars().take(view.bytes / 64).collect();
        if view.bytes < MIN_BYTES_FOR_NOTES {
            notes = [None, None];
            title.clear();
        }
        let overhead = json_tree::TREE_OVERHEAD
            + json_tree::json_len(&title)
            + notes
                .iter()
                .flatten()
                .map(|note| json_tree::json_len(note) + json_tree::NOTE_OVERHEAD)
                .sum::<usize>();
        let bytes = (view.bytes - text_content_bytes(view)).saturating_sub(overhead);
        let layout = build_layout::<json_tree::JsonFormat>(
            self,
            view.span,
            Limits { bytes, max_depth: view.max_depth },
        );
        (json_tree::build(self, &layout, view.serial, &title, notes), layout)
    }

    /// JSON escapes can more than double a text, so the budget is halved until the text fits.
    fn render_text_content(&self, view: &View) -> Option<(String, Layout)> {
        let budgets = std::iter::successors(Some(text_content_bytes(view)), |bytes| Some(bytes / 2));
        budgets.take_while(|bytes| *bytes >= MIN_TEXT_BYTES).find_map(|bytes| {
            let (text, layout) =
                self.render_text::<markdown::MarkdownFormat>(&View { bytes, ..*view }, markdown::render);
            (json_tree::json_len(&text) <= text_content_bytes(view)).then_some((text, layout))
        })
    }

    /// Notes before and after the content: the location of a partial view, and what no cursor can reach.
    fn notes(&self, view: &View) -> [Option<String>; 2] {
        let first = match view.span {
            Span::Nodes { first, .. } => first,
            Span::Text { node, .. } => node,
        };
        let path =
            self.nodes.get(first).map(|_| ancestor_path::ancestor_path(self, first)).unwrap_or_default();
        let truncation = if view.span == self.whole_span() { self.truncation_note() } else { None };
        [(!path.is_empty()).then(|| format!("In {path}:")), truncation]
    }

    /// Says how much of the page no cursor can reach.
    fn truncation_note(&self) -> Option<String> {
        match (self.omitted_nodes, self.complete) {
            (0, true) => None,
            (0, false) => {
                Some("… not all of the page was read: it is very large, or too slow to answer".to_owned())
            }
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
        View { serial: 1, span: page.whole_span(), format, bytes, max_depth: 64 }
    }

    pub fn rendered(page: &Page, format: ReadFormat, bytes: usize) -> String {
        match page.render(&view(page, format, bytes)).content {
            Content::Outline(text) | Content::Markdown(text) => text,
            Content::Tree(tree) => serde_json::to_string(&tree).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    pub fn tree_of(page: &Page, bytes: usize) -> JsonTree {
        match page.render(&view(page, ReadFormat::Tree, bytes)).content {
            Content::Tree(tree) => *tree,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_note_says_what_no_cursor_can_reach() {
        for (omitted_nodes, complete, expected) in [
            (0, true, None),
            (0, false, Some("… not all of the page was read: it is very large, or too slow to answer")),
            (7, true, Some("… 7 parts of the page are beyond what a snapshot can hold")),
            (7, false, Some("… at least 7 parts of the page are beyond what a snapshot can hold")),
        ] {
            let page = Page { omitted_nodes, complete, ..node::tests::page("0 button Go") };
            for format in [ReadFormat::Outline, ReadFormat::Markdown, ReadFormat::Tree] {
                let text = rendered(&page, format, 4_000);
                assert_eq!(text.contains('…'), expected.is_some(), "{format:?}: {text}");
                assert!(expected.is_none_or(|expected| text.contains(expected)), "{format:?}: {text}");
            }
        }
    }
}
