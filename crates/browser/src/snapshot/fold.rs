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
    node::{Node, Page},
    plan::{Fold, Format, LONGEST_ROLE, Limits, Piece, Plan, fit, fold_bytes, rest, rest_of_text},
    shape::Shape,
};
use std::{cmp::Reverse, collections::BinaryHeap};

/// Number of consecutive siblings with the same role that make a run.
const RUN: usize = 8;
/// Items of a run that have the priority of other elements.
const FEW: usize = 3;

/// Priority penalties; lower turns come first. One level down costs as much as fifty siblings.
const LEVEL: usize = 100;
const SIBLING: usize = 2;
const LATER_IN_RUN: usize = 300;
const BESIDE_THE_POINT: usize = 2_000;

/// Landmarks that are seldom what a page is read for.
const BOILERPLATE: [&str; 3] = ["navigation", "contentinfo", "complementary"];

/// Fraction of the budget that one line, or one subtree rendered as a whole, may take.
const SHARE: usize = 8;
/// The least that a share may be, in bytes.
const SMALLEST_SHARE: usize = 240;

pub(super) fn plan<F: Format>(page: &Page, span: Span, limits: Limits) -> Plan {
    match span {
        Span::Text { node, from } => rest_of_text::<F>(page, node, from, limits),
        Span::Nodes { first, end } if first >= end => Plan { pieces: Vec::new(), hidden: 0 },
        Span::Nodes { first, end } => {
            let share = (limits.bytes / SHARE).max(SMALLEST_SHARE);
            let shape = Shape::of::<F>(page, first, end, share, limits.bytes);
            Folding::<F>::new(shape, limits, share).run()
        }
    }
}

fn heading_level(node: &Node) -> Option<u8> {
    (node.role == "heading").then(|| node.states.level.unwrap_or(2))
}

/// Siblings of which the first ones are rendered; the rest, if any, becomes one fold.
struct Group {
    next: usize,
    end: usize,
    depth: usize,
    taken: usize,
    /// Turn of its first member.
    turn: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Children of a node.
    Inside,
    /// Siblings with the same role: the first few stand for the rest.
    Run,
    /// A heading and its siblings up to the next heading of the same level.
    Section,
}

impl Group {
    /// Turn of its next member.
    fn next_turn(&self) -> usize {
        let late = match self.kind {
            Kind::Run if self.taken >= FEW => LATER_IN_RUN,
            Kind::Section if self.taken > 0 => LEVEL,
            _ => 0,
        };
        self.turn + late + self.taken * SIBLING
    }
}

struct Folding<'a, F> {
    shape: Shape<'a>,
    max_depth: usize,
    share: usize,
    fold_bytes: usize,
    left: usize,
    /// Bytes that the first node took beyond the budget; repaid before anything else is rendered.
    debt: usize,
    groups: Vec<Group>,
    turns: BinaryHeap<Reverse<(usize, usize, usize)>>,
    pieces: Vec<(usize, Piece)>,
    format: std::marker::PhantomData<F>,
}

