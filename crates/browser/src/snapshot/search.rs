//! Search in a snapshot. It never looks at the DOM, so text that a snapshot hides cannot be found.

use super::{
    ancestor_path::{ancestor_path, ancestors},
    cursor::{Cursor, Span},
    node::{Node, Page},
    outline::render_line,
};
use policy::{Find, Pattern};
use redact::RedactedFields;
use regex::{Regex, RegexBuilder};
use std::{borrow::Cow, time::Instant};

/// Size limit of a compiled pattern and of its cache.
const MAX_PATTERN_BYTES: usize = 256 << 10;
/// Nodes in the largest element that is offered as the context of a match.
const MAX_CONTEXT_NODES: usize = 60;
/// Characters of a match's excerpt; about a third of them precede the match.
const EXCERPT_CHARS: usize = 120;
/// The same in a reply with room for hardly one match.
const SHORT_EXCERPT_CHARS: usize = 24;
const SHORT_REPLY_BYTES: usize = 2_000;
/// Bytes reserved for the first line, which says what was not searched, and the last, which says how to continue.
const CLOSING_BYTES: usize = 200;

/// Matches in page order, and the same as text.
#[derive(Clone, Debug, RedactedFields)]
pub struct SearchResult<T = String> {
    pub url: T,
    pub title: T,
    pub text: T,
    pub matches: Vec<SearchMatch<T>>,
    /// Number of matches, listed or not.
    pub total: usize,
    /// Offset of the first match that is not listed.
    pub next_offset: Option<usize>,
    /// Whether the page was not searched to its end.
    pub partial: bool,
    /// Whether that is because the time ran out during the search.
    pub out_of_time: bool,
}

#[derive(Clone, Debug, RedactedFields)]
pub struct SearchMatch<T = String> {
    pub role: T,
    /// The name or text around the match.
    pub excerpt: T,
    pub reference: Option<T>,
    /// Text that a person sees on the element, where it differs from the accessible name.
    pub visible_label: Option<T>,
    /// Whether a person cannot see it.
    pub unseen: bool,
    /// Ancestors in one line.
    pub path: T,
    /// Cursor that opens the match and its context.
    pub cursor: T,
}

/// A compiled query.
#[derive(Debug)]
pub(crate) struct SearchQuery {
    pattern: Option<Regex>,
    role: Option<String>,
    name: Option<Regex>,
    limit: usize,
    offset: usize,
    bytes: usize,
    excerpt: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("the pattern cannot be used")]
pub struct PatternError {
    #[source]
    source: Box<regex::Error>,
}

impl SearchQuery {
    /// `bytes`: budget of the reply's text.
    pub fn new(find: &Find, bytes: usize) -> Result<SearchQuery, PatternError> {
        let pattern = match &find.pattern {
            None => None,
            Some(Pattern::Text(text)) => Some(compile_text(text)?),
            Some(Pattern::Regex(pattern)) => Some(compile(RegexBuilder::new(pattern))?),
        };
        Ok(SearchQuery {
            pattern,
            role: find.role.as_deref().map(|role| role.trim().to_ascii_lowercase()),
            name: find.name.as_deref().map(compile_text).transpose()?,
            limit: find.limit,
            offset: find.offset,
            bytes,
            excerpt: if bytes < SHORT_REPLY_BYTES { SHORT_EXCERPT_CHARS } else { EXCERPT_CHARS },
        })
    }

    /// When the deadline passes first, the result begins with how far the search came.
    pub fn search(&self, page: &Page, serial: u64, until: Instant) -> SearchResult {
        let mut result = SearchResult {
            url: String::new(),
            title: page.title.clone(),
            text: String::new(),
            matches: Vec::new(),
            total: 0,
            next_offset: None,
            partial: page.omitted_nodes > 0 || !page.complete,
            out_of_time: false,
        };
        let mut at = 0;
        while at < page.nodes.len() {
            if at.is_multiple_of(256) && Instant::now() > until {
                (result.partial, result.out_of_time) = (true, true);
                break;
            }
            // A node and its only text count as one match, as they are one line of an outline.
            let inside = page.only_text(at).filter(|_| page.nodes[at].name.is_empty());
            if let Some(excerpt) = self.match_node(&page.nodes[at], inside) {
                result.total += 1;
                if result.total > self.offset {
                    self.add_match(&mut result, page, at, excerpt, serial);
                }
            }
            at += 1 + usize::from(inside.is_some());
        }
        self.add_closing_lines(&mut result, at, page);
        result
    }

