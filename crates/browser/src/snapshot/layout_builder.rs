//! Decides what of a page is rendered and what is folded, so that a reply keeps to its byte budget and loses nothing.
//!
//! A page starts as one fold. Folds are opened by priority while lines fit: near the root before far from it,
//! headings before their sections, the first items of a long run before the rest, content before navigation, early
//! before late.
//! Every fold is a range of siblings, so a cursor is two numbers, and opening it runs the same algorithm again.

#[cfg(test)]
pub(super) mod tests;

use super::{
    cursor::Span,
    layout::{
        Fold, FormatCost, Layout, LayoutItem, Limits, MAX_FOLD_ROLE_BYTES, fit_text, layout_text_rest,
        max_fold_bytes, text_rest_fold,
    },
    node::{Node, Page},
    subtree_index::SubtreeIndex,
};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Number of consecutive siblings with the same role that make a run.
const MIN_RUN: usize = 8;
/// Items of a run that have the priority of other elements.
const RUN_PREVIEW: usize = 3;

/// Priority penalties; lower turns come first. One level down costs as much as fifty siblings.
const LEVEL_PENALTY: usize = 100;
const SIBLING_PENALTY: usize = 2;
const RUN_PENALTY: usize = 300;
const BOILERPLATE_PENALTY: usize = 2_000;

/// Landmarks that are seldom what a page is read for.
const BOILERPLATE: [&str; 3] = ["navigation", "contentinfo", "complementary"];

/// Fraction of the budget that one line, or one subtree rendered as a whole, may take.
const SHARES_PER_BUDGET: usize = 8;
/// The least that a share may be, in bytes.
const MIN_SHARE_BYTES: usize = 240;
/// A text of this size is not divided, unless it takes more than half of the budget.
const WHOLE_TEXT_BYTES: usize = 1_100;

pub(super) fn build_layout<F: FormatCost>(page: &Page, span: Span, limits: Limits) -> Layout {
    match span {
        Span::Text { node, from } => layout_text_rest::<F>(page, node, from, limits),
        Span::Nodes { first, end } if first >= end => Layout { items: Vec::new(), hidden: 0 },
        Span::Nodes { first, end } => {
            let least = WHOLE_TEXT_BYTES.min(limits.bytes / 2).max(MIN_SHARE_BYTES);
            let share = (limits.bytes / SHARES_PER_BUDGET).max(least);
            let subtrees = SubtreeIndex::new::<F>(page, first, end, share, limits.bytes);
            LayoutBuilder::<F>::new(subtrees, limits, share).run()
        }
    }
}

fn heading_level(node: &Node) -> Option<u8> {
    (node.role == "heading").then(|| node.states.level.unwrap_or(2))
}

/// Siblings of which the first ones are rendered; the rest, if any, becomes one fold.
struct SiblingGroup {
    next: usize,
    end: usize,
    depth: usize,
    taken: usize,
    /// Turn of its first member.
    turn: usize,
    kind: GroupKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    /// Children of a node.
    Children,
    /// Siblings with the same role: the first few stand for the rest.
    Run,
    /// A heading and its siblings up to the next heading of the same level.
    Section,
}

impl SiblingGroup {
    /// Turn of its next member.
    fn next_turn(&self) -> usize {
        let late = match self.kind {
            GroupKind::Run if self.taken >= RUN_PREVIEW => RUN_PENALTY,
            GroupKind::Section if self.taken > 0 => LEVEL_PENALTY,
            _ => 0,
        };
        self.turn + late + self.taken * SIBLING_PENALTY
    }
}

struct LayoutBuilder<'a, F> {
    subtrees: SubtreeIndex<'a>,
    max_depth: usize,
    share: usize,
    max_fold_bytes: usize,
    bytes_left: usize,
    /// Bytes that the first node took beyond the budget; repaid before anything else is rendered.
    debt: usize,
    groups: Vec<SiblingGroup>,
    turns: BinaryHeap<Reverse<(usize, usize, usize)>>,
    items: Vec<(usize, LayoutItem)>,
    format: std::marker::PhantomData<F>,
}

