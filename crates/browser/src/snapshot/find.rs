//! Searching a snapshot: never the DOM, so what a snapshot does not show cannot be found either.

use super::{
    cursor::{Cursor, Span},
    node::{Node, Page},
    outline::line,
    path::{ancestors, path},
};
use policy::{Find, Pattern};
use regex::{Regex, RegexBuilder};
use std::time::Instant;

/// Bounds of a compiled pattern and of its cache; a larger one is refused.
const MOST_PATTERN_BYTES: usize = 256 << 10;
/// The largest part of a page that is offered as the surroundings of a match.
const MOST_AROUND: usize = 60;
/// Text that is shown of a match, in characters, about a third of it before the match.
const EXCERPT: usize = 120;
/// The same in a reply that has hardly room for one match.
const SHORT_EXCERPT: usize = 24;
const SHORT_REPLY: usize = 2_000;
/// Room for the last lines, which tell how to go on and what was not searched.
const CLOSING: usize = 120;

/// What was found, in page order, and the same as text.
#[derive(Clone, Debug)]
pub struct Found {
    pub url: String,
    pub title: String,
    pub text: String,
    pub matches: Vec<Match>,
    /// All that match, shown or not.
    pub total: usize,
    /// Where to go on, when there are more.
    pub next_offset: Option<usize>,
    /// Whether the page was too large to be searched to its end.
    pub partial: bool,
}

#[derive(Clone, Debug)]
pub struct Match {
    pub role: String,
    /// The name or text around the match.
    pub excerpt: String,
    pub reference: Option<String>,
    /// What a person sees on it, where its name says something else.
    pub shows: Option<String>,
    /// Whether a person cannot see it.
    pub unseen: bool,
    /// Its ancestors.
    pub path: String,
    /// Opens the match and what is around it.
    pub cursor: String,
}

/// What to look for, ready to be used.
#[derive(Debug)]
pub(crate) struct Query {
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
pub struct BadPattern {
    #[source]
    source: Box<regex::Error>,
}

impl Query {
    /// `bytes`: what the text of the reply may take.
    pub fn new(find: &Find, bytes: usize) -> Result<Query, BadPattern> {
        let pattern = match &find.pattern {
            None => None,
            Some(Pattern::Text(text)) => Some(part_of(text)?),
            Some(Pattern::Regex(pattern)) => Some(compile(RegexBuilder::new(pattern))?),
        };
        Ok(Query {
            pattern,
            role: find.role.as_deref().map(|role| role.trim().to_ascii_lowercase()),
            name: find.name.as_deref().map(part_of).transpose()?,
            limit: find.limit,
            offset: find.offset,
            bytes,
            excerpt: if bytes < SHORT_REPLY { SHORT_EXCERPT } else { EXCERPT },
        })
    }

    /// None when the time was up first.
    pub fn search(&self, page: &Page, serial: u64, until: Instant) -> Option<Found> {
        let mut found = Found {
            url: String::new(),
            title: page.title.clone(),
            text: String::new(),
            matches: Vec::new(),
            total: 0,
            next_offset: None,
            partial: page.left > 0 || !page.complete,
        };
        let mut at = 0;
        while at < page.nodes.len() {
            if at.is_multiple_of(256) && Instant::now() > until {
                return None;
            }
            // A node and the only text in it are one thing, as they are one line of an outline.
            let inside = page.only_text(at).filter(|_| page.nodes[at].name.is_empty());
            if let Some(excerpt) = self.matches(&page.nodes[at], inside) {
                found.total += 1;
                if found.total > self.offset {
                    self.add(&mut found, page, at, excerpt, serial);
                }
            }
            at += 1 + usize::from(inside.is_some());
        }
        self.close(&mut found);
        Some(found)
    }

