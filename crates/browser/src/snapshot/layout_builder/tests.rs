//! Properties of folding on generated pages: nothing is lost or repeated, and no reply exceeds its budget.

use super::*;
use crate::snapshot::{
    Content, View,
    cursor::Cursor,
    header_bytes, markdown,
    node::{NodeStates, tests::page},
    outline,
    tests::{rendered, view},
};
use policy::{ReadFormat, TokenBudget};
use std::collections::HashSet;
use std::sync::Arc;

/// A small random generator, so that a failing page can be reproduced from its seed.
pub struct PageGenerator(pub u64);

impl PageGenerator {
    pub fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }

    pub fn one_in(&mut self, chances: usize) -> bool {
        self.roll(chances) == 0
    }

    pub fn text(&mut self, longest: usize) -> String {
        const LETTERS: [&str; 12] = ["a", "b", " ", "\"", "\\", "|", "ä", "語", "😀", "\u{1}", "-", "z"];
        (0..self.roll(longest)).map(|_| LETTERS[self.roll(LETTERS.len())]).collect()
    }

    fn length(&mut self) -> usize {
        if self.one_in(40) {
            4_000
        } else if self.one_in(4) {
            200
        } else {
            20
        }
    }

    pub fn page(&mut self) -> Page {
        const ROLES: [&str; 14] = [
            "main",
            "navigation",
            "list",
            "listitem",
            "table",
            "row",
            "cell",
            "columnheader",
            "paragraph",
            "heading",
            "link",
            "button",
            "textbox",
            "generic",
        ];
        let most = if self.one_in(8) { 1_500 } else { 150 };
        let count = 1 + self.roll(most);
        let mut made = Page { title: self.text(300), complete: !self.one_in(4), ..Page::default() };
        made.omitted_nodes = self.roll(2) * self.roll(1_000_000);
        let (mut depth, mut role) = (0, "main");
        for number in 0..count {
            // Long runs, deep chains and everything between.
            if !self.one_in(3) {
                depth = if self.one_in(3) { depth + 1 } else { self.roll(depth + 2) }.min(64);
            }
            if self.one_in(3) {
                role = ROLES[self.roll(ROLES.len())];
            }
            let text = depth > 0 && self.one_in(4);
            let length = self.length();
            let mut node = Node { depth, name: self.text(length), ..Node::default() };
            node.role = if text { "text" } else { role }.to_owned();
            if !text && self.one_in(3) {
                node.reference = Some(format!("f12e{number}"));
                node.href =
                    self.one_in(2).then(|| "http://shop.test/".to_owned() + &"x".repeat(self.roll(480)));
                node.value = self.one_in(4).then(|| self.text(length));
                node.states = self.states();
                node.visible_label = self.one_in(4).then(|| crate::text::cut(&self.text(60), 80));
            }
            if node.role == "heading" {
                node.states.level = Some(1 + u8::try_from(self.roll(4)).unwrap());
            }
            made.nodes.push(Arc::new(node));
        }
        Arc::make_mut(&mut made.nodes[0]).depth = 0;
        made
    }

    fn states(&mut self) -> NodeStates {
        let all = self.one_in(6);
        NodeStates {
            level: all.then_some(6),
            checked: all.then(|| "mixed".to_owned()),
            expanded: all.then_some(false),
            pressed: all,
            selected: all,
            disabled: all,
            required: all,
            readonly: all,
            invalid: all,
            current: all,
            multiline: all,
            focused: all,
            secret: all,
            unseen: all,
            hidden: all,
        }
    }
}

/// One reply: its text, its layout, and the cursors in the text.
fn reply(page: &Page, view: &View) -> (String, Layout, Vec<String>) {
    let marked = |text: &str, mark: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.trim_start().starts_with(mark));
        lines
            .map(|line| line.rsplit_once("[open: cursor=").unwrap().1.trim_end_matches(']').to_owned())
            .collect()
    };
    match view.format {
        ReadFormat::Outline => {
            let (text, layout) = page.render_text::<outline::OutlineFormat>(view, outline::render);
            let mine = text.lines().filter(|line| !line.starts_with("… ")).collect::<Vec<_>>().join("\n");
            let cursors = marked(&mine, "- … ");
            (text, layout, cursors)
        }
        ReadFormat::Markdown => {
            let (text, layout) = page.render_text::<markdown::MarkdownFormat>(view, markdown::render);
            let folds =
                text.lines().filter(|line| line.contains("[open: cursor=")).collect::<Vec<_>>().join("\n");
            let cursors = marked(&folds, "… ");
            (text, layout, cursors)
        }
        ReadFormat::Tree => {
            let rendered = page.render(view);
            let Content::Tree(tree) = &rendered.content else { panic!("no tree") };
            let mut open = vec![&tree.snapshot];
            let mut cursors = Vec::new();
            while let Some(node) = open.pop() {
                cursors.extend(node.cursor.clone());
                open.extend(node.children.iter().rev());
            }
            (serde_json::to_string(tree).unwrap(), page.render_tree(view).1, cursors)
        }
    }
}

