//! A text brought to the form in which it is compared, with each byte's place in the source.

use crate::escapes::{self, Unescaped};
use std::ops::Range;
use zeroize::Zeroizing;

pub(crate) struct View {
    bytes: Zeroizing<Vec<u8>>,
    /// Where each byte came from.
    places: Vec<Range<u32>>,
}

/// Escapes of escapes are undone this often.
const DEEPEST: usize = 3;
/// Between `<` and `>`.
pub(crate) const LONGEST_TAG: usize = 2000;

/// The characters of a folded text, each with its place in the source.
pub(crate) struct Characters {
    /// Wiped, because they may be a secret's.
    pub characters: Zeroizing<Vec<char>>,
    pub places: Vec<Range<u32>>,
}

impl View {
    pub(crate) fn of(text: &str) -> View {
        let mut places = Vec::with_capacity(text.len());
        for (at, character) in text.char_indices() {
            // Every byte of a character stands for the whole of it: none is cut in two.
            let whole = at as u32..(at + character.len_utf8()) as u32;
            places.extend(std::iter::repeat_n(whole, character.len_utf8()));
        }
        View { bytes: Zeroizing::new(text.as_bytes().to_vec()), places }
    }

    /// The text itself, and with escapes undone once and more often, and without tags, as far as that makes a difference.
    pub(crate) fn all(text: &str) -> Vec<View> {
        let mut views = vec![View::of(text)];
        while views.len() <= DEEPEST {
            let Some(next) = views.last().and_then(View::unescaped) else { break };
            views.push(next);
        }
        let without_tags: Vec<View> = views.iter().filter_map(View::without_tags).collect();
        views.extend(without_tags);
        views
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The part of the source that these bytes came from.
    pub(crate) fn source(&self, range: Range<usize>) -> Range<usize> {
        let places = &self.places[range];
        // A place that was moved forward by an escape is never before its neighbour's.
        places.first().map_or(0, |place| place.start as usize)
            ..places.last().map_or(0, |place| place.end as usize)
    }

    /// Letters and digits alone, whatever their case.
    pub(crate) fn squeezed(&self) -> View {
        self.of_characters(|character, push| {
            if character.is_ascii() {
                if character.is_ascii_alphanumeric() {
                    push(character.to_ascii_lowercase());
                }
            } else if character.is_alphanumeric() && !is_invisible(character) {
                // There and back, because several may have one upper case: ß and ss, ς and σ, ſ and s.
                character
                    .to_uppercase()
                    .flat_map(char::to_lowercase)
                    .filter(|c| c.is_alphanumeric())
                    .for_each(push);
            }
        })
    }

    /// The text without capitals, white space and what is invisible. A zero stands between texts that are apart.
    pub(crate) fn folded(&self) -> View {
        let fold = |character: char, push: &mut dyn FnMut(char)| {
            let is_blank = character.is_whitespace() || (character != '\0' && is_invisible(character));
            if !is_blank {
                character.to_lowercase().for_each(push);
            }
        };
        // Bytes that are no UTF-8 came out of an address that is older than that: Latin-1.
        self.map_characters(fold, |byte| Some(char::from(byte)))
    }

    pub(crate) fn characters(&self) -> Characters {
        let mut characters = Zeroizing::new(Vec::with_capacity(self.bytes.len()));
        let mut places = Vec::with_capacity(self.bytes.len());
        let mut at = 0;
        for chunk in self.bytes.utf8_chunks() {
            for character in chunk.valid().chars() {
                characters.push(character);
                places.push(self.places[at].start..self.places[at + character.len_utf8() - 1].end);
                at += character.len_utf8();
            }
            at += chunk.invalid().len();
        }
        Characters { characters, places }
    }

    fn of_characters(&self, each: impl Fn(char, &mut dyn FnMut(char))) -> View {
        self.map_characters(each, |_| None)
    }

    /// Each character by what `each` makes of it; bytes that are no UTF-8 as the characters that `stray` gives for them.
    fn map_characters(
        &self,
        each: impl Fn(char, &mut dyn FnMut(char)),
        stray: impl Fn(u8) -> Option<char>,
    ) -> View {
        let mut out = View::with_room(self.bytes.len());
        let mut at = 0;
        for chunk in self.bytes.utf8_chunks() {
            let valid = chunk.valid().chars().map(|character| (character, character.len_utf8()));
            let strays = chunk.invalid().iter().map(|byte| (stray(*byte), 1));
            for (character, length) in valid.map(|(c, length)| (Some(c), length)).chain(strays) {
                let whole = self.places[at].start..self.places[at + length - 1].end;
                if let Some(character) = character {
                    each(character, &mut |kept| {
                        let mut room = [0; 4];
                        kept.encode_utf8(&mut room).bytes().for_each(|byte| out.push(byte, whole.clone()));
                    });
                }
                at += length;
            }
        }
        out
    }

    /// With percent, HTML, JSON and JavaScript escapes undone; `None` if there are none.
    fn unescaped(&self) -> Option<View> {
        let mut out = View::with_room(self.bytes.len());
        let mut at = 0;
        let mut changed = false;
        while let Some(byte) = self.bytes.get(at) {
            let rest = &self.bytes[at..];
            let undone = match byte {
                b'%' => escapes::percent(rest),
                b'&' => escapes::entity(rest),
                b'\\' => escapes::backslash(rest),
                _ => None,
            };
            let Some((character, length)) = undone else {
                out.push(*byte, self.places[at].clone());
                at += 1;
                continue;
            };
            changed = true;
            let whole = self.places[at].start..self.places[at + length - 1].end;
            match character {
                Unescaped::Byte(byte) => out.push(byte, whole),
                Unescaped::Character(character) => {
                    let mut room = [0; 4];
                    character.encode_utf8(&mut room).bytes().for_each(|byte| out.push(byte, whole.clone()));
                }
            }
            at += length;
        }
        changed.then_some(out)
    }

    /// Without `<…>`; `None` if there are none.
    fn without_tags(&self) -> Option<View> {
        let mut out = View::with_room(self.bytes.len());
        let mut at = 0;
        // The first `>` from `at` on; looked for once however many `<` stand before it.
        let mut end = 0;
        while let Some(byte) = self.bytes.get(at) {
            if *byte == b'<' {
                if end < at {
                    end = at;
                }
                while self.bytes.get(end).is_some_and(|byte| *byte != b'>') {
                    crate::work::count_work(1);
                    end += 1;
                }
                if end < self.bytes.len() && end - at < LONGEST_TAG {
                    at = end + 1;
                    continue;
                }
            }
            crate::work::count_work(1);
            out.push(*byte, self.places[at].clone());
            at += 1;
        }
        (out.bytes.len() < self.bytes.len()).then_some(out)
    }

    fn with_room(length: usize) -> View {
        View { bytes: Zeroizing::new(Vec::with_capacity(length + 4)), places: Vec::with_capacity(length + 4) }
    }

    fn push(&mut self, byte: u8, place: Range<u32>) {
        self.bytes.push(byte);
        self.places.push(place);
    }
}

/// Whether a character is drawn as nothing, or reorders or hides what stands around it: control characters,
/// noncharacters, and those that Unicode calls default ignorable or format characters. Some of them count as letters:
/// the Hangul fillers.
pub fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{8e2}'
            | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With all escapes undone, and then folded.
    fn unescaped(text: &str) -> Characters {
        let mut view = View::of(text);
        for _ in 0..DEEPEST {
            view = view.unescaped().unwrap_or(view);
        }
        view.folded().characters()
    }

