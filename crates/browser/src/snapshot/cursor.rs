//! Cursors: names for folded parts of a snapshot, either a range of nodes or the rest of a long text.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cursor {
    pub serial: u64,
    pub span: Span,
}

/// A part of a page's node list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Span {
    /// Siblings with their subtrees.
    Nodes { first: usize, end: usize },
    /// The text of one node from a byte offset on.
    Text { node: usize, from: usize },
}

impl Cursor {
    /// Accepts digits and separators only, so that input from an agent never parses as a cursor by accident.
    pub fn parse(text: &str) -> Option<Cursor> {
        let (serial, rest) = text.strip_prefix('c')?.split_once('.')?;
        let serial = parse_digits(serial)?;
        let span = if let Some((first, end)) = rest.split_once('-') {
            Span::Nodes { first: parse_digits(first)?, end: parse_digits(end)? }
        } else {
            let (node, from) = rest.split_once('t')?;
            Span::Text { node: parse_digits(node)?, from: parse_digits(from)? }
        };
        Some(Cursor { serial, span })
    }
}

/// Rejects a sign, which `str::parse` accepts.
fn parse_digits<T: std::str::FromStr>(digits: &str) -> Option<T> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.span {
            Span::Nodes { first, end } => write!(f, "c{}.{first}-{end}", self.serial),
            Span::Text { node, from } => write!(f, "c{}.{node}t{from}", self.serial),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_parses_as_it_is_written_and_other_text_does_not() {
        for text in ["c1.0-5", "c12.340-99999", "c3.7t2000"] {
            assert_eq!(Cursor::parse(text).map(|cursor| cursor.to_string()).as_deref(), Some(text));
        }
        let far = format!("c1.0-{}0", usize::MAX);
        for text in ["", "c", "c1", "c1.", "c1.5", "c1.-5", "c1.+1-5", "1.0-5", "c1.0-5 ", "c1.5t", &far] {
            assert_eq!(Cursor::parse(text), None, "{text:?}");
        }
    }
}
