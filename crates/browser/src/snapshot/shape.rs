//! An index over a range of nodes, computed once: where subtrees end and what they cost.

use super::{
    node::{Node, Page},
    plan::Format,
};

/// A range of a page's nodes; depths are relative to its first node.
pub(super) struct Shape<'a> {
    pub page: &'a Page,
    pub first: usize,
    pub end: usize,
    base: usize,
    /// One element per node of the range.
    ends: Vec<usize>,
    deepest: Vec<usize>,
    joined: Vec<bool>,
    /// Prefix sums, so that any range is one subtraction.
    costs: Vec<usize>,
    actionable: Vec<usize>,
}

impl<'a> Shape<'a> {
    /// `longest`: bytes up to which a node and its text share a line. `most`: longer texts are never rendered whole,
    /// so they are not measured exactly.
    pub fn of<F: Format>(page: &'a Page, first: usize, end: usize, longest: usize, most: usize) -> Shape<'a> {
        let count = end - first;
        let mut shape = Shape {
            page,
            first,
            end,
            base: page.nodes.get(first).map_or(0, |node| node.depth),
            ends: vec![end; count],
            deepest: vec![0; count],
            joined: vec![false; count],
            costs: Vec::with_capacity(count + 1),
            actionable: Vec::with_capacity(count + 1),
        };
        shape.count::<F>(longest, most);
        shape.nest();
        shape
    }

    fn nest(&mut self) {
        let mut open: Vec<usize> = Vec::new();
        for at in self.first..self.end {
            let depth = self.page.nodes[at].depth;
            let told = at > self.first && self.joined(at - 1);
            self.deepest[at - self.first] = if told { 0 } else { self.depth(at) };
            while let Some(&last) = open.last().filter(|last| self.page.nodes[**last].depth >= depth) {
                self.close(last, at, &mut open);
            }
            open.push(at);
        }
        while let Some(&last) = open.last() {
            self.close(last, self.end, &mut open);
        }
    }

    fn close(&mut self, last: usize, end: usize, open: &mut Vec<usize>) {
        open.pop();
        self.ends[last - self.first] = end;
        if let Some(parent) = open.last() {
            let below = self.deepest[last - self.first];
            let deepest = &mut self.deepest[parent - self.first];
            *deepest = (*deepest).max(below);
        }
    }

    fn count<F: Format>(&mut self, longest: usize, most: usize) {
        let (mut cost, mut actionable) = (0, 0);
        self.costs.push(0);
        self.actionable.push(0);
        let mut told = false;
        for at in self.first..self.end {
            let node = &self.page.nodes[at];
            let indent = self.depth(at) * F::INDENT;
            // A text that is inlined on the line before has no line of its own.
            if !std::mem::take(&mut told) {
                let inside = if F::JOINS { self.inside(at) } else { None };
                let both = inside.map(|text| measure::<F>(node, Some(text), most) + indent);
                told = both.is_some_and(|both| both <= longest);
                self.joined[at - self.first] = told;
                cost += match both {
                    Some(both) if told => both,
                    _ => measure::<F>(node, None, most) + indent,
                };
            }
            actionable += usize::from(node.reference.is_some());
            self.costs.push(cost);
            self.actionable.push(actionable);
        }
    }

    /// The only text of a node without a value.
    fn inside(&self, at: usize) -> Option<&'a str> {
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
    pub fn joined(&self, at: usize) -> bool {
        self.joined[at - self.first]
    }

    /// Cost of all lines of a range.
    pub fn cost(&self, first: usize, end: usize) -> usize {
        self.costs[end - self.first] - self.costs[first - self.first]
    }

    pub fn actionable(&self, first: usize, end: usize) -> usize {
        self.actionable[end - self.first] - self.actionable[first - self.first]
    }

    /// Siblings from `first` to `end`.
    pub fn siblings(&self, first: usize, end: usize) -> impl Iterator<Item = usize> + '_ {
        let next = move |at: &usize| Some(self.end_of(*at)).filter(|next| *next < end);
        std::iter::successors((first < end).then_some(first), next)
    }
}

/// Texts beyond any budget are not rendered for measuring.
fn measure<F: Format>(node: &Node, inside: Option<&str>, most: usize) -> usize {
    let raw = node.text_len() + inside.map_or(0, str::len);
    if raw > most { raw } else { F::cost(node, inside) }
}
