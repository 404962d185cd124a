//! Renders what changed since the caller's last snapshot as lines that read like a unified diff.
//!
//! Hunks are in page order. Each begins with its location in the new page: the enclosing element and the preceding
//! sibling. Removed lines are abbreviated; added lines are folded to the budget like a page.

#[cfg(test)]
mod tests;

use super::{
    View,
    ancestor_path::ancestor_path_at,
    cursor::Span,
    diff::{Hunk, diff},
    layout::{FormatCost, Limits},
    layout_builder::build_layout,
    node::{Node, Page},
    outline::{self, OutlineFormat, push_quoted},
};
use std::{
    hash::{BuildHasher, RandomState},
    ops::Range,
};

const CHANGED: &str = "Changed since your last snapshot:\n";
const UNCHANGED: &str = "Nothing on the page changed.\n";
/// The shortest hunk, in bytes. It bounds the number of hunks by the budget; with more, the whole page is rendered.
const MIN_HUNK_BYTES: usize = 16;
/// Removed lines that are listed one by one; more are summarized.
const MAX_LISTED_REMOVALS: usize = 6;
/// Characters of a name or text in a removed line or a location.
const MAX_NAME_CHARS: usize = 80;
/// Characters of a name in a line that summarizes others.
const MAX_SUMMARY_NAME_CHARS: usize = 24;

pub(crate) struct Delta {
    pub text: String,
    /// Whether a cursor can open something.
    pub folds: bool,
    /// Number of folded nodes.
    pub hidden: usize,
}

/// Renders the difference between two pages, if that takes fewer than `most` bytes.
pub(super) fn render_delta(old: &Page, new: &Page, view: &View, most: usize) -> Option<Delta> {
    let hasher = RandomState::new();
    let (old, new) = (OutlineLines::new(old, &hasher), OutlineLines::new(new, &hasher));
    let hunks = diff(&old.hashes, &new.hashes);
    let room = view.bytes.min(most.saturating_sub(1));
    if hunks.len() > room / MIN_HUNK_BYTES {
        return None;
    }
    let mut writer = DeltaWriter {
        old,
        new,
        max_depth: view.max_depth,
        serial: view.serial,
        parts: Vec::new(),
        location: None,
    };
    for hunk in writer.widen_to_elements(&hunks) {
        writer.add_hunk(&hunk);
    }
    let note = writer.new.page.truncation_note().map(|note| note + "\n").unwrap_or_default();
    let first = if hunks.is_empty() { UNCHANGED } else { CHANGED };
    writer.render(first, &note, room)
}

/// A page as the lines of its outline.
struct OutlineLines<'a> {
    page: &'a Page,
    /// The first node of each line, and whether its text is inlined on the same line.
    lines: Vec<(usize, bool)>,
    /// Lines with equal text have equal hashes. The hash key is random, so a page cannot construct collisions.
    hashes: Vec<u64>,
}

impl<'a> OutlineLines<'a> {
    fn new(page: &'a Page, hasher: &RandomState) -> OutlineLines<'a> {
        let mut outline_lines = OutlineLines { page, lines: Vec::new(), hashes: Vec::new() };
        let mut at = 0;
        while at < page.nodes.len() {
            let node = &page.nodes[at];
            let inside = page.only_text(at).filter(|_| node.value.as_deref().is_none_or(str::is_empty));
            outline_lines.lines.push((at, inside.is_some()));
            outline_lines.hashes.push(hasher.hash_one(outline::render_line(node, inside)));
            at += 1 + usize::from(inside.is_some());
        }
        outline_lines
    }

    /// Index of a line's first node; the number of nodes for the line after the last.
    fn node_at(&self, line: usize) -> usize {
        self.lines.get(line).map_or(self.page.nodes.len(), |(at, _)| *at)
    }

    fn node(&self, line: usize) -> &'a Node {
        &self.page.nodes[self.lines[line].0]
    }

    fn inlined_text(&self, line: usize) -> Option<&'a str> {
        let (at, inlined) = self.lines[line];
        inlined.then(|| self.page.nodes[at + 1].name.as_str())
    }

    fn depth(&self, line: usize) -> usize {
        self.node(line).depth
    }

    /// Splits a range where a line is shallower than the first, so that each part consists of siblings with their
    /// subtrees.
    fn split_forests(&self, mut lines: Range<usize>) -> Vec<Range<usize>> {
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
    fn abbreviated(&self, line: usize, base: usize) -> String {
        let mut node = self.node(line).clone();
        node.depth -= base;
        node.name = truncate(&node.name, MAX_NAME_CHARS);
        node.value = node.value.as_deref().map(|value| truncate(value, MAX_NAME_CHARS));
        let inside = self.inlined_text(line).map(|inside| truncate(inside, MAX_NAME_CHARS));
        outline::render_line(&node, inside.as_deref())
    }

    /// `listitem "Lamp"`
    fn label(&self, line: usize) -> String {
        let node = self.node(line);
        let name =
            if node.name.is_empty() { self.inlined_text(line).unwrap_or_default() } else { &node.name };
        let mut label = node.role.clone();
        if !name.is_empty() {
            label.push(' ');
            push_quoted(&truncate(name, MAX_SUMMARY_NAME_CHARS), &mut label);
        }
        label
    }

    /// The preceding sibling of a line at this depth, if there is one in the same parent.
    fn sibling_before(&self, line: usize, depth: usize) -> Option<usize> {
        let before = (0..line).rev().find(|before| self.depth(*before) <= depth)?;
        (self.depth(before) == depth).then_some(before)
    }
}

