//! CSS selectors that ask for what an element is and where it stands, never for what it holds.
//!
//! `input[value^=a]` answers a question about a secret with every click. So attributes, values and states are
//! refused by leaving them out of the grammar, not by looking for them.

use serde::Serialize;
use std::fmt;

/// Longer ones are refused.
const LONGEST: usize = 500;
/// Parentheses inside of parentheses.
const DEEPEST: usize = 4;

/// A selector that was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Selector(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectorRefusal {
    #[error("the selector is empty")]
    Empty,
    #[error("the selector is longer than {LONGEST} bytes")]
    TooLong,
    #[error("a selector may not ask for attributes or values; use tags, ids, classes and structure")]
    Attribute,
    #[error("a selector may not use :{0}; use tags, ids, classes and structure")]
    Pseudo(String),
    #[error("the selector is not understood at {0:?}")]
    Malformed(String),
}

/// Places among siblings.
const PLACES: [&str; 8] = [
    "root",
    "first-child",
    "last-child",
    "only-child",
    "first-of-type",
    "last-of-type",
    "only-of-type",
    "scope",
];
const COUNTED_PLACES: [&str; 4] = ["nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"];
const COMBINED: [&str; 3] = ["is", "where", "not"];

impl Selector {
    pub fn parse(text: &str) -> Result<Selector, SelectorRefusal> {
        let text = text.trim();
        if text.is_empty() {
            return Err(SelectorRefusal::Empty);
        }
        if text.len() > LONGEST {
            return Err(SelectorRefusal::TooLong);
        }
        let mut rest = Rest(text);
        rest.list(0)?;
        if rest.0.is_empty() { Ok(Selector(text.to_owned())) } else { Err(rest.malformed()) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

struct Rest<'a>(&'a str);

impl Rest<'_> {
    /// Selectors with commas between them.
    fn list(&mut self, depth: usize) -> Result<(), SelectorRefusal> {
        loop {
            self.spaces();
            self.compound(depth)?;
            // A space, or one of the marks with or without spaces, leads to the next part.
            loop {
                let spaced = self.spaces();
                if self.0.is_empty() || self.0.starts_with([')', ',']) {
                    break;
                }
                let marked = self.take(['>', '+', '~']);
                self.spaces();
                if !spaced && !marked {
                    return Err(self.malformed());
                }
                self.compound(depth)?;
            }
            if !self.take([',']) {
                return Ok(());
            }
        }
    }

    /// A tag, ids, classes and places, without spaces.
    fn compound(&mut self, depth: usize) -> Result<(), SelectorRefusal> {
        let mut any = self.take(['*']) || self.name();
        loop {
            if self.take(['#', '.']) {
                if !self.name() {
                    return Err(self.malformed());
                }
            } else if self.0.starts_with('[') {
                return Err(SelectorRefusal::Attribute);
            } else if self.0.starts_with(':') {
                self.pseudo(depth)?;
            } else if any {
                return Ok(());
            } else {
                return Err(self.malformed());
            }
            any = true;
        }
    }

    fn pseudo(&mut self, depth: usize) -> Result<(), SelectorRefusal> {
        self.0 = &self.0[1..];
        let word: String = self.0.chars().take_while(|c| c.is_ascii_alphabetic() || *c == '-').collect();
        let known = word.to_ascii_lowercase();
        self.0 = &self.0[word.len()..];
        if PLACES.contains(&known.as_str()) {
            return Ok(());
        }
        let counted = COUNTED_PLACES.contains(&known.as_str());
        if !(counted || COMBINED.contains(&known.as_str())) || depth == DEEPEST {
            return Err(SelectorRefusal::Pseudo(known));
        }
        if !self.take(['(']) {
            return Err(self.malformed());
        }
        if counted {
            self.count()?
        } else {
            self.list(depth + 1)?
        }
        if self.take([')']) { Ok(()) } else { Err(self.malformed()) }
    }

    /// `odd`, `even`, `3`, `2n+1`.
    fn count(&mut self) -> Result<(), SelectorRefusal> {
        let end = self.0.find(')').ok_or_else(|| self.malformed())?;
        let formula = self.0[..end].trim();
        let plain = |c: char| c.is_ascii_digit() || matches!(c, 'n' | 'N' | '+' | '-' | ' ');
        if formula.is_empty() || !(matches!(formula, "odd" | "even") || formula.chars().all(plain)) {
            return Err(self.malformed());
        }
        self.0 = &self.0[end..];
        Ok(())
    }

    /// Letters, digits, `-`, `_` and what is not ASCII; no escapes.
    fn name(&mut self) -> bool {
        let inside = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii();
        let end = self.0.find(|c| !inside(c)).unwrap_or(self.0.len());
        let named = end > 0 && !self.0.starts_with(|c: char| c.is_ascii_digit());
        if named {
            self.0 = &self.0[end..];
        }
        named
    }

    fn spaces(&mut self) -> bool {
        let trimmed = self.0.trim_start_matches([' ', '\t', '\n', '\r']);
        let any = trimmed.len() < self.0.len();
        self.0 = trimmed;
        any
    }

    fn take<const N: usize>(&mut self, marks: [char; N]) -> bool {
        // All marks are one byte long.
        let there = self.0.starts_with(marks);
        if there {
            self.0 = &self.0[1..];
        }
        there
    }

    fn malformed(&self) -> SelectorRefusal {
        SelectorRefusal::Malformed(self.0.chars().take(20).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_element_is_and_where_it_stands_may_be_asked() {
        for text in [
            "button",
            "*",
            "#pay",
            ".row.total",
            "main > ul li:nth-child(2n+1) a",
            "h1+p",
            "a ~ b , c",
            "div:not(.ad):first-child",
            ":is(h1, h2):last-of-type",
            "my-element .ü",
            "td:nth-of-type(odd)",
        ] {
            assert_eq!(Selector::parse(text).map(|s| s.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn what_an_element_holds_may_not_be_asked() {
        for (text, expected) in [
            ("", SelectorRefusal::Empty),
            ("input[value^=a]", SelectorRefusal::Attribute),
            ("a:not([href])", SelectorRefusal::Attribute),
            ("input:checked", SelectorRefusal::Pseudo("checked".into())),
            ("input:VALID", SelectorRefusal::Pseudo("valid".into())),
            ("div:has(input)", SelectorRefusal::Pseudo("has".into())),
            ("a:visited", SelectorRefusal::Pseudo("visited".into())),
            ("p::before", SelectorRefusal::Pseudo(String::new())),
            ("input:placeholder-shown", SelectorRefusal::Pseudo("placeholder-shown".into())),
            (r"a\5b x\5d", SelectorRefusal::Malformed(r"\5b x\5d".into())),
            ("a{}", SelectorRefusal::Malformed("{}".into())),
            ("a >", SelectorRefusal::Malformed(String::new())),
            ("a,", SelectorRefusal::Malformed(String::new())),
            ("a)", SelectorRefusal::Malformed(")".into())),
            (":nth-child(2 of [x])", SelectorRefusal::Malformed("2 of [x])".into())),
            (":is(:is(:is(:is(:is(a)))))", SelectorRefusal::Pseudo("is".into())),
        ] {
            assert_eq!(Selector::parse(text), Err(expected), "{text}");
        }
        assert_eq!(Selector::parse(&"a".repeat(501)), Err(SelectorRefusal::TooLong));
    }
}
