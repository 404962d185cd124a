//! An index over a range of nodes, computed once: where subtrees end and what they cost.

use super::{
    layout::FormatCost,
    node::{Node, Page},
};

/// The cost of a part that was not read: more than any budget.
const UNREAD_COST: usize = 1 << 32;

/// A range of a page's nodes; depths are relative to its first node.
pub(super) struct SubtreeIndex<'a> {
    pub page: &'a Page,
    pub first: usize,
    pub end: usize,
    base: usize,
    /// One element per node of the range.
    ends: Vec<usize>,
    deepest: Vec<usize>,
    inlined: Vec<bool>,
    /// Prefix sums, so that any range is one subtraction.
    costs: Vec<usize>,
    actionable: Vec<usize>,
    lines: Vec<usize>,
}

impl<'a> SubtreeIndex<'a> {
    /// `max_line`: bytes up to which a node and its text share a line. `max_text`: longer texts are never rendered whole,
    /// so they are not measured exactly.
    pub fn new<F: FormatCost>(
        page: &'a Page,
        first: usize,
        end: usize,
        max_line: usize,
        max_text: usize,
    ) -> SubtreeIndex<'a> {
        let count = end - first;
        let mut index = SubtreeIndex {
            page,
            first,
            end,
            base: page.nodes.get(first).map_or(0, |node| node.depth),
            ends: vec![end; count],
            deepest: vec![0; count],
            inlined: vec![false; count],
            costs: Vec::with_capacity(count + 1),
            actionable: Vec::with_capacity(count + 1),
            lines: Vec::with_capacity(count + 1),
        };
        index.compute_costs::<F>(max_line, max_text);
        index.compute_subtrees();
        index
    }

    fn compute_subtrees(&mut self) {
        let mut open: Vec<usize> = Vec::new();
        for at in self.first..self.end {
            let depth = self.page.nodes[at].depth;
            let is_inlined = at > self.first && self.inlined(at - 1);
            self.deepest[at - self.first] = if is_inlined { 0 } else { self.depth(at) };
            while let Some(&last) = open.last().filter(|last| self.page.nodes[**last].depth >= depth) {
                self.close_subtree(last, at, &mut open);
            }
            open.push(at);
        }
        while let Some(&last) = open.last() {
            self.close_subtree(last, self.end, &mut open);
        }
    }

    fn close_subtree(&mut self, last: usize, end: usize, open: &mut Vec<usize>) {
        open.pop();
        self.ends[last - self.first] = end;
        if let Some(parent) = open.last() {
            let below = self.deepest[last - self.first];
            let deepest = &mut self.deepest[parent - self.first];
            *deepest = (*deepest).max(below);
        }
    }

    fn compute_costs<F: FormatCost>(&mut self, max_line: usize, max_text: usize) {
        let (mut cost, mut actionable, mut lines) = (0, 0, 0);
        self.costs.push(0);
        self.actionable.push(0);
        self.lines.push(0);
        let mut next_is_inlined = false;
        for at in self.first..self.end {
            let node = &self.page.nodes[at];
            let indent = self.depth(at) * F::INDENT;
            // A text that is inlined on the line before has no line of its own.
            if !std::mem::take(&mut next_is_inlined) {
                let inside = if F::INLINES_TEXT { self.inlinable_text(at) } else { None };
                let both = inside.map(|text| cost_of::<F>(node, Some(text), max_text) + indent);
                next_is_inlined = both.is_some_and(|both| both <= max_line);
                self.inlined[at - self.first] = next_is_inlined;
                cost += match both {
                    Some(both) if next_is_inlined => both,
                    _ => cost_of::<F>(node, None, max_text) + indent,
                };
            }
            if let Some(part) = &node.deferred {
                cost += UNREAD_COST;
                actionable += part.actionable;
            }
            lines += node.lines();
            actionable += usize::from(node.reference.is_some());
            self.costs.push(cost);
            self.actionable.push(actionable);
            self.lines.push(lines);
        }
    }

    /// The only text of a node without a value.
    fn inlinable_text(&self, at: usize) -> Option<&'a str> {
        let fits = at + 1 < self.end && self.page.nodes[at].value.as_deref().is_none_or(str::is_empty);
        fits.then(|| self.page.only_text(at)).flatten()
    }

    pub fn node(&self, at: usize) -> &'a Node {
        &self.page.nodes[at]
    }

    pub fn depth(&self, at: usize) -> usize {
        self.page.nodes[at].depth.saturating_sub(self.base)
    }

    /// End of a node's subtree.
    pub fn end_of(&self, at: usize) -> usize {
        self.ends[at - self.first]
    }

    /// Depth of the deepest line in a node's subtree.
    pub fn deepest(&self, at: usize) -> usize {
        self.deepest[at - self.first]
    }

    /// Whether a node's text is inlined on its line.
    pub fn inlined(&self, at: usize) -> bool {
        self.inlined[at - self.first]
    }

    /// Cost of all lines of a range.
    pub fn cost(&self, first: usize, end: usize) -> usize {
        self.costs[end - self.first] - self.costs[first - self.first]
    }

    pub fn actionable(&self, first: usize, end: usize) -> usize {
        self.actionable[end - self.first] - self.actionable[first - self.first]
    }

    /// Lines of a range, with those of parts that were not read.
    pub fn lines(&self, first: usize, end: usize) -> usize {
        self.lines[end - self.first] - self.lines[first - self.first]
    }

    pub fn is_deferred(&self, at: usize) -> bool {
        self.node(at).deferred.is_some()
    }

    pub fn has_deferred(&self, first: usize, end: usize) -> bool {
        self.cost(first, end) >= UNREAD_COST
    }

    /// Siblings from `first` to `end`.
    pub fn siblings(&self, first: usize, end: usize) -> impl Iterator<Item = usize> + '_ {
        let next = move |at: &usize| Some(self.end_of(*at)).filter(|next| *next < end);
        std::iter::successors((first < end).then_some(first), next)
    }
}

/// Texts beyond any budget are not rendered for measuring.
fn cost_of<F: FormatCost>(node: &Node, inside: Option<&str>, max_text: usize) -> usize {
    let raw = node.text_len() + inside.map_or(0, str::len);
    if raw > max_text { raw } else { F::cost(node, inside) }
}
