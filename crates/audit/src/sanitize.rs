//! Sanitizes text from pages and agents, so that it cannot forge a line or control a terminal.

use redact::Redacted;

/// The size limit of one field, in bytes.
const MAX_BYTES: usize = 1024;

/// Escapes control, bidi and invisible characters as `\u{…}`, and truncates.
pub fn sanitize(text: &str) -> String {
    sanitize_within(text, MAX_BYTES)
}

/// The same with another limit, in bytes; truncation is marked by `…`.
pub fn sanitize_within(text: &str, longest: usize) -> String {
    let mut out = String::with_capacity(text.len().min(longest));
    for c in text.chars() {
        if out.len() >= longest {
            out.push('…');
            break;
        }
        if c.is_control() || is_invisible(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// [`sanitize`] for redacted text.
pub fn sanitize_redacted(text: &Redacted) -> Redacted {
    text.transform(sanitize)
}

/// [`sanitize_within`] for redacted text.
pub fn sanitize_redacted_within(text: &Redacted, longest: usize) -> Redacted {
    text.transform_with(longest, sanitize_within)
}

/// Characters that move, hide or reorder text: bidi, zero-width, line separators, tags, fillers.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        assert_eq!(sanitize("a\nb\u{1b}[2J"), "a\\u{a}b\\u{1b}[2J");
        assert_eq!(sanitize("x\u{202e}y\u{200b}"), "x\\u{202e}y\\u{200b}");
        assert_eq!(sanitize("\u{9b}31m\u{e0041}\u{61c}"), "\\u{9b}31m\\u{e0041}\\u{61c}");
        assert_eq!(sanitize("Grüße 漢字"), "Grüße 漢字");
    }

    #[test]
    fn a_long_text_is_truncated() {
        for text in ["a", "\u{1b}", "漢", "\""] {
            assert!(sanitize(&text.repeat(1 << 20)).len() < MAX_BYTES + 16, "{text:?}");
        }
    }
}
