//! The only ways in which a page's words get into the console.
//!
//! They are escaped, kept in their own direction, cut to a bound, and stand in a box or on a ground that nothing of ours
//! has, in a type that nothing of ours has. No markup, no attribute and no line of theirs is ever ours.

use audit::sanitize_within;
use engine::html::Text;

/// The longest that is shown of one text, in bytes; the record has more.
const LONGEST: usize = 600;
const LONGEST_WORD: usize = 300;

/// A box with what a page said.
pub fn said(caption: &'static str, text: &str) -> String {
    format!(
        "<figure class=\"said\"><figcaption>{caption}</figcaption><blockquote><bdi>{}</bdi></blockquote></figure>\n",
        Text(&sanitize_within(text, LONGEST))
    )
}

/// The same within a line.
pub fn word(text: &str) -> String {
    format!("<bdi class=\"word\">{}</bdi>", Text(&sanitize_within(text, LONGEST_WORD)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_directions_and_lengths_of_a_page_stay_its_own() {
        let hostile = "</blockquote></figure><h2 onclick='x'>Approve\u{202e}evorppA\n\u{1b}[2J";
        for shown in [said("The page says", hostile), word(hostile)] {
            assert!(
                !shown.contains("<h2") && !shown.contains('\'') && !shown.contains('\u{202e}'),
                "{shown}"
            );
            assert!(!shown.contains('\u{1b}'), "{shown}");
            assert_eq!(shown.matches("</bdi>").count(), 1);
        }
        assert!(word(&"x".repeat(100_000)).len() < 400);
        assert!(word(&"語".repeat(1000)).contains('…'));
    }
}
