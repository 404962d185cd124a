//! Where words stand in a page's text, however it writes them: in capitals, over several lines or elements, or in part.

use crate::text::is_unseen;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// A part of a word that is this long is found too: pages cut what they repeat.
const PART: usize = 12;
/// Shorter words are found where they stand by themselves: "the" is in every other word.
const SHORT: usize = 4;
/// A single character is on every page.
const SHORTEST: usize = 2;

/// Words to look for, by what they come to without spaces and capitals. They never leave the host, and are not told.
#[derive(Clone, Default)]
pub(crate) struct WordSet {
    /// By their number of characters.
    parts: BTreeMap<usize, HashSet<Vec<char>>>,
}

impl WordSet {
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> WordSet {
        let mut parts: BTreeMap<usize, HashSet<Vec<char>>> = BTreeMap::new();
        for word in words {
            let plain: Vec<char> = Squeezed::of(word).plain;
            if plain.len() >= SHORTEST {
                let length = plain.len().min(PART);
                parts.entry(length).or_default().extend(plain.windows(length).map(<[char]>::to_vec));
            }
        }
        WordSet { parts }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Where any of them stands, in UTF-16 units as a script counts them, in order and apart from each other.
    pub fn find(&self, text: &str) -> Vec<Range<u32>> {
        let squeezed = Squeezed::of(text);
        let mut found: Vec<Range<u32>> = Vec::new();
        for (length, parts) in &self.parts {
            for (at, window) in squeezed.plain.windows(*length).enumerate() {
                if !parts.contains(window) {
                    continue;
                }
                let range = squeezed.from[at].start..squeezed.from[at + length - 1].end;
                if *length >= SHORT || squeezed.stands_alone(at, *length) {
                    found.push(range);
                }
            }
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut apart: Vec<Range<u32>> = Vec::new();
        for range in found {
            match apart.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => apart.push(range),
            }
        }
        apart
    }

    pub fn is_in(&self, text: &str) -> bool {
        !self.is_empty() && !self.find(text).is_empty()
    }
}

/// A text without capitals, white space and what is drawn as nothing.
struct Squeezed {
    plain: Vec<char>,
    /// Where each character stood in the text, in UTF-16 units.
    from: Vec<Range<u32>>,
}

impl Squeezed {
    fn of(text: &str) -> Squeezed {
        let mut squeezed = Squeezed { plain: Vec::new(), from: Vec::new() };
        let mut at = 0;
        for character in text.chars() {
            let end = at + if u32::from(character) > 0xffff { 2 } else { 1 };
            if !is_blank(character) {
                for lower in character.to_lowercase() {
                    squeezed.plain.push(lower);
                    squeezed.from.push(at..end);
                }
            }
            at = end;
        }
        squeezed
    }

    /// Whether no letter or digit touches it.
    fn stands_alone(&self, at: usize, length: usize) -> bool {
        let apart = |left: usize, right: usize| {
            self.from[left].end < self.from[right].start
                || !self.plain[left].is_alphanumeric()
                || !self.plain[right].is_alphanumeric()
        };
        let last = at + length - 1;
        (at == 0 || apart(at - 1, at)) && (last + 1 == self.plain.len() || apart(last, last + 1))
    }
}

/// White space, and what is drawn as nothing. A zero stands between texts that are apart.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || (character != '\0' && is_unseen(character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_however_a_page_writes_them() {
        let words = WordSet::new([
            "Zebra crossing",
            "pin",
            "a",
            "a much longer text that was typed",
            "añb/c",
            "🦓s!!",
        ]);
        for (text, expected) in [
            ("Results for zebra crossing.", vec!["zebra crossing"]),
            ("ZEBRACROSSING", vec!["ZEBRACROSSING"]),
            ("zeb\n  ra cross\u{ad}ing", vec!["zeb\n  ra cross\u{ad}ing"]),
            (
                "z\u{3164}e\u{ffa0}b\u{115f}r\u{1160}a\u{e0100}cr\u{e01ef}ossin\u{17b4}g",
                vec!["z\u{3164}e\u{ffa0}b\u{115f}r\u{1160}a\u{e0100}cr\u{e01ef}ossin\u{17b4}g"],
            ),
            ("zebra\0crossing", vec![]),
            ("zebra", vec![]),
            ("Zebra crossin…", vec!["Zebra crossin"]),
            // Short ones by themselves only, and single characters never.
            ("pin it, a pin", vec!["pin", "pin"]),
            ("spin, pins, a", vec![]),
            // Part of a long one.
            ("about: \"longer text that was…\"", vec!["longer text that was"]),
            ("🦓 AÑB/C 🦓S!!", vec!["AÑB/C", "🦓S!!"]),
            ("zebra crossingzebra crossing", vec!["zebra crossingzebra crossing"]),
        ] {
            let units: Vec<u16> = text.encode_utf16().collect();
            let found: Vec<String> = words
                .find(text)
                .iter()
                .map(|range| String::from_utf16(&units[range.start as usize..range.end as usize]).unwrap())
                .collect();
            assert_eq!(found, expected, "{text}");
        }
        assert!(WordSet::new(["", " ", "x"]).is_empty());
        assert!(!WordSet::default().is_in("anything"));
    }
}
