//! Caps on a session's traffic: bytes in all, bytes a second, requests a second to one host.

use crate::{Options, Reason};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Seconds' worth of requests that may come at once: a page asks for all its parts in one moment.
const BURST_SECONDS: f64 = 5.0;

/// Hosts whose request rate is remembered. A bucket that is full again is forgotten for a new host.
const MAX_HOSTS: usize = 4096;

/// The traffic of all connections of one session, counted against its caps.
#[derive(Debug)]
pub(crate) struct TrafficLimiter {
    up: Direction,
    down: Direction,
    requests_per_second: Option<f64>,
    hosts: Mutex<HashMap<String, BucketLevel>>,
}

/// Bytes in one direction.
#[derive(Debug)]
pub(crate) struct Direction {
    total: AtomicU64,
    most: Option<u64>,
    bandwidth: Option<f64>,
    level: Mutex<BucketLevel>,
}

/// The level of a token bucket at one moment. It is in debt while it is below zero.
#[derive(Clone, Copy, Debug)]
struct BucketLevel {
    tokens: f64,
    at: Instant,
}

impl BucketLevel {
    fn full(capacity: f64) -> BucketLevel {
        BucketLevel { tokens: capacity, at: Instant::now() }
    }

    fn refill(&mut self, per_second: f64, capacity: f64) {
        let now = Instant::now();
        let gained = now.duration_since(self.at).as_secs_f64() * per_second;
        *self = BucketLevel { tokens: (self.tokens + gained).min(capacity), at: now };
    }
}

impl TrafficLimiter {
    pub(crate) fn new(options: &Options) -> TrafficLimiter {
        TrafficLimiter {
            up: Direction::new(options.max_bytes_up, options.bandwidth),
            down: Direction::new(options.max_bytes_down, options.bandwidth),
            requests_per_second: options.requests_per_second.map(f64::from),
            hosts: Mutex::default(),
        }
    }

    pub(crate) fn up(&self) -> &Direction {
        &self.up
    }

    pub(crate) fn down(&self) -> &Direction {
        &self.down
    }

    /// Counts one request to a host, or refuses it.
    pub(crate) fn admit(&self, host: &str) -> Result<(), Reason> {
        if self.up.is_spent() || self.down.is_spent() {
            return Err(Reason::ByteLimit);
        }
        let Some(per_second) = self.requests_per_second else { return Ok(()) };
        let capacity = per_second * BURST_SECONDS;
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= MAX_HOSTS && !hosts.contains_key(host) {
            hosts.retain(|_, level| {
                level.refill(per_second, capacity);
                level.tokens < capacity
            });
            if hosts.len() >= MAX_HOSTS {
                return Err(Reason::TooManyRequests);
            }
        }
        let level = hosts.entry(host.to_owned()).or_insert_with(|| BucketLevel::full(capacity));
        level.refill(per_second, capacity);
        if level.tokens < 1.0 {
            return Err(Reason::TooManyRequests);
        }
        level.tokens -= 1.0;
        Ok(())
    }
}

impl Direction {
    fn new(most: Option<u64>, bandwidth: Option<u64>) -> Direction {
        let bandwidth = bandwidth.map(|bytes| bytes as f64);
        let level = Mutex::new(BucketLevel::full(bandwidth.unwrap_or_default()));
        Direction { total: AtomicU64::new(0), most, bandwidth, level }
    }

    fn is_spent(&self) -> bool {
        self.most.is_some_and(|most| self.total.load(Ordering::Relaxed) > most)
    }

    /// Counts bytes that have moved. Returns how long the connection has to wait before it moves more; an error once
    /// the session has moved more than it may.
    pub(crate) fn count(&self, bytes: u64) -> Result<Duration, Reason> {
        let before = self.total.fetch_add(bytes, Ordering::Relaxed);
        if self.most.is_some_and(|most| before.saturating_add(bytes) > most) {
            return Err(Reason::ByteLimit);
        }
        let Some(per_second) = self.bandwidth else { return Ok(Duration::ZERO) };
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        // One second's worth may pass at once.
        level.refill(per_second, per_second);
        let moved = bytes as f64;
        level.tokens -= moved;
        Ok(if level.tokens >= 0.0 {
            Duration::ZERO
        } else {
            Duration::from_secs_f64(-level.tokens / per_second)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(options: Options) -> TrafficLimiter {
        TrafficLimiter::new(&options)
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_gets_five_seconds_of_requests_at_once_and_then_its_rate() {
        let limiter = limiter(Options { requests_per_second: Some(2), ..Options::default() });
        let admitted = |host: &str| (0..20).take_while(|_| limiter.admit(host).is_ok()).count();
        assert_eq!(admitted("a.test"), 10);
        assert_eq!(limiter.admit("a.test"), Err(Reason::TooManyRequests));
        assert_eq!(admitted("b.test"), 10, "each host has its own");
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(admitted("a.test"), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn very_many_hosts_cost_bounded_memory() {
        let limiter = limiter(Options { requests_per_second: Some(1), ..Options::default() });
        for number in 0..MAX_HOSTS {
            assert_eq!(limiter.admit(&format!("{number}.test")), Ok(()));
        }
        assert_eq!(limiter.admit("one-more.test"), Err(Reason::TooManyRequests));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(limiter.admit("one-more.test"), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_beyond_the_bandwidth_wait_and_bytes_beyond_the_total_are_refused() {
        let options = Options { bandwidth: Some(1000), max_bytes_down: Some(5000), ..Options::default() };
        let limiter = limiter(options);
        assert_eq!(limiter.down().count(1000), Ok(Duration::ZERO));
        assert_eq!(limiter.down().count(500), Ok(Duration::from_millis(500)));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(limiter.down().count(250), Ok(Duration::from_millis(250)));
        assert_eq!(limiter.up().count(1000), Ok(Duration::ZERO), "each direction has its own");
        assert_eq!(limiter.admit("a.test"), Ok(()));
        assert_eq!(limiter.down().count(3251), Err(Reason::ByteLimit));
        assert_eq!(limiter.admit("a.test"), Err(Reason::ByteLimit));
    }
}
