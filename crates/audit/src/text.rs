//! Text from pages and agents is data: it cannot forge a line, nor speak to a terminal.

/// The longest text kept of any one field, in bytes.
const LONGEST: usize = 1024;

/// Control characters, bidi controls and invisible marks become `\u{…}`; the rest is cut to a bound.
pub fn plain(text: &str) -> String {
    plain_within(text, LONGEST)
}

/// The same with a bound of the caller's, in bytes; what is cut is told by `…`.
pub fn plain_within(text: &str, longest: usize) -> String {
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

/// What moves, hides or reorders the text around it: bidi, zero-width, line separators, tags, fillers.
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
    fn what_could_forge_a_line_or_a_screen_is_spelled_out() {
        assert_eq!(plain("a\nb\u{1b}[2J"), "a\\u{a}b\\u{1b}[2J");
        assert_eq!(plain("x\u{202e}y\u{200b}"), "x\\u{202e}y\\u{200b}");
        assert_eq!(plain("\u{9b}31m\u{e0041}\u{61c}"), "\\u{9b}31m\\u{e0041}\\u{61c}");
        assert_eq!(plain("Grüße 漢字"), "Grüße 漢字");
    }

    #[test]
    fn a_megabyte_is_cut() {
        for text in ["a", "\u{1b}", "漢", "\""] {
            assert!(plain(&text.repeat(1 << 20)).len() < LONGEST + 16, "{text:?}");
        }
    }
}