/// Opens every fold and checks that each node is rendered exactly once.
fn open_every_fold(page: &Page, format: ReadFormat, tokens: TokenBudget, max_depth: usize, case: &str) {
    let bytes = tokens.bytes() - header_bytes(tokens);
    let first = View { serial: 7, span: page.whole_span(), format, bytes, max_depth };
    let mut seen: Vec<Vec<(usize, usize)>> = vec![Vec::new(); page.nodes.len()];
    let mut refs = Vec::new();
    let mut spans = HashSet::from([first.span]);
    let mut open = vec![first];
    while let Some(view) = open.pop() {
        let (text, layout, cursors) = reply(page, &view);
        assert!(text.len() <= bytes, "{case}: {} bytes of {bytes} for {:?}:\n{text}", text.len(), view.span);
        if format == ReadFormat::Outline {
            refs.extend(
                text.match_indices("[ref=")
                    .map(|(at, _)| text[at + 5..].split(']').next().unwrap().to_owned()),
            );
        }
        let mut folds = Vec::new();
        for item in &layout.items {
            match item {
                LayoutItem::Node { at, inlined, .. } => {
                    seen[*at].push((0, page.nodes[*at].text_len()));
                    if *inlined {
                        seen[at + 1].push((0, page.nodes[at + 1].text_len()));
                    }
                }
                LayoutItem::Part { at, from, to, .. } => seen[*at].push((*from, *to)),
                LayoutItem::Fold { fold, .. } => folds.push(fold.cursor(view.serial)),
            }
        }
        assert_eq!(cursors, folds, "{case}: {text}");
        for cursor in cursors {
            let span = Cursor::parse(&cursor).unwrap().span;
            assert!(spans.insert(span), "{case}: {cursor} leads back to {:?}", view.span);
            open.push(View { span, ..view });
        }
    }
    for (at, mut parts) in seen.into_iter().enumerate() {
        parts.sort_unstable();
        let whole = parts.windows(2).all(|two| two[0].1 == two[1].0 && two[0].0 < two[1].0);
        let ends = (parts.first().map(|part| part.0), parts.last().map(|part| part.1));
        assert!(
            whole && ends == (Some(0), Some(page.nodes[at].text_len())),
            "{case}: node {at} in {parts:?}"
        );
    }
    if format == ReadFormat::Outline {
        let expected: Vec<_> = page.nodes.iter().filter_map(|node| node.reference.clone()).collect();
        refs.sort_by_key(|reference| reference[4..].parse::<usize>().unwrap());
        assert_eq!(refs, expected, "{case}");
    }
}

#[test]
fn opening_every_fold_renders_each_node_once_within_the_budget() {
    for seed in 1..=150 {
        let mut generator = PageGenerator(seed ^ 0x9E37_79B9_7F4A_7C15);
        let page = generator.page();
        let tokens = [250, 250, 280, 400, 1_000, 6_000][generator.roll(6)];
        let max_depth = [1, 2, 10, 64][generator.roll(4)];
        for format in [ReadFormat::Outline, ReadFormat::Markdown, ReadFormat::Tree] {
            let case = format!("seed {seed}, {tokens} tokens, depth {max_depth}, {format:?}");
            open_every_fold(&page, format, TokenBudget::new(tokens).unwrap(), max_depth, &case);
        }
    }
}

