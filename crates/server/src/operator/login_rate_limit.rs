//! Rate limit for passwords: a small burst, then one attempt per interval, for all callers and operators together.

use std::time::{Duration, Instant};

const BURST: u32 = 5;
const REFILL_INTERVAL: Duration = Duration::from_secs(10);

/// The attempts left on one login channel.
pub struct LoginRateLimit {
    left: u32,
    since: Instant,
}

impl LoginRateLimit {
    pub fn new(now: Instant) -> LoginRateLimit {
        LoginRateLimit { left: BURST, since: now }
    }

    /// Takes one attempt, or returns how long until there is one.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let passed = now.saturating_duration_since(self.since);
        let more = u32::try_from(passed.as_secs() / REFILL_INTERVAL.as_secs()).unwrap_or(u32::MAX);
        if more > 0 {
            self.left = self.left.saturating_add(more).min(BURST);
            self.since = if self.left == BURST { now } else { self.since + REFILL_INTERVAL * more };
        }
        if self.left == 0 {
            return Err((self.since + REFILL_INTERVAL).saturating_duration_since(now));
        }
        if self.left == BURST {
            self.since = now;
        }
        self.left -= 1;
        Ok(())
    }

    /// Returns the attempt of a correct password.
    pub fn give_back(&mut self) {
        self.left = (self.left + 1).min(BURST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guessing_is_limited_to_a_few_attempts_a_minute() {
        let begin = Instant::now();
        let mut attempts = LoginRateLimit::new(begin);
        let hour = (0..3600).filter(|second| attempts.take(begin + Duration::from_secs(*second)).is_ok());
        let allowed = hour.count();
        assert!((300..=370).contains(&allowed), "{allowed} an hour");
        let wait = attempts.take(begin + Duration::from_secs(3600)).err();
        let wait = wait.or_else(|| attempts.take(begin + Duration::from_secs(3600)).err()).unwrap();
        assert!(wait <= REFILL_INTERVAL && !wait.is_zero(), "{wait:?}");
    }

    #[test]
    fn correct_passwords_are_not_counted_and_idle_time_refills_only_the_burst() {
        let begin = Instant::now();
        let mut attempts = LoginRateLimit::new(begin);
        for _ in 0..100 {
            attempts.take(begin).unwrap();
            attempts.give_back();
        }
        let later = begin + Duration::from_secs(100_000);
        assert_eq!((0..100).filter(|_| attempts.take(later).is_ok()).count(), 5);
    }
}
