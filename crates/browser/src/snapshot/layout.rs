//! The layout of a reply: nodes, parts of long texts, and folds, with what each of them costs.

use super::{
    cursor::{Cursor, Span},
    node::{Node, Page},
};

/// Byte costs of a format.
pub(super) trait FormatCost {
    /// Bytes of indentation per level.
    const INDENT: usize;
    /// Whether a node and its only text share a line.
    const INLINES_TEXT: bool;
    /// Bytes around the summary of a fold.
    const FOLD_OVERHEAD: usize;
    /// Upper bound for one node, without indentation.
    fn cost(node: &Node, inside: Option<&str>) -> usize;
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub bytes: usize,
    /// Levels that are rendered.
    pub max_depth: usize,
}

/// What is rendered, in page order.
#[derive(Debug)]
pub(super) struct Layout {
    pub items: Vec<LayoutItem>,
    /// Number of folded nodes.
    pub hidden: usize,
}

impl Layout {
    pub fn has_folds(&self) -> bool {
        self.items.iter().any(|item| matches!(item, LayoutItem::Fold { .. }))
    }
}

#[derive(Debug)]
pub(super) enum LayoutItem {
    Node {
        at: usize,
        depth: usize,
        inlined: bool,
    },
    /// A part of a node's text; the first part stands for the node itself.
    Part {
        at: usize,
        depth: usize,
        from: usize,
        to: usize,
    },
    Fold {
        depth: usize,
        fold: Fold,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Fold {
    pub span: Span,
    /// `180 more listitems (900 lines), 35 actionable`
    pub summary: String,
}

impl Fold {
    pub fn cursor(&self, serial: u64) -> String {
        Cursor { serial, span: self.span }.to_string()
    }

    /// The line of a fold in a text format.
    pub fn render_line(&self, serial: u64) -> String {
        format!("… {} [open: cursor={}]", self.summary, self.cursor(serial))
    }
}

/// Upper bound for a fold, such as `… about 100000 more longest-role-names (100000 lines), 100000 actionable [open:
/// cursor=c1000.100000-100000]`.
pub(super) fn max_fold_bytes(page: &Page) -> usize {
    let lines = if page.partial.is_some() {
        page.nodes.iter().map(|node| node.lines()).sum()
    } else {
        page.nodes.len()
    };
    let digits = page.nodes.iter().fold(lines, |most, node| most.max(node.text_len())).to_string();
    58 + MAX_FOLD_ROLE_BYTES + SERIAL_DIGITS + 5 * digits.len()
}

pub(super) const MAX_FOLD_ROLE_BYTES: usize = 18;
/// Enough for a million snapshots in one session.
const SERIAL_DIGITS: usize = 6;

pub(super) fn layout_text_rest<F: FormatCost>(page: &Page, at: usize, from: usize, limits: Limits) -> Layout {
    let node = &page.nodes[at];
    let fold_cost = F::FOLD_OVERHEAD + F::INDENT + max_fold_bytes(page);
    let mut to = fit_text::<F>(node, from, limits.bytes);
    if to < node.text_len() {
        to = fit_text::<F>(node, from, limits.bytes.saturating_sub(fold_cost));
    }
    let mut items = vec![LayoutItem::Part { at, depth: 0, from, to }];
    if to < node.text_len() {
        items.push(text_rest_fold(node, at, to, 1));
    }
    Layout { items, hidden: 0 }
}

pub(super) fn text_rest_fold(node: &Node, at: usize, from: usize, depth: usize) -> LayoutItem {
    let summary = format!("{} more bytes of this text", node.text_len() - from);
    LayoutItem::Fold { depth, fold: Fold { span: Span::Text { node: at, from }, summary } }
}

/// End of the part that fits into `room` bytes: at least one character, so that reading on always makes progress.
pub(super) fn fit_text<F: FormatCost>(node: &Node, from: usize, room: usize) -> usize {
    let fits = |to: usize| F::cost(&node.part(from, to), None) <= room;
    let all = node.part_end(from, from.saturating_add(room));
    if fits(all) {
        return node.word_end(from, all);
    }
    let (mut good, mut bad) = (from, all);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fits(node.part_end(from, middle)) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    let to = node.part_end(from, good).max(node.min_part_end(from));
    node.word_end(from, to)
}
