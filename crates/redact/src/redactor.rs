//! Takes secrets out of text, however they are encoded there. The second line: sealed secrets are not in the browser.
//!
//! Text and secrets are brought to one form before they are compared: escapes (percent, HTML, JSON and JavaScript, up to
//! three deep) are undone, and letters and digits alone are kept, in lower case. So one comparison sees through escaping,
//! upper case, separators, line breaks, zero-width characters and the zero bytes of UTF-16. Base64 at its three alignments
//! and hex are further forms of each secret. Only whole values count: a part that is masked confirms a guess. The time it
//! takes is that of reading the text a few times, whatever the secrets and whatever the text: the page chooses both.

#[cfg(test)]
mod tests;

use crate::forms::{SHORTEST_COMPARED, forms_of};
use crate::index::Index;
use crate::redacted::Redacted;
use crate::secret::Secret;
use crate::view::View;
use std::borrow::Cow;
use std::ops::Range;

/// What stands in a text in place of a secret.
pub const MASK: &str = "[redacted]";

/// Pieces of a split secret are looked for in every fragment, in every second, and so on up to this.
const WIDEST_STRIDE: usize = 8;
/// Bytes of a fragment that may be one piece among others.
const LONGEST_PIECE: usize = 512;
const MAX_NUMBER_DIGITS: usize = 5;

/// Knows secrets, and masks them. One that knows none is [`Redactor::default`].
pub struct Redactor {
    /// Secrets that the browser holds or that a site shows.
    known: Index,
    /// Secrets that are not in the browser. Where one is found, something is wrong.
    sealed: Index,
}

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSecret {
    /// In bytes.
    pub range: Range<usize>,
    /// It is a sealed one, which should not be anywhere.
    pub is_sealed: bool,
}

impl Default for Redactor {
    fn default() -> Redactor {
        Redactor::new([])
    }
}

impl Redactor {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Redactor {
        let mut redactor =
            Redactor { known: Index::new(SHORTEST_COMPARED), sealed: Index::new(SHORTEST_COMPARED) };
        redactor.learn(secrets);
        redactor
    }

    /// Adds secrets: what a site hands out during a session. What is known already costs nothing.
    pub fn learn<'a>(&mut self, secrets: impl IntoIterator<Item = &'a Secret>) {
        secrets.into_iter().for_each(|secret| add(&mut self.known, secret));
    }

    /// Adds secrets that are not in the browser.
    pub fn learn_sealed<'a>(&mut self, secrets: impl IntoIterator<Item = &'a Secret>) {
        secrets.into_iter().for_each(|secret| add(&mut self.sealed, secret));
    }

    pub fn is_empty(&self) -> bool {
        self.known.is_empty() && self.sealed.is_empty()
    }

    /// The text with every secret masked, as a value that proves it.
    pub fn redact(&self, text: &str) -> Redacted {
        Redacted::masked(self.mask(text).into_owned())
    }

    /// The same for a text that is not needed any more; without a copy if it holds no secret.
    pub fn redact_owned(&self, text: String) -> Redacted {
        match self.mask(&text) {
            Cow::Borrowed(_) => Redacted::masked(text),
            Cow::Owned(masked) => Redacted::masked(masked),
        }
    }

    /// The text with every secret masked; borrowed if there is none. Only [`Redactor::redact`] gives the proof.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for FoundSecret { range, .. } in found {
            out.push_str(&text[from..range.start]);
            out.push_str(MASK);
            from = range.end;
        }
        out.push_str(&text[from..]);
        Cow::Owned(out)
    }

    pub fn finds_any(&self, text: &str) -> bool {
        !self.find(text).is_empty()
    }

    /// Where secrets stand in the text: in order, apart from each other.
    pub fn find(&self, text: &str) -> Vec<FoundSecret> {
        let mut found: Vec<FoundSecret> = Vec::new();
        if self.is_empty() {
            return found;
        }
        for view in View::all(text) {
            let squeezed = view.squeezed();
            for (index, is_sealed) in [(&self.known, false), (&self.sealed, true)] {
                let ranges = index.search(squeezed.bytes()).into_iter();
                found.extend(ranges.map(|at| FoundSecret { range: squeezed.source(at), is_sealed }));
            }
        }
        merged(found)
    }

    /// Where secrets stand in fragments that a page shows beside each other: cells, lines, list items, inputs. A secret
    /// may be split over any number of them, with other columns between its pieces or a number before each. Each fragment
    /// has its own list, in bytes of that fragment: in order, apart from each other.
    pub fn find_in_fragments(&self, fragments: &[&str]) -> Vec<Vec<FoundSecret>> {
        let mut shares = vec![Vec::new(); fragments.len()];
        if self.is_empty() {
            return shares;
        }
        let joined = JoinedFragments::new(fragments);
        for FoundSecret { range, is_sealed } in self.find(joined.text()) {
            joined.split(range, |fragment, range| shares[fragment].push(FoundSecret { range, is_sealed }));
        }
        self.find_in_columns(fragments, &mut shares);
        shares.into_iter().map(merged).collect()
    }

    /// Looks for secrets of which every second, third and so on fragment holds a piece, or whose pieces are numbered.
    pub(crate) fn find_in_columns(&self, fragments: &[&str], shares: &mut [Vec<FoundSecret>]) {
        // What is longer is no piece among others.
        let pieces: Vec<&str> =
            fragments.iter().map(|text| if text.len() <= LONGEST_PIECE { *text } else { "" }).collect();
        for stride in 2..=WIDEST_STRIDE.min(fragments.len().saturating_sub(1)) {
            for first in 0..stride {
                let column = (first..pieces.len()).step_by(stride).map(|at| (at, 0, pieces[at]));
                self.find_in_pieces(column, shares);
            }
        }
        if pieces.iter().any(|piece| number_length(piece) > 0) {
            let unnumbered = pieces.iter().enumerate().map(|(at, piece)| {
                let length = number_length(piece);
                (at, length, &piece[length..])
            });
            self.find_in_pieces(unnumbered, shares);
        }
    }

    /// Looks in pieces that are joined without what stands between them: each with its fragment and where it begins there.
    fn find_in_pieces<'a>(
        &self,
        pieces: impl Iterator<Item = (usize, usize, &'a str)>,
        shares: &mut [Vec<FoundSecret>],
    ) {
        let pieces: Vec<(usize, usize, &str)> = pieces.filter(|(_, _, text)| !text.is_empty()).collect();
        let texts: Vec<&str> = pieces.iter().map(|(_, _, text)| *text).collect();
        let joined = JoinedFragments::new(&texts);
        let squeezed = View::of(joined.text()).squeezed();
        for (index, is_sealed) in [(&self.known, false), (&self.sealed, true)] {
            for at in index.search(squeezed.bytes()) {
                joined.split(squeezed.source(at), |piece, range| {
                    let (fragment, offset, _) = pieces[piece];
                    let range = range.start + offset..range.end + offset;
                    shares[fragment].push(FoundSecret { range, is_sealed });
                });
            }
        }
    }
}