    fn add_match(&self, result: &mut SearchResult, page: &Page, at: usize, excerpt: String, serial: u64) {
        if result.next_offset.is_some() {
            return;
        }
        let node = &page.nodes[at];
        let found = SearchMatch {
            role: node.role.clone(),
            excerpt,
            reference: node.reference.clone(),
            visible_label: node
                .visible_label
                .as_deref()
                .map(|label| label.chars().take(self.excerpt).collect()),
            unseen: node.states.unseen,
            path: ancestor_path(page, at),
            cursor: Cursor { serial, span: context_span(page, at) }.to_string(),
        };
        let lines = found.render(node);
        let first = result.matches.is_empty();
        if result.matches.len() == self.limit
            || (!first && result.text.len() + lines.len() + CLOSING_BYTES > self.bytes)
        {
            result.next_offset = Some(result.total - 1);
            return;
        }
        result.text.push_str(&lines);
        result.matches.push(found);
    }

    fn add_closing_lines(&self, result: &mut SearchResult, searched: usize, page: &Page) {
        let last = match (result.total, result.next_offset) {
            (0, _) if result.partial => "Nothing matches in the part that was searched.".to_owned(),
            (0, _) => "Nothing on the page matches.".to_owned(),
            (total, Some(next)) => {
                format!("… {} more of {total} matches [go on: offset={next}]", total - next)
            }
            (total, None) if result.matches.is_empty() => format!("There are only {total} matches."),
            _ => String::new(),
        };
        if !last.is_empty() {
            result.text.push_str(&last);
            result.text.push('\n');
        }
        if result.partial {
            let why = match (result.out_of_time, page.complete) {
                (true, _) => "the search ran out of time",
                (_, false) => "the page took too long to read",
                _ => "the page is too large to be searched to its end",
            };
            result.text.insert_str(0, &format!("… {why}: only its first {searched} nodes were searched\n"));
        }
    }

    /// The excerpt, if the node satisfies every condition of the query.
    fn match_node(&self, node: &Node, inside: Option<&str>) -> Option<String> {
        if self.role.as_ref().is_some_and(|role| node.role != *role) {
            return None;
        }
        let own = &*on_one_line(inside.unwrap_or(&node.name));
        if self.name.as_ref().is_some_and(|name| !name.is_match(own)) {
            return None;
        }
        let Some(pattern) = &self.pattern else { return Some(excerpt(own, 0, self.excerpt)) };
        let value = node.value.as_deref().map(on_one_line);
        let mut texts = [Some(own), value.as_deref(), node.visible_label.as_deref()].into_iter().flatten();
        texts.find_map(|text| pattern.find(text).map(|hit| excerpt(text, hit.start(), self.excerpt)))
    }
}

impl SearchMatch {
    /// Page text ends with its line, so what follows is trusted text.
    fn render(&self, node: &Node) -> String {
        let shown = Node {
            role: self.role.clone(),
            name: self.excerpt.clone(),
            reference: self.reference.clone(),
            states: node.states.clone(),
            visible_label: self.visible_label.clone(),
            ..Node::default()
        };
        let place = if self.path.is_empty() { "at the top" } else { &self.path };
        format!("{}\n  in {place} [open: cursor={}]\n", render_line(&shown, None), self.cursor)
    }
}

/// A text that goes over several lines of the page is searched as one.
fn on_one_line(text: &str) -> Cow<'_, str> {
    if text.contains('\n') { Cow::Owned(text.replace('\n', " ")) } else { Cow::Borrowed(text) }
}

fn compile_text(text: &str) -> Result<Regex, PatternError> {
    let escaped = regex::escape(text);
    let mut builder = RegexBuilder::new(&escaped);
    builder.case_insensitive(true);
    compile(builder)
}

fn compile(mut builder: RegexBuilder) -> Result<Regex, PatternError> {
    builder
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build()
        .map_err(|source| PatternError { source: Box::new(source) })
}

/// The largest ancestor that is small enough, or else the parent from the match on.
fn context_span(page: &Page, at: usize) -> Span {
    let size = |span: Span| match span {
        Span::Nodes { first, end } => end - first,
        Span::Text { .. } => 0,
    };
    let above = ancestors(page, at);
    let small = above
        .iter()
        .map(|above| page.subtree_span(*above))
        .take_while(|span| size(*span) <= MAX_CONTEXT_NODES)
        .last();
    small.unwrap_or_else(|| {
        match above.first().map_or_else(|| page.whole_span(), |parent| page.subtree_span(*parent)) {
            Span::Nodes { end, .. } => Span::Nodes { first: at, end },
            text @ Span::Text { .. } => text,
        }
    })
}

