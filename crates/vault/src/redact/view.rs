//! A text as it reads when escapes are undone, with each byte's place in the source.

use std::ops::Range;
use zeroize::Zeroizing;

pub(super) struct View {
    bytes: Zeroizing<Vec<u8>>,
    /// Where each byte came from.
    places: Vec<Range<u32>>,
}

/// Escapes of escapes are undone this often.
const DEEPEST: usize = 3;
/// Between `<` and `>`, and between `&` and `;`.
pub(super) const LONGEST_TAG: usize = 2000;
const LONGEST_NAME: usize = 32;

impl View {
    pub(super) fn of(text: &str) -> View {
        let mut places = Vec::with_capacity(text.len());
        for (at, character) in text.char_indices() {
            // Every byte of a character stands for the whole of it: none is cut in two.
            let whole = at as u32..(at + character.len_utf8()) as u32;
            places.extend(std::iter::repeat_n(whole, character.len_utf8()));
        }
        View { bytes: Zeroizing::new(text.as_bytes().to_vec()), places }
    }

    /// The text itself, and with escapes undone once and more often, and without tags, as far as that makes a difference.
    pub(super) fn all(text: &str) -> Vec<View> {
        let mut views = vec![View::of(text)];
        while views.len() <= DEEPEST {
            let Some(next) = views.last().and_then(View::unescaped) else { break };
            views.push(next);
        }
        let without_tags: Vec<View> = views.iter().filter_map(View::without_tags).collect();
        views.extend(without_tags);
        views
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The part of the source that these bytes came from.
    pub(super) fn source(&self, range: Range<usize>) -> Range<usize> {
        let places = &self.places[range];
        // A place that was moved forward by an escape is never before its neighbour's.
        places.first().map_or(0, |place| place.start as usize)
            ..places.last().map_or(0, |place| place.end as usize)
    }

    /// Letters and digits alone, whatever their case.
    pub(super) fn squeezed(&self) -> View {
        self.of_characters(|character, push| {
            if character.is_ascii() {
                if character.is_ascii_alphanumeric() {
                    push(character.to_ascii_lowercase());
                }
            } else if character.is_alphanumeric() && !is_unseen(character) {
                // There and back, because several may have one upper case: ß and ss, ς and σ, ſ and s.
                character
                    .to_uppercase()
                    .flat_map(char::to_lowercase)
                    .filter(|c| c.is_alphanumeric())
                    .for_each(push);
            }
        })
    }

    /// The text as it is, without characters that leave no trace.
    pub(super) fn seen(&self) -> View {
        self.of_characters(|character, push| {
            if !is_unseen(character) {
                push(character);
            }
        })
    }

    fn of_characters(&self, each: impl Fn(char, &mut dyn FnMut(char))) -> View {
        let mut out = View::with_room(self.bytes.len());
        let mut at = 0;
        for chunk in self.bytes.utf8_chunks() {
            for character in chunk.valid().chars() {
                let length = character.len_utf8();
                let whole = self.places[at].start..self.places[at + length - 1].end;
                each(character, &mut |kept| {
                    let mut room = [0; 4];
                    kept.encode_utf8(&mut room).bytes().for_each(|byte| out.push(byte, whole.clone()));
                });
                at += length;
            }
            at += chunk.invalid().len();
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
                b'%' => percent(rest),
                b'&' => entity(rest),
                b'\\' => backslash(rest),
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
                Undone::Byte(byte) => out.push(byte, whole),
                Undone::Character(character) => {
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
                    super::count_work(1);
                    end += 1;
                }
                if end < self.bytes.len() && end - at < LONGEST_TAG {
                    at = end + 1;
                    continue;
                }
            }
            super::count_work(1);
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

/// What Unicode calls default ignorable, and control characters. Some of it counts as letters: the Hangul fillers.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

enum Undone {
    Byte(u8),
    Character(char),
}

/// `%41`, and JavaScript's old `%u0041`.
fn percent(rest: &[u8]) -> Option<(Undone, usize)> {
    if rest.get(1) == Some(&b'u') {
        return character(number(rest.get(2..6)?, 16)?, 6);
    }
    Some((Undone::Byte(number(rest.get(1..3)?, 16)? as u8), 3))
}

/// `&#65;`, `&#x41;`; a named one is punctuation, which is all that matters of it.
fn entity(rest: &[u8]) -> Option<(Undone, usize)> {
    let window = &rest[1..rest.len().min(LONGEST_NAME)];
    let end = window.iter().position(|byte| *byte == b';')?;
    let (name, length) = (&window[..end], end + 2);
    match name {
        [b'#', b'x' | b'X', digits @ ..] => character(number(digits, 16)?, length),
        [b'#', digits @ ..] => character(number(digits, 10)?, length),
        b"amp" => Some((Undone::Byte(b'&'), length)),
        b"lt" => Some((Undone::Byte(b'<'), length)),
        b"gt" => Some((Undone::Byte(b'>'), length)),
        b"quot" => Some((Undone::Byte(b'"'), length)),
        b"apos" => Some((Undone::Byte(b'\''), length)),
        b"percnt" => Some((Undone::Byte(b'%'), length)),
        b"bsol" => Some((Undone::Byte(b'\\'), length)),
        [_, ..] if name.iter().all(u8::is_ascii_alphanumeric) => Some((Undone::Byte(b' '), length)),
        _ => None,
    }
}

/// `\u0041`, `\u{41}`, `\x41`, `\n`, `\/` and the like.
fn backslash(rest: &[u8]) -> Option<(Undone, usize)> {
    match rest.get(1)? {
        b'u' if rest.get(2) == Some(&b'{') => {
            let window = &rest[3..rest.len().min(12)];
            let end = window.iter().position(|byte| *byte == b'}')?;
            character(number(&window[..end], 16)?, end + 4)
        }
        b'u' => {
            let high = number(rest.get(2..6)?, 16)?;
            // Two halves of one character.
            let low = (rest.get(6..8) == Some(b"\\u")).then(|| number(rest.get(8..12)?, 16)).flatten();
            match low {
                Some(low) if (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low) => {
                    character(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12)
                }
                _ => character(high, 6),
            }
        }
        b'x' => character(number(rest.get(2..4)?, 16)?, 4),
        b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'0' => Some((Undone::Byte(b' '), 2)),
        other => Some((Undone::Byte(*other), 2)),
    }
}

fn character(number: u32, length: usize) -> Option<(Undone, usize)> {
    char::from_u32(number).map(|character| (Undone::Character(character), length))
}

fn number(digits: &[u8], base: u32) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok()?;
    // A sign is no digit.
    u32::from_str_radix(text, base).ok().filter(|_| digits.first().is_some_and(u8::is_ascii_alphanumeric))
}