    fn add(&self, found: &mut Found, page: &Page, at: usize, excerpt: String, serial: u64) {
        if found.next_offset.is_some() {
            return;
        }
        let node = &page.nodes[at];
        let told = Match {
            role: node.role.clone(),
            excerpt,
            reference: node.reference.clone(),
            shows: node.shows.as_deref().map(|shows| shows.chars().take(self.excerpt).collect()),
            unseen: node.states.unseen,
            path: path(page, at),
            cursor: Cursor { serial, span: around(page, at) }.to_string(),
        };
        let lines = told.lines(node);
        let first = found.matches.is_empty();
        if found.matches.len() == self.limit
            || (!first && found.text.len() + lines.len() + CLOSING > self.bytes)
        {
            found.next_offset = Some(found.total - 1);
            return;
        }
        found.text.push_str(&lines);
        found.matches.push(told);
    }

    fn close(&self, found: &mut Found) {
        let last = match (found.total, found.next_offset) {
            (0, _) => "Nothing on the page matches.".to_owned(),
            (total, Some(next)) => {
                format!("… {} more of {total} matches [go on: offset={next}]", total - next)
            }
            (total, None) if found.matches.is_empty() => format!("There are only {total} matches."),
            _ => String::new(),
        };
        if !last.is_empty() {
            found.text.push_str(&last);
            found.text.push('\n');
        }
        if found.partial {
            found.text.push_str("… the page is too large to be searched to its end\n");
        }
    }

    /// The text around the match, if the node matches in every way that was asked for.
    fn matches(&self, node: &Node, inside: Option<&str>) -> Option<String> {
        if self.role.as_ref().is_some_and(|role| node.role != *role) {
            return None;
        }
        let own = inside.unwrap_or(&node.name);
        if self.name.as_ref().is_some_and(|name| !name.is_match(own)) {
            return None;
        }
        let Some(pattern) = &self.pattern else { return Some(excerpt(own, 0, self.excerpt)) };
        let mut texts = [Some(own), node.value.as_deref(), node.shows.as_deref()].into_iter().flatten();
        texts.find_map(|text| pattern.find(text).map(|hit| excerpt(text, hit.start(), self.excerpt)))
    }
}

impl Match {
    /// Page text ends with its line, so the words after it are ours.
    fn lines(&self, node: &Node) -> String {
        let shown = Node {
            role: self.role.clone(),
            name: self.excerpt.clone(),
            reference: self.reference.clone(),
            states: node.states.clone(),
            shows: self.shows.clone(),
            ..Node::default()
        };
        let place = if self.path.is_empty() { "at the top" } else { &self.path };
        format!("{}\n  in {place} [open: cursor={}]\n", line(&shown, None), self.cursor)
    }
}

fn part_of(text: &str) -> Result<Regex, BadPattern> {
    let escaped = regex::escape(text);
    let mut builder = RegexBuilder::new(&escaped);
    builder.case_insensitive(true);
    compile(builder)
}

fn compile(mut builder: RegexBuilder) -> Result<Regex, BadPattern> {
    builder
        .size_limit(MOST_PATTERN_BYTES)
        .dfa_size_limit(MOST_PATTERN_BYTES)
        .build()
        .map_err(|source| BadPattern { source: Box::new(source) })
}

/// The largest element around a match that is still small, or else the page from the match on.
fn around(page: &Page, at: usize) -> Span {
    let size = |span: Span| match span {
        Span::Nodes { first, end } => end - first,
        Span::Text { .. } => 0,
    };
    let above = ancestors(page, at);
    let small =
        above.iter().map(|above| page.subtree(*above)).take_while(|span| size(*span) <= MOST_AROUND).last();
    small.unwrap_or_else(|| {
        match above.first().map_or_else(|| page.whole(), |parent| page.subtree(*parent)) {
            Span::Nodes { end, .. } => Span::Nodes { first: at, end },
            text @ Span::Text { .. } => text,
        }
    })
}

fn excerpt(text: &str, hit: usize, most: usize) -> String {
    let before = text[..hit].char_indices().rev().nth(most / 3 - 1).map_or(0, |(at, _)| at);
    let mut told = if before > 0 { "…".to_owned() } else { String::new() };
    let mut rest = text[before..].chars();
    told.extend(rest.by_ref().take(most));
    if rest.next().is_some() {
        told.push('…');
    }
    told
}

#[cfg(test)]
mod tests {
    use super::{super::node::tests::page, *};
    use std::sync::Arc;
    use std::time::Duration;