    #[test]
    fn escapes_are_undone_with_their_places_and_what_is_none_stays() {
        for (text, expected) in [
            ("a%2Fb", "a/b"),
            ("a%2fb", "a/b"),
            ("a%252Fb", "a/b"),
            ("a%25252Fb", "a/b"),
            ("%C3%A9%e9", "éé"),
            ("%F0%9F%A6%93", "🦓"),
            ("100%, %zz %2", "100%,%zz%2"),
            ("a&amp;amp;b &lt;&#47;&#x2F;&quot;", "a&b<//\""),
            ("a & b; &unknown;", "a&b;"),
            ("&#x110000;&#;&#x;", "&#x110000;&#;&#x;"),
            (r#"a\/b\"c\\d\u0041\u{1f993}\x2f\n"#, "a/b\"cda🦓/"),
            (r"\ud83e\udd93", "🦓"),
            (r"\ud83e", r"\ud83e"),
            (r"\", r"\"),
        ] {
            let Characters { characters, places } = unescaped(text);
            assert_eq!(characters.iter().collect::<String>(), expected, "{text}");
            assert_eq!(characters.len(), places.len());
            let mut last = 0;
            for range in &places {
                let inside =
                    last <= range.start && range.start < range.end && range.end as usize <= text.len();
                assert!(inside, "{text}");
                last = range.start;
            }
        }
        assert_eq!(unescaped("x %C3%a9 y").places, [0..1, 2..8, 9..10]);
    }

    /// A page can be one long escape, or one that never ends.
    #[test]
    fn a_text_that_is_nothing_but_escapes_takes_no_longer_than_another() {
        let begun = std::time::Instant::now();
        for part in ["%41", "&", "\\", "%", "&#", "%25", "\\u{"] {
            let text = part.repeat(60_000 / part.len());
            assert!(unescaped(&text).characters.len() <= 60_000);
        }
        assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
    }
}
