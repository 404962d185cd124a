//! Takes secrets out of text, however they are encoded there.
//!
//! Text and secrets are brought to one form before they are compared: escapes (percent, HTML, JSON and JavaScript, up to
//! three deep) are undone, and letters and digits alone are kept, in lower case. So one comparison sees through escaping,
//! upper case, line breaks, blanks, zero-width characters and the zero bytes of UTF-16. Base64 at its three alignments
//! and hex are further forms of each secret. Of a long secret parts are found too. The time it takes is that of reading the
//! text a few times, whatever the secrets and whatever the text: it is the page that chooses both.

#[cfg(test)]
mod tests;

use crate::forms::forms_of;
use crate::index::Index;
use crate::redacted::Redacted;
use crate::secret::{SHORTEST_SECRET, Secret};
use crate::view::{self, View};
use std::borrow::Cow;
use std::ops::Range;

/// What stands in a text in place of a secret.
pub const MASK: &str = "[redacted]";

/// How much of a stream is held back: a part of a secret that straddles its end is seen within this, though a long tag
/// stands before each of its characters.
const HELD_BACK: usize = 12 * (view::LONGEST_TAG + 48);
/// What is held back at most; a secret that is longer is masked in several pieces.
const MOST_HELD: usize = 4 * HELD_BACK;

/// Knows secrets, and masks them. One that knows none is [`Redactor::default`].
pub struct Redactor {
    /// For letters and digits alone, in lower case.
    squeezed: Index,
    /// For secrets with next to no letters and digits: texts are searched as they are, too.
    literal: Index,
}

impl Default for Redactor {
    fn default() -> Redactor {
        Redactor::new([])
    }
}

impl Redactor {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Redactor {
        let mut redactor =
            Redactor { squeezed: Index::new(SHORTEST_SECRET), literal: Index::new(SHORTEST_SECRET) };
        redactor.learn(secrets);
        redactor
    }

    /// Adds secrets: what a site hands out during a session. What is known already costs nothing.
    pub fn learn<'a>(&mut self, secrets: impl IntoIterator<Item = &'a Secret>) {
        for secret in secrets {
            for form in forms_of(secret.expose_secret()) {
                let index = if form.is_literal { &mut self.literal } else { &mut self.squeezed };
                index.add(&form.bytes, form.window, form.window_starts());
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.squeezed.is_empty() && self.literal.is_empty()
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
    pub fn stream(&self) -> RedactedStream<'_> {
        RedactedStream { redactor: self, held: String::new(), due: 2 * HELD_BACK }
    }

    /// Where secrets stand in the text: in order, apart from each other.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.is_empty() {
            return found;
        }
        for view in View::all(text) {
            let squeezed = view.squeezed();
            found.extend(self.squeezed.search(squeezed.bytes()).into_iter().map(|at| squeezed.source(at)));
            if !self.literal.is_empty() {
                let seen = view.seen();
                found.extend(self.literal.search(seen.bytes()).into_iter().map(|at| seen.source(at)));
            }
        }
        found.sort_by_key(|range| (range.start, range.end));
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in found {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        merged
    }
}

/// Text that comes in pieces. The end of it is held back until it is known that no secret begins there.
pub struct RedactedStream<'a> {
    redactor: &'a Redactor,
    held: String,
    /// It is searched when it is longer than this: once for so much that is new, however small the pieces are.
    due: usize,
}

impl RedactedStream<'_> {
    /// Takes a piece; gives what may go out.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        if self.held.len() <= self.due {
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
        self.due = self.held.len() + HELD_BACK;
        out
    }

    /// The rest.
    pub fn finish(self) -> String {
        self.redactor.mask(&self.held).into_owned()
    }
}

impl Drop for RedactedStream<'_> {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.held);
    }
}
