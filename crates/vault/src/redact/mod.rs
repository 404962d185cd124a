//! Takes secrets out of text, in whatever writing they stand there.
//!
//! Text and secrets are brought to one form before they are compared: escapes (percent, HTML, JSON and JavaScript, up to
//! three deep) are undone, and letters and digits alone are kept, in lower case. So one comparison sees through escaping,
//! upper case, line breaks, blanks, zero-width characters and the zero bytes of UTF-16. Base64 at its three alignments
//! and hex are further forms of each secret. Of a long secret parts are found too.

mod forms;
mod view;

#[cfg(test)]
mod tests;

use crate::secret::Secret;
use aho_corasick::{AhoCorasick, MatchKind};
use forms::Form;
use std::borrow::Cow;
use std::ops::Range;
use view::View;

pub const MASK: &str = "[redacted]";

/// The pieces of a form that are looked for: any part of twice this length holds one, and the match is grown from there.
const PIECE: usize = 8;

/// How much of a stream is held back: a secret's part that straddles its end is seen within this.
const HELD_BACK: usize = 1024;
/// What is held back at most; a secret that is longer is masked in several pieces.
const MOST_HELD: usize = 64 * 1024;

pub struct Redactor {
    forms: Vec<Form>,
    /// Which form each pattern is a piece of, and where in it.
    pieces: Vec<(usize, usize)>,
    automaton: Option<AhoCorasick>,
    /// Some secret has next to no letters and digits: texts are searched as they are, too.
    has_literal: bool,
}

impl Redactor {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Redactor {
        let mut redactor =
            Redactor { forms: Vec::new(), pieces: Vec::new(), automaton: None, has_literal: false };
        redactor.learn(secrets);
        redactor
    }

    /// Adds secrets: what a site hands out during a session.
    pub fn learn<'a>(&mut self, secrets: impl IntoIterator<Item = &'a Secret>) {
        for secret in secrets {
            for form in forms::of(secret.expose_secret()) {
                if !self.forms.contains(&form) {
                    self.forms.push(form);
                }
            }
        }
        self.has_literal = self.forms.iter().any(|form| form.literal);
        self.pieces.clear();
        let mut patterns = Vec::new();
        for (number, form) in self.forms.iter().enumerate() {
            for start in form.pieces() {
                self.pieces.push((number, start));
                patterns.push(&form.bytes[start..(start + PIECE).min(form.bytes.len())]);
            }
        }
        let built = AhoCorasick::builder().match_kind(MatchKind::Standard).build(patterns);
        // It fails for more patterns than fit a number of 31 bits: a gigabyte of secrets.
        self.automaton = built.ok().filter(|_| !self.forms.is_empty());
    }

    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// The text without the secrets.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for range in found {
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

    /// For text that comes in pieces.
    pub fn stream(&self) -> Stream<'_> {
        Stream { redactor: self, held: String::new() }
    }

    /// Where secrets stand in the text: in order, apart from each other.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let mut found = Vec::new();
        for view in View::all(text) {
            self.search(automaton, &view.squeezed(), false, &mut found);
            if self.has_literal {
                self.search(automaton, &view, true, &mut found);
            }
        }
        found.sort_by_key(|range: &Range<usize>| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in found {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }

    fn search(&self, automaton: &AhoCorasick, view: &View, literal: bool, found: &mut Vec<Range<usize>>) {
        let bytes = view.bytes();
        // Up to where each form has been matched: what lies before it was looked at, so that a page of nothing but
        // pieces costs no more than its length. (A secret that repeats itself may keep a few characters at an end.)
        let mut done = vec![0; self.forms.len()];
        for hit in automaton.find_overlapping_iter(bytes) {
            let (number, start) = self.pieces[hit.pattern().as_usize()];
            let form = &self.forms[number];
            if form.literal != literal || hit.end() <= done[number] {
                continue;
            }
            let left = common(bytes[..hit.start()].iter().rev(), form.bytes[..start].iter().rev());
            let after = start + (hit.end() - hit.start());
            let right = common(bytes[hit.end()..].iter(), form.bytes[after..].iter());
            let (first, end) = (hit.start() - left, hit.end() + right);
            if end - first >= form.enough {
                found.push(view.source(first..end));
                done[number] = end;
            }
        }
    }
}

/// How many of the first items are the same.
fn common<'a>(one: impl Iterator<Item = &'a u8>, other: impl Iterator<Item = &'a u8>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}

/// Text that comes in pieces. The end of it is held back until it is known that no secret begins there.
pub struct Stream<'a> {
    redactor: &'a Redactor,
    held: String,
}

impl Stream<'_> {
    /// Takes a piece; gives what may go out.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        // Twice that much is waited for, so that text in small pieces is not searched at every piece.
        if self.held.len() <= 2 * HELD_BACK {
            return String::new();
        }
        let mut cut = self.held.len() - HELD_BACK;
        while !self.held.is_char_boundary(cut) {
            cut -= 1;
        }
        let found = self.redactor.find(&self.held);
        if let Some(across) = found.iter().find(|range| range.start < cut && range.end > cut) {
            cut = if self.held.len() - across.start > MOST_HELD { across.end } else { across.start };
        }
        let mut out = String::with_capacity(cut);
        let mut from = 0;
        for range in found.into_iter().take_while(|range| range.start < cut) {
            out.push_str(&self.held[from..range.start]);
            out.push_str(MASK);
            from = range.end;
        }
        out.push_str(&self.held[from.min(cut)..cut]);
        self.held.drain(..cut);
        out
    }

    /// The rest.
    pub fn finish(self) -> String {
        self.redactor.text(&self.held).into_owned()
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.held);
    }
}
