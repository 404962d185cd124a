//! Patience diff over two lists of line hashes, in a bounded number of passes.
//!
//! Lines that occur once in both lists and in the same order are anchors; the gaps between anchors are compared
//! again. Gaps without anchors count as replaced, so no timeout or size limit is needed.

use std::{collections::HashMap, ops::Range};

/// How often a gap between anchors is compared again; every round is one pass over what remains.
const ROUNDS: usize = 8;

/// Lines of the old list that are replaced by lines of the new one. At most one of the ranges is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// The differences in order. Lines between two hunks are equal in both lists.
pub(super) fn changes(old: &[u64], new: &[u64]) -> Vec<Change> {
    let mut found = Vec::new();
    compare(old, new, Change { old: 0..old.len(), new: 0..new.len() }, ROUNDS, &mut found);
    found
}

fn compare(old: &[u64], new: &[u64], mut gap: Change, rounds: usize, found: &mut Vec<Change>) {
    // Trims the common suffix first: in a pre-order list that leaves whole elements.
    while !gap.old.is_empty() && !gap.new.is_empty() && old[gap.old.end - 1] == new[gap.new.end - 1] {
        gap.old.end -= 1;
        gap.new.end -= 1;
    }
    while !gap.old.is_empty() && !gap.new.is_empty() && old[gap.old.start] == new[gap.new.start] {
        gap.old.start += 1;
        gap.new.start += 1;
    }
    if gap.old.is_empty() && gap.new.is_empty() {
        return;
    }
    let anchors = if rounds == 0 { Vec::new() } else { anchors(old, new, &gap) };
    if anchors.is_empty() {
        found.push(gap);
        return;
    }
    let (mut old_from, mut new_from) = (gap.old.start, gap.new.start);
    for (old_at, new_at) in anchors.into_iter().chain([(gap.old.end, gap.new.end)]) {
        let between = Change { old: old_from..old_at, new: new_from..new_at };
        compare(old, new, between, rounds - 1, found);
        (old_from, new_from) = (old_at + 1, new_at + 1);
    }
}

/// Positions of lines that occur once in each list and in the same order in both.
fn anchors(old: &[u64], new: &[u64], gap: &Change) -> Vec<(usize, usize)> {
    #[derive(Default)]
    struct Seen {
        old: usize,
        new: usize,
        new_at: usize,
    }
    let mut seen: HashMap<u64, Seen> = HashMap::new();
    for at in gap.old.clone() {
        seen.entry(old[at]).or_default().old += 1;
    }
    for at in gap.new.clone() {
        if let Some(seen) = seen.get_mut(&new[at]) {
            seen.new += 1;
            seen.new_at = at;
        }
    }
    let once = gap.old.clone().filter_map(|at| {
        let seen = seen.get(&old[at]).filter(|seen| seen.old == 1 && seen.new == 1)?;
        Some((at, seen.new_at))
    });
    longest_rise(once.collect())
}

/// The longest subsequence whose second numbers increase with the first ones.
fn longest_rise(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    // For each length, the pair with the lowest end of a subsequence of that length; and each pair's predecessor.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; pairs.len()];
    for (index, (_, second)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *second);
        before[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        if length == ends.len() {
            ends.push(index);
        } else {
            ends[length] = index;
        }
    }
    let mut rise: Vec<_> =
        std::iter::successors(ends.last().copied(), |at| before[*at]).map(|at| pairs[at]).collect();
    rise.reverse();
    rise
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: &str, new: &str) -> String {
        let lines = |text: &str| text.bytes().map(u64::from).collect::<Vec<_>>();
        let changes = changes(&lines(old), &lines(new));
        let told = changes.into_iter().map(|Change { old: from, new: to }| {
            format!("{}:{}>{}", from.start, &old[from.clone()], &new[to])
        });
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_what_differs_is_told() {
        for (old, new, expected) in [
            ("", "", ""),
            ("abc", "abc", ""),
            ("", "ab", "0:>ab"),
            ("ab", "", "0:ab>"),
            ("abcdef", "abXdef", "2:c>X"),
            ("abcdef", "aXbcdeYf", "1:>X 5:>Y"),
            ("abcdef", "bcdefa", "0:a> 6:>a"),
            // A row between rows: the hunk is the whole row, not the end of one and the beginning of the next.
            ("rarb", "rarxrb", "2:>rx"),
            ("rarxrb", "rarb", "2:rx>"),
            // No line occurs once, so everything between the ends is replaced.
            ("axxyya", "ayyxxa", "1:xxyy>yyxx"),
            ("mrxrxnrxp", "mrxrxqnrxp", "5:>q"),
        ] {
            assert_eq!(told(old, new), expected, "{old} to {new}");
        }
    }

    #[test]
    fn long_lists_of_the_worst_kind_are_compared_as_well() {
        let none_unique: Vec<u64> = (0..100_000).map(|at| at % 50_000).collect();
        let reversed: Vec<u64> = none_unique.iter().rev().copied().collect();
        assert_eq!(changes(&none_unique, &reversed).len(), 1);
        let unique: Vec<u64> = (0..100_000).collect();
        let reversed: Vec<u64> = unique.iter().rev().copied().collect();
        assert_eq!(changes(&unique, &reversed).len(), 2);
    }
}
