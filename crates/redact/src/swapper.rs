//! Swaps secrets and placeholders in bytes, in the usual encodings, without changing a length.
//!
//! Only whole values are swapped: a part that changed would tell who wrote it that the guess is right. A form that is
//! found last overwrites what it overlaps, so of two values that begin alike the longer one wins.

use crate::automaton::{Automaton, State};
use crate::placeholder::Placeholder;
use crate::secret::Secret;
pub use crate::swap_forms::FormSet;
use crate::swap_forms::{SharedCharacter, SwapForm, named_forms, swap_forms};
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

/// Bytes of patterns, each of which takes 32 bytes of memory. When they are used up, only the usual forms of the values that
/// are left are looked for.
const MAX_PATTERN_BYTES: usize = 512 << 10;

/// A value, what stands for it, and in which forms either is looked for.
pub struct SwapPair<'a> {
    pub secret: &'a Secret,
    pub placeholder: &'a Placeholder,
    pub forms: FormSet,
}

impl<'a> From<(&'a Secret, &'a Placeholder)> for SwapPair<'a> {
    fn from((secret, placeholder): (&'a Secret, &'a Placeholder)) -> SwapPair<'a> {
        SwapPair { secret, placeholder, forms: FormSet::All }
    }
}

/// A value that is too short to be found alone, with the name it stands beside.
pub struct NamedSecret<'a> {
    pub name: &'a str,
    pub secret: &'a Secret,
    pub placeholder: &'a Placeholder,
}

impl Swapper {
    /// Secret to placeholder.
    pub fn sealing<'a>(pairs: impl IntoIterator<Item = (&'a Secret, &'a Placeholder)>) -> Swapper {
        Swapper::sealing_named(pairs.into_iter().map(SwapPair::from), [])
    }

    /// The same, and short secrets where they stand beside their names.
    pub fn sealing_named<'a>(
        pairs: impl IntoIterator<Item = SwapPair<'a>>,
        named: impl IntoIterator<Item = NamedSecret<'a>>,
    ) -> Swapper {
        let named = named.into_iter().flat_map(|NamedSecret { name, secret, placeholder }| {
            named_forms(name, secret.expose_secret(), placeholder.as_str())
        });
        let pairs = pairs.into_iter().map(|SwapPair { secret, placeholder, forms }| {
            (secret.expose_secret(), placeholder.as_str(), forms)
        });
        Swapper::of_forms(&pairs.collect::<Vec<_>>(), named.collect())
    }

    /// Placeholder to secret. It belongs where the secret may go, and nowhere else.
    pub fn unsealing<'a>(pairs: impl IntoIterator<Item = (&'a Secret, &'a Placeholder)>) -> Swapper {
        Swapper::unsealing_pairs(pairs.into_iter().map(SwapPair::from))
    }

    /// The same, of pairs that say which forms of them are looked for.
    pub fn unsealing_pairs<'a>(pairs: impl IntoIterator<Item = SwapPair<'a>>) -> Swapper {
        let pairs = pairs.into_iter().map(|SwapPair { secret, placeholder, forms }| {
            (placeholder.as_str(), secret.expose_secret(), forms)
        });
        Swapper::of_forms(&pairs.collect::<Vec<_>>(), Vec::new())
    }

    pub(crate) fn new<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Swapper {
        Swapper::of_forms(&pairs.map(|(find, put)| (find, put, FormSet::All)).collect::<Vec<_>>(), Vec::new())
    }

    fn of_forms(pairs: &[(&str, &str, FormSet)], named: Vec<SwapForm>) -> Swapper {
        // A shared character at the end has 16 variants at most.
        let length_of = |form: &SwapForm| form.find.len() + if form.trail.is_some() { 18 } else { 0 };
        let length = |forms: &[SwapForm]| forms.iter().map(length_of).sum::<usize>();
        let mut forms = Vec::new();
        let mut room = MAX_PATTERN_BYTES;
        for (find, put, set) in pairs {
            let mut of_value = swap_forms(find, put, *set);
            if length(&of_value) > room {
                of_value = swap_forms(find, put, FormSet::Usual);
            }
            room = room.saturating_sub(length(&of_value));
            forms.extend(of_value);
        }
        forms.extend(named);
        let mut automaton = Automaton::with_room(length(&forms));
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
        if self.held.is_empty() {
            return self.push_first(piece);
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
        let ready = self.ready(&self.held);
        self.held.drain(..ready);
        let rest = self.swapped.split_off(ready);
        std::mem::replace(&mut self.swapped, rest)
    }

    /// A piece with nothing held back before it: most of it is read where it is.
    fn push_first(&mut self, piece: &[u8]) -> Vec<u8> {
        let mut swapped = piece.to_vec();
        for (at, byte) in piece.iter().enumerate() {
            self.state = self.swapper.automaton.step(self.state, *byte);
            if let Some((replacement, start)) = self.swapper.ending(self.state, &piece[..=at]) {
                replacement.apply(piece, &mut swapped, start, at + 1);
            }
        }
        let ready = self.ready(piece);
        self.held = piece[ready..].to_vec();
        self.swapped = swapped.split_off(ready);
        swapped
    }

    /// How much of these bytes can be no beginning of a form, and no character before one that belongs to it.
    fn ready(&self, bytes: &[u8]) -> usize {
        let closed = bytes.len() - self.swapper.automaton.open(self.state);
        let is_lead = closed > 0 && self.swapper.leads[usize::from(bytes[closed - 1])];
        closed - usize::from(is_lead)
    }

    /// Whether nothing is held back: a new stream would go on in the same way.
    pub fn is_idle(&self) -> bool {
        self.held.is_empty()
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
mod rare_writings;
#[cfg(test)]
mod tests;
