//! The CPU credit of one jail: arithmetic and decisions, without files and without a clock of its own.
//!
//! A jail earns its share of processors all the time and pays for what it uses. What it does not use is saved, up to a
//! maximum. While there is credit the jail may use whole processors; without, it is held to its share. Over any time the
//! jail uses at most its share and the credit that it had at the start.

use jail::CpuWeight;
use std::time::{Duration, Instant};

/// The shortest time between two readings of a jail's CPU time, and between two changes of its limit.
pub const TICK: Duration = Duration::from_millis(250);
/// The longest time between two readings: the weight and the shown credit are at most this old.
const LONGEST_INTERVAL: Duration = Duration::from_secs(1);
/// The credit that counts as used up, in ticks of the share: less would be gone before the next reading.
const USED_UP_TICKS: f64 = 2.0;
/// A jail without credit gets whole processors again when it has saved this much time of its share, so that its limit
/// does not change with every tick.
const RESUME: Duration = Duration::from_secs(1);
/// The CPU time after which a jail's weight is at its least: what a heavy page needs to load. The weight follows the last
/// part of the credit only, so that sessions that burn give way at once, not when all their credit is gone.
const WEIGHED: Duration = Duration::from_secs(3);
/// Limits between the share and the burst are set in steps of a quarter of a processor.
const STEPS_PER_PROCESSOR: f64 = 4.0;

/// CPU time of every jail, as the operator set it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuSettings {
    /// Sustained share of processors: 0.5 is half of one.
    pub share: f64,
    /// The most CPU time that a jail saves. It has all of it at the start.
    pub credit: Duration,
    /// The most processors at once; all of the machine if `None`.
    pub burst: Option<f64>,
}

/// What a jail may use until the next decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuLimit {
    /// `None` for all processors of the machine.
    pub processors: Option<f64>,
    pub weight: CpuWeight,
}

impl CpuLimit {
    /// What a new jail has.
    pub const NONE: CpuLimit = CpuLimit { processors: None, weight: CpuWeight::FULL };
}

/// The account of one jail.
#[derive(Clone, Debug)]
pub struct CpuCredit {
    share: f64,
    /// In seconds, like all amounts here.
    most: f64,
    /// The most processors that the jail can use, and whether that is less than the machine has.
    burst: f64,
    is_burst_limited: bool,
    /// Below zero when a jail used more between two readings than it had.
    balance: f64,
    /// An account like `balance` that holds less, and so forgets sooner.
    recent: f64,
    most_recent: f64,
    used_up: bool,
    burning: bool,
    read_at: Instant,
    usage: Duration,
}

impl CpuCredit {
    /// A full account. `usage` is the CPU time that the jail has used before, which does not count.
    pub fn full(settings: &CpuSettings, machine: f64, now: Instant, usage: Duration) -> CpuCredit {
        let most = settings.credit.as_secs_f64();
        let burst = settings.burst.unwrap_or(machine).min(machine);
        let mut credit = CpuCredit {
            share: settings.share,
            most,
            burst: burst.max(settings.share),
            is_burst_limited: burst < machine,
            balance: most,
            recent: most.min(WEIGHED.as_secs_f64()),
            most_recent: most.min(WEIGHED.as_secs_f64()),
            used_up: false,
            burning: false,
            read_at: now,
            usage,
        };
        credit.decide();
        credit
    }

    /// Settles the time since the last reading.
    pub fn settle(&mut self, now: Instant, usage: Duration) {
        let earned = self.share * now.saturating_duration_since(self.read_at).as_secs_f64();
        let spent = usage.saturating_sub(self.usage).as_secs_f64();
        // A reading that came late is not the jail's debt.
        let deepest = -self.burst * TICK.as_secs_f64();
        self.balance = (self.balance + earned - spent).clamp(deepest, self.most);
        self.recent = (self.recent + earned - spent).clamp(0.0, self.most_recent);
        self.skip(now, usage);
        self.decide();
    }

    /// Starts counting anew from here; the time since the last reading is free.
    pub fn skip(&mut self, now: Instant, usage: Duration) {
        self.read_at = now;
        self.usage = usage;
    }

    fn decide(&mut self) {
        self.used_up = if self.used_up {
            self.balance <= self.lower_mark() || self.balance < self.upper_mark()
        } else {
            self.balance <= self.lower_mark()
        };
        // Ends with a second of rest, so that it does not change with every tick.
        let rested = self.most_recent / 3.0;
        self.burning = self.most_recent > 0.0 && self.recent <= if self.burning { rested } else { 0.0 };
    }

    fn lower_mark(&self) -> f64 {
        (USED_UP_TICKS * self.share * TICK.as_secs_f64()).min(self.most / 4.0)
    }

