//! Deltas, held against pages that are made up and then changed: what they tell is all that changed, and fits.

use super::*;
use crate::snapshot::{
    Content,
    cursor::Cursor,
    fold::tests::Dice,
    node::tests::page,
    tests::{shown, view},
};
use policy::ReadFormat;
use std::sync::Arc;

fn told(old: &Page, new: &Page) -> String {
    let view = view(new, ReadFormat::Outline, 1 << 20);
    delta(old, new, &view, usize::MAX).unwrap().text
}

#[test]
fn a_delta_reads_like_a_diff_of_the_outline() {
    let old = page(
        "0 main
         1 list Cart
         2 listitem
         3 text Lamp
         2 listitem
         3 text Pen
         1 button Pay",
    );
    let mut new = page(
        "0 main
         1 list Cart
         2 listitem
         3 text Lamp
         2 listitem
         3 text Chair
         3 button Remove
         1 button Pay",
    );
    Arc::make_mut(&mut new.nodes[6]).reference = Some("e14".into());
    let expected = "Changed since your last snapshot:
@@ main > list \"Cart\"
  - listitem: \"Lamp\"
- - listitem: \"Pen\"
+ - listitem
+   - text: \"Chair\"
+   - button \"Remove\" [ref=e14]
";
    assert_eq!(told(&old, &new), expected);
    assert_eq!(told(&new, &new), "Nothing on the page changed.\n");
    let back = "Changed since your last snapshot:
@@ main > list \"Cart\"
  - listitem: \"Lamp\"
- - listitem
-   - text: \"Chair\"
-   - button \"Remove\" [ref=e14]
+ - listitem: \"Pen\"
";
    assert_eq!(told(&new, &old), back);
}

#[test]
fn each_change_has_its_place_and_long_removals_are_summed_up() {
    let items: String = (0..40).map(|n| format!("2 listitem\n3 link Item {n}\n")).collect();
    let old = page(&format!("0 banner\n0 main\n1 list\n{items}1 text Total 40\n0 contentinfo\n1 link Help"));
    let new =
        page("0 status\n0 banner\n0 main\n1 list\n1 text Total 0\n0 contentinfo\n1 link Help\n1 link Press");
    let expected = "Changed since your last snapshot:
@@ at the top
+ - status
@@ main > list
- … 80 lines, from listitem to listitem
@@ main
  - list
- - text: \"Total 40\"
+ - text: \"Total 0\"
@@ contentinfo
  - link \"Help\"
+ - link \"Press\"
";
    assert_eq!(told(&old, &new), expected);
}

#[test]
fn a_row_among_rows_is_told_whole() {
    let rows = |names: &str| {
        let rows: String = names.chars().map(|name| format!("1 row\n2 cell {name}\n2 cell same\n")).collect();
        page(&format!("0 table\n{rows}0 button Pay"))
    };
    for (old, new, expected) in [
        ("abc", "abxc", "@@ table\n  - row\n+ - row\n+   - cell \"x\"\n+   - cell \"same\"\n"),
        ("abxc", "abc", "@@ table\n  - row\n- - row\n-   - cell \"x\"\n-   - cell \"same\"\n"),
        ("abc", "bc", "@@ table\n- - row\n-   - cell \"a\"\n-   - cell \"same\"\n"),
        ("abc", "abcx", "@@ table\n  - row\n+ - row\n+   - cell \"x\"\n+   - cell \"same\"\n"),
    ] {
        let told = told(&rows(old), &rows(new));
        assert_eq!(told.strip_prefix(CHANGED), Some(expected), "{old} to {new}");
    }
}

#[test]
fn a_page_that_cannot_be_read_to_its_end_says_so_in_a_delta_too() {
    let incomplete = |lines: &str| Page { left: 7, ..page(lines) };
    let told = told(&incomplete("0 main\n1 button A"), &incomplete("0 main\n1 button B"));
    assert!(told.ends_with("… 7 parts of the page are beyond what a snapshot can hold\n"), "{told}");
}

