//! Finds terms in a page's text: in any case, over several lines or elements, or in part; secrets also escaped, in hex and
//! in base64.

mod forms;
mod normalized_text;

use normalized_text::NormalizedText;
use std::{
    collections::{BTreeMap, HashSet},
    hash::{BuildHasher, RandomState},
    ops::Range,
    sync::Arc,
};

/// A fragment of a term this long is found too: pages truncate what they repeat.
const FRAGMENT: usize = 12;
/// Shorter terms are found only as whole words: "the" is in every other word.
const SHORT_TERM: usize = 4;
/// A single character is on every page.
const MIN_TERM: usize = 2;
/// Fragments in a set: about 100 KiB of secrets, or ten times as much of typed text. With more, the search is refused.
const MAX_FRAGMENTS: usize = 1 << 20;

/// Terms to search for, without spaces and case. Only hashes of their fragments are kept, and they never leave the host.
#[derive(Clone, Default)]
pub(crate) struct SearchTerms {
    typed: Arc<FragmentHashes>,
    secrets: Arc<FragmentHashes>,
    /// Secrets in all encodings, to be found in unescaped text.
    encoded: Arc<FragmentHashes>,
}

/// Rolling hashes of fragments, by their length in characters.
#[derive(Default)]
struct FragmentHashes {
    by_length: BTreeMap<usize, HashSet<u64>>,
    count: usize,
    /// Random for each set, so that no page can construct a collision.
    base: HashBase,
}

#[derive(Clone, Copy)]
struct HashBase(u64);

impl Default for HashBase {
    fn default() -> HashBase {
        // Odd, so that no character is lost.
        HashBase(RandomState::new().hash_one(0) | 1)
    }
}

impl SearchTerms {
    pub fn new<'a>(terms: impl IntoIterator<Item = &'a str>) -> SearchTerms {
        let mut typed = FragmentHashes::default();
        for term in terms {
            typed.add(&NormalizedText::of(term));
        }
        SearchTerms { typed: Arc::new(typed), ..SearchTerms::default() }
    }

    /// Adds secrets, which are found in other encodings too. Replaces earlier secrets.
    pub fn with_secrets<'a>(self, values: impl IntoIterator<Item = &'a str>) -> SearchTerms {
        let (mut secrets, mut encoded) = (FragmentHashes::default(), FragmentHashes::default());
        for secret in values {
            secrets.add(&NormalizedText::of(secret));
            for form in forms::of(secret) {
                let text = NormalizedText::of(&form);
                encoded.add(&text.unescaped().unwrap_or(text));
            }
        }
        SearchTerms { secrets: Arc::new(secrets), encoded: Arc::new(encoded), ..self }
    }

    /// The terms of this set and the secrets of the other.
    pub fn with_secrets_of(self, other: &SearchTerms) -> SearchTerms {
        let (secrets, encoded) = (Arc::clone(&other.secrets), Arc::clone(&other.encoded));
        SearchTerms { secrets, encoded, ..self }
    }

    fn all_hashes(&self) -> [&FragmentHashes; 3] {
        [&self.typed, &self.secrets, &self.encoded]
    }

    pub fn is_empty(&self) -> bool {
        self.all_hashes().iter().all(|hashes| hashes.count == 0)
    }

    /// There were more terms than can be searched for.
    pub fn is_overfull(&self) -> bool {
        self.all_hashes().iter().any(|hashes| hashes.count > MAX_FRAGMENTS)
    }

    /// The ranges of all matches in UTF-16 units, as a script counts, in order and disjoint. Takes one pass over the text for
    /// each length of fragments, of which there are at most eleven.
    pub fn find(&self, text: &str) -> Vec<Range<u32>> {
        let letters = NormalizedText::of(text);
        let mut found: Vec<Range<u32>> = Vec::new();
        for parts in [&self.typed, &self.secrets] {
            parts.find(&letters, &mut found);
        }
        if self.encoded.count > 0 {
            let unescaped = letters.unescaped();
            self.encoded.find(unescaped.as_ref().unwrap_or(&letters), &mut found);
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut apart: Vec<Range<u32>> = Vec::new();
        for range in found {
            join(&mut apart, range);
        }
        apart
    }

    pub fn occurs_in(&self, text: &str) -> bool {
        !self.is_empty() && !self.find(text).is_empty()
    }
}

/// Adds a range that does not begin before the last one, or extends the last one.
fn join(ranges: &mut Vec<Range<u32>>, range: Range<u32>) {
    match ranges.last_mut() {
        Some(last) if last.start <= range.start && range.start <= last.end => {
            last.end = last.end.max(range.end);
        }
        _ => ranges.push(range),
    }
}

impl FragmentHashes {
    fn add(&mut self, term: &NormalizedText) {
        let length = term.characters.len().min(FRAGMENT);
        if length < MIN_TERM || self.count > MAX_FRAGMENTS {
            return;
        }
        let base = self.base;
        let known = self.by_length.entry(length).or_default();
        let before = known.len();
        known.extend(base.hashes(&term.characters, length));
        self.count += known.len() - before;
    }

    fn find(&self, text: &NormalizedText, found: &mut Vec<Range<u32>>) {
        for (length, parts) in &self.by_length {
            for (at, hash) in self.base.hashes(&text.characters, *length).enumerate() {
                if parts.contains(&hash) && (*length >= SHORT_TERM || text.is_whole_word(at, *length)) {
                    // A long term has many fragments.
                    join(found, text.from[at].start..text.from[at + length - 1].end);
                }
            }
        }
    }
}

impl HashBase {
    /// The rolling hash of each run of `length` characters.
    fn hashes(self, characters: &[char], length: usize) -> impl Iterator<Item = u64> + '_ {
        let HashBase(base) = self;
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