    fn upper_mark(&self) -> f64 {
        (self.lower_mark() + self.share * RESUME.as_secs_f64()).min(self.most)
    }

    pub fn limit(&self) -> CpuLimit {
        let weight = if self.most > 0.0 {
            CpuWeight::of_part(self.recent / self.most_recent)
        } else {
            CpuWeight::FULL
        };
        CpuLimit { processors: self.processors(), weight }
    }

    /// The number of processors that cannot use more than the credit before the next reading.
    fn processors(&self) -> Option<f64> {
        if self.used_up {
            return Some(self.share);
        }
        let affordable = self.balance / TICK.as_secs_f64();
        if affordable >= self.burst {
            return self.is_burst_limited.then_some(self.burst);
        }
        let steps = (affordable * STEPS_PER_PROCESSOR).floor() / STEPS_PER_PROCESSOR;
        Some(steps.max(self.share))
    }

    /// How long the limit surely need not change; at most [`LONGEST_INTERVAL`].
    pub fn interval(&self) -> Duration {
        let seconds = if self.used_up {
            (self.upper_mark() - self.balance) / self.share
        } else {
            self.balance / self.burst - TICK.as_secs_f64()
        };
        let interval = Duration::try_from_secs_f64(seconds).unwrap_or(TICK);
        interval.clamp(TICK, LONGEST_INTERVAL)
    }

    /// The jail has used as much beyond its share lately as a heavy page needs to load, and gives way to others.
    pub fn is_burning(&self) -> bool {
        self.burning
    }

    /// Credit in seconds, never below zero.
    pub fn seconds(&self) -> f64 {
        self.balance.max(0.0)
    }

    pub fn is_used_up(&self) -> bool {
        self.used_up
    }

    pub fn share(&self) -> f64 {
        self.share
    }

