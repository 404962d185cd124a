//! How often a session, and an agent with all of its sessions, may ask, so that nobody is flooded into yes.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);

/// The questions of the last minute, by who asked.
pub(super) struct Rate<K>(HashMap<K, VecDeque<Instant>>);

impl<K> Default for Rate<K> {
    fn default() -> Rate<K> {
        Rate(HashMap::new())
    }
}

impl<K: Clone + Eq + Hash> Rate<K> {
    /// Counts one more question, unless it would be one too many.
    pub fn take(&mut self, who: &K, most: u32, now: Instant) -> bool {
        // Whoever has not asked for a minute takes no room.
        self.0.retain(|_, asked| asked.back().is_some_and(|last| now.duration_since(*last) < WINDOW));
        let asked = self.0.entry(who.clone()).or_default();
        while asked.front().is_some_and(|first| now.duration_since(*first) >= WINDOW) {
            asked.pop_front();
        }
        let fits = asked.len() < most as usize;
        if fits {
            asked.push_back(now);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_asks_so_often_a_minute_and_another_is_not_its_fault() {
        let begun = Instant::now();
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let mut rate = Rate::default();
        for (who, seconds, expected) in [
            ("one", 0, true),
            ("one", 10, true),
            ("one", 20, false),
            ("other", 20, true),
            ("one", 59, false),
            ("one", 60, true),
            ("one", 61, false),
            ("one", 70, true),
        ] {
            assert_eq!(rate.take(&who, 2, at(seconds)), expected, "{who} at {seconds}");
        }
        rate.take(&"other", 2, at(1000));
        assert_eq!(rate.0.len(), 1);
    }
}
