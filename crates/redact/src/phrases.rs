//! Where phrases stand in what a page draws, however it writes them: in capitals, over several lines or elements, or in
//! part. Secrets are found as a [`Redactor`] finds them in text: whole, and in their encodings.
//!
//! A screenshot mask covers what is found. Typed text asks for more than redaction of text does: two characters count,
//! punctuation counts, parts count, because records of it are for people who need not know it.

use crate::index::Index;
use crate::redactor::Redactor;
use crate::secret::Secret;
use crate::view::{Characters, View};
use std::ops::Range;
use std::sync::Arc;

/// A part of a phrase that is this long is found too: pages cut what they repeat.
const PART: usize = 12;
/// Shorter phrases are found where they stand by themselves: "the" is in every other word.
const SHORT: usize = 4;
/// A single character is on every page.
const SHORTEST: usize = 2;
/// Parts that are looked for: about a megabyte of typed text. With more, the set is too large and finds not everything.
const MOST_PARTS: usize = 1 << 20;

/// Phrases to look for. They are not kept: only fingerprints of them are.
#[derive(Clone, Default)]
pub struct PhraseSet {
    typed: Arc<Parts>,
    secrets: Arc<Redactor>,
}

struct Parts(Index);

impl PhraseSet {
    pub fn new<'a>(phrases: impl IntoIterator<Item = &'a str>) -> PhraseSet {
        let mut typed = Parts::default();
        for phrase in phrases {
            typed.add(&View::of(phrase).folded().characters());
        }
        PhraseSet { typed: Arc::new(typed), ..PhraseSet::default() }
    }

    /// Secrets beside the phrases, in place of those before; they are found in their encodings too.
    #[must_use]
    pub fn with_secrets<'a>(self, secrets: impl IntoIterator<Item = &'a Secret>) -> PhraseSet {
        PhraseSet { secrets: Arc::new(Redactor::new(secrets)), ..self }
    }

    /// The phrases of the one and the secrets of the other.
    #[must_use]
    pub fn with_secrets_of(self, other: &PhraseSet) -> PhraseSet {
        PhraseSet { secrets: Arc::clone(&other.secrets), ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.typed.0.is_empty() && self.secrets.is_empty()
    }

    /// There were more phrases than can be looked for.
    pub fn is_too_large(&self) -> bool {
        self.typed.0.len() > MOST_PARTS
    }

    /// Where any of them stands, in UTF-16 units as a script counts them, in order and apart from each other.
    pub fn find(&self, text: &str) -> Vec<Range<u32>> {
        let mut found: Vec<Range<u32>> = Vec::new();
        if self.is_empty() {
            return found;
        }
        if !self.typed.0.is_empty() {
            self.typed.find(&View::of(text).folded().characters(), &mut found);
        }
        // A zero stands between texts that are apart. It is no letter, so secrets are found across it.
        let secrets = self.secrets.find(text).into_iter();
        found.extend(secrets.map(|found| found.range.start as u32..found.range.end as u32));
        let fragments: Vec<&str> = text.split('\0').collect();
        let mut shares = vec![Vec::new(); fragments.len()];
        if !self.secrets.is_empty() {
            self.secrets.find_in_columns(&fragments, &mut shares);
        }
        let mut start = 0;
        for (fragment, shares) in fragments.iter().zip(shares) {
            let places = shares.into_iter().map(|share| share.range);
            found.extend(places.map(|at| (start + at.start) as u32..(start + at.end) as u32));
            start += fragment.len() + 1;
        }
        found.sort_unstable_by_key(|range| (range.start, range.end));
        let mut apart: Vec<Range<u32>> = Vec::new();
        for range in found {
            match apart.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => apart.push(range),
            }
        }
        in_utf16_units(text, apart.into_iter().map(|range| range.start as usize..range.end as usize))
    }

    pub fn is_in(&self, text: &str) -> bool {
        !self.find(text).is_empty()
    }
}

impl Default for Parts {
    fn default() -> Parts {
        Parts(Index::new(SHORTEST))
    }
}

impl Parts {
    fn add(&mut self, phrase: &Characters) {
        let length = phrase.characters.len().min(PART);
        if length >= SHORTEST && self.0.len() <= MOST_PARTS {
            self.0.add(&phrase.characters, length, 0..=phrase.characters.len() - length);
        }
    }

    /// Adds the places, in bytes of the source.
    fn find(&self, text: &Characters, found: &mut Vec<Range<u32>>) {
        let accept = |at: Range<usize>| at.len() >= SHORT || text.stands_alone(at);
        let places = self.0.search_where(&text.characters, accept).into_iter();
        found.extend(places.map(|at| text.places[at.start].start..text.places[at.end - 1].end));
    }
}

impl Characters {
    /// Whether no letter or digit touches it.
    fn stands_alone(&self, at: Range<usize>) -> bool {
        let apart = |left: usize, right: usize| {
            self.places[left].end < self.places[right].start
                || !self.characters[left].is_alphanumeric()
                || !self.characters[right].is_alphanumeric()
        };
        (at.start == 0 || apart(at.start - 1, at.start))
            && (at.end == self.characters.len() || apart(at.end - 1, at.end))
    }
}

/// Ranges of bytes, in order and on the borders of characters, in UTF-16 units as scripts count them.
pub fn in_utf16_units(text: &str, ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<Range<u32>> {
    let (mut bytes, mut units) = (0, 0);
    let mut units_at = |place: usize| {
        units += text[bytes..place].encode_utf16().count() as u32;
        bytes = place;
        units
    };
    ranges.into_iter().map(|range| units_at(range.start)..units_at(range.end)).collect()
}

#[cfg(test)]
mod tests;
