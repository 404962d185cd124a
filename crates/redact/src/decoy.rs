//! Decoys: what goes to a page in place of a secret that an agent supplies itself.
//!
//! A right guess must go the way of a wrong one. Sent as it is, it would come back as a placeholder, or make a reply be
//! withheld. So random text of the same structure is sent, and wherever that comes back, the reply holds what the agent
//! supplied.

use crate::placeholder::same_class_text;
use crate::redacted::Redacted;
use crate::secret::Secret;
use crate::swapper::Swapper;
use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// Decoys that are kept. Each stands for another right guess, or another writing of one.
const MAX_DECOYS: usize = 256;
/// Letters and digits of a decoy that are recognized where the rest is cut off.
const WINDOW: usize = 8;
/// From an ASCII character to its wide form.
const WIDE: u32 = 0xfee0;

#[derive(Default)]
pub struct Decoys {
    decoys: VecDeque<Decoy>,
    /// Decoy to what was supplied, in the usual encodings.
    swapper: Option<Swapper>,
    /// The decoy and the place in it of some of its letters and digits, in lower case.
    windows: HashMap<String, (usize, usize)>,
}

struct Decoy {
    supplied: Secret,
    text: String,
    /// Its letters and digits, each with that of the supplied text.
    characters: Vec<(char, char)>,
}

impl Decoys {
    pub fn is_empty(&self) -> bool {
        self.decoys.is_empty()
    }

    /// The text with a decoy in each of these ranges, which are in order and apart. What stands before `changeable` has
    /// been sent already.
    pub fn replace(&mut self, text: &str, ranges: &[Range<usize>], changeable: usize) -> String {
        let ranges: Vec<&Range<usize>> = ranges.iter().filter(|range| range.end > changeable).collect();
        if ranges.is_empty() {
            return text.to_owned();
        }
        let mut made = String::with_capacity(text.len());
        let mut from = 0;
        for range in ranges {
            made.push_str(&text[from..range.start]);
            let fixed = changeable.saturating_sub(range.start);
            made.push_str(&self.decoy(&text[range.clone()], fixed));
            from = range.end;
        }
        made.push_str(&text[from..]);
        self.index();
        made
    }

    /// The text as it would be if the agent's own texts had been sent.
    pub fn restore<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(swapper) = &self.swapper else { return Cow::Borrowed(text) };
        let swapped = match swapper.swap(text.as_bytes()) {
            Cow::Owned(swapped) => String::from_utf8(swapped).map_or(Cow::Borrowed(text), Cow::Owned),
            Cow::Borrowed(_) => Cow::Borrowed(text),
        };
        match self.restore_letters(&swapped) {
            Some(restored) => Cow::Owned(restored),
            None => swapped,
        }
    }

    /// The same for text that is redacted: it holds nothing more than what the agent supplied.
    pub fn restore_redacted(&self, text: Redacted) -> Redacted {
        match self.restore(text.as_str()) {
            Cow::Owned(restored) => Redacted::masked(restored),
            Cow::Borrowed(_) => text,
        }
    }

    fn decoy(&mut self, supplied: &str, fixed: usize) -> String {
        let is_it = |known: &&Decoy| {
            known.supplied.expose_secret() == supplied && known.text[..fixed] == supplied[..fixed]
        };
        if let Some(known) = self.decoys.iter().find(is_it) {
            return known.text.clone();
        }
        let text = format!("{}{}", &supplied[..fixed], decoy_text(&supplied[fixed..]));
        let pairs = text.chars().zip(supplied.chars());
        let characters = pairs.filter(|(decoy, _)| decoy.is_alphanumeric()).collect();
        let supplied = Secret::new(supplied.to_owned());
        self.decoys.push_back(Decoy { supplied, text: text.clone(), characters });
        if self.decoys.len() > MAX_DECOYS {
            self.decoys.pop_front();
        }
        text
    }

    fn index(&mut self) {
        let pairs = self.decoys.iter().map(|decoy| (decoy.text.as_str(), decoy.supplied.expose_secret()));
        self.swapper = (!self.decoys.is_empty()).then(|| Swapper::new(pairs));
        self.windows.clear();
        for (index, decoy) in self.decoys.iter().enumerate() {
            for (at, window) in decoy.characters.windows(WINDOW).enumerate() {
                let letters = window.iter().flat_map(|(letter, _)| letter.to_lowercase()).collect();
                self.windows.entry(letters).or_insert((index, at));
            }
        }
    }

    /// Letter by letter, whatever stands between them, in the case they are shown in.
    fn restore_letters(&self, text: &str) -> Option<String> {
        let letters: Vec<(usize, char)> = text.char_indices().filter(|(_, c)| c.is_alphanumeric()).collect();
        let mut new: HashMap<usize, char> = HashMap::new();
        for window in letters.windows(WINDOW) {
            let lower: String = window.iter().flat_map(|(_, letter)| letter.to_lowercase()).collect();
            let Some((index, at)) = self.windows.get(&lower) else { continue };
            let own = self.decoys.get(*index).and_then(|decoy| decoy.characters.get(*at..at + WINDOW))?;
            for ((place, shown), (decoy, supplied)) in window.iter().zip(own) {
                let written = if shown == decoy { *supplied } else { in_case_of(*shown, *supplied) };
                new.insert(*place, written);
            }
        }
        let changed = new.iter().any(|(place, letter)| !text[*place..].starts_with(*letter));
        changed.then(|| text.char_indices().map(|(at, c)| new.get(&at).copied().unwrap_or(c)).collect())
    }
}