    pub fn burst(&self) -> f64 {
        self.burst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: CpuSettings = CpuSettings { share: 0.5, credit: Duration::from_secs(30), burst: None };

    /// A jail on a machine that gives it all that its limit allows, and time that passes as the test says.
    struct Machine {
        credit: CpuCredit,
        processors: f64,
        now: Instant,
        usage: Duration,
    }

    impl Machine {
        fn new(settings: CpuSettings, processors: f64) -> Machine {
            let now = Instant::now();
            let usage = Duration::from_secs(7);
            let credit = CpuCredit::full(&settings, processors, now, usage);
            Machine { credit, processors, now, usage }
        }

        fn allowed(&self) -> f64 {
            self.credit.limit().processors.unwrap_or(self.processors)
        }

        /// Wants this many processors for as long; returns the CPU seconds that it got.
        fn run(&mut self, wanted: f64, seconds: f64) -> f64 {
            let before = self.usage;
            let end = self.now + Duration::from_secs_f64(seconds);
            while self.now < end {
                let step = self.credit.interval();
                self.usage += step.mul_f64(wanted.min(self.allowed()));
                self.now += step;
                self.credit.settle(self.now, self.usage);
            }
            (self.usage - before).as_secs_f64()
        }
    }

    #[test]
    fn a_jail_that_burns_uses_its_credit_and_then_its_share() {
        for (share, credit, burst, processors) in [
            (0.5, 30, None, 2.0),
            (0.5, 30, None, 64.0),
            (0.5, 30, Some(1.5), 8.0),
            (0.05, 5, None, 4.0),
            (0.5, 1, None, 2.0),
            (3.0, 10, None, 2.0),
            (0.5, 0, None, 2.0),
        ] {
            let settings = CpuSettings { share, credit: Duration::from_secs(credit), burst };
            let mut machine = Machine::new(settings, processors);
            let begun = machine.now;
            let first = if credit == 0 { share } else { burst.unwrap_or(processors) };
            assert_eq!(machine.allowed(), first, "{settings:?}");
            machine.run(processors, 600.0);
            let sustained = machine.run(processors, 100.0) / 100.0;
            let fair = share.min(processors);
            assert!((sustained - fair).abs() <= 0.02 * fair, "{settings:?}: {sustained}");
            // All in all: the share and the credit, and no more.
            let total = (machine.usage - Duration::from_secs(7)).as_secs_f64();
            let elapsed = (machine.now - begun).as_secs_f64();
            assert!(total <= share * elapsed + credit as f64 + 0.25 * share, "{settings:?}: {total}");
        }
    }

    #[test]
    fn an_idle_jail_saves_up_to_its_maximum_and_never_more() {
        let mut machine = Machine::new(DEFAULT, 2.0);
        machine.run(2.0, 60.0);
        assert!(machine.credit.seconds() < 0.5, "{}", machine.credit.seconds());
        assert_eq!(machine.allowed(), 0.5);
        // Half a processor saves half a second each second.
        machine.run(0.0, 10.0);
        assert!((machine.credit.seconds() - 5.25).abs() < 0.3, "{}", machine.credit.seconds());
        assert_eq!(machine.credit.limit().processors, None);
        machine.run(0.0, 1000.0);
        assert_eq!(machine.credit.seconds(), 30.0);
    }

    #[test]
    fn a_jail_is_never_overdrawn_by_more_than_a_tick_however_it_alternates() {
        for idle in [0.0, 0.3, 1.1, 2.5, 10.0] {
            let mut machine = Machine::new(DEFAULT, 64.0);
            let (mut used, mut elapsed) = (0.0, 0.0);
            for _ in 0..200 {
                let start = machine.now;
                used += machine.run(64.0, 0.25) + machine.run(0.0, idle);
                elapsed += (machine.now - start).as_secs_f64();
                assert!(used <= 30.0 + 0.5 * elapsed + 0.5, "idle {idle}: {used} in {elapsed}");
                assert!(machine.credit.balance >= -0.5, "idle {idle}: {}", machine.credit.balance);
            }
        }
    }

    #[test]
    fn a_late_reading_leaves_no_debt_beyond_one_tick_of_the_burst() {
        let mut machine = Machine::new(DEFAULT, 4.0);
        let late = Duration::from_secs(100);
        machine.credit.settle(machine.now + late, machine.usage + 4 * late);
        assert_eq!(machine.credit.balance, -1.0);
        assert_eq!(machine.credit.seconds(), 0.0);
        assert_eq!(machine.credit.limit(), CpuLimit { processors: Some(0.5), weight: CpuWeight::LEAST });
    }

    #[test]
    fn a_jail_at_its_share_keeps_one_limit_although_readings_waver() {
        let mut machine = Machine::new(DEFAULT, 2.0);
        machine.run(2.0, 60.0);
        let mut changes = 0;
        let mut last = machine.credit.limit();
        for reading in 0..400 {
            // The kernel counts the share over a quarter of a second that is not ours.
            let wavering = if reading % 2 == 0 { 0.9 } else { 0.1 };
            machine.usage += TICK.mul_f64(wavering);
            machine.now += TICK;
            machine.credit.settle(machine.now, machine.usage);
            changes += usize::from(machine.credit.limit() != last);
            last = machine.credit.limit();
        }
        assert_eq!(changes, 0);
    }

    #[test]
    fn weight_follows_the_last_seconds_from_full_to_a_sixteenth() {
        let mut machine = Machine::new(DEFAULT, 2.0);
        assert_eq!(machine.credit.limit(), CpuLimit::NONE);
        machine.run(2.0, 1.0);
        assert_eq!(machine.credit.limit().weight, CpuWeight::of_part(0.5));
        // Burning gives way while there is credit.
        machine.run(2.0, 2.0);
        assert_eq!(machine.credit.limit(), CpuLimit { processors: None, weight: CpuWeight::LEAST });
        machine.run(2.0, 30.0);
        assert_eq!(machine.credit.limit(), CpuLimit { processors: Some(0.5), weight: CpuWeight::LEAST });
        // So does resting bring it back.
        machine.run(0.0, 7.0);
        assert_eq!(machine.credit.limit(), CpuLimit::NONE);
        // Without credit all jails are equal.
        let none = CpuSettings { credit: Duration::ZERO, ..DEFAULT };
        assert_eq!(Machine::new(none, 2.0).credit.limit().weight, CpuWeight::FULL);
    }

    #[test]
    fn time_that_is_skipped_is_free() {
        let mut machine = Machine::new(DEFAULT, 2.0);
        machine.run(2.0, 5.0);
        let before = machine.credit.seconds();
        machine.credit.skip(machine.now + Duration::from_secs(20), machine.usage + Duration::from_secs(20));
        assert_eq!(machine.credit.seconds(), before);
        let next = machine.now + Duration::from_secs(21);
        machine.credit.settle(next, machine.usage + Duration::from_secs(20));
        assert!((machine.credit.seconds() - before - 0.5).abs() < 1e-6);
    }

    #[test]
    fn readings_are_rare_while_nothing_can_change() {
        let mut machine = Machine::new(DEFAULT, 2.0);
        assert_eq!(machine.credit.interval(), LONGEST_INTERVAL);
        machine.run(2.0, 60.0);
        machine.run(0.5, 1.0);
        assert!(machine.credit.interval() <= LONGEST_INTERVAL);
        // One second of saving at most before whole processors again.
        machine.run(0.0, 1.5);
        assert!(machine.allowed() > 0.5);
        assert_eq!(machine.credit.interval(), TICK);
    }
}
