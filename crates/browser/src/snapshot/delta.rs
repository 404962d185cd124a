//! Renders what changed since the caller's last snapshot as lines that read like a unified diff.
//!
//! Hunks are in page order. Each begins with its location in the new page: the enclosing element and the preceding
//! sibling. Removed lines are abbreviated; added lines are folded to the budget like a page.

#[cfg(test)]
mod tests;

use super::{
    View,
    cursor::Span,
    diff::{Change, changes},
    fold::plan,
    node::{Node, Page},
    outline::{self, Outline, quote},
    path::path_above,
    plan::{Format, Limits},
};
use std::{
    hash::{BuildHasher, RandomState},
    ops::Range,
};

const CHANGED: &str = "Changed since your last snapshot:\n";
const UNCHANGED: &str = "Nothing on the page changed.\n";
/// The shortest hunk, in bytes. It bounds the number of hunks by the budget; with more, the whole page is rendered.
const LEAST_CHANGE: usize = 16;
/// Removed lines that are listed one by one; more are summarized.
const MOST_REMOVED: usize = 6;
/// Characters of a name or text in a removed line or a location.
const MOST_OF_A_NAME: usize = 80;
/// Characters of a name in a line that summarizes others.
const LEAST_OF_A_NAME: usize = 24;

pub(crate) struct Delta {
    pub text: String,
    /// Whether a cursor can open something.
    pub folds: bool,
    /// Number of folded nodes.
    pub hidden: usize,
}

/// Renders the difference between two pages, if that takes fewer than `most` bytes.
pub(super) fn delta(old: &Page, new: &Page, view: &View, most: usize) -> Option<Delta> {
    let prints = RandomState::new();
    let (old, new) = (Lines::of(old, &prints), Lines::of(new, &prints));
    let changes = changes(&old.prints, &new.prints);
    let room = view.bytes.min(most.saturating_sub(1));
    if changes.len() > room / LEAST_CHANGE {
        return None;
    }
    let mut telling =
        Telling { old, new, max_depth: view.max_depth, serial: view.serial, parts: Vec::new(), place: None };
    for change in telling.whole_elements(&changes) {
        telling.change(&change);
    }
    let beyond = telling.new.page.beyond().map(|note| note + "\n").unwrap_or_default();
    let first = if changes.is_empty() { UNCHANGED } else { CHANGED };
    telling.write(first, &beyond, room)
}

/// A page as the lines of its outline.
struct Lines<'a> {
    page: &'a Page,
    /// The first node of each line, and whether its text is inlined on the same line.
    lines: Vec<(usize, bool)>,
    /// Lines with equal text have equal hashes. The hash key is random, so a page cannot construct collisions.
    prints: Vec<u64>,
}

impl<'a> Lines<'a> {
    fn of(page: &'a Page, hasher: &RandomState) -> Lines<'a> {
        let mut told = Lines { page, lines: Vec::new(), prints: Vec::new() };
        let mut at = 0;
        while at < page.nodes.len() {
            let node = &page.nodes[at];
            let inside = page.only_text(at).filter(|_| node.value.as_deref().is_none_or(str::is_empty));
            told.lines.push((at, inside.is_some()));
            told.prints.push(hasher.hash_one(outline::line(node, inside)));
            at += 1 + usize::from(inside.is_some());
        }
        told
    }

    /// Index of a line's first node; the number of nodes for the line after the last.
    fn node_at(&self, line: usize) -> usize {
        self.lines.get(line).map_or(self.page.nodes.len(), |(at, _)| *at)
    }

    fn node(&self, line: usize) -> &'a Node {
        &self.page.nodes[self.lines[line].0]
    }

    fn inside(&self, line: usize) -> Option<&'a str> {
        let (at, joined) = self.lines[line];
        joined.then(|| self.page.nodes[at + 1].name.as_str())
    }

    fn depth(&self, line: usize) -> usize {
        self.node(line).depth
    }

    /// Splits a range where a line is shallower than the first, so that each part consists of siblings with their
    /// subtrees.
    fn forests(&self, mut lines: Range<usize>) -> Vec<Range<usize>> {
        let mut forests = Vec::new();
        while !lines.is_empty() {
            let depth = self.depth(lines.start);
            let end = lines.clone().find(|line| self.depth(*line) < depth).unwrap_or(lines.end);
            forests.push(lines.start..end);
            lines.start = end;
        }
        forests
    }

    /// A line to recognise an element by: indented relative to `base`, with long texts cut.
    fn short(&self, line: usize, base: usize) -> String {
        let mut node = self.node(line).clone();
        node.depth -= base;
        node.name = cut(&node.name, MOST_OF_A_NAME);
        node.value = node.value.as_deref().map(|value| cut(value, MOST_OF_A_NAME));
        let inside = self.inside(line).map(|inside| cut(inside, MOST_OF_A_NAME));
        outline::line(&node, inside.as_deref())
    }

    /// `listitem "Lamp"`
    fn named(&self, line: usize) -> String {
        let node = self.node(line);
        let name = if node.name.is_empty() { self.inside(line).unwrap_or_default() } else { &node.name };
        let mut told = node.role.clone();
        if !name.is_empty() {
            told.push(' ');
            quote(&cut(name, LEAST_OF_A_NAME), &mut told);
        }
        told
    }

    /// The preceding sibling of a line at this depth, if there is one in the same parent.
    fn sibling_before(&self, line: usize, depth: usize) -> Option<usize> {
        let before = (0..line).rev().find(|before| self.depth(*before) <= depth)?;
        (self.depth(before) == depth).then_some(before)
    }
}

