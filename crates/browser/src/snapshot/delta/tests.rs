//! Properties of deltas on generated and mutated pages: a delta holds every change and keeps to its budget.

use super::*;
use crate::snapshot::{
    Content,
    cursor::Cursor,
    layout_builder::tests::PageGenerator,
    node::tests::page,
    tests::{rendered, view},
};
use policy::ReadFormat;
use std::sync::Arc;

fn render(old: &Page, new: &Page) -> String {
    let view = view(new, ReadFormat::Outline, 1 << 20);
    render_delta(old, new, &view, usize::MAX).unwrap().text
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
    assert_eq!(render(&old, &new), expected);
    assert_eq!(render(&new, &new), "Nothing on the page changed.\n");
    let back = "Changed since your last snapshot:
@@ main > list \"Cart\"
  - listitem: \"Lamp\"
- - listitem
-   - text: \"Chair\"
-   - button \"Remove\" [ref=e14]
+ - listitem: \"Pen\"
";
    assert_eq!(render(&new, &old), back);
}

#[test]
fn each_hunk_has_its_location_and_long_removals_are_summarized() {
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
    assert_eq!(render(&old, &new), expected);
}

#[test]
fn a_row_among_equal_rows_is_one_hunk() {
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
        let text = render(&rows(old), &rows(new));
        assert_eq!(text.strip_prefix(CHANGED), Some(expected), "{old} to {new}");
    }
}

#[test]
fn a_delta_of_an_incomplete_page_says_so() {
    let incomplete = |lines: &str| Page { omitted_nodes: 7, ..page(lines) };
    let text = render(&incomplete("0 main\n1 button A"), &incomplete("0 main\n1 button B"));
    assert!(text.ends_with("… 7 parts of the page are beyond what a snapshot can hold\n"), "{text}");
}

#[test]
fn added_lines_are_folded_to_the_budget_and_no_delta_is_longer_than_the_page() {
    let list = |count: usize| {
        let items: String = (0..count).map(|n| format!("2 listitem\n3 link Item number {n}\n")).collect();
        page(&format!("0 heading Long\n0 main\n1 list\n{items}0 contentinfo\n"))
    };
    let (old, new) = (list(1_000), list(3_000));
    let view = view(&new, ReadFormat::Outline, 6_000);
    let delta = render_delta(&old, &new, &view, 6_000).unwrap();
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
    let whole = rendered(&page("0 main\n1 button A"), ReadFormat::Outline, 6_000);
    let (old, new) = (page("0 main\n1 button B"), page("0 main\n1 button A"));
    assert!(super::render_delta(&old, &new, &view, whole.len()).is_none(), "a page of two lines is shorter");
}

