//! Swaps secrets and placeholders in bytes, in the usual encodings, without changing a length.
//!
//! Only whole values are swapped: a part that changed would tell who wrote it that the guess is right. A form that is
//! found last overwrites what it overlaps, so of two values that begin alike the longer one wins.

use crate::automaton::{Automaton, State};
use crate::placeholder::Placeholder;
use crate::secret::Secret;
use crate::swap_forms::{FormSet, SharedCharacter, SwapForm, named_forms, swap_forms};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use zeroize::{Zeroize, Zeroizing};

/// Replaces values by others in one direction.
pub struct Swapper {
    automaton: Automaton,
    /// What the automaton's patterns stand for.
    endings: Vec<Ending>,
    replacements: Vec<Replacement>,
    /// Characters that may be the first of a form in base64, which belongs to it in part only.
    leads: Vec<bool>,
}

struct Replacement {
    put: Zeroizing<Vec<u8>>,
    lead: Option<SharedCharacter>,
    trail: Option<SharedCharacter>,
}

struct Ending {
    replacement: usize,
    /// Another one that is found by the same bytes, after another character.
    other: Option<u32>,
}

/// Bytes of all patterns, each of which takes 32 bytes of memory. With more, only the usual forms are looked for.
const MAX_PATTERN_BYTES: usize = 2 << 20;

/// A value that is too short to be found alone, with the name it stands beside.
pub struct NamedSecret<'a> {
    pub name: &'a str,
    pub secret: &'a Secret,
    pub placeholder: &'a Placeholder,
}

impl Swapper {
    /// Secret to placeholder.
    pub fn sealing<'a>(pairs: impl IntoIterator<Item = (&'a Secret, &'a Placeholder)>) -> Swapper {
        Swapper::sealing_named(pairs, [])
    }

    /// The same, and short secrets where they stand beside their names.
    pub fn sealing_named<'a>(
        pairs: impl IntoIterator<Item = (&'a Secret, &'a Placeholder)>,
        named: impl IntoIterator<Item = NamedSecret<'a>>,
    ) -> Swapper {
        let named = named.into_iter().flat_map(|NamedSecret { name, secret, placeholder }| {
            named_forms(name, secret.expose_secret(), placeholder.as_str())
        });
        let pairs =
            pairs.into_iter().map(|(secret, placeholder)| (secret.expose_secret(), placeholder.as_str()));
        Swapper::new(pairs, named.collect())
    }

    /// Placeholder to secret. It belongs where the secret may go, and nowhere else.
    pub fn unsealing<'a>(pairs: impl IntoIterator<Item = (&'a Secret, &'a Placeholder)>) -> Swapper {
        let pairs =
            pairs.into_iter().map(|(secret, placeholder)| (placeholder.as_str(), secret.expose_secret()));
        Swapper::new(pairs, Vec::new())
    }

    pub(crate) fn new<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>, named: Vec<SwapForm>) -> Swapper {
        let pairs: Vec<(&str, &str)> = pairs.collect();
        let of_set = |set: FormSet| -> Vec<SwapForm> {
            pairs.iter().flat_map(|(find, put)| swap_forms(find, put, set)).collect()
        };
        let mut forms = of_set(FormSet::All);
        if forms.iter().map(|form| form.find.len()).sum::<usize>() > MAX_PATTERN_BYTES {
            forms = of_set(FormSet::Usual);
        }
        forms.extend(named);
        // A shared character at the end has 16 variants at most.
        let room = forms.iter().map(|form| form.find.len() + if form.trail.is_some() { 18 } else { 0 }).sum();
        let mut automaton = Automaton::with_room(room);
        let mut replacements = Vec::with_capacity(forms.len());
        let mut endings: Vec<Ending> = Vec::with_capacity(forms.len());
        let mut leads = vec![false; 256];
        for SwapForm { find, put, lead, trail } in forms {
            lead.iter().flat_map(|lead| lead.characters()).for_each(|byte| leads[usize::from(byte)] = true);
            let last_characters: Vec<Option<u8>> = match trail {
                None => vec![None],
                Some(trail) => trail.characters().map(Some).collect(),
            };
            for last in last_characters {
                let other = automaton.add(find.iter().copied().chain(last), endings.len() as u32);
                endings.push(Ending { replacement: replacements.len(), other });
            }
            replacements.push(Replacement { put, lead, trail });
        }
        automaton.link();
        Swapper { automaton, endings, replacements, leads }
    }

    pub fn is_empty(&self) -> bool {
        self.replacements.is_empty()
    }

    /// The bytes with everything swapped: as many as before; borrowed if there is nothing to swap.
    pub fn swap<'b>(&self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let mut out = Cow::Borrowed(bytes);
        if self.is_empty() {
            return out;
        }
        let mut state = State::default();
        for (at, byte) in bytes.iter().enumerate() {
            state = self.automaton.step(state, *byte);
            if let Some((replacement, start)) = self.ending(state, &bytes[..=at]) {
                replacement.apply(bytes, out.to_mut(), start, at + 1);
            }
        }
        out
    }

    pub fn finds_any(&self, bytes: &[u8]) -> bool {
        let mut state = State::default();
        !self.is_empty()
            && bytes.iter().enumerate().any(|(at, byte)| {
                state = self.automaton.step(state, *byte);
                self.ending(state, &bytes[..=at]).is_some()
            })
    }

    /// Where forms stand, in order, joined where they overlap.
    pub fn find(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut state = State::default();
        for (at, byte) in bytes.iter().enumerate().take_while(|_| !self.is_empty()) {
            state = self.automaton.step(state, *byte);
            let Some((_, mut start)) = self.ending(state, &bytes[..=at]) else { continue };
            while let Some(before) = found.pop_if(|before| before.end > start) {
                start = start.min(before.start);
            }
            found.push(start..at + 1);
        }
        found
    }

    /// For bytes that come in pieces.
    pub fn stream(self: &Arc<Self>) -> SwapStream {
        SwapStream {
            swapper: Arc::clone(self),
            state: State::default(),
            held: Vec::new(),
            swapped: Vec::new(),
        }
    }

    /// The longest form that ends with these bytes, and where it starts.
    fn ending(&self, state: State, bytes: &[u8]) -> Option<(&Replacement, usize)> {
        for (first, length) in self.automaton.endings(state) {
            let start = bytes.len() - length;
            let before = start.checked_sub(1).and_then(|at| bytes.get(at));
            let mut next = Some(first);
            while let Some(ending) = next.and_then(|index| self.endings.get(index as usize)) {
                let replacement = &self.replacements[ending.replacement];
                let fits = replacement.lead.is_none_or(|lead| before.is_some_and(|byte| lead.matches(*byte)));
                if fits {
                    return Some((replacement, start));
                }
                next = ending.other;
            }
        }
        None
    }
}