fn shallowest(lines: &Lines<'_>, range: &Range<usize>) -> Option<usize> {
    range.clone().map(|line| lines.depth(line)).min()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

enum Part {
    Text(String),
    /// Lines of the new page, and the bytes they take unfolded.
    Added {
        lines: Range<usize>,
        bytes: usize,
    },
}

struct Telling<'a> {
    old: Lines<'a>,
    new: Lines<'a>,
    max_depth: usize,
    serial: u64,
    parts: Vec<Part>,
    /// Location that was written last for the present hunk; it is not repeated.
    place: Option<String>,
}

impl Telling<'_> {
    /// Widens hunks to whole elements. An added line between an element and its children adopts them, so the hunk
    /// includes those children; otherwise the nesting is ambiguous.
    fn whole_elements(&self, changes: &[Change]) -> Vec<Change> {
        let mut whole: Vec<Change> = Vec::new();
        let mut waiting = changes.iter().cloned().peekable();
        while let Some(change) = waiting.next() {
            let from = whole.last().map_or(0, |before| before.new.end);
            let to = waiting.peek().map_or(self.new.lines.len(), |next| next.new.start);
            let mut change = self.at_its_beginning(change, from, to);
            while let Some(depth) = self.splits(&change) {
                let stop = waiting.peek().map_or(self.new.lines.len(), |next| next.new.start);
                let inside = (change.new.end..stop).take_while(|line| self.new.depth(*line) > depth).count();
                change.new.end += inside;
                change.old.end += inside;
                match waiting.next_if(|next| next.new.start == change.new.end) {
                    Some(next) => (change.old.end, change.new.end) = (next.old.end, next.new.end),
                    None => break,
                }
            }
            whole.push(change);
        }
        whole
    }

    /// Slides a hunk so that it begins at the start of an element. Equal lines at both ends make the positions
    /// equivalent.
    /// `from` and `to` bound the lines of the new page that the hunk may slide over.
    fn at_its_beginning(&self, mut change: Change, from: usize, to: usize) -> Change {
        let (lines, range) = match (change.old.is_empty(), change.new.is_empty()) {
            (true, false) => (&self.new, change.new.clone()),
            (false, true) => (&self.old, change.old.clone()),
            _ => return change,
        };
        let depth = shallowest(lines, &range);
        let begins = |start: usize| Some(lines.depth(start)) == depth;
        let same = |start: usize| lines.prints[start] == lines.prints[start + range.len()];
        let first = range.start - (change.new.start - from);
        let last = range.start + (to - change.new.end);
        let up = (first..range.start).rev().take_while(|start| same(*start));
        let down = (range.start..last).take_while(|start| same(*start)).map(|start| start + 1);
        let start = [range.start].into_iter().chain(up).chain(down).find(|start| begins(*start));
        let start = start.unwrap_or(range.start);
        for side in [&mut change.old, &mut change.new] {
            *side = side.start + start - range.start..side.end + start - range.start;
        }
        change
    }

    /// Depth of the added lines that would adopt the lines after the hunk.
    fn splits(&self, change: &Change) -> Option<usize> {
        let added = shallowest(&self.new, &change.new)?;
        let follows = (change.new.end < self.new.lines.len()).then(|| self.new.depth(change.new.end))?;
        let takes_over = follows > added && shallowest(&self.old, &change.old) != Some(added);
        takes_over.then_some(added)
    }

    fn change(&mut self, change: &Change) {
        self.place = None;
        let mut removed = self.old.forests(change.old.clone());
        let mut added = self.new.forests(change.new.clone());
        // Counted from the end, removed and added forests of equal depth replace each other.
        let same = removed.iter().rev().zip(added.iter().rev());
        let same =
            same.take_while(|(old, new)| self.old.depth(old.start) == self.new.depth(new.start)).count();
        let replaced =
            removed.split_off(removed.len() - same).into_iter().zip(added.split_off(added.len() - same));
        for removed in removed {
            self.place(change.new.start, self.old.depth(removed.start));
            self.removed(removed);
        }
        for added in added {
            self.place(added.start, self.new.depth(added.start));
            self.added(added);
        }
        for (removed, added) in replaced {
            self.place(added.start, self.new.depth(added.start));
            self.removed(removed);
            self.added(added);
        }
    }

    /// Writes the location of a hunk in the new page: enclosing element and preceding sibling.
    fn place(&mut self, line: usize, depth: usize) {
        let above = path_above(self.new.page, self.new.node_at(line), depth);
        let mut place = if above.is_empty() { "@@ at the top\n".to_owned() } else { format!("@@ {above}\n") };
        if let Some(before) = self.new.sibling_before(line, depth) {
            place.push_str("  ");
            place.push_str(&self.new.short(before, depth));
            place.push('\n');
        }
        if self.place.as_ref() != Some(&place) {
            self.parts.push(Part::Text(place.clone()));
            self.place = Some(place);
        }
    }

    fn removed(&mut self, lines: Range<usize>) {
        let base = self.old.depth(lines.start);
        let text = if lines.len() <= MOST_REMOVED {
            lines.map(|line| format!("- {}\n", self.old.short(line, base))).collect()
        } else {
            let last = lines.clone().rev().find(|line| self.old.depth(*line) == base).unwrap_or(lines.start);
            let (count, from) = (lines.len(), self.old.named(lines.start));
            if last == lines.start {
                format!("- … {count} lines, {from} and what was in it\n")
            } else {
                format!("- … {count} lines, from {from} to {}\n", self.old.named(last))
            }
        };
        self.parts.push(Part::Text(text));
    }

    fn added(&mut self, lines: Range<usize>) {
        let base = self.new.depth(lines.start);
        let bytes = lines.clone().map(|line| {
            Added::cost(self.new.node(line), self.new.inside(line))
                + (self.new.depth(line) - base) * Added::INDENT
        });
        let bytes = bytes.sum();
        self.parts.push(Part::Added { lines, bytes });
    }

    fn write(self, first: &str, last: &str, room: usize) -> Option<Delta> {
        let told = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.len(),
            Part::Added { .. } => 0,
        });
        let mut left = room.checked_sub(first.len() + last.len() + told.sum::<usize>())?;
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            if let Part::Added { bytes, .. } = part {
                waiting.push((*bytes, index));
            }
        }
        // Smallest first: what they leave of their share goes to the larger ones.
        waiting.sort_unstable();
        let mut written: Vec<String> = vec![String::new(); self.parts.len()];
        let (mut folds, mut hidden) = (false, 0);
        for (done, (bytes, index)) in waiting.iter().enumerate() {
            let Part::Added { lines, .. } = &self.parts[*index] else { continue };
            let share = left / (waiting.len() - done);
            let base = self.new.depth(lines.start);
            let shallow = lines.clone().all(|line| self.new.depth(line) - base < self.max_depth);
            let text = if *bytes <= share && shallow {
                lines.clone().map(|line| self.line(line, base)).collect()
            } else {
                let span =
                    Span::Nodes { first: self.new.node_at(lines.start), end: self.new.node_at(lines.end) };
                let limits = Limits { bytes: share, max_depth: self.max_depth };
                let plan = plan::<Added>(self.new.page, span, limits);
                folds |= plan.has_folds();
                hidden += plan.hidden;
                let text = outline::write(self.new.page, &plan, self.serial);
                text.lines().map(|line| format!("+ {line}\n")).collect::<String>()
            };
            // The share has no room for a fold: the whole page is shorter.
            left = left.checked_sub(text.len())?;
            written[*index] = text;
        }
        let mut text = first.to_owned();
        for (part, written) in self.parts.iter().zip(&written) {
            text.push_str(if let Part::Text(told) = part { told } else { written });
        }
        text.push_str(last);
        Some(Delta { text, folds, hidden })
    }

    fn line(&self, line: usize, base: usize) -> String {
        let node = Node { depth: self.new.depth(line) - base, ..self.new.node(line).clone() };
        format!("+ {}\n", outline::line(&node, self.new.inside(line)))
    }
}

/// Outline lines that begin with a plus sign.
struct Added;

impl Format for Added {
    const INDENT: usize = Outline::INDENT;
    const JOINS: bool = Outline::JOINS;
    const AROUND_FOLD: usize = Outline::AROUND_FOLD + "+ ".len();

    fn cost(node: &Node, inside: Option<&str>) -> usize {
        Outline::cost(node, inside) + "+ ".len()
    }
}