#[test]
fn what_is_added_is_folded_to_the_budget_and_the_page_is_shown_when_that_is_shorter() {
    let list = |count: usize| {
        let items: String = (0..count).map(|n| format!("2 listitem\n3 link Item number {n}\n")).collect();
        page(&format!("0 heading Long\n0 main\n1 list\n{items}0 contentinfo\n"))
    };
    let (old, new) = (list(1_000), list(3_000));
    let view = view(&new, ReadFormat::Outline, 6_000);
    let delta = delta(&old, &new, &view, 6_000).unwrap();
    assert!(delta.text.len() < 6_000 && delta.text.len() > 5_000 && delta.folds, "{}", delta.text.len());
    assert!(
        delta
            .text
            .starts_with("Changed since your last snapshot:\n@@ main > list\n  - listitem\n+ - listitem\n")
    );
    assert!(
        delta.text.contains("more listitems (") && delta.text.contains("[open: cursor=c1."),
        "{}",
        delta.text
    );
    let whole = shown(&page("0 main\n1 button A"), ReadFormat::Outline, 6_000);
    let (old, new) = (page("0 main\n1 button B"), page("0 main\n1 button A"));
    assert!(super::delta(&old, &new, &view, whole.len()).is_none(), "a page of two lines is shorter");
}

/// A page whose lines are all different, so that a reader can find each of them.
fn distinct(dice: &mut Dice, next: &mut usize) -> Page {
    let mut made = Page { complete: true, ..Page::default() };
    for node in dice.page().nodes {
        made.nodes.push(rename(&node, next));
    }
    let mut deepest = 0;
    for node in &mut made.nodes {
        Arc::make_mut(node).depth = node.depth.min(deepest);
        deepest = node.depth + 1;
    }
    made
}

fn rename(node: &Node, next: &mut usize) -> Arc<Node> {
    let mut node = node.clone();
    *next += 1;
    node.name = format!("n{next}");
    node.value = None;
    node.reference = node.reference.map(|_| format!("e{next}"));
    Arc::new(node)
}

fn subtree(page: &Page, at: usize) -> Range<usize> {
    match page.subtree(at) {
        Span::Nodes { first, end } => first..end,
        Span::Text { .. } => unreachable!(),
    }
}

/// Removes, adds, renames and moves a few elements.
fn mutated(dice: &mut Dice, page: &Page, next: &mut usize) -> Page {
    let mut nodes = page.nodes.clone();
    for _ in 0..dice.roll(6) {
        let now = Page { nodes: nodes.clone(), ..Page::default() };
        if nodes.is_empty() {
            break;
        }
        let at = dice.roll(nodes.len());
        let whole = subtree(&now, at);
        match dice.roll(4) {
            0 => drop(nodes.drain(whole)),
            1 => nodes[at] = rename(&nodes[at], next),
            2 => {
                let copy: Vec<_> = nodes[whole.clone()].iter().map(|node| rename(node, next)).collect();
                nodes.splice(whole.end..whole.end, copy);
            }
            _ => {
                let moved: Vec<_> = nodes.drain(whole).collect();
                let to = dice.roll(nodes.len() + 1);
                let above = to.checked_sub(1).map_or(0, |before| nodes[before].depth + 1);
                let below = nodes.get(to).map_or(0, |after| after.depth);
                let depth = above.max(below);
                let base = moved[0].depth;
                let moved = moved.iter().map(|node| {
                    let node = Node::clone(node);
                    Arc::new(Node { depth: node.depth - base + depth, ..node })
                });
                nodes.splice(to..to, moved.collect::<Vec<_>>());
            }
        }
    }
    Page { nodes, complete: true, ..Page::default() }
}

