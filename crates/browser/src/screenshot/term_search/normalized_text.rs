//! Text normalized for comparison: lower case, without white space, unescaped; each character with its range in the source.

use crate::text::is_invisible;
use std::ops::Range;
use zeroize::Zeroizing;

/// Levels of nested escapes that are decoded.
const MAX_ESCAPE_DEPTH: usize = 3;
/// Characters between `&` and `;`.
const MAX_ENTITY: usize = 10;

/// Lower case, without white space and invisible characters.
pub(super) struct NormalizedText {
    /// Zeroized, because they may be a secret.
    pub characters: Zeroizing<Vec<char>>,
    /// The range of each character in the source, in UTF-16 units.
    pub from: Vec<Range<u32>>,
}

impl NormalizedText {
    pub fn of(text: &str) -> NormalizedText {
        let mut letters = NormalizedText::with_room(text.len());
        let mut at = 0;
        for character in text.chars() {
            let end = at + if u32::from(character) > 0xffff { 2 } else { 1 };
            letters.push(character, at..end);
            at = end;
        }
        letters
    }

    /// Decodes percent, HTML, JSON and JavaScript escapes, also nested ones. `None` if there are none.
    pub fn unescaped(&self) -> Option<NormalizedText> {
        let mut unescaped = self.unescaped_once()?;
        for _ in 1..MAX_ESCAPE_DEPTH {
            match unescaped.unescaped_once() {
                Some(next) => unescaped = next,
                None => break,
            }
        }
        Some(unescaped)
    }

    /// `None` if there are none.
    fn unescaped_once(&self) -> Option<NormalizedText> {
        if !self.characters.iter().any(|character| matches!(character, '%' | '&' | '\\')) {
            return None;
        }
        let mut out = NormalizedText::with_room(self.characters.len());
        let mut at = 0;
        while let Some(character) = self.characters.get(at) {
            let rest = &self.characters[at..];
            let found = match character {
                '%' => percents(rest),
                '&' => entity(rest).into_iter().collect(),
                '\\' => backslash(rest).into_iter().collect(),
                _ => Vec::new(),
            };
            if found.is_empty() {
                out.push(*character, self.from[at].clone());
                at += 1;
            }
            for (character, length) in found {
                out.push(character, self.from[at].start..self.from[at + length - 1].end);
                at += length;
            }
        }
        // Text without escapes keeps its length.
        (out.characters.len() < self.characters.len()).then_some(out)
    }

    /// Whether no letter or digit is adjacent.
    pub fn is_whole_word(&self, at: usize, length: usize) -> bool {
        let apart = |left: usize, right: usize| {
            self.from[left].end < self.from[right].start
                || !self.characters[left].is_alphanumeric()
                || !self.characters[right].is_alphanumeric()
        };
        let last = at + length - 1;
        (at == 0 || apart(at - 1, at)) && (last + 1 == self.characters.len() || apart(last, last + 1))
    }

    fn with_room(length: usize) -> NormalizedText {
        NormalizedText {
            characters: Zeroizing::new(Vec::with_capacity(length)),
            from: Vec::with_capacity(length),
        }
    }

    fn push(&mut self, character: char, from: Range<u32>) {
        if is_blank(character) {
            return;
        }
        for lower in character.to_lowercase() {
            self.characters.push(lower);
            self.from.push(from.clone());
        }
    }
}

/// A run of `%c3%a9`, as the characters that its bytes come to and how many it took for each.
fn percents(rest: &[char]) -> Vec<(char, usize)> {
    let triples = rest.chunks_exact(3).map_while(|triple| match triple {
        ['%', digits @ ..] => number(digits, 16).and_then(|byte| u8::try_from(byte).ok()),
        _ => None,
    });
    let bytes: Zeroizing<Vec<u8>> = Zeroizing::new(triples.collect());
    let mut found = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        found.extend(chunk.valid().chars().map(|character| (character, 3 * character.len_utf8())));
        // Not UTF-8: taken as Latin-1.
        found.extend(chunk.invalid().iter().map(|byte| (char::from(*byte), 3)));
    }
    found
}

