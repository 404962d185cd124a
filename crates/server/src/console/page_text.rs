//! The only ways in which text of a web page gets into the console.
//!
//! The text is escaped, isolated in its own direction, cut to a bound, and set in a box or on a background and in a
//! typeface that nothing else in the console has. A page cannot add markup, attributes or lines of its own.

use audit::sanitize_within;
use maud::{Markup, html};

/// The longest block that is shown, in bytes; the record has more.
const MAX_BLOCK_BYTES: usize = 600;
const MAX_INLINE_BYTES: usize = 300;

/// Page text in a captioned box.
pub fn quote_block(caption: &'static str, text: &str) -> Markup {
    html! {
        figure.said {
            figcaption { (caption) }
            blockquote { bdi { (sanitize_within(text, MAX_BLOCK_BYTES)) } }
        }
    }
}

/// Page text within a line.
pub fn quote_inline(text: &str) -> Markup {
    html! { bdi.word { (sanitize_within(text, MAX_INLINE_BYTES)) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_text_adds_no_markup_no_direction_and_no_length() {
        let hostile = "</blockquote></figure><h2 onclick='x'>\"Approve\u{202e}evorppA\n\u{1b}[2J";
        for (quoted, own_tags) in [(quote_block("The page says", hostile), 8), (quote_inline(hostile), 2)] {
            let quoted = quoted.into_string();
            assert_eq!((quoted.matches('<').count(), quoted.matches('>').count()), (own_tags, own_tags));
            assert!(!quoted.contains("<h2") && !quoted.contains('\u{202e}'), "{quoted}");
            assert!(!quoted.contains('\u{1b}'), "{quoted}");
            assert_eq!(quoted.matches("</bdi>").count(), 1);
        }
        assert!(quote_inline(&"x".repeat(100_000)).into_string().len() < 400);
        assert!(quote_inline(&"語".repeat(1000)).into_string().contains('…'));
    }
}
