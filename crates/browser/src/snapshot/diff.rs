//! Patience diff over two lists of line hashes, in a bounded number of passes.
//!
//! Lines that occur once in both lists and in the same order are anchors; the gaps between anchors are compared
//! again. Gaps without anchors count as replaced, so no timeout or size limit is needed.

use std::{collections::HashMap, ops::Range};

/// How often a gap between anchors is compared again; every round is one pass over what remains.
const ROUNDS: usize = 8;

/// Lines of the old list that are replaced by lines of the new one. At most one of the ranges is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hunk {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// The differences in order. Lines between two hunks are equal in both lists.
pub(super) fn diff(old: &[u64], new: &[u64]) -> Vec<Hunk> {
    let mut hunks = Vec::new();
    compare(old, new, Hunk { old: 0..old.len(), new: 0..new.len() }, ROUNDS, &mut hunks);
    hunks
}

fn compare(old: &[u64], new: &[u64], mut gap: Hunk, rounds: usize, hunks: &mut Vec<Hunk>) {
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
        hunks.push(gap);
        return;
    }
    let (mut old_from, mut new_from) = (gap.old.start, gap.new.start);
    for (old_at, new_at) in anchors.into_iter().chain([(gap.old.end, gap.new.end)]) {
        let between = Hunk { old: old_from..old_at, new: new_from..new_at };
        compare(old, new, between, rounds - 1, hunks);
        (old_from, new_from) = (old_at + 1, new_at + 1);
    }
}

/// Positions of lines that occur once in each list and in the same order in both.
fn anchors(old: &[u64], new: &[u64], gap: &Hunk) -> Vec<(usize, usize)> {
    #[derive(Default)]
    struct Occurrences {
        old: usize,
        new: usize,
        new_at: usize,
    }
    let mut occurrences: HashMap<u64, Occurrences> = HashMap::new();
    for at in gap.old.clone() {
        occurrences.entry(old[at]).or_default().old += 1;
    }
    for at in gap.new.clone() {
        if let Some(occurrences) = occurrences.get_mut(&new[at]) {
            occurrences.new += 1;
            occurrences.new_at = at;
        }
    }
    let once = gap.old.clone().filter_map(|at| {
        let occurrences =
            occurrences.get(&old[at]).filter(|occurrences| occurrences.old == 1 && occurrences.new == 1)?;
        Some((at, occurrences.new_at))
    });
    longest_increasing_pairs(once.collect())
}

/// The longest subsequence whose second numbers increase with the first ones.
fn longest_increasing_pairs(pairs: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
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
    let mut longest: Vec<_> =
        std::iter::successors(ends.last().copied(), |at| before[*at]).map(|at| pairs[at]).collect();
    longest.reverse();
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn describe_diff(old: &str, new: &str) -> String {
        let lines = |text: &str| text.bytes().map(u64::from).collect::<Vec<_>>();
        let hunks = diff(&lines(old), &lines(new));
        let described = hunks
            .into_iter()
            .map(|Hunk { old: from, new: to }| format!("{}:{}>{}", from.start, &old[from.clone()], &new[to]));
        described.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn hunks_hold_only_what_differs() {
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
            assert_eq!(describe_diff(old, new), expected, "{old} to {new}");
        }
    }

    #[test]
    fn lists_without_unique_or_ordered_lines_are_compared() {
        let none_unique: Vec<u64> = (0..100_000).map(|at| at % 50_000).collect();
        let reversed: Vec<u64> = none_unique.iter().rev().copied().collect();
        assert_eq!(diff(&none_unique, &reversed).len(), 1);
        let unique: Vec<u64> = (0..100_000).collect();
        let reversed: Vec<u64> = unique.iter().rev().copied().collect();
        assert_eq!(diff(&unique, &reversed).len(), 2);
    }
}
