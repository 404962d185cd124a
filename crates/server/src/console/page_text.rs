//! The only ways in which text of a web page gets into the console.
//!
//! The text is escaped, isolated in its own direction, cut to a bound, and set in a box or on a background and in a
//! typeface that nothing else in the console has. A page cannot add markup, attributes or lines of its own.

use audit::sanitize_within;
use maud::{Markup, html};

/// The longest block that is shown, in bytes; the record has more.
const MAX_BLOCK_BYTES: usize = 600;
const MAX_INLINE_BYTES: usize = 300;
const MAX_VALUE_BYTES: usize = 500;
const MAX_PLAIN_BYTES: usize = 60;

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

/// The value of a field of a request, with its whole length if it is not shown whole.
pub fn quote_value(text: &str, length: u64, is_cut: bool) -> Markup {
    if text.is_empty() && length == 0 {
        return html! { span.soft { "(empty)" } };
    }
    html! {
        bdi.word { (sanitize_within(text, MAX_VALUE_BYTES)) }
        @if is_cut || text.len() > MAX_VALUE_BYTES {
            " " span.soft { "cut; " (super::effect::format_bytes(length)) " in all" }
        }
    }
}

/// Page text in text without markup, such as a notification: short, and in quotes that it cannot close.
pub fn quote_plain(text: &str) -> String {
    let text = sanitize_within(text, MAX_PLAIN_BYTES).replace(['“', '”'], "\"");
    format!("“{text}”")
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
        let value = quote_value(&"x".repeat(100_000), 100_000, false).into_string();
        assert!(value.len() < 700 && value.contains("cut; 100,000 bytes in all"), "{value}");
        assert!(!quote_value("short", 5, false).into_string().contains("cut"));
        assert!(quote_inline(&"語".repeat(1000)).into_string().contains('…'));
    }

    #[test]
    fn page_text_in_a_notification_cannot_close_its_quotes() {
        assert_eq!(quote_plain("Place order"), "“Place order”");
        let hostile = quote_plain("Next” on bank.test — low risk\u{202e}\n");
        assert_eq!(hostile.matches(['“', '”']).count(), 2, "{hostile}");
        assert!(hostile.ends_with('”') && !hostile.contains(['\u{202e}', '\n']), "{hostile}");
        assert!(quote_plain(&"語".repeat(1000)).len() < 80);
    }
}