    fn look(page: &Page, find: Find) -> Found {
        let find = Find { limit: if find.limit == 0 { 20 } else { find.limit }, ..find };
        let until = Instant::now() + Duration::from_secs(600);
        Query::new(&find, find.tokens.bytes()).unwrap().search(page, 3, until).unwrap()
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
    fn a_match_tells_what_it_is_where_it_is_and_how_to_open_it() {
        let found = look(&orders(), Find { pattern: text("lamp"), ..Find::default() });
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
    fn all_that_is_asked_for_must_match() {
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
            assert_eq!(look(&orders(), find.clone()).total, expected, "{find:?}");
        }
        for pattern in ["(", "a{1000}{1000}"] {
            let find = Find { pattern: regex(pattern), ..Find::default() };
            assert!(Query::new(&find, 1000).is_err(), "{pattern}");
        }
    }

    #[test]
    fn going_on_by_offset_gives_every_match_once_and_no_reply_over_its_budget() {
        let lines: String =
            (0..500).map(|n| format!("0 button Number {n}x {}\n", "ü".repeat(n % 300))).collect();
        let page = page(&lines);
        for (limit, tokens) in [(20, 6_000), (100, 250), (7, 400)] {
            let tokens = policy::TokenBudget::new(tokens).unwrap();
            let (mut offset, mut seen) = (0, Vec::new());
            loop {
                let find = Find { pattern: text("number"), limit, offset, tokens, ..Find::default() };
                let found = look(&page, find);
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
        let past = look(&page, Find { pattern: text("number"), offset: 600, ..Find::default() });
        assert_eq!((past.text.as_str(), past.next_offset), ("There are only 500 matches.\n", None));
    }

    #[test]
    fn the_longest_match_there_can_be_fits_into_the_smallest_reply() {
        let mut lines: String =
            (0..60).map(|depth| format!("{depth} listitem {}\n", "😀".repeat(300))).collect();
        lines.push_str(&format!("60 columnheader {}", "😀".repeat(300)));
        let mut page = page(&lines);
        page.complete = false;
        Arc::make_mut(&mut page.nodes[60]).reference = Some("f1234e123456".into());
        Arc::make_mut(&mut page.nodes[60]).states = super::super::States {
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
        Arc::make_mut(&mut page.nodes[60]).shows = Some("😀".repeat(20));
        let tokens = policy::TokenBudget::new(policy::TokenBudget::MIN).unwrap();
        let bytes = tokens.bytes() - super::super::head_room(tokens);
        for role in ["columnheader", "listitem"] {
            let find = Find { role: Some(role.into()), pattern: text("😀"), limit: 20, ..Find::default() };
            let until = Instant::now() + Duration::from_secs(600);
            let found = Query::new(&find, bytes).unwrap().search(&page, 123_456, until).unwrap();
            assert!(
                found.text.len() <= bytes && !found.matches.is_empty(),
                "{}: {}",
                found.text.len(),
                found.text
            );
        }
    }

    #[test]
    fn a_match_in_a_long_text_is_shown_with_what_is_around_it() {
        let long = format!("0 text {}needle{}", "ä".repeat(5_000), "z".repeat(5_000));
        let found = look(&page(&long), Find { pattern: text("NEEDLE"), ..Find::default() });
        let told = &found.matches[0].excerpt;
        assert!(told.starts_with("…ä") && told.contains("äneedlez") && told.ends_with("z…"), "{told}");
    }

    #[test]
    fn the_surroundings_of_a_match_in_a_long_list_begin_at_the_match() {
        let lines: String = (0..500).map(|n| format!("1 listitem\n2 link Item {n}.\n")).collect();
        let found =
            look(&page(&format!("0 list\n{lines}")), Find { pattern: text("item 400."), ..Find::default() });
        assert_eq!(found.matches[0].cursor, "c3.801-803");
        let flat: String = (0..500).map(|n| format!("1 link Item {n}.\n")).collect();
        let found =
            look(&page(&format!("0 list\n{flat}")), Find { pattern: text("item 400."), ..Find::default() });
        assert_eq!(found.matches[0].cursor, "c3.401-501");
    }
}