impl<'a, F: Format> Folding<'a, F> {
    fn new(shape: Shape<'a>, limits: Limits, share: usize) -> Folding<'a, F> {
        Folding {
            max_depth: limits.max_depth.max(1),
            share,
            fold_bytes: F::AROUND_FOLD + fold_bytes(shape.page),
            left: limits.bytes,
            debt: 0,
            groups: Vec::new(),
            turns: BinaryHeap::new(),
            pieces: Vec::new(),
            format: std::marker::PhantomData,
            shape,
        }
    }

    fn run(mut self) -> Plan {
        let (first, end) = (self.shape.first, self.shape.end);
        if self.shape.cost(first, end) <= self.left && self.shallow(first, end) {
            self.show(first, end);
            return self.finish();
        }
        self.left = self.left.saturating_sub(self.fold_cost(0));
        self.open(Group { next: first, end, depth: 0, taken: 0, turn: 0, kind: Kind::Inside });
        while let Some(Reverse((_, _, group))) = self.turns.pop() {
            let mut taken = self.take(group) || self.take_rest(group);
            if !taken && self.pieces.is_empty() {
                self.force(group);
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
        self.fold_bytes + depth * F::INDENT
    }

    fn open(&mut self, group: Group) {
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
        if cost > self.left + back {
            return false;
        }
        self.left = self.left + back - cost;
        self.debt = 0;
        true
    }

    /// Renders the next member of a group, if there is room.
    fn take(&mut self, index: usize) -> bool {
        let Group { next: at, end, depth, .. } = self.groups[index];
        let after = self.shape.end_of(at).min(end);
        // Only after something is rendered: the first node may need the room that another fold would take.
        if !self.pieces.is_empty()
            && let Some((part_end, kind)) = self.part_of(&self.groups[index])
        {
            let back = if part_end == end { self.fold_cost(depth) } else { 0 };
            if !self.pay(self.fold_cost(depth), back) {
                return false;
            }
            let turn = self.groups[index].next_turn();
            self.advance(index, part_end);
            self.open(Group { next: at, end: part_end, depth, taken: 0, turn, kind });
            return true;
        }
        let back = if after == end { self.fold_cost(depth) } else { 0 };
        let whole = self.shape.cost(at, after);
        if whole <= self.share && self.shape.deepest(at) < self.max_depth {
            if !self.pay(whole, back) {
                return false;
            }
            self.show(at, after);
        } else {
            let own = self.own_end(at);
            let line = self.shape.cost(at, own);
            let long = line > self.share;
            let inside = if own < after { self.fold_cost(depth + 1) } else { 0 };
            // The state marks alone may exceed a share.
            let room = if long { self.share.max(self.least(at, depth)) } else { line };
            let cost = if long { room + self.fold_cost(depth + 1) } else { line };
            if !self.pay(cost + inside, back) {
                return false;
            }
            if long {
                self.show_part(at, depth, room);
            } else {
                self.show(at, own);
            }
            self.enter(index, own, after);
        }
        self.advance(index, after);
        true
    }

    /// Renders the rest of a group if that costs no more than its fold.
    fn take_rest(&mut self, index: usize) -> bool {
        let Group { next, end, depth, .. } = self.groups[index];
        let back = self.fold_cost(depth);
        let cost = self.shape.cost(next, end);
        if cost > self.left + back || !self.shallow(next, end) || !self.pay(cost, back) {
            return false;
        }
        self.show(next, end);
        self.groups[index].next = end;
        true
    }

    /// Renders the first node regardless of the budget. Otherwise opening a fold could yield only another fold.
    fn force(&mut self, index: usize) {
        let Group { next: at, end, depth, .. } = self.groups[index];
        let after = self.shape.end_of(at).min(end);
        let mut folds = if at + 1 < after { self.fold_cost(depth + 1) } else { 0 };
        let mut line = F::cost(self.shape.node(at), None);
        if line + folds <= self.left {
            self.pieces.push((at, Piece::Node { at, depth, joined: false }));
        } else {
            folds += self.fold_cost(depth + 1);
            line = self.show_part(at, depth, self.left.saturating_sub(folds));
        }
        self.debt = (line + folds).saturating_sub(self.left);
        self.left = self.left.saturating_sub(line + folds);
        self.enter(index, at + 1, after);
        self.advance(index, after);
    }

    /// Opens a group for the children of a node of which only its own line is rendered.
    fn enter(&mut self, parent: usize, first: usize, end: usize) {
        if first >= end {
            return;
        }
        let depth = self.groups[parent].depth;
        let role = self.shape.node(self.groups[parent].next).role.as_str();
        let mut turn = self.groups[parent].next_turn() + LEVEL;
        if BOILERPLATE.contains(&role) {
            turn += BESIDE_THE_POINT;
        }
        let group = Group { next: first, end, depth: depth + 1, taken: 0, turn, kind: Kind::Inside };
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
    fn own_end(&self, at: usize) -> usize {
        at + 1 + usize::from(self.shape.joined(at))
    }

    /// The run or section that begins with the group's next member, if it becomes a group of its own.
    fn part_of(&self, group: &Group) -> Option<(usize, Kind)> {
        let (at, end) = (group.next, group.end);
        if group.kind == Kind::Run || (group.kind == Kind::Section && group.taken == 0) {
            return None;
        }
        let node = self.shape.node(at);
        if let Some(level) = heading_level(node) {
            let ends = |at: &usize| heading_level(self.shape.node(*at)).is_some_and(|next| next <= level);
            let section_end = self.shape.siblings(at, end).skip(1).find(ends).unwrap_or(end);
            // A short section is handled with its neighbours.
            return (self.shape.cost(at, section_end) > self.share).then_some((section_end, Kind::Section));
        }
        let alike = |at: &usize| self.shape.node(*at).role == node.role;
        let (mut count, mut run_end) = (0, at);
        for sibling in self.shape.siblings(at, end).take_while(alike) {
            count += 1;
            run_end = self.shape.end_of(sibling).min(end);
        }
        (count >= RUN).then_some((run_end, Kind::Run))
    }

    fn shallow(&self, first: usize, end: usize) -> bool {
        self.shape.siblings(first, end).all(|at| self.shape.deepest(at) < self.max_depth)
    }

    fn show(&mut self, first: usize, end: usize) {
        let mut at = first;
        while at < end {
            let joined = self.shape.joined(at);
            self.pieces.push((at, Piece::Node { at, depth: self.shape.depth(at), joined }));
            at += 1 + usize::from(joined);
        }
    }

    /// Bytes that a node takes with as little of its text as possible.
    fn least(&self, at: usize, depth: usize) -> usize {
        let node = self.shape.node(at);
        F::cost(&node.part(0, node.first_part_end(0)), None) + depth * F::INDENT
    }

    /// Renders as much of a node's text as fits, and returns the bytes taken.
    fn show_part(&mut self, at: usize, depth: usize, bytes: usize) -> usize {
        let node = self.shape.node(at);
        let to = fit::<F>(node, 0, bytes.saturating_sub(depth * F::INDENT));
        self.pieces.push((at, Piece::Part { at, depth, from: 0, to }));
        if to < node.text_len() {
            self.pieces.push((at, rest(node, at, to, depth + 1)));
        }
        F::cost(&node.part(0, to), None) + depth * F::INDENT
    }

    fn finish(mut self) -> Plan {
        let mut hidden = 0;
        for group in &self.groups {
            if group.next < group.end {
                hidden += group.end - group.next;
                let fold = self.fold(group.next, group.end);
                self.pieces.push((group.next, Piece::Fold { depth: group.depth, fold }));
            }
        }
        // A stable sort keeps a text before the fold of its rest.
        self.pieces.sort_by_key(|(at, _)| *at);
        Plan { pieces: self.pieces.into_iter().map(|(_, piece)| piece).collect(), hidden }
    }

    fn fold(&self, first: usize, end: usize) -> Fold {
        let role = self.shape.node(first).role.as_str();
        let (mut count, mut alike) = (0, role.len() <= LONGEST_ROLE);
        for at in self.shape.siblings(first, end) {
            count += 1;
            alike &= self.shape.node(at).role == role;
        }
        let what = if alike { role } else { "element" };
        let plural = if count == 1 { "" } else { "s" };
        let mut words = format!("{count} more {what}{plural}");
        if end - first > count {
            words.push_str(&format!(" ({} lines)", end - first));
        }
        match self.shape.actionable(first, end) {
            0 => {}
            actionable => words.push_str(&format!(", {actionable} actionable")),
        }
        Fold { span: Span::Nodes { first, end }, words }
    }
}