impl Replacement {
    /// Writes itself over `out[start..end]` and the bits of its own in the characters around its text.
    fn apply(&self, found: &[u8], out: &mut [u8], start: usize, end: usize) {
        out[start..start + self.put.len()].copy_from_slice(&self.put);
        if let Some(lead) = self.lead {
            lead.write(found[start - 1], &mut out[start - 1]);
        }
        if let Some(trail) = self.trail {
            trail.write(found[end - 1], &mut out[end - 1]);
        }
    }
}

/// Bytes that come in pieces. Held back is only what could be the beginning of a form.
pub struct SwapStream {
    swapper: Arc<Swapper>,
    state: State,
    /// The bytes that are held back, as they came and as they will go.
    held: Vec<u8>,
    swapped: Vec<u8>,
}

impl SwapStream {
    /// Takes in a piece, and returns what may go out.
    pub fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        if self.swapper.is_empty() {
            return piece.to_vec();
        }
        let before = self.held.len();
        self.held.extend_from_slice(piece);
        self.swapped.extend_from_slice(piece);
        for (at, byte) in piece.iter().enumerate() {
            let end = before + at + 1;
            self.state = self.swapper.automaton.step(self.state, *byte);
            if let Some((replacement, start)) = self.swapper.ending(self.state, &self.held[..end]) {
                replacement.apply(&self.held, &mut self.swapped, start, end);
            }
        }
        let mut ready = self.held.len() - self.swapper.automaton.open(self.state);
        if ready > 0 && self.swapper.leads[usize::from(self.held[ready - 1])] {
            ready -= 1;
        }
        self.held.drain(..ready);
        let rest = self.swapped.split_off(ready);
        std::mem::replace(&mut self.swapped, rest)
    }

    /// The rest.
    pub fn finish(mut self) -> Vec<u8> {
        std::mem::take(&mut self.swapped)
    }
}

impl Drop for SwapStream {
    fn drop(&mut self) {
        self.held.zeroize();
        self.swapped.zeroize();
    }
}

#[cfg(test)]
mod tests;
