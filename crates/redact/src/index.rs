//! Secrets, and parts of typed texts, by fingerprint. How long a search takes depends neither on how many there are nor on
//! how much of them is alike.
//!
//! A form of a secret is one window; a typed text is cut into overlapping windows of one length. A text is read once, and at each of its symbols
//! (bytes or characters) the windows that could end there are looked up: at most one for each length in use. Equal
//! windows are one entry. No text is kept, but one window's fingerprint follows from that of its neighbour, so the table
//! is wiped like a secret.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;
use zeroize::Zeroizing;

/// Fingerprints are polynomials over the numbers below this prime.
const PRIME: u64 = (1 << 61) - 1;
/// The first size of the table; it doubles when it is half full.
const FIRST_SLOTS: usize = 256;
/// Bits of the sieve: what most symbols of an ordinary text are done with.
const SIEVE_BITS: u32 = 20;

/// A byte or a character.
pub(crate) trait Symbol: Copy + Into<u64> {}

impl Symbol for u8 {}
impl Symbol for char {}

pub(crate) struct Index {
    /// Where the polynomials are evaluated. It is random, so nobody can choose texts whose fingerprints are the same.
    point: u64,
    /// No window has fewer symbols.
    shortest: usize,
    /// The windows' lengths, longest first, each with the point to that power.
    lengths: Vec<(usize, u64)>,
    /// Fingerprints by open addressing; 0 is an empty slot.
    slots: Zeroizing<Vec<u64>>,
    used: usize,
    /// One bit for the last symbols of each window. Too many windows fill it; that costs time, up to a bound, and misses
    /// nothing.
    sieve: Zeroizing<Vec<u64>>,
}

impl Index {
    pub(crate) fn new(shortest: usize) -> Index {
        let point = 256 + RandomState::new().build_hasher().finish() % (PRIME - 256);
        Index {
            point,
            shortest,
            lengths: Vec::new(),
            slots: Zeroizing::new(Vec::new()),
            used: 0,
            sieve: Zeroizing::new(Vec::new()),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// How many different windows there are.
    pub(crate) fn len(&self) -> usize {
        self.used
    }

    /// Adds the windows of this length that begin at these places. The length is at least the shortest.
    pub(crate) fn add<T: Symbol>(
        &mut self,
        symbols: &[T],
        length: usize,
        starts: impl Iterator<Item = usize>,
    ) {
        let power = match self.lengths.iter().find(|(known, _)| *known == length) {
            Some((_, power)) => *power,
            None => {
                let power = (0..length).fold(1, |power, _| multiply(power, self.point));
                self.lengths.push((length, power));
                self.lengths.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
                power
            }
        };
        let sums = self.sums(symbols);
        for start in starts {
            let end = start + length;
            self.insert(fingerprint(&sums, start..end, power));
            let (word, bit) = sieve_bit(self.tail(&symbols[..end]));
            self.sieve[word] |= bit;
        }
    }

    /// The stretches of the text that are windows, in order, joined where they overlap.
    pub(crate) fn search<T: Symbol>(&self, text: &[T]) -> Vec<Range<usize>> {
        self.search_where(text, |_| true)
    }

    /// The same, of windows that are accepted where they stand.
    pub(crate) fn search_where<T: Symbol>(
        &self,
        text: &[T],
        accept: impl Fn(Range<usize>) -> bool,
    ) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.is_empty() {
            return found;
        }
        let sums = self.sums(text);
        for end in self.shortest..=text.len() {
            crate::work::count_work(1);
            let (word, bit) = sieve_bit(self.tail(&text[..end]));
            if self.sieve[word] & bit == 0 {
                continue;
            }
            // The longest that ends here holds the others.
            let longest = self.lengths.iter().find(|(length, power)| {
                *length <= end
                    && self.contains(fingerprint(&sums, end - length..end, *power))
                    && accept(end - length..end)
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

    /// The fingerprint of each beginning of the symbols.
    fn sums<T: Symbol>(&self, symbols: &[T]) -> Zeroizing<Vec<u64>> {
        let mut sums = Zeroizing::new(Vec::with_capacity(symbols.len() + 1));
        let mut sum = 0;
        sums.push(sum);
        for symbol in symbols {
            // One more than the symbol, so that zeros in front count.
            sum = multiply(sum, self.point) + (*symbol).into() + 1;
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
        let mut at = scatter(fingerprint) as usize & mask;
        while self.slots[at] != 0 && self.slots[at] != fingerprint {
            crate::work::count_work(1);
            at = (at + 1) & mask;
        }
        crate::work::count_work(1);
        at
    }

    /// A number for the last symbols, as many as the shortest window has.
    fn tail<T: Symbol>(&self, symbols: &[T]) -> u64 {
        let last = &symbols[symbols.len().saturating_sub(self.shortest)..];
        last.iter().fold(0, |number: u64, symbol| number.rotate_left(8) ^ (*symbol).into())
    }
}

/// Of a window, from the fingerprints of the beginnings before and after it; never 0.
fn fingerprint(sums: &[u64], window: Range<usize>, power: u64) -> u64 {
    let before = multiply(sums[window.start], power);
    ((sums[window.end] + PRIME - before) % PRIME).max(1)
}

fn multiply(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    // The remainder for a prime that is one less than a power of two.
    let sum = (product & u128::from(PRIME)) as u64 + (product >> 61) as u64;
    if sum >= PRIME { sum - PRIME } else { sum }
}

fn sieve_bit(tail: u64) -> (usize, u64) {
    let place = scatter(tail) >> (64 - SIEVE_BITS);
    ((place / 64) as usize, 1 << (place % 64))
}

/// Spreads a number's bits over its upper half.
fn scatter(number: u64) -> u64 {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    spread ^ spread >> 32
}
