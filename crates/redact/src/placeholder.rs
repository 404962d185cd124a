//! What the browser holds in place of a secret: random text of the same length and alphabet.
//!
//! The egress proxy swaps one for the other, so pages must accept a placeholder as they accept the value, and every
//! escaped form of it must be as long as the secret's. So each character is replaced by another of its class, and the
//! structure that a page reads stays: see `value_structure`.

use crate::escapes::escaped_byte;
use crate::secret::Secret;
use crate::value_structure::{self, Leaves};
use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use zeroize::Zeroizing;

/// Random text that stands for one secret. It is no secret itself.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Placeholder(String);

impl fmt::Debug for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Placeholder(..)")
    }
}

impl Placeholder {
    /// A new one at every call. It differs from the secret unless the secret is empty.
    pub fn for_secret(secret: &Secret) -> Placeholder {
        let text = secret.expose_secret();
        let mut random = RandomBytes::default();
        for leaves in [Leaves::Tokens, Leaves::AllStrings] {
            let made = value_structure::rewrite(text, leaves, &mut |leaf| random.same_class(leaf));
            if *made != *text {
                return Placeholder(made.to_string());
            }
        }
        // A value without a letter or digit has no class to stay in. It is too short for a search in either case.
        let made = random.same_class(text);
        if *made != *text { Placeholder(made.to_string()) } else { Placeholder(random.punctuation(text)) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Other text, each character of which is of the same class.
pub(crate) fn same_class_text(text: &str) -> Zeroizing<String> {
    let mut random = RandomBytes::default();
    let made = random.same_class(text);
    if *made == *text { Zeroizing::new(random.punctuation(text)) } else { made }
}

/// Code points whose escaped forms (UTF-8, decimal and hex references, UTF-16) are equally long, with a range of letters
/// of the same lengths that replaces them.
const SCRIPTS: [(u32, u32, u32, u32); 9] = [
    (0x80, 0xff, 0xe0, 0xf6),
    (0x100, 0x3e7, 0x100, 0x17f),
    (0x3e8, 0x7ff, 0x430, 0x44f),
    (0x800, 0xfff, 0x905, 0x939),
    (0x1000, 0x270f, 0x1e00, 0x1e95),
    (0x2710, 0xffff, 0x4e00, 0x9fa5),
    (0x1_0000, 0x1_869f, 0x1_0400, 0x1_044f),
    (0x1_86a0, 0xf_ffff, 0x2_0000, 0x2_a6d6),
    (0x10_0000, 0x10_ffff, 0x10_0000, 0x10_fffd),
];

/// Which letters may replace letters.
#[derive(Clone, Copy, PartialEq)]
enum Letters {
    All,
    /// The value is hexadecimal: a letter stays one of `a` to `f`.
    Hex,
    /// The same, and it has digits and letters, so that one may replace the other.
    MixedHex,
}

/// Random bytes from the operating system, a block at a time.
struct RandomBytes {
    block: Zeroizing<[u8; 64]>,
    used: usize,
}

impl Default for RandomBytes {
    fn default() -> RandomBytes {
        RandomBytes { block: Zeroizing::new([0; 64]), used: 64 }
    }
}

impl RandomBytes {
    fn byte(&mut self) -> u8 {
        if self.used == self.block.len() {
            if getrandom::fill(&mut *self.block).is_err() {
                // A placeholder is no secret: it has to be unlike anything else, and the hasher's keys suffice for that.
                for piece in self.block.chunks_mut(8) {
                    piece.copy_from_slice(
                        &RandomState::new().build_hasher().finish().to_ne_bytes()[..piece.len()],
                    );
                }
            }
            self.used = 0;
        }
        self.used += 1;
        self.block[self.used - 1]
    }

    /// A number below `count`, which is not 0.
    fn below(&mut self, count: u32) -> u32 {
        let number = (0..4).fold(0u32, |number, _| number << 8 | u32::from(self.byte()));
        // The bias is below one in ten thousand, which tells nothing about the secret.
        number % count
    }

    fn pick(&mut self, letters: &[u8]) -> u8 {
        letters[self.below(letters.len() as u32) as usize]
    }

    /// The text with every letter and digit replaced by another of its class; different if there is any.
    fn same_class(&mut self, text: &str) -> Zeroizing<String> {
        let digits = text.bytes().any(|byte| byte.is_ascii_digit());
        let letters = text.bytes().any(|byte| byte.is_ascii_alphabetic());
        let one_case = !(text.bytes().any(|byte| byte.is_ascii_lowercase())
            && text.bytes().any(|byte| byte.is_ascii_uppercase()));
        let is_hex = text.bytes().filter(u8::is_ascii_alphanumeric).all(|byte| byte.is_ascii_hexdigit());
        let allowed = match (is_hex && letters, digits && one_case) {
            (true, true) => Letters::MixedHex,
            (true, false) => Letters::Hex,
            _ => Letters::All,
        };
        for _ in 0..64 {
            let made = self.replaced(text, allowed);
            if *made != *text || !text.contains(|c: char| c.is_ascii_alphanumeric() || !c.is_ascii()) {
                return made;
            }
        }
        Zeroizing::new(text.to_owned())
    }

    fn replaced(&mut self, text: &str, allowed: Letters) -> Zeroizing<String> {
        let mut made = Zeroizing::new(String::with_capacity(text.len()));
        let is_uuid = is_uuid(text);
        let lower = text.bytes().any(|byte| byte.is_ascii_lowercase());
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let at = text.len() - rest.len();
            // Bytes that are escaped stay escaped; those of UTF-8 text do not come here.
            if let Some(byte) = escaped_byte(rest) {
                let new = match byte {
                    0x80.. => 0x80 | self.byte(),
                    _ => self.character(char::from(byte), allowed, lower) as u8,
                };
                made.push_str(&if rest[..3].bytes().any(|b| b.is_ascii_lowercase()) {
                    format!("%{new:02x}")
                } else {
                    format!("%{new:02X}")
                });
                rest = &rest[3..];
                continue;
            }
            // A UUID keeps its version, and its variant stays a variant: pages check both.
            made.push(match (is_uuid, at, character) {
                (true, 14, _) => character,
                (true, 19, '8' | '9') => char::from(self.pick(b"89")),
                (true, 19, 'a' | 'b') => char::from(self.pick(b"ab")),
                (true, 19, 'A' | 'B') => char::from(self.pick(b"AB")),
                _ => self.character(character, allowed, lower),
            });
            rest = &rest[character.len_utf8()..];
        }
        made
    }

    fn character(&mut self, character: char, allowed: Letters, lower: bool) -> char {
        let letters: &[u8] = match (character, allowed) {
            ('0'..='9' | 'a'..='f' | 'A'..='F', Letters::MixedHex) if lower => b"0123456789abcdef",
            ('0'..='9' | 'a'..='f' | 'A'..='F', Letters::MixedHex) => b"0123456789ABCDEF",
            ('0'..='9', _) => b"0123456789",
            ('a'..='z', Letters::All) => b"abcdefghijklmnopqrstuvwxyz",
            ('A'..='Z', Letters::All) => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
            ('a'..='z', _) => b"abcdef",
            ('A'..='Z', _) => b"ABCDEF",
            ('\0'..='\x7f', _) => return character,
            _ => return self.letter_beyond_ascii(character),
        };
        char::from(self.pick(letters))
    }

    fn letter_beyond_ascii(&mut self, character: char) -> char {
        let code = u32::from(character);
        let script = SCRIPTS.iter().find(|(first, last, ..)| (*first..=*last).contains(&code));
        let made =
            script.and_then(|(_, _, first, last)| char::from_u32(first + self.below(last - first + 1)));
        made.unwrap_or(character)
    }

    fn punctuation(&mut self, text: &str) -> String {
        let mut made = text.to_owned();
        while made == text && !text.is_empty() {
            made = text.chars().map(|_| char::from(self.pick(b"-_.~!*"))).collect();
        }
        made
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests;
