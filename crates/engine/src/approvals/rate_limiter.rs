//! Limits how often a session or an agent may ask, so that people are not flooded into approving.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);

/// Times of the last minute's questions per key.
pub(super) struct RateLimiter<K>(HashMap<K, VecDeque<Instant>>);

impl<K> Default for RateLimiter<K> {
    fn default() -> RateLimiter<K> {
        RateLimiter(HashMap::new())
    }
}

impl<K: Clone + Eq + Hash> RateLimiter<K> {
    /// Counts one more question unless the limit is reached. Returns whether it was counted.
    pub fn take(&mut self, key: &K, limit: u32, now: Instant) -> bool {
        // Remove keys without a question in the window.
        self.0.retain(|_, asked| asked.back().is_some_and(|last| now.duration_since(*last) < WINDOW));
        let asked = self.0.entry(key.clone()).or_default();
        while asked.front().is_some_and(|first| now.duration_since(*first) >= WINDOW) {
            asked.pop_front();
        }
        let fits = asked.len() < limit as usize;
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
    fn each_key_has_its_own_limit_per_minute() {
        let begun = Instant::now();
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let mut rate_limiter = RateLimiter::default();
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
            assert_eq!(rate_limiter.take(&who, 2, at(seconds)), expected, "{who} at {seconds}");
        }
        rate_limiter.take(&"other", 2, at(1000));
        assert_eq!(rate_limiter.0.len(), 1);
    }
}