fn shallowest(lines: &OutlineLines<'_>, range: &Range<usize>) -> Option<usize> {
    range.clone().map(|line| lines.depth(line)).min()
}

fn truncate(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

enum DeltaPart {
    Text(String),
    /// Lines of the new page, and the bytes they take unfolded.
    Added {
        lines: Range<usize>,
        bytes: usize,
    },
}

struct DeltaWriter<'a> {
    old: OutlineLines<'a>,
    new: OutlineLines<'a>,
    max_depth: usize,
    serial: u64,
    parts: Vec<DeltaPart>,
    /// Location that was written last for the present hunk; it is not repeated.
    location: Option<String>,
}

impl DeltaWriter<'_> {
    /// Widens hunks to whole elements. An added line between an element and its children adopts them, so the hunk
    /// includes those children; otherwise the nesting is ambiguous.
    fn widen_to_elements(&self, hunks: &[Hunk]) -> Vec<Hunk> {
        let mut whole: Vec<Hunk> = Vec::new();
        let mut waiting = hunks.iter().cloned().peekable();
        while let Some(hunk) = waiting.next() {
            let from = whole.last().map_or(0, |before| before.new.end);
            let to = waiting.peek().map_or(self.new.lines.len(), |next| next.new.start);
            let mut hunk = self.slide_to_element_start(hunk, from, to);
            while let Some(depth) = self.adopting_depth(&hunk) {
                let stop = waiting.peek().map_or(self.new.lines.len(), |next| next.new.start);
                let inside = (hunk.new.end..stop).take_while(|line| self.new.depth(*line) > depth).count();
                hunk.new.end += inside;
                hunk.old.end += inside;
                match waiting.next_if(|next| next.new.start == hunk.new.end) {
                    Some(next) => (hunk.old.end, hunk.new.end) = (next.old.end, next.new.end),
                    None => break,
                }
            }
            whole.push(hunk);
        }
        whole
    }

    /// Slides a hunk so that it begins at the start of an element. Equal lines at both ends make the positions
    /// equivalent.
    /// `from` and `to` bound the lines of the new page that the hunk may slide over.
    fn slide_to_element_start(&self, mut hunk: Hunk, from: usize, to: usize) -> Hunk {
        let (lines, range) = match (hunk.old.is_empty(), hunk.new.is_empty()) {
            (true, false) => (&self.new, hunk.new.clone()),
            (false, true) => (&self.old, hunk.old.clone()),
            _ => return hunk,
        };
        let depth = shallowest(lines, &range);
        let begins = |start: usize| Some(lines.depth(start)) == depth;
        let same = |start: usize| lines.hashes[start] == lines.hashes[start + range.len()];
        let first = range.start - (hunk.new.start - from);
        let last = range.start + (to - hunk.new.end);
        let up = (first..range.start).rev().take_while(|start| same(*start));
        let down = (range.start..last).take_while(|start| same(*start)).map(|start| start + 1);
        let start = [range.start].into_iter().chain(up).chain(down).find(|start| begins(*start));
        let start = start.unwrap_or(range.start);
        for side in [&mut hunk.old, &mut hunk.new] {
            *side = side.start + start - range.start..side.end + start - range.start;
        }
        hunk
    }

    /// Depth of the added lines that would adopt the lines after the hunk.
    fn adopting_depth(&self, hunk: &Hunk) -> Option<usize> {
        let added = shallowest(&self.new, &hunk.new)?;
        let follows = (hunk.new.end < self.new.lines.len()).then(|| self.new.depth(hunk.new.end))?;
        let takes_over = follows > added && shallowest(&self.old, &hunk.old) != Some(added);
        takes_over.then_some(added)
    }

    fn add_hunk(&mut self, hunk: &Hunk) {
        self.location = None;
        let mut removed = self.old.split_forests(hunk.old.clone());
        let mut added = self.new.split_forests(hunk.new.clone());
        // Counted from the end, removed and added forests of equal depth replace each other.
        let same = removed.iter().rev().zip(added.iter().rev());
        let same =
            same.take_while(|(old, new)| self.old.depth(old.start) == self.new.depth(new.start)).count();
        let replaced =
            removed.split_off(removed.len() - same).into_iter().zip(added.split_off(added.len() - same));
        for removed in removed {
            self.add_location(hunk.new.start, self.old.depth(removed.start));
            self.add_removed(removed);
        }
        for added in added {
            self.add_location(added.start, self.new.depth(added.start));
            self.add_added(added);
        }
        for (removed, added) in replaced {
            self.add_location(added.start, self.new.depth(added.start));
            self.add_removed(removed);
            self.add_added(added);
        }
    }

    /// Writes the location of a hunk in the new page: enclosing element and preceding sibling.
    fn add_location(&mut self, line: usize, depth: usize) {
        let above = ancestor_path_at(self.new.page, self.new.node_at(line), depth);
        let mut location =
            if above.is_empty() { "@@ at the top\n".to_owned() } else { format!("@@ {above}\n") };
        if let Some(before) = self.new.sibling_before(line, depth) {
            location.push_str("  ");
            location.push_str(&self.new.abbreviated(before, depth));
            location.push('\n');
        }
        if self.location.as_ref() != Some(&location) {
            self.parts.push(DeltaPart::Text(location.clone()));
            self.location = Some(location);
        }
    }

    fn add_removed(&mut self, lines: Range<usize>) {
        let base = self.old.depth(lines.start);
        let text = if lines.len() <= MAX_LISTED_REMOVALS {
            lines.map(|line| format!("- {}\n", self.old.abbreviated(line, base))).collect()
        } else {
            let last = lines.clone().rev().find(|line| self.old.depth(*line) == base).unwrap_or(lines.start);
            let (count, from) = (lines.len(), self.old.label(lines.start));
            if last == lines.start {
                format!("- … {count} lines, {from} and what was in it\n")
            } else {
                format!("- … {count} lines, from {from} to {}\n", self.old.label(last))
            }
        };
        self.parts.push(DeltaPart::Text(text));
    }

    fn add_added(&mut self, lines: Range<usize>) {
        let base = self.new.depth(lines.start);
        let bytes = lines.clone().map(|line| {
            AddedLineCost::cost(self.new.node(line), self.new.inlined_text(line))
                + (self.new.depth(line) - base) * AddedLineCost::INDENT
        });
        let bytes = bytes.sum();
        self.parts.push(DeltaPart::Added { lines, bytes });
    }

    fn render(self, first: &str, last: &str, room: usize) -> Option<Delta> {
        let fixed_bytes = self.parts.iter().map(|part| match part {
            DeltaPart::Text(text) => text.len(),
            DeltaPart::Added { .. } => 0,
        });
        let mut left = room.checked_sub(first.len() + last.len() + fixed_bytes.sum::<usize>())?;
        let mut waiting: Vec<(usize, usize)> = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            if let DeltaPart::Added { bytes, .. } = part {
                waiting.push((*bytes, index));
            }
        }
        // Smallest first: what they leave of their share goes to the larger ones.
        waiting.sort_unstable();
        let mut written: Vec<String> = vec![String::new(); self.parts.len()];
        let (mut folds, mut hidden) = (false, 0);
        for (done, (bytes, index)) in waiting.iter().enumerate() {
            let DeltaPart::Added { lines, .. } = &self.parts[*index] else { continue };
            let share = left / (waiting.len() - done);
            let base = self.new.depth(lines.start);
            let shallow = lines.clone().all(|line| self.new.depth(line) - base < self.max_depth);
            let text = if *bytes <= share && shallow {
                lines.clone().map(|line| self.render_added_line(line, base)).collect()
            } else {
                let span =
                    Span::Nodes { first: self.new.node_at(lines.start), end: self.new.node_at(lines.end) };
                let limits = Limits { bytes: share, max_depth: self.max_depth };
                let layout = build_layout::<AddedLineCost>(self.new.page, span, limits);
                folds |= layout.has_folds();
                hidden += layout.hidden;
                let text = outline::render(self.new.page, &layout, self.serial);
                text.lines().map(|line| format!("+ {line}\n")).collect::<String>()
            };
            // The share has no room for a fold: the whole page is shorter.
            left = left.checked_sub(text.len())?;
            written[*index] = text;
        }
        let mut text = first.to_owned();
        for (part, written) in self.parts.iter().zip(&written) {
            text.push_str(if let DeltaPart::Text(text) = part { text } else { written });
        }
        text.push_str(last);
        Some(Delta { text, folds, hidden })
    }

    fn render_added_line(&self, line: usize, base: usize) -> String {
        let node = Node { depth: self.new.depth(line) - base, ..self.new.node(line).clone() };
        format!("+ {}\n", outline::render_line(&node, self.new.inlined_text(line)))
    }
}

/// Outline lines that begin with a plus sign.
struct AddedLineCost;

impl FormatCost for AddedLineCost {
    const INDENT: usize = OutlineFormat::INDENT;
    const INLINES_TEXT: bool = OutlineFormat::INLINES_TEXT;
    const FOLD_OVERHEAD: usize = OutlineFormat::FOLD_OVERHEAD + "+ ".len();

    fn cost(node: &Node, inside: Option<&str>) -> usize {
        OutlineFormat::cost(node, inside) + "+ ".len()
    }
}
