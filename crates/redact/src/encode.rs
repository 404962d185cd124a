//! The one encoder: a text in the forms in which pages, addresses and programs write it.
//!
//! Who looks for a secret chooses among these forms and decides which parts of them count; nobody encodes elsewhere.

use base64::{
    Engine,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE},
};
use zeroize::Zeroizing;

/// Every three bytes are four characters of base64, so there are three ways to begin within them.
pub(crate) const BASE64_SHIFTS: std::ops::Range<usize> = 0..3;

#[derive(Clone, Copy)]
pub(crate) enum Alphabet {
    Standard,
    UrlSafe,
}

/// The base64 of the bytes where `shift` other bytes stand before them, from the first to the last character that depends
/// on them alone: anything may follow.
pub(crate) fn base64(bytes: &[u8], shift: usize, alphabet: Alphabet) -> Zeroizing<String> {
    let mut shifted = Zeroizing::new(Vec::with_capacity(shift + bytes.len()));
    shifted.resize(shift, 0);
    shifted.extend_from_slice(bytes);
    let whole = Zeroizing::new(match alphabet {
        Alphabet::Standard => BASE64_STANDARD.encode(&*shifted),
        Alphabet::UrlSafe => BASE64_URL_SAFE.encode(&*shifted),
    });
    let first = (shift * 8).div_ceil(6);
    let last = shifted.len() * 8 / 6;
    Zeroizing::new(whole.get(first..last).unwrap_or_default().to_owned())
}

/// Every five bytes are eight characters of base32.
pub(crate) const BASE32_SHIFTS: std::ops::Range<usize> = 0..5;

/// The same in base32 (RFC 4648), in upper case.
pub(crate) fn base32(bytes: &[u8], shift: usize) -> Zeroizing<String> {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let bit = |at: usize| at.checked_sub(shift * 8).is_some_and(|at| bytes[at / 8] >> (7 - at % 8) & 1 == 1);
    let characters = (shift * 8).div_ceil(5)..(shift + bytes.len()) * 8 / 5;
    let mut text = Zeroizing::new(String::with_capacity(characters.len()));
    for character in characters {
        let value = (0..5).fold(0, |value, at| value << 1 | usize::from(bit(character * 5 + at)));
        text.push(char::from(LETTERS[value]));
    }
    text
}

/// Code points one after the other, as lists of numbers have them: each by `write`, with a separator between them.
pub(crate) fn codes(text: &str, separator: &str, write: impl Fn(u32) -> String) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::with_capacity(text.len() * (8 + separator.len())));
    for (at, character) in text.chars().enumerate() {
        if at > 0 {
            out.push_str(separator);
        }
        out.push_str(&write(u32::from(character)));
    }
    out
}

/// The characters with something between them.
pub(crate) fn separated(text: &str, separator: &str) -> Zeroizing<String> {
    let mut out = Zeroizing::new(String::with_capacity(text.len() * (1 + separator.len())));
    for (at, character) in text.chars().enumerate() {
        out.push_str(if at > 0 { separator } else { "" });
        out.push(character);
    }
    out
}

pub(crate) fn hex(bytes: &[u8]) -> Zeroizing<String> {
    Zeroizing::new(hex::encode(bytes))
}

/// The text as UTF-16, little and big end first.
pub(crate) fn utf16(text: &str) -> [Zeroizing<Vec<u8>>; 2] {
    let little = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    [Zeroizing::new(little), Zeroizing::new(big)]
}

/// A text as it stands in a title, in the query of a form that was sent, and in an address that a script made.
pub fn address_forms(text: &str) -> [String; 3] {
    let form: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    let script = form.replace('+', "%20");
    [text.to_owned(), form, script]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_inside_a_longer_text_contains_the_form_of_its_shift() {
        let secret = "hunter2>?~";
        for (before, after) in [("", ""), ("a", "z"), ("ab", "yz"), ("abc", "!")] {
            for (alphabet, engine) in
                [(Alphabet::Standard, &BASE64_STANDARD), (Alphabet::UrlSafe, &BASE64_URL_SAFE)]
            {
                let whole = engine.encode(format!("{before}{secret}{after}"));
                let form = base64(secret.as_bytes(), before.len() % 3, alphabet);
                assert!(whole.contains(&*form), "{whole}: {}", *form);
            }
        }
        assert_eq!(*base64(b"hunter2", 0, Alphabet::Standard), "aHVudGVyM");
        assert!(base64(b"", 1, Alphabet::Standard).is_empty());
    }

    #[test]
    fn base32_inside_a_longer_text_contains_the_form_of_its_shift() {
        assert_eq!(*base32(b"foobar", 0), "MZXW6YTBO");
        // The same after one, two and five other bytes: `afoobar` is MFTG633CMFZA.
        assert_eq!(*base32(b"foobar", 1), "TG633CMFZ");
        assert_eq!(*base32(b"foobar", 5), "MZXW6YTBO");
        assert!(base32(b"", 3).is_empty());
    }

    #[test]
    fn a_text_has_three_forms_in_an_address() {
        assert_eq!(address_forms("a ñ/"), ["a ñ/", "a+%C3%B1%2F", "a%20%C3%B1%2F"]);
    }
}