/// `&#65;`, `&#x41;`, and the names of what is escaped in HTML.
fn entity(rest: &[char]) -> Option<(char, usize)> {
    let window = rest.get(1..)?;
    let end = window.iter().take(MAX_ENTITY).position(|character| *character == ';')?;
    let character = match &window[..end] {
        ['#', 'x', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        ['#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        name => match name.iter().collect::<String>().as_str() {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            "nbsp" => ' ',
            _ => return None,
        },
    };
    Some((character, end + 2))
}

/// `\u0041`, `\u{41}`, `\x41`, `\n`, `\/` and the like.
fn backslash(rest: &[char]) -> Option<(char, usize)> {
    match rest.get(1)? {
        'u' if rest.get(2) == Some(&'{') => {
            let window = &rest[3..];
            let end = window.iter().take(MAX_ENTITY).position(|character| *character == '}')?;
            Some((char::from_u32(number(&window[..end], 16)?)?, end + 4))
        }
        'u' => {
            let high = number(rest.get(2..6)?, 16)?;
            let low = if rest.get(6..8) == Some(&['\\', 'u']) { rest.get(8..12) } else { None };
            // A surrogate pair.
            match low.and_then(|low| number(low, 16)) {
                Some(low) if (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low) => {
                    Some((char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))?, 12))
                }
                _ => Some((char::from_u32(high)?, 6)),
            }
        }
        'x' => Some((char::from_u32(number(rest.get(2..4)?, 16)?)?, 4)),
        'n' | 'r' | 't' | 'b' | 'f' => Some((' ', 2)),
        other => Some((*other, 2)),
    }
}

fn number(digits: &[char], base: u32) -> Option<u32> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits.iter().try_fold(0u32, |number, digit| number.checked_mul(base)?.checked_add(digit.to_digit(base)?))
}

/// White space and invisible characters, except zero, which separates texts.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || (character != '\0' && is_invisible(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_with_their_ranges_and_other_text_stays() {
        for (text, expected) in [
            ("a%2Fb", "a/b"),
            ("a%2fb", "a/b"),
            ("a%252Fb", "a/b"),
            ("a%25252Fb", "a/b"),
            ("%C3%A9%e9", "éé"),
            ("%F0%9F%A6%93", "🦓"),
            ("100%, %zz %2", "100%,%zz%2"),
            ("a&amp;amp;b &lt;&#47;&#x2F;&quot;", "a&b<//\""),
            ("a & b; &unknown;", "a&b;&unknown;"),
            ("&#x110000;&#;&#x;", "&#x110000;&#;&#x;"),
            (r#"a\/b\"c\\d\u0041\u{1f993}\x2f\n"#, "a/b\"cda🦓/"),
            (r"\ud83e\udd93", "🦓"),
            (r"\ud83e", r"\ud83e"),
            (r"\", r"\"),
        ] {
            let letters = NormalizedText::of(text);
            let unescaped = letters.unescaped().unwrap_or(letters);
            assert_eq!(unescaped.characters.iter().collect::<String>(), expected, "{text}");
            assert_eq!(unescaped.characters.len(), unescaped.from.len());
            let units = text.encode_utf16().count() as u32;
            let mut last = 0;
            for range in &unescaped.from {
                assert!(last <= range.start && range.start < range.end && range.end <= units, "{text}");
                last = range.start;
            }
        }
        let letters = NormalizedText::of("x %C3%a9 y");
        assert_eq!(letters.unescaped().unwrap().from, [0..1, 2..8, 9..10]);
    }

    /// A page can be one long escape, or one that never ends.
    #[test]
    fn a_text_of_nothing_but_escapes_takes_no_longer_than_any_other() {
        let begun = std::time::Instant::now();
        for part in ["%41", "&", "\\", "%", "&#", "%25", "\\u{"] {
            let text = part.repeat(60_000 / part.len());
            let letters = NormalizedText::of(&text);
            assert!(letters.unescaped().is_none_or(|unescaped| unescaped.characters.len() < 60_000));
        }
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    }
}
