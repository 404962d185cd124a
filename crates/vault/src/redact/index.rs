//! Stretches of secrets, by fingerprint: how long it takes to see whether a text holds one depends neither on how many
//! secrets there are nor on how much of them is alike.
//!
//! Each form of a secret is cut into windows of one length, which overlap. A text is read once, and at each of its bytes
//! the windows that could end there are looked up: at most one for each length in use. Equal windows are one entry. No
//! text is kept, but one window's fingerprint follows from that of its neighbour, so the table is wiped like a secret.

use super::forms::Form;
use crate::credential::SHORTEST_SECRET;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use zeroize::Zeroizing;

/// Fingerprints are polynomials over the numbers below this prime.
const PRIME: u64 = (1 << 61) - 1;
/// The first size of the table; it doubles when it is half full.
const FIRST_SLOTS: usize = 256;
/// Bits of the sieve: what most bytes of an ordinary text are done with.
const SIEVE_BITS: u32 = 20;

pub(super) struct Index {
    /// Where the polynomials are evaluated. It is random, so nobody can choose texts whose fingerprints are the same.
    point: u64,
    /// The windows' lengths, longest first, each with the point to that power.
    lengths: Vec<(usize, u64)>,
    /// Fingerprints by open addressing; 0 is an empty slot.
    slots: Zeroizing<Vec<u64>>,
    used: usize,
    /// One bit for the last bytes of each window. Too many windows fill it; that costs time, up to a bound, and misses
    /// nothing.
    sieve: Zeroizing<Vec<u64>>,
}

impl Index {
    pub(super) fn new() -> Index {
        let point = 256 + RandomState::new().build_hasher().finish() % (PRIME - 256);
        Index {
            point,
            lengths: Vec::new(),
            slots: Zeroizing::new(Vec::new()),
            used: 0,
            sieve: Zeroizing::new(Vec::new()),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.used == 0
    }

    pub(super) fn add(&mut self, form: &Form) {
        let length = form.enough;
        let power = match self.lengths.iter().find(|(known, _)| *known == length) {
            Some((_, power)) => *power,
            None => {
                let power = (0..length).fold(1, |power, _| times(power, self.point));
                self.lengths.push((length, power));
                self.lengths.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
                power
            }
        };
        let sums = self.sums(&form.bytes);
        for start in form.windows() {
            let end = start + length;
            self.insert(fingerprint(&sums, start..end, power));
            let (word, bit) = sieve_place(tail(&form.bytes[..end]));
            self.sieve[word] |= bit;
        }
    }

    /// The stretches of the text that are windows, in order, joined where they overlap.
    pub(super) fn search(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.is_empty() {
            return found;
        }
        let sums = self.sums(text);
        for end in SHORTEST_SECRET..=text.len() {
            super::count_work(1);
            let (word, bit) = sieve_place(tail(&text[..end]));
            if self.sieve[word] & bit == 0 {
                continue;
            }
            // The longest that ends here holds the others.
            let longest = self.lengths.iter().find(|(length, power)| {
                *length <= end && self.contains(fingerprint(&sums, end - length..end, *power))
            });
            let Some((length, _)) = longest else { continue };
            let mut start = end - length;
            while let Some(before) = found.pop_if(|before| before.end > start) {
                start = start.min(before.start);
            }
            found.push(start..end);
        }
        found
    }

    /// The fingerprint of each beginning of the bytes.
    fn sums(&self, bytes: &[u8]) -> Zeroizing<Vec<u64>> {
        let mut sums = Zeroizing::new(Vec::with_capacity(bytes.len() + 1));
        let mut sum = 0;
        sums.push(sum);
        for byte in bytes {
            // One more than the byte, so that zeros in front count.
            sum = times(sum, self.point) + u64::from(*byte) + 1;
            if sum >= PRIME {
                sum -= PRIME;
            }
            sums.push(sum);
        }
        sums
    }

    fn insert(&mut self, fingerprint: u64) {
        if self.slots.is_empty() {
            self.sieve = Zeroizing::new(vec![0; 1 << (SIEVE_BITS - 6)]);
        }
        if self.used * 2 >= self.slots.len() {
            let room = (self.slots.len() * 2).max(FIRST_SLOTS);
            let before = std::mem::replace(&mut self.slots, Zeroizing::new(vec![0; room]));
            for old in before.iter().filter(|slot| **slot != 0) {
                let at = self.slot(*old);
                self.slots[at] = *old;
            }
        }
        let at = self.slot(fingerprint);
        if self.slots[at] == 0 {
            self.slots[at] = fingerprint;
            self.used += 1;
        }
    }

    fn contains(&self, fingerprint: u64) -> bool {
        self.slots[self.slot(fingerprint)] != 0
    }

    /// Where the fingerprint stands, or the empty slot where it would.
    fn slot(&self, fingerprint: u64) -> usize {
        // Half of the slots are empty, so the way to one is short; and there is a power of two of them.
        let mask = self.slots.len() - 1;
        let mut at = scattered(fingerprint) as usize & mask;
        while self.slots[at] != 0 && self.slots[at] != fingerprint {
            super::count_work(1);
            at = (at + 1) & mask;
        }
        super::count_work(1);
        at
    }
}

/// Of a window, from the fingerprints of the beginnings before and after it; never 0.
fn fingerprint(sums: &[u64], window: Range<usize>, power: u64) -> u64 {
    let before = times(sums[window.start], power);
    ((sums[window.end] + PRIME - before) % PRIME).max(1)
}

fn times(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    // The remainder for a prime that is one less than a power of two.
    let sum = (product & u128::from(PRIME)) as u64 + (product >> 61) as u64;
    if sum >= PRIME { sum - PRIME } else { sum }
}

/// The last bytes, as many as the shortest window has.
fn tail(bytes: &[u8]) -> u64 {
    let last = &bytes[bytes.len().saturating_sub(SHORTEST_SECRET)..];
    last.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn sieve_place(tail: u64) -> (usize, u64) {
    let place = scattered(tail) >> (64 - SIEVE_BITS);
    ((place / 64) as usize, 1 << (place % 64))
}

/// Spreads a number's bits over its upper half.
fn scattered(number: u64) -> u64 {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread ^ spread >> 32
}
