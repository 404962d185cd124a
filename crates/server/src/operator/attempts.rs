//! How often a password may be tried: a few at once, then one every so often, whoever tries and for whomever.

use std::time::{Duration, Instant};

const AT_ONCE: u32 = 5;
const ONE_MORE_EVERY: Duration = Duration::from_secs(10);

/// What is left to try at one door.
pub struct Attempts {
    left: u32,
    since: Instant,
}

impl Attempts {
    pub fn new(now: Instant) -> Attempts {
        Attempts { left: AT_ONCE, since: now }
    }

    /// Takes one; if there is none, how long until there is.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let passed = now.saturating_duration_since(self.since);
        let more = u32::try_from(passed.as_secs() / ONE_MORE_EVERY.as_secs()).unwrap_or(u32::MAX);
        if more > 0 {
            self.left = self.left.saturating_add(more).min(AT_ONCE);
            self.since = if self.left == AT_ONCE { now } else { self.since + ONE_MORE_EVERY * more };
        }
        if self.left == 0 {
            return Err((self.since + ONE_MORE_EVERY).saturating_duration_since(now));
        }
        if self.left == AT_ONCE {
            self.since = now;
        }
        self.left -= 1;
        Ok(())
    }

    /// A right password costs nothing.
    pub fn give_back(&mut self) {
        self.left = (self.left + 1).min(AT_ONCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_is_bounded_to_a_few_a_minute() {
        let begin = Instant::now();
        let mut attempts = Attempts::new(begin);
        let hour = (0..3600).filter(|second| attempts.take(begin + Duration::from_secs(*second)).is_ok());
        let allowed = hour.count();
        assert!((300..=370).contains(&allowed), "{allowed} an hour");
        let wait = attempts.take(begin + Duration::from_secs(3600)).err();
        let wait = wait.or_else(|| attempts.take(begin + Duration::from_secs(3600)).err()).unwrap();
        assert!(wait <= ONE_MORE_EVERY && !wait.is_zero(), "{wait:?}");
    }

    #[test]
    fn right_passwords_are_not_counted_and_rest_brings_no_more_than_a_few() {
        let begin = Instant::now();
        let mut attempts = Attempts::new(begin);
        for _ in 0..100 {
            attempts.take(begin).unwrap();
            attempts.give_back();
        }
        let later = begin + Duration::from_secs(100_000);
        assert_eq!((0..100).filter(|_| attempts.take(later).is_ok()).count(), 5);
    }
}