#[test]
fn navigation_and_long_runs_are_folded_before_content() {
    let mut lines = String::from("0 navigation Site\n1 list\n");
    lines.extend((0..100).map(|n| format!("2 listitem\n3 link Nav {n}\n")));
    lines.push_str("0 main\n1 heading Orders\n1 table\n");
    lines.extend((0..500).map(|n| format!("2 row\n3 cell\n4 text Order {n}\n3 link Open {n}\n")));
    lines.push_str("1 button Pay all\n0 contentinfo\n");
    lines.extend((0..100).map(|n| format!("1 link Small print {n}\n")));
    let mut page = page(&lines);
    for (number, node) in page.nodes.iter_mut().enumerate().filter(|(_, node)| node.role == "link") {
        Arc::make_mut(node).reference = Some(format!("e{number}"));
    }
    let text = rendered(&page, ReadFormat::Outline, 4_000);
    for expected in [
        "- navigation \"Site\"\n",
        "(200 lines), 100 actionable [open: cursor=c1.2-202]\n",
        "  - heading \"Orders\"\n",
        "    - row\n      - cell: \"Order 0\"\n",
        "      - cell: \"Order 20\"\n",
        "  - button \"Pay all\"\n",
        "- contentinfo\n  - … 100 more links, 100 actionable [open: cursor=",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    assert!(!text.contains("Nav ") && !text.contains("Small print"), "{text}");
    let rows = text.matches("- row\n").count();
    assert!(text.contains(&format!(
        "    - … {} more rows ({} lines), {0} actionable",
        500 - rows,
        (500 - rows) * 4
    )));
    assert!(text.len() > 3_500, "room was left: {}", text.len());
}

#[test]
fn a_long_flat_page_shows_headings_before_their_sections() {
    let mut lines = String::from("0 heading Manual\n");
    for chapter in 0..10 {
        lines.push_str(&format!("0 heading Chapter {chapter}\n"));
        lines.extend(
            (0..200).map(|n| format!("0 paragraph\n1 text Words {n} of chapter {chapter}.\n0 code x{n}\n")),
        );
    }
    let mut page = page(&lines);
    for (number, node) in page.nodes.iter_mut().filter(|node| node.role == "heading").enumerate() {
        Arc::make_mut(node).states.level = Some(if number == 0 { 1 } else { 2 });
    }
    let text = rendered(&page, ReadFormat::Outline, 4_000);
    for chapter in 0..10 {
        assert!(
            text.contains(&format!("- heading \"Chapter {chapter}\" [level=2]\n")),
            "{chapter} in {text}"
        );
    }
    assert!(text.contains("Words 3 of chapter 0.") && text.matches("- … ").count() == 10, "{text}");
}

#[test]
fn levels_below_max_depth_are_folded_and_open_by_cursor() {
    let page = page("0 main\n1 list\n2 listitem\n3 link Deep\n1 button Flat");
    let two = View { max_depth: 2, ..view(&page, ReadFormat::Outline, 4_000) };
    let Content::Outline(text) = page.render(&two).content else { panic!("no outline") };
    assert_eq!(
        text,
        "- main\n  - list\n    - … 1 more listitem (2 lines) [open: cursor=c1.2-4]\n  - button \"Flat\"\n"
    );
    let inner = View { span: Span::Nodes { first: 2, end: 4 }, ..two };
    let Content::Outline(text) = page.render(&inner).content else { panic!("no outline") };
    assert_eq!(text, "In main > list:\n- listitem\n  - link \"Deep\"\n");
}

#[test]
fn a_text_of_twenty_megabytes_is_rendered_in_parts() {
    let page = Page {
        nodes: vec![Arc::new(Node {
            role: "text".into(),
            name: "wörd ".repeat(20 << 18),
            ..Node::default()
        })],
        complete: true,
        ..Page::default()
    };
    let text = rendered(&page, ReadFormat::Outline, 24_000);
    assert!(text.len() <= 24_000, "{}", text.len());
    let (first_part, fold) = text.trim_end().rsplit_once('\n').unwrap();
    let from = first_part.len() - "- text: \"\"".len();
    let left = page.nodes[0].name.len() - from;
    assert_eq!(fold, format!("  - … {left} more bytes of this text [open: cursor=c1.0t{from}]"));
    let rest = View { span: Span::Text { node: 0, from }, ..view(&page, ReadFormat::Outline, 24_000) };
    let Content::Outline(text) = page.render(&rest).content else { panic!("no outline") };
    assert!(text.len() > 23_000 && text.len() <= 24_000, "{}", text.len());
}

/// OutlineBounds the output, not the time: the work per node is constant.
#[test]
fn a_hundred_thousand_nodes_of_any_nesting_fit_the_budget() {
    let shapes: [fn(usize) -> usize; 4] = [|_| 1, |at| at.min(60), |at| at % 60, |at| at % 2];
    for (number, depth) in shapes.iter().enumerate() {
        let node = |at: usize| Node {
            depth: depth(at),
            role: if at.is_multiple_of(3) { "link" } else { "text" }.to_owned(),
            name: format!("Number {at}"),
            reference: (at.is_multiple_of(3)).then(|| format!("e{at}")),
            ..Node::default()
        };
        let page = Page {
            nodes: (0..100_000).map(|n| Arc::new(node(n))).collect(),
            complete: true,
            ..Page::default()
        };
        for format in [ReadFormat::Outline, ReadFormat::Markdown, ReadFormat::Tree] {
            let text = rendered(&page, format, 24_000);
            assert!(
                text.len() <= 24_000 && text.len() > 12_000,
                "shape {number}, {format:?}: {}",
                text.len()
            );
        }
    }
}