/// A page without equal lines, so that each line can be found by its text.
fn page_of_distinct_lines(generator: &mut PageGenerator, next: &mut usize) -> Page {
    let mut made = Page { complete: true, ..Page::default() };
    for node in generator.page().nodes {
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
    match page.subtree_span(at) {
        Span::Nodes { first, end } => first..end,
        Span::Text { .. } => unreachable!(),
    }
}

/// Removes, adds, renames and moves a few elements.
fn mutate(generator: &mut PageGenerator, page: &Page, next: &mut usize) -> Page {
    let mut nodes = page.nodes.clone();
    for _ in 0..generator.roll(6) {
        let now = Page { nodes: nodes.clone(), ..Page::default() };
        if nodes.is_empty() {
            break;
        }
        let at = generator.roll(nodes.len());
        let whole = subtree(&now, at);
        match generator.roll(4) {
            0 => drop(nodes.drain(whole)),
            1 => nodes[at] = rename(&nodes[at], next),
            2 => {
                let copy: Vec<_> = nodes[whole.clone()].iter().map(|node| rename(node, next)).collect();
                nodes.splice(whole.end..whole.end, copy);
            }
            _ => {
                let moved: Vec<_> = nodes.drain(whole).collect();
                let to = generator.roll(nodes.len() + 1);
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

fn outline_lines(page: &Page) -> Vec<String> {
    let lines = OutlineLines::new(page, &RandomState::new());
    (0..lines.lines.len())
        .map(|line| outline::render_line(lines.node(line), lines.inlined_text(line)))
        .collect()
}

fn depth_of(line: &str) -> usize {
    (line.len() - line.trim_start().len()) / 2
}

/// Applies a delta to the old lines, as its reader would.
fn apply(mut lines: Vec<String>, delta: &str) -> Vec<String> {
    let mut hunks: Vec<Vec<&str>> = Vec::new();
    for line in delta.lines().skip(1) {
        match line.strip_prefix("@@ ") {
            Some(location) => hunks.push(vec![location]),
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
fn applying_a_delta_to_the_old_page_gives_the_new_one() {
    for seed in 1..=400 {
        let mut generator = PageGenerator(seed ^ 0x9E37_79B9_7F4A_7C15);
        let mut next = 0;
        let old = page_of_distinct_lines(&mut generator, &mut next);
        let new = mutate(&mut generator, &old, &mut next);
        let text = render(&old, &new);
        assert_eq!(apply(outline_lines(&old), &text), outline_lines(&new), "seed {seed}:\n{text}");
    }
}

/// Among equal lines, hunks slide and widen; the lines between them must still be equal.
#[test]
fn lines_outside_hunks_are_equal_in_both_pages() {
    for seed in 1..=2_000 {
        let mut generator = PageGenerator(seed ^ 0x00C0_FFEE_0BAD_F00D);
        let mut some = |count: usize| {
            let mut depth = 0;
            let node = |_| {
                depth = generator.roll((depth + 2).min(5));
                Node {
                    depth,
                    role: "row".into(),
                    name: ["", "a", "b"][generator.roll(3)].into(),
                    ..Node::default()
                }
            };
            Page { nodes: (0..count).map(node).map(Arc::new).collect(), complete: true, ..Page::default() }
        };
        let (old, mut new) = (some(40), some(6));
        let (at, cut) = (generator.roll(30), generator.roll(8));
        let added = std::mem::take(&mut new.nodes);
        new.nodes = [&old.nodes[..at], &added[..generator.roll(6)], &old.nodes[at + cut..]].concat();
        let hasher = RandomState::new();
        let (old, new) = (OutlineLines::new(&old, &hasher), OutlineLines::new(&new, &hasher));
        let found = diff(&old.hashes, &new.hashes);
        let (now, then) = (new.hashes.clone(), old.hashes.clone());
        let writer = DeltaWriter { old, new, max_depth: 10, serial: 1, parts: Vec::new(), location: None };
        let (mut made, mut from) = (Vec::<u64>::new(), 0);
        for hunk in writer.widen_to_elements(&found) {
            made.extend(&then[from..hunk.old.start]);
            made.extend(&now[hunk.new.clone()]);
            from = hunk.old.end;
        }
        made.extend(&then[from..]);
        assert_eq!(made, now, "seed {seed}");
    }
}

#[test]
fn a_delta_is_smaller_than_the_page_and_loses_no_ref() {
    let mut deltas = 0;
    for seed in 1..=300 {
        let mut generator = PageGenerator(seed ^ 0x0123_4567_89AB_CDEF);
        let old = generator.page();
        let mut next = 1_000_000;
        let new =
            if generator.one_in(8) { generator.page() } else { mutate(&mut generator, &old, &mut next) };
        let bytes = [760, 2_000, 23_000][generator.roll(3)];
        let view =
            View { max_depth: [2, 10, 64][generator.roll(3)], ..view(&new, ReadFormat::Outline, bytes) };
        let Content::Outline(whole) = new.render(&view).content else { panic!("no outline") };
        let Some(delta) = render_delta(&old, &new, &view, whole.len()) else { continue };
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
        let known = outline_lines(&old);
        let lines = OutlineLines::new(&new, &RandomState::new());
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
            let same = known.contains(&outline::render_line(node, lines.inlined_text(line)));
            assert!(in_fold || in_text || same, "seed {seed}: {reference} is lost\n{text}");
        }
    }
    assert!(deltas > 100, "{deltas}");
}

/// OutlineBounds the output, not the time: the diff makes a fixed number of passes.
#[test]
fn pages_of_a_hundred_thousand_nodes_are_compared() {
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
        let rendered = render_delta(&old, &new, &view(&new, ReadFormat::Outline, 23_000), 23_000);
        // The first two pages hardly differ from the old one.
        let most = if number < 2 { 500 } else { 23_000 };
        assert!(rendered.map_or(number >= 2, |delta| delta.text.len() < most), "{number}");
    }
}
