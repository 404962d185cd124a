//! CSS selectors over tags, ids, classes and structure, never over attributes or values.
//!
//! `input[value^=a]` would reveal a secret one character at a time. So the grammar has no attributes, values or states;
//! it does not search for forbidden ones.

use serde::Serialize;
use std::fmt;

/// The longest selector, in bytes.
const MAX_BYTES: usize = 500;
/// How deep parentheses may be nested.
const MAX_DEPTH: usize = 4;

/// A validated selector.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Selector(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSelector {
    #[error("the selector is empty")]
    Empty,
    #[error("the selector is longer than {MAX_BYTES} bytes")]
    TooLong,
    #[error("a selector may not ask for attributes or values; use tags, ids, classes and structure")]
    Attribute,
    #[error("a selector may not use :{0}; use tags, ids, classes and structure")]
    Pseudo(String),
    #[error("the selector is not understood at {0:?}")]
    Malformed(String),
}

/// Structural pseudo-classes without an argument.
const STRUCTURAL: [&str; 8] = [
    "root",
    "first-child",
    "last-child",
    "only-child",
    "first-of-type",
    "last-of-type",
    "only-of-type",
    "scope",
];
const NTH: [&str; 4] = ["nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"];
const NESTING: [&str; 3] = ["is", "where", "not"];

impl Selector {
    pub fn parse(text: &str) -> Result<Selector, InvalidSelector> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidSelector::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(InvalidSelector::TooLong);
        }
        let mut parser = Parser(text);
        parser.list(0)?;
        if parser.0.is_empty() { Ok(Selector(text.to_owned())) } else { Err(parser.malformed()) }
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

struct Parser<'a>(&'a str);

impl Parser<'_> {
    /// A comma-separated list of complex selectors.
    fn list(&mut self, depth: usize) -> Result<(), InvalidSelector> {
        loop {
            self.spaces();
            self.compound(depth)?;
            // Compound selectors are joined by a space or a combinator.
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

    /// A tag, ids, classes and pseudo-classes, without spaces.
    fn compound(&mut self, depth: usize) -> Result<(), InvalidSelector> {
        let mut any = self.take(['*']) || self.name();
        loop {
            if self.take(['#', '.']) {
                if !self.name() {
                    return Err(self.malformed());
                }
            } else if self.0.starts_with('[') {
                return Err(InvalidSelector::Attribute);
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

    fn pseudo(&mut self, depth: usize) -> Result<(), InvalidSelector> {
        self.0 = &self.0[1..];
        let word: String = self.0.chars().take_while(|c| c.is_ascii_alphabetic() || *c == '-').collect();
        let known = word.to_ascii_lowercase();
        self.0 = &self.0[word.len()..];
        if STRUCTURAL.contains(&known.as_str()) {
            return Ok(());
        }
        let is_nth = NTH.contains(&known.as_str());
        if !(is_nth || NESTING.contains(&known.as_str())) || depth == MAX_DEPTH {
            return Err(InvalidSelector::Pseudo(known));
        }
        if !self.take(['(']) {
            return Err(self.malformed());
        }
        if is_nth {
            self.count()?
        } else {
            self.list(depth + 1)?
        }
        if self.take([')']) { Ok(()) } else { Err(self.malformed()) }
    }

    /// `odd`, `even`, `3`, `2n+1`.
    fn count(&mut self) -> Result<(), InvalidSelector> {
        let end = self.0.find(')').ok_or_else(|| self.malformed())?;
        let formula = self.0[..end].trim();
        let plain = |c: char| c.is_ascii_digit() || matches!(c, 'n' | 'N' | '+' | '-' | ' ');
        if formula.is_empty() || !(matches!(formula, "odd" | "even") || formula.chars().all(plain)) {
            return Err(self.malformed());
        }
        self.0 = &self.0[end..];
        Ok(())
    }

    /// Letters, digits, `-`, `_` and non-ASCII characters; no escapes.
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
        // Every mark is one byte long.
        let there = self.0.starts_with(marks);
        if there {
            self.0 = &self.0[1..];
        }
        there
    }

    fn malformed(&self) -> InvalidSelector {
        InvalidSelector::Malformed(self.0.chars().take(20).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_ids_classes_and_structure_are_accepted() {
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
    fn attributes_values_and_states_are_refused() {
        for (text, expected) in [
            ("", InvalidSelector::Empty),
            ("input[value^=a]", InvalidSelector::Attribute),
            ("a:not([href])", InvalidSelector::Attribute),
            ("input:checked", InvalidSelector::Pseudo("checked".into())),
            ("input:VALID", InvalidSelector::Pseudo("valid".into())),
            ("div:has(input)", InvalidSelector::Pseudo("has".into())),
            ("a:visited", InvalidSelector::Pseudo("visited".into())),
            ("p::before", InvalidSelector::Pseudo(String::new())),
            ("input:placeholder-shown", InvalidSelector::Pseudo("placeholder-shown".into())),
            (r"a\5b x\5d", InvalidSelector::Malformed(r"\5b x\5d".into())),
            ("a{}", InvalidSelector::Malformed("{}".into())),
            ("a >", InvalidSelector::Malformed(String::new())),
            ("a,", InvalidSelector::Malformed(String::new())),
            ("a)", InvalidSelector::Malformed(")".into())),
            (":nth-child(2 of [x])", InvalidSelector::Malformed("2 of [x])".into())),
            (":is(:is(:is(:is(:is(a)))))", InvalidSelector::Pseudo("is".into())),
        ] {
            assert_eq!(Selector::parse(text), Err(expected), "{text}");
        }
        assert_eq!(Selector::parse(&"a".repeat(501)), Err(InvalidSelector::TooLong));
    }
}
