//! Where words stand in a page's text, however it writes them: in capitals, over several lines or elements, or in part;
//! and secrets also as pages write them out: escaped, in hex, in base64.

mod forms;
mod letters;

use letters::Letters;
use std::{
    collections::{BTreeMap, HashSet},
    hash::{BuildHasher, RandomState},
    ops::Range,
    sync::Arc,
};

/// A part of a word that is this long is found too: pages cut what they repeat.
const PART: usize = 12;
/// Shorter words are found where they stand by themselves: "the" is in every other word.
const SHORT: usize = 4;
/// A single character is on every page.
const SHORTEST: usize = 2;
/// Parts that are looked for; of secrets that makes about 100 KiB, of what is typed ten times as much. With more,
/// nothing is looked for at all, which is said.
const MOST_PARTS: usize = 1 << 20;

/// Words to look for, by what they come to without spaces and capitals. They never leave the host, and are not told; nor
/// are they kept: only numbers are that stand for their parts.
#[derive(Clone, Default)]
pub(crate) struct WordSet {
    typed: Arc<Parts>,
    secrets: Arc<Parts>,
    /// Secrets in all their writings; to be found in text with its escapes undone.
    written_out: Arc<Parts>,
}

/// Numbers of parts, by how many characters they have.
#[derive(Default)]
struct Parts {
    by_length: BTreeMap<usize, HashSet<u64>>,
    count: usize,
    /// What the numbers are made with; another one for each set, so that no page can make up text for a number.
    base: Base,
}

#[derive(Clone, Copy)]
struct Base(u64);

impl Default for Base {
    fn default() -> Base {
        // Odd, so that no character is lost.
        Base(RandomState::new().hash_one(0) | 1)
    }
}

impl WordSet {
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> WordSet {
        let mut typed = Parts::default();
        for word in words {
            typed.add(&Letters::of(word));
        }
        WordSet { typed: Arc::new(typed), ..WordSet::default() }
    }

    /// Secrets beside the words; they are found in other writings too.
    pub fn with_secrets<'a>(self, words: impl IntoIterator<Item = &'a str>) -> WordSet {
        let (mut secrets, mut written_out) = (Parts::default(), Parts::default());
        for secret in words {
            secrets.add(&Letters::of(secret));
            for form in forms::of(secret) {
                let letters = Letters::of(&form);
                written_out.add(&letters.undone().unwrap_or(letters));
            }
        }
        WordSet { secrets: Arc::new(secrets), written_out: Arc::new(written_out), ..self }
    }

    /// The words of the one and the secrets of the other.
    pub fn with_secrets_of(self, other: &WordSet) -> WordSet {
        let (secrets, written_out) = (Arc::clone(&other.secrets), Arc::clone(&other.written_out));
        WordSet { secrets, written_out, ..self }
    }

    fn parts(&self) -> [&Parts; 3] {
        [&self.typed, &self.secrets, &self.written_out]
    }

    pub fn is_empty(&self) -> bool {
        self.parts().iter().all(|parts| parts.count == 0)
    }

    /// There were more than can be looked for.
    pub fn is_cut(&self) -> bool {
        self.parts().iter().any(|parts| parts.count > MOST_PARTS)
    }

    /// Where any of them stands, in UTF-16 units as a script counts them, in order and apart from each other. The text is
    /// gone through once for each length that parts have, of which there are at most eleven.
    pub fn find(&self, text: &str) -> Vec<Range<u32>> {
        let letters = Letters::of(text);
        let mut found: Vec<Range<u32>> = Vec::new();
        for parts in [&self.typed, &self.secrets] {
            parts.find(&letters, &mut found);
        }
        if self.written_out.count > 0 {
            let undone = letters.undone();
            self.written_out.find(undone.as_ref().unwrap_or(&letters), &mut found);
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut apart: Vec<Range<u32>> = Vec::new();
        for range in found {
            join(&mut apart, range);
        }
        apart
    }

    pub fn is_in(&self, text: &str) -> bool {
        !self.is_empty() && !self.find(text).is_empty()
    }
}

/// Adds a range that does not begin before the last one, or makes the last one longer.
fn join(ranges: &mut Vec<Range<u32>>, range: Range<u32>) {
    match ranges.last_mut() {
        Some(last) if last.start <= range.start && range.start <= last.end => {
            last.end = last.end.max(range.end);
        }
        _ => ranges.push(range),
    }
}

impl Parts {
    fn add(&mut self, word: &Letters) {
        let length = word.characters.len().min(PART);
        if length < SHORTEST || self.count > MOST_PARTS {
            return;
        }
        let base = self.base;
        let known = self.by_length.entry(length).or_default();
        let before = known.len();
        known.extend(base.numbers(&word.characters, length));
        self.count += known.len() - before;
    }

    fn find(&self, text: &Letters, found: &mut Vec<Range<u32>>) {
        for (length, parts) in &self.by_length {
            for (at, number) in self.base.numbers(&text.characters, *length).enumerate() {
                if parts.contains(&number) && (*length >= SHORT || text.stands_alone(at, *length)) {
                    // A long word is many parts.
                    join(found, text.from[at].start..text.from[at + length - 1].end);
                }
            }
        }
    }
}

impl Base {
    /// A number for each run of so many characters, each made of the one before it in a few steps.
    fn numbers(self, characters: &[char], length: usize) -> impl Iterator<Item = u64> + '_ {
        let Base(base) = self;
        let highest = (1..length).fold(1u64, |power, _| power.wrapping_mul(base));
        let mut number = 0u64;
        characters.iter().enumerate().filter_map(move |(at, character)| {
            if at >= length {
                let gone = u64::from(characters[at - length]);
                number = number.wrapping_sub(gone.wrapping_mul(highest));
            }
            number = number.wrapping_mul(base).wrapping_add(u64::from(*character));
            (at + 1 >= length).then_some(number)
        })
    }
}

#[cfg(test)]
mod tests;