impl<'a, F: FormatCost> LayoutBuilder<'a, F> {
    fn new(subtrees: SubtreeIndex<'a>, limits: Limits, share: usize) -> LayoutBuilder<'a, F> {
        LayoutBuilder {
            max_depth: limits.max_depth.max(1),
            share,
            max_fold_bytes: F::FOLD_OVERHEAD + max_fold_bytes(subtrees.page),
            bytes_left: limits.bytes,
            debt: 0,
            groups: Vec::new(),
            turns: BinaryHeap::new(),
            items: Vec::new(),
            format: std::marker::PhantomData,
            subtrees,
        }
    }

    fn run(mut self) -> Layout {
        let (first, end) = (self.subtrees.first, self.subtrees.end);
        if self.subtrees.cost(first, end) <= self.bytes_left && self.fits_depth(first, end) {
            self.add_nodes(first, end);
            return self.finish();
        }
        self.bytes_left = self.bytes_left.saturating_sub(self.fold_cost(0));
        self.open(SiblingGroup { next: first, end, depth: 0, taken: 0, turn: 0, kind: GroupKind::Children });
        while let Some(Reverse((_, _, group))) = self.turns.pop() {
            let mut taken = self.take_next(group) || self.take_rest(group);
            if !taken && self.items.is_empty() && !self.subtrees.is_deferred(self.groups[group].next) {
                self.take_first(group);
                taken = true;
            }
            // A group without room for its next member stays folded from there on.
            if taken && self.groups[group].next < self.groups[group].end {
                self.queue(group);
            }
        }
        self.finish()
    }

    fn fold_cost(&self, depth: usize) -> usize {
        self.max_fold_bytes + depth * F::INDENT
    }

    fn open(&mut self, group: SiblingGroup) {
        self.groups.push(group);
        self.queue(self.groups.len() - 1);
    }

    fn queue(&mut self, index: usize) {
        let group = &self.groups[index];
        self.turns.push(Reverse((group.next_turn(), group.next, index)));
    }

    /// Takes bytes from the budget; `back` is the reserve that is freed when the lines end a fold.
    fn pay(&mut self, cost: usize, back: usize) -> bool {
        let cost = cost + self.debt;
        if cost > self.bytes_left + back {
            return false;
        }
        self.bytes_left = self.bytes_left + back - cost;
        self.debt = 0;
        true
    }

    /// Renders the next member of a group, if there is room.
    fn take_next(&mut self, index: usize) -> bool {
        let SiblingGroup { next: at, end, depth, turn, .. } = self.groups[index];
        let after = self.subtrees.end_of(at).min(end);
        // A part that was not read is a fold of its own.
        if self.subtrees.is_deferred(at) {
            let back = if after == end { self.fold_cost(depth) } else { 0 };
            if !self.pay(self.fold_cost(depth), back) {
                return false;
            }
            self.groups.push(SiblingGroup {
                next: at,
                end: after,
                depth,
                taken: 0,
                turn,
                kind: GroupKind::Run,
            });
            self.advance(index, after);
            return true;
        }
        // Only after something is rendered: the first node may need the room that another fold would take.
        if !self.items.is_empty()
            && let Some((part_end, kind)) = self.next_subgroup(&self.groups[index])
        {
            let back = if part_end == end { self.fold_cost(depth) } else { 0 };
            if !self.pay(self.fold_cost(depth), back) {
                return false;
            }
            let turn = self.groups[index].next_turn();
            self.advance(index, part_end);
            self.open(SiblingGroup { next: at, end: part_end, depth, taken: 0, turn, kind });
            return true;
        }
        let back = if after == end { self.fold_cost(depth) } else { 0 };
        let whole = self.subtrees.cost(at, after);
        if whole <= self.share && self.subtrees.deepest(at) < self.max_depth {
            if !self.pay(whole, back) {
                return false;
            }
            self.add_nodes(at, after);
        } else {
            let own = self.own_line_end(at);
            let line = self.subtrees.cost(at, own);
            let long = line > self.share;
            let inside = if own < after { self.fold_cost(depth + 1) } else { 0 };
            // The state marks alone may exceed a share.
            let room = if long { self.share.max(self.min_bytes(at, depth)) } else { line };
            let cost = if long { room + self.fold_cost(depth + 1) } else { line };
            if !self.pay(cost + inside, back) {
                return false;
            }
            if long {
                self.add_text_part(at, depth, room);
            } else {
                self.add_nodes(at, own);
            }
            self.open_children(index, own, after);
        }
        self.advance(index, after);
        true
    }

    /// Renders the rest of a group if that costs no more than its fold.
    fn take_rest(&mut self, index: usize) -> bool {
        let SiblingGroup { next, end, depth, .. } = self.groups[index];
        let back = self.fold_cost(depth);
        let cost = self.subtrees.cost(next, end);
        if cost > self.bytes_left + back || !self.fits_depth(next, end) || !self.pay(cost, back) {
            return false;
        }
        self.add_nodes(next, end);
        self.groups[index].next = end;
        true
    }

    /// Renders the first node regardless of the budget. Otherwise opening a fold could yield only another fold.
    fn take_first(&mut self, index: usize) {
        let SiblingGroup { next: at, end, depth, .. } = self.groups[index];
        let after = self.subtrees.end_of(at).min(end);
        let mut folds = if at + 1 < after { self.fold_cost(depth + 1) } else { 0 };
        let mut line = F::cost(self.subtrees.node(at), None);
        if line + folds <= self.bytes_left {
            self.items.push((at, LayoutItem::Node { at, depth, inlined: false }));
        } else {
            folds += self.fold_cost(depth + 1);
            line = self.add_text_part(at, depth, self.bytes_left.saturating_sub(folds));
        }
        self.debt = (line + folds).saturating_sub(self.bytes_left);
        self.bytes_left = self.bytes_left.saturating_sub(line + folds);
        self.open_children(index, at + 1, after);
        self.advance(index, after);
    }

    /// Opens a group for the children of a node of which only its own line is rendered.
    fn open_children(&mut self, parent: usize, first: usize, end: usize) {
        if first >= end {
            return;
        }
        let depth = self.groups[parent].depth;
        let role = self.subtrees.node(self.groups[parent].next).role.as_str();
        let mut turn = self.groups[parent].next_turn() + LEVEL_PENALTY;
        if BOILERPLATE.contains(&role) {
            turn += BOILERPLATE_PENALTY;
        }
        let group =
            SiblingGroup { next: first, end, depth: depth + 1, taken: 0, turn, kind: GroupKind::Children };
        if depth + 1 < self.max_depth {
            self.open(group);
        } else {
            self.groups.push(group);
        }
    }

    fn advance(&mut self, index: usize, next: usize) {
        self.groups[index].next = next;
        self.groups[index].taken += 1;
    }

    /// Index after a node's own line: after its text, if that is inlined.
    fn own_line_end(&self, at: usize) -> usize {
        at + 1 + usize::from(self.subtrees.inlined(at))
    }

    /// The run or section that begins with the group's next member, if it becomes a group of its own.
    fn next_subgroup(&self, group: &SiblingGroup) -> Option<(usize, GroupKind)> {
        let (at, end) = (group.next, group.end);
        if group.kind == GroupKind::Run || (group.kind == GroupKind::Section && group.taken == 0) {
            return None;
        }
        let node = self.subtrees.node(at);
        if let Some(level) = heading_level(node) {
            let ends = |at: &usize| heading_level(self.subtrees.node(*at)).is_some_and(|next| next <= level);
            let section_end = self.subtrees.siblings(at, end).skip(1).find(ends).unwrap_or(end);
            // A short section is handled with its neighbours.
            return (self.subtrees.cost(at, section_end) > self.share)
                .then_some((section_end, GroupKind::Section));
        }
        let alike = |at: &usize| self.subtrees.node(*at).role == node.role;
        let (mut count, mut run_end) = (0, at);
        for sibling in self.subtrees.siblings(at, end).take_while(alike) {
            count += self.subtrees.node(sibling).siblings();
            run_end = self.subtrees.end_of(sibling).min(end);
        }
        (count >= MIN_RUN).then_some((run_end, GroupKind::Run))
    }

    fn fits_depth(&self, first: usize, end: usize) -> bool {
        self.subtrees.siblings(first, end).all(|at| self.subtrees.deepest(at) < self.max_depth)
    }

    fn add_nodes(&mut self, first: usize, end: usize) {
        let mut at = first;
        while at < end {
            let inlined = self.subtrees.inlined(at);
            self.items.push((at, LayoutItem::Node { at, depth: self.subtrees.depth(at), inlined }));
            at += 1 + usize::from(inlined);
        }
    }

    /// Bytes that a node takes with as little of its text as possible.
    fn min_bytes(&self, at: usize, depth: usize) -> usize {
        let node = self.subtrees.node(at);
        F::cost(&node.part(0, node.min_part_end(0)), None) + depth * F::INDENT
    }

    /// Renders as much of a node's text as fits, and returns the bytes taken.
    fn add_text_part(&mut self, at: usize, depth: usize, bytes: usize) -> usize {
        let node = self.subtrees.node(at);
        let to = fit_text::<F>(node, 0, bytes.saturating_sub(depth * F::INDENT));
        self.items.push((at, LayoutItem::Part { at, depth, from: 0, to }));
        if to < node.text_len() {
            self.items.push((at, text_rest_fold(node, at, to, depth + 1)));
        }
        F::cost(&node.part(0, to), None) + depth * F::INDENT
    }

    fn finish(mut self) -> Layout {
        let mut hidden = 0;
        for group in &self.groups {
            if group.next < group.end {
                hidden += self.subtrees.lines(group.next, group.end);
                let fold = self.fold_of(group.next, group.end);
                self.items.push((group.next, LayoutItem::Fold { depth: group.depth, fold }));
            }
        }
        // A stable sort keeps a text before the fold of its rest.
        self.items.sort_by_key(|(at, _)| *at);
        Layout { items: self.items.into_iter().map(|(_, item)| item).collect(), hidden }
    }

    fn fold_of(&self, first: usize, end: usize) -> Fold {
        let role = self.subtrees.node(first).role.as_str();
        let (mut count, mut alike) = (0, role.len() <= MAX_FOLD_ROLE_BYTES);
        for at in self.subtrees.siblings(first, end) {
            count += self.subtrees.node(at).siblings();
            alike &= self.subtrees.node(at).role == role;
        }
        let what = if alike { role } else { "element" };
        let plural = if count == 1 { "" } else { "s" };
        let about = if self.subtrees.has_deferred(first, end) { "about " } else { "" };
        let mut summary = format!("{about}{count} more {what}{plural}");
        let lines = self.subtrees.lines(first, end);
        if lines > count {
            summary.push_str(&format!(" ({lines} lines)"));
        }
        match self.subtrees.actionable(first, end) {
            0 => {}
            actionable => summary.push_str(&format!(", {actionable} actionable")),
        }
        Fold { span: Span::Nodes { first, end }, summary }
    }
}
