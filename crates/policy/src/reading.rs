//! How an agent asks to see a page: in which form, how much of it, which part, or what to look for.

use serde::{Deserialize, Serialize};

/// How much one reply may cost. A token is four bytes of UTF-8, counted up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens(u32);

impl Tokens {
    /// Less has no room for one element, its surroundings and the way to the rest.
    pub const LEAST: u32 = 250;
    pub const MOST: u32 = 50_000;

    pub fn new(tokens: u32) -> Option<Tokens> {
        (Tokens::LEAST..=Tokens::MOST).contains(&tokens).then_some(Tokens(tokens))
    }

    pub fn bytes(self) -> usize {
        self.0 as usize * 4
    }

    /// What a text costs.
    pub fn of(text: &str) -> usize {
        text.len().div_ceil(4)
    }
}

impl Default for Tokens {
    fn default() -> Tokens {
        Tokens(6_000)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    pub format: ReadFormat,
    pub tokens: Tokens,
    /// Levels that are shown before the rest is folded; the session's setting when absent.
    pub max_depth: Option<usize>,
    pub part: Part,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadFormat {
    #[default]
    Outline,
    Tree,
    Markdown,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Part {
    #[default]
    Page,
    /// The element with this ref, and what is in it.
    Root(String),
    /// What an earlier reply folded away, as it was then.
    Cursor(String),
}

/// Elements that answer to all that is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Find {
    pub pattern: Option<Pattern>,
    pub role: Option<String>,
    /// Part of the accessible name, in any case.
    pub name: Option<String>,
    pub limit: usize,
    /// Matches to pass over, for going on after an earlier reply.
    pub offset: usize,
    pub tokens: Tokens,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Part of the text, in any case.
    Text(String),
    Regex(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_has_bounds_and_a_token_is_four_bytes() {
        for (tokens, expected) in
            [(0, None), (249, None), (250, Some(1_000)), (50_000, Some(200_000)), (50_001, None)]
        {
            assert_eq!(Tokens::new(tokens).map(Tokens::bytes), expected, "{tokens}");
        }
        assert_eq!(Tokens::default().bytes(), 24_000);
        for (text, expected) in [("", 0), ("abc", 1), ("abcd", 1), ("abcde", 2), ("äöü", 2)] {
            assert_eq!(Tokens::of(text), expected, "{text:?}");
        }
    }
}