/// In order, and joined where they overlap.
fn merged(mut found: Vec<FoundSecret>) -> Vec<FoundSecret> {
    found.sort_by_key(|found| (found.range.start, found.range.end));
    let mut merged: Vec<FoundSecret> = Vec::new();
    for next in found {
        match merged.last_mut() {
            Some(last) if next.range.start <= last.range.end => {
                last.range.end = last.range.end.max(next.range.end);
                last.is_sealed |= next.is_sealed;
            }
            _ => merged.push(next),
        }
    }
    merged
}

/// The length of what numbers a line: `12. `, `3) `, `[4] `.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits_at = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'[' | b'(' | b'#')).count();
    let digits = bytes[digits_at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = digits_at + digits;
    let after =
        bytes[end..].iter().take_while(|byte| matches!(byte, b' ' | b'.' | b')' | b']' | b':' | b'|'));
    let after = after.count();
    if digits > 0 && digits <= MAX_NUMBER_DIGITS && after > 0 { end + after } else { 0 }
}

fn add(index: &mut Index, secret: &Secret) {
    for form in forms_of(secret.expose_secret()) {
        index.add(&form, form.len(), 0..1);
    }
}

/// Fragments of text as one, each in a line of its own.
pub struct JoinedFragments {
    text: String,
    /// Where each fragment ends in the text.
    ends: Vec<usize>,
}

impl JoinedFragments {
    pub fn new(fragments: &[&str]) -> JoinedFragments {
        let mut text = String::with_capacity(fragments.iter().map(|fragment| fragment.len() + 1).sum());
        let mut ends = Vec::with_capacity(fragments.len());
        for fragment in fragments {
            text.push_str(fragment);
            ends.push(text.len());
            text.push('\n');
        }
        JoinedFragments { text, ends }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The shares that the fragments have in a range of the text: each with the fragment's number and in its own bytes.
    pub fn split(&self, range: Range<usize>, mut share: impl FnMut(usize, Range<usize>)) {
        let first = self.ends.partition_point(|end| *end <= range.start);
        for (fragment, end) in self.ends.iter().enumerate().skip(first) {
            let start = fragment.checked_sub(1).map_or(0, |before| self.ends[before] + 1);
            if start >= range.end {
                return;
            }
            let part = range.start.max(start)..range.end.min(*end);
            if !part.is_empty() {
                share(fragment, part.start - start..part.end - start);
            }
        }
    }
}