fn written(page: &Page) -> Vec<String> {
    let lines = Lines::of(page, &RandomState::new());
    (0..lines.lines.len()).map(|line| outline::line(lines.node(line), lines.inside(line))).collect()
}

fn depth_of(line: &str) -> usize {
    (line.len() - line.trim_start().len()) / 2
}

/// Does to the old lines what a reader of the delta would do.
fn apply(mut lines: Vec<String>, delta: &str) -> Vec<String> {
    let mut hunks: Vec<Vec<&str>> = Vec::new();
    for line in delta.lines().skip(1) {
        match line.strip_prefix("@@ ") {
            Some(place) => hunks.push(vec![place]),
            None => hunks.last_mut().unwrap().push(line),
        }
    }
    for hunk in hunks {
        let context = hunk.get(1).and_then(|line| line.strip_prefix("  "));
        let (mut at, depth) = match context {
            Some(context) => {
                let found = lines.iter().position(|line| line.trim_start() == context).unwrap();
                let depth = depth_of(&lines[found]);
                let end = (found + 1..lines.len()).find(|next| depth_of(&lines[*next]) <= depth);
                (end.unwrap_or(lines.len()), depth)
            }
            None if hunk[0] == "at the top" => (0, 0),
            None => {
                let parent =
                    format!("- {}", hunk[0].rsplit(" > ").next().unwrap()).replace("- text ", "- text: ");
                let is_it = |line: &String| {
                    let line = line.trim_start();
                    line.strip_prefix(&parent)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ':']))
                };
                let found = lines.iter().position(is_it).unwrap_or_else(|| panic!("{parent} in {lines:#?}"));
                (found + 1, depth_of(&lines[found]) + 1)
            }
        };
        for line in &hunk[1 + usize::from(context.is_some())..] {
            if let Some(summed) = line.strip_prefix("- … ") {
                let count: usize = summed.split(' ').next().unwrap().parse().unwrap();
                lines.drain(at..at + count);
            } else if let Some(removed) = line.strip_prefix("- ") {
                assert_eq!(lines.remove(at), format!("{}{removed}", " ".repeat(depth * 2)));
            } else {
                let added = line.strip_prefix("+ ").unwrap();
                lines.insert(at, format!("{}{added}", " ".repeat(depth * 2)));
                at += 1;
            }
        }
    }
    lines
}

#[test]
fn applying_a_delta_to_what_the_caller_had_gives_the_page_as_it_is() {
    for seed in 1..=400 {
        let mut dice = Dice(seed ^ 0x9E37_79B9_7F4A_7C15);
        let mut next = 0;
        let old = distinct(&mut dice, &mut next);
        let new = mutated(&mut dice, &old, &mut next);
        let text = told(&old, &new);
        assert_eq!(apply(written(&old), &text), written(&new), "seed {seed}:\n{text}");
    }
}

/// Where many lines read the same, changes are moved and widened; what is between them must still be the same.
#[test]
fn what_no_change_covers_is_the_same_in_both_pages() {
    for seed in 1..=2_000 {
        let mut dice = Dice(seed ^ 0x00C0_FFEE_0BAD_F00D);
        let mut some = |count: usize| {
            let mut depth = 0;
            let node = |_| {
                depth = dice.roll((depth + 2).min(5));
                Node {
                    depth,
                    role: "row".into(),
                    name: ["", "a", "b"][dice.roll(3)].into(),
                    ..Node::default()
                }
            };
            Page { nodes: (0..count).map(node).map(Arc::new).collect(), complete: true, ..Page::default() }
        };
        let (old, mut new) = (some(40), some(6));
        let (at, cut) = (dice.roll(30), dice.roll(8));
        let added = std::mem::take(&mut new.nodes);
        new.nodes = [&old.nodes[..at], &added[..dice.roll(6)], &old.nodes[at + cut..]].concat();
        let hasher = RandomState::new();
        let (old, new) = (Lines::of(&old, &hasher), Lines::of(&new, &hasher));
        let found = changes(&old.prints, &new.prints);
        let (now, then) = (new.prints.clone(), old.prints.clone());
        let telling = Telling { old, new, max_depth: 10, serial: 1, parts: Vec::new(), place: None };
        let (mut made, mut from) = (Vec::<u64>::new(), 0);
        for change in telling.whole_elements(&found) {
            made.extend(&then[from..change.old.start]);
            made.extend(&now[change.new.clone()]);
            from = change.old.end;
        }
        made.extend(&then[from..]);
        assert_eq!(made, now, "seed {seed}");
    }
}

