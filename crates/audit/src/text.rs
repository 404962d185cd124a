//! Text from pages and agents is data: it cannot forge a line, nor speak to a terminal.

/// The longest text kept of any one field, in bytes.
const LONGEST: usize = 1024;

/// Control characters, bidi controls and zero-width marks become `\u{…}`; the rest is cut to a bound.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST));
    for c in text.chars() {
        if out.len() >= LONGEST {
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

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_forge_a_line_or_a_screen_is_spelled_out() {
        assert_eq!(plain("a\nb\u{1b}[2J"), "a\\u{a}b\\u{1b}[2J");
        assert_eq!(plain("x\u{202e}y\u{200b}"), "x\\u{202e}y\\u{200b}");
        assert_eq!(plain("Grüße 漢字"), "Grüße 漢字");
    }

    #[test]
    fn a_megabyte_is_cut() {
        assert!(plain(&"a".repeat(1 << 20)).len() < LONGEST + 16);
    }
}