/// Other text of the same structure. What stands between letters and digits stays, and wide letters stay wide: a reply is
/// masked for how its text looks, and that to a decoy must look like that to any other text.
fn decoy_text(supplied: &str) -> String {
    let narrowed: String = supplied.chars().map(|c| narrow(c).unwrap_or(c)).collect();
    let made = same_class_text(&narrowed);
    if !supplied.contains(char::is_alphanumeric) {
        return made.to_string();
    }
    let pairs = made.chars().zip(supplied.chars());
    pairs
        .map(|(made, own)| match narrow(own) {
            _ if !own.is_alphanumeric() => own,
            Some(_) => char::from_u32(u32::from(made) + WIDE).unwrap_or(made),
            None => made,
        })
        .collect()
}

/// The ASCII letter or digit that a wide one stands for.
fn narrow(wide: char) -> Option<char> {
    let narrow = u32::from(wide).checked_sub(WIDE).and_then(char::from_u32)?;
    narrow.is_ascii_alphanumeric().then_some(narrow)
}

fn in_case_of(shown: char, letter: char) -> char {
    if shown.is_uppercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "s:Kq7vXw2mZt9pLb4n.Yc6Rd8";

    #[test]
    fn a_decoy_looks_like_what_it_replaces() {
        for between in ["", "\u{200b}", "\u{ad}", " ", "\u{2009}", "·", "\u{fe0f}"] {
            for wide in [false, true] {
                let write = |c: char| match wide && c.is_ascii_alphanumeric() {
                    true => char::from_u32(u32::from(c) + WIDE).unwrap(),
                    false => c,
                };
                let supplied: String = SECRET.chars().map(|c| format!("{}{between}", write(c))).collect();
                let decoy = decoy_text(&supplied);
                assert_ne!(decoy, supplied);
                for (made, own) in decoy.chars().zip(supplied.chars()) {
                    assert_eq!(made.is_alphanumeric(), own.is_alphanumeric(), "{decoy:?}");
                    assert_eq!(made.is_ascii(), own.is_ascii(), "{decoy:?}");
                    assert_eq!(narrow(made).is_some(), narrow(own).is_some(), "{decoy:?}");
                    assert!(own.is_alphanumeric() || made == own, "{decoy:?}");
                }
                assert_eq!(decoy.chars().count(), supplied.chars().count());
            }
        }
    }

    #[test]
    fn a_decoy_has_the_structure_of_what_it_replaces_and_is_restored_in_every_writing() {
        let mut decoys = Decoys::default();
        let text = format!("q={SECRET}&x");
        let sent = decoys.replace(&text, std::slice::from_ref(&(2..2 + SECRET.len())), 0);
        let decoy = &sent[2..sent.len() - 2];
        assert!(decoy != SECRET && decoy.len() == SECRET.len() && decoy.starts_with(char::is_lowercase));
        assert_eq!(
            decoys.replace(&text, std::slice::from_ref(&(2..2 + SECRET.len())), 0),
            sent,
            "the same one every time"
        );
        let spaced = |text: &str| text.chars().map(|c| format!("{c} ")).collect::<String>();
        for write in [
            |text: &str| format!("you wrote {text}"),
            |text: &str| text.replace(':', "%3A"),
            |text: &str| text.to_uppercase(),
            |text: &str| hex::encode(text),
            |text: &str| text[..14].to_owned() + "…",
        ] {
            assert_eq!(decoys.restore(&write(decoy)), write(SECRET));
        }
        assert_eq!(decoys.restore(&spaced(decoy)), spaced(SECRET));
        assert_eq!(decoys.restore("other text 0123456789"), "other text 0123456789");
    }

    #[test]
    fn of_a_text_that_is_typed_in_pieces_the_last_one_changes() {
        for at in [1, 9, SECRET.len() - 1] {
            let mut decoys = Decoys::default();
            let sent = decoys.replace(SECRET, std::slice::from_ref(&(0..SECRET.len())), at);
            assert_eq!(sent[..at], SECRET[..at]);
            assert_ne!(sent[at..], SECRET[at..]);
            assert_eq!(decoys.restore(&sent), SECRET);
        }
        let mut decoys = Decoys::default();
        assert_eq!(decoys.replace("nothing", &[], 0), "nothing");
        assert!(decoys.is_empty() && decoys.restore("nothing") == "nothing");
        // A mark has no other of its class.
        assert_ne!(decoys.replace("abcdefg=", std::slice::from_ref(&(0..8)), 7), "abcdefg=");
    }
}