#[test]
fn a_delta_is_smaller_than_the_page_within_the_budget_and_loses_no_ref() {
    let mut deltas = 0;
    for seed in 1..=300 {
        let mut dice = Dice(seed ^ 0x0123_4567_89AB_CDEF);
        let old = dice.page();
        let mut next = 1_000_000;
        let new = if dice.one_in(8) { dice.page() } else { mutated(&mut dice, &old, &mut next) };
        let bytes = [760, 2_000, 23_000][dice.roll(3)];
        let view = View { max_depth: [2, 10, 64][dice.roll(3)], ..view(&new, ReadFormat::Outline, bytes) };
        let Content::Outline(whole) = new.show(&view).content else { panic!("no outline") };
        let Some(delta) = delta(&old, &new, &view, whole.len()) else { continue };
        deltas += 1;
        let text = &delta.text;
        assert!(text.len() <= bytes && text.len() < whole.len(), "seed {seed}: {} bytes\n{text}", text.len());
        let folds: Vec<Cursor> = text
            .lines()
            .filter(|line| {
                line.trim_start_matches(['+', ' ']).starts_with("- … ") && line.contains("cursor=")
            })
            .map(|line| Cursor::parse(line.rsplit_once("cursor=").unwrap().1.trim_end_matches(']')).unwrap())
            .collect();
        assert_eq!(folds.is_empty(), !delta.folds, "seed {seed}");
        let known = written(&old);
        let lines = Lines::of(&new, &RandomState::new());
        for line in 0..lines.lines.len() {
            let (at, node) = (lines.lines[line].0, lines.node(line));
            let Some(reference) = &node.reference else { continue };
            let in_fold = folds.iter().any(|fold| match fold.span {
                Span::Nodes { first, end } => (first..end).contains(&at),
                Span::Text { .. } => false,
            });
            let in_text = text
                .lines()
                .any(|line| line.starts_with('+') && line.contains(&format!("[ref={reference}]")));
            let same = known.contains(&outline::line(node, lines.inside(line)));
            assert!(in_fold || in_text || same, "seed {seed}: {reference} is lost\n{text}");
        }
    }
    assert!(deltas > 100, "{deltas}");
}

/// Lines are counted, not seconds: the work is a few passes, whatever the two pages are.
#[test]
fn a_hundred_thousand_nodes_are_compared_with_any_others() {
    let large = |name: fn(usize) -> usize| {
        let node = |at: usize| Node {
            depth: at % 40,
            role: if at.is_multiple_of(3) { "link" } else { "generic" }.to_owned(),
            name: format!("Number {}", name(at)),
            ..Node::default()
        };
        Page { nodes: (0..100_000).map(node).map(Arc::new).collect(), complete: true, ..Page::default() }
    };
    let ways: [fn(usize) -> usize; 4] =
        [|at| at, |at| at + usize::from(at == 70_000), |at| at % 7, |at| 100_000 - at];
    let old = large(|at| at);
    for (number, way) in ways.into_iter().enumerate() {
        let new = large(way);
        let told = delta(&old, &new, &view(&new, ReadFormat::Outline, 23_000), 23_000);
        // The first two are hardly another page.
        let most = if number < 2 { 500 } else { 23_000 };
        assert!(told.map_or(number >= 2, |delta| delta.text.len() < most), "{number}");
    }
}
