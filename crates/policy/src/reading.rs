//! Parameters for reading a page and for finding elements in it.

use serde::{Deserialize, Serialize};

/// The size limit of one reply. A token is four bytes of UTF-8, rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBudget(u32);

impl TokenBudget {
    /// A smaller budget has no room for one element, its context and the cursor to the rest.
    pub const MIN: u32 = 250;
    pub const MAX: u32 = 50_000;

    pub fn new(tokens: u32) -> Option<TokenBudget> {
        (TokenBudget::MIN..=TokenBudget::MAX).contains(&tokens).then_some(TokenBudget(tokens))
    }

    pub fn bytes(self) -> usize {
        self.0 as usize * 4
    }

    /// The number of tokens in a text.
    pub fn count(text: &str) -> usize {
        text.len().div_ceil(4)
    }
}

impl Default for TokenBudget {
    fn default() -> TokenBudget {
        TokenBudget(6_000)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    pub format: ReadFormat,
    pub tokens: TokenBudget,
    /// RiskResponses that are shown before the rest is folded; the session's setting when absent.
    pub max_depth: Option<usize>,
    pub part: Part,
    /// Include where elements with refs are.
    pub boxes: bool,
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
    /// The subtree of the element with this ref.
    Root(String),
    /// Content that an earlier reply folded, as it was then.
    Cursor(String),
}

/// Finds the elements that match every given criterion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Find {
    pub pattern: Option<Pattern>,
    pub role: Option<String>,
    /// A part of the accessible name, ignoring case.
    pub name: Option<String>,
    pub limit: usize,
    /// The number of matches to skip, to continue an earlier reply.
    pub offset: usize,
    pub tokens: TokenBudget,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// A part of the text, ignoring case.
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
            assert_eq!(TokenBudget::new(tokens).map(TokenBudget::bytes), expected, "{tokens}");
        }
        assert_eq!(TokenBudget::default().bytes(), 24_000);
        for (text, expected) in [("", 0), ("abc", 1), ("abcd", 1), ("abcde", 2), ("äöü", 2)] {
            assert_eq!(TokenBudget::count(text), expected, "{text:?}");
        }
    }
}
