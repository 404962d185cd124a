//! Text that pages made, before anybody reads it.

/// Whether a character is drawn as nothing, or reorders or hides what stands around it: those that Unicode
/// calls default ignorable or format characters, noncharacters, and control characters.
pub(crate) fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}'
            | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// One line of what can be seen; a line break becomes a space.
pub(crate) fn seen(text: &str) -> String {
    // Most text is plain, and a page has a hundred thousand of them.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| if matches!(c, '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .filter(|c| !is_unseen(*c))
        .collect()
}

/// Where to cut a text so that at most `limit` bytes stay, and only whole characters.
pub(crate) fn cut_at(text: &str, limit: usize) -> usize {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// What can be seen of the first `limit` bytes, cut between characters.
pub(crate) fn cut(text: &str, limit: usize) -> String {
    seen(&text[..cut_at(text, limit)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut("äää", 3), "ä");
        assert_eq!(cut("abc", 8), "abc");
    }

    #[test]
    fn only_what_can_be_seen_is_told() {
        for (text, expected) in [
            ("plain ü 漢 😀", "plain ü 漢 😀"),
            ("two\nlines\tand\u{2028}more", "two lines and more"),
            ("a\u{200b}b\u{feff}c\u{ad}d\u{2060}e", "abcde"),
            ("\u{202e}gnp.exe\u{202c}\u{2066}x\u{2069}", "gnp.exex"),
            ("hi\u{e0049}\u{e0067}\u{e007f}\u{e0100}\u{fe0f}", "hi"),
            ("\u{1b}[31mred\u{7}", "[31mred"),
            ("\u{fdd0}ours?\u{fdd1}", "ours?"),
        ] {
            assert_eq!(seen(text), expected);
        }
    }
}