fn excerpt(text: &str, hit: usize, most: usize) -> String {
    let before = text[..hit].char_indices().rev().nth(most / 3 - 1).map_or(0, |(at, _)| at);
    let mut excerpt = if before > 0 { "…".to_owned() } else { String::new() };
    let mut rest = text[before..].chars();
    excerpt.extend(rest.by_ref().take(most));
    if rest.next().is_some() {
        excerpt.push('…');
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::{super::node::tests::page, *};
    use std::sync::Arc;
    use std::time::Duration;

    fn search(page: &Page, find: Find) -> SearchResult {
        let find = Find { limit: if find.limit == 0 { 20 } else { find.limit }, ..find };
        let until = Instant::now() + Duration::from_secs(600);
        SearchQuery::new(&find, find.tokens.bytes()).unwrap().search(page, 3, until)
    }

    #[test]
    fn a_search_that_did_not_reach_the_end_says_how_far_it_came() {
        let lines: String = (0..1000).map(|n| format!("0 paragraph item {n}\n")).collect();
        let whole = page(&lines);
        let cut = Page { omitted_nodes: 7, ..page(&lines) };
        let slow = Page { complete: false, ..page(&lines) };
        let late = Instant::now() - Duration::from_secs(1);
        let soon = Instant::now() + Duration::from_secs(600);
        for (page, until, out_of_time, expected) in [
            (&whole, soon, false, "Nothing on the page matches.\n"),
            (
                &whole,
                late,
                true,
                "… the search ran out of time: only its first 0 nodes were searched\n\
                 Nothing matches in the part that was searched.\n",
            ),
            (
                &cut,
                soon,
                false,
                "… the page is too large to be searched to its end: only its first 1000 nodes were searched\n\
                 Nothing matches in the part that was searched.\n",
            ),
            (
                &slow,
                soon,
                false,
                "… the page took too long to read: only its first 1000 nodes were searched\n\
                 Nothing matches in the part that was searched.\n",
            ),
        ] {
            let find = Find { pattern: text("absent"), limit: 20, ..Find::default() };
            let found = SearchQuery::new(&find, 4000).unwrap().search(page, 1, until);
            assert_eq!((found.text.as_str(), found.out_of_time), (expected, out_of_time));
            assert_eq!(found.partial, expected.contains('…'));
        }
    }

    fn text(text: &str) -> Option<Pattern> {
        Some(Pattern::Text(text.into()))
    }

    fn orders() -> Page {
        let mut page = page(
            "0 main
             1 heading Orders
             1 table
             2 row
             3 cell
             4 text Blue LAMP, large
             3 link Open
             2 row
             3 cell
             4 text Red lamp
             3 link Open
             1 textbox Note",
        );
        Arc::make_mut(&mut page.nodes[6]).reference = Some("e1".into());
        Arc::make_mut(&mut page.nodes[10]).reference = Some("e2".into());
        Arc::make_mut(&mut page.nodes[11]).reference = Some("e3".into());
        Arc::make_mut(&mut page.nodes[11]).value = Some("lamps are bright".into());
        page
    }

    #[test]
    fn a_match_has_its_line_its_path_and_a_cursor() {
        let found = search(&orders(), Find { pattern: text("lamp"), ..Find::default() });
        let expected = "- cell \"Blue LAMP, large\"
  in main > table > row [open: cursor=c3.0-12]
- cell \"Red lamp\"
  in main > table > row [open: cursor=c3.0-12]
- textbox \"lamps are bright\" [ref=e3]
  in main [open: cursor=c3.0-12]
";
        assert_eq!((found.text.as_str(), found.total, found.next_offset), (expected, 3, None));
    }

    #[test]
    fn every_condition_must_match() {
        let regex = |pattern: &str| Some(Pattern::Regex(pattern.into()));
        for (find, expected) in [
            (Find { pattern: text("LAMP"), role: Some("Cell".into()), ..Find::default() }, 2),
            (Find { role: Some("link".into()), ..Find::default() }, 2),
            (Find { name: Some("not".into()), ..Find::default() }, 1),
            (Find { pattern: text("bright"), name: Some("note".into()), ..Find::default() }, 1),
            (Find { pattern: regex("lamp"), role: Some("cell".into()), ..Find::default() }, 1),
            (Find { pattern: regex("(?i)^(red|blue) lamp"), ..Find::default() }, 2),
            (Find { pattern: text("l.mp"), ..Find::default() }, 0),
        ] {
            assert_eq!(search(&orders(), find.clone()).total, expected, "{find:?}");
        }
        for pattern in ["(", "a{1000}{1000}"] {
            let find = Find { pattern: regex(pattern), ..Find::default() };
            assert!(SearchQuery::new(&find, 1000).is_err(), "{pattern}");
        }
    }

    #[test]
    fn paging_by_offset_lists_every_match_once_within_the_budget() {
        let lines: String =
            (0..500).map(|n| format!("0 button Number {n}x {}\n", "ü".repeat(n % 300))).collect();
        let page = page(&lines);
        for (limit, tokens) in [(20, 6_000), (100, 250), (7, 400)] {
            let tokens = policy::TokenBudget::new(tokens).unwrap();
            let (mut offset, mut seen) = (0, Vec::new());
            loop {
                let find = Find { pattern: text("number"), limit, offset, tokens, ..Find::default() };
                let found = search(&page, find);
                assert!(found.text.len() <= tokens.bytes(), "{}", found.text.len());
                assert!(found.matches.len() <= limit && found.total == 500);
                seen.extend(found.matches.iter().map(|it| it.excerpt.split('x').next().unwrap().to_owned()));
                match found.next_offset {
                    Some(next) => offset = next,
                    None => break,
                }
            }
            let expected: Vec<_> = (0..500).map(|n| format!("Number {n}")).collect();
            assert_eq!(seen, expected);
        }
        let past = search(&page, Find { pattern: text("number"), offset: 600, ..Find::default() });
        assert_eq!((past.text.as_str(), past.next_offset), ("There are only 500 matches.\n", None));
    }

    #[test]
    fn the_longest_match_fits_the_smallest_reply() {
        let mut lines: String =
            (0..60).map(|depth| format!("{depth} listitem {}\n", "😀".repeat(300))).collect();
        lines.push_str(&format!("60 columnheader {}", "😀".repeat(300)));
        let mut page = page(&lines);
        page.complete = false;
        Arc::make_mut(&mut page.nodes[60]).reference = Some("f1234e123456".into());
        Arc::make_mut(&mut page.nodes[60]).states = super::super::NodeStates {
            level: Some(6),
            checked: Some("mixed".into()),
            expanded: Some(false),
            pressed: true,
            selected: true,
            disabled: true,
            required: true,
            readonly: true,
            invalid: true,
            current: true,
            multiline: true,
            focused: true,
            secret: true,
            unseen: true,
            hidden: true,
        };
        Arc::make_mut(&mut page.nodes[60]).visible_label = Some("😀".repeat(20));
        let tokens = policy::TokenBudget::new(policy::TokenBudget::MIN).unwrap();
        let bytes = tokens.bytes() - super::super::header_bytes(tokens);
        for role in ["columnheader", "listitem"] {
            let find = Find { role: Some(role.into()), pattern: text("😀"), limit: 20, ..Find::default() };
            let until = Instant::now() + Duration::from_secs(600);
            let found = SearchQuery::new(&find, bytes).unwrap().search(&page, 123_456, until);
            assert!(
                found.text.len() <= bytes && !found.matches.is_empty(),
                "{}: {}",
                found.text.len(),
                found.text
            );
        }
    }

    #[test]
    fn a_match_in_a_long_text_has_an_excerpt_around_it() {
        let long = format!("0 text {}needle{}", "ä".repeat(5_000), "z".repeat(5_000));
        let found = search(&page(&long), Find { pattern: text("NEEDLE"), ..Find::default() });
        let excerpt = &found.matches[0].excerpt;
        assert!(
            excerpt.starts_with("…ä") && excerpt.contains("äneedlez") && excerpt.ends_with("z…"),
            "{excerpt}"
        );
    }

    #[test]
    fn the_context_of_a_match_in_a_long_list_begins_at_the_match() {
        let lines: String = (0..500).map(|n| format!("1 listitem\n2 link Item {n}.\n")).collect();
        let found = search(
            &page(&format!("0 list\n{lines}")),
            Find { pattern: text("item 400."), ..Find::default() },
        );
        assert_eq!(found.matches[0].cursor, "c3.801-803");
        let flat: String = (0..500).map(|n| format!("1 link Item {n}.\n")).collect();
        let found =
            search(&page(&format!("0 list\n{flat}")), Find { pattern: text("item 400."), ..Find::default() });
        assert_eq!(found.matches[0].cursor, "c3.401-501");
    }
}
