//! The CPU limits that users have: what they cost a session that has just opened, one that burns, and one beside two
//! that burn.

use crate::actions::{BURNS, Ours, static_pages};
use crate::{line, median, print_line};
use std::time::{Duration, Instant};

/// New sessions of each kind, and navigations of one session beside others.
const SESSIONS: usize = 7;
const NAVIGATIONS: usize = 15;
const THINKING: Duration = Duration::from_millis(500);
/// Two pages that burn have used more than a heavy page needs after this time, and less than their credit.
const UNTIL_THEY_BURN: Duration = Duration::from_secs(5);
/// A credit that is used up in seconds, and the time over which the share is measured then.
const SMALL_CREDIT: &str = "    container:\n      cpu_credit: 2\n";
const MEASURED: Duration = Duration::from_secs(10);
/// Processors of a session that nothing limits.
const UNLIMITED: &str = "    container:\n      cpu_shares: 64\n";
const SHARE: f64 = 0.5;

/// The first navigation of a new session with its snapshot, at the default limits and without.
pub fn new_sessions() {
    let (site, pages) = static_pages();
    for (what, path) in pages {
        let (mut limited, mut free) = (Vec::new(), Vec::new());
        for _ in 0..=SESSIONS {
            free.push(Ours::start_with(&site, UNLIMITED).navigate(&path));
            limited.push(Ours::start(&site).navigate(&path));
        }
        let (limited, free) = (median(&mut limited[1..]), median(&mut free[1..]));
        line(&format!("{what}, new"), limited, "without a CPU limit", free, 1.15);
    }
}

/// Processors that a page which computes for ever has after its credit.
pub fn burning() {
    let (site, _) = static_pages();
    let mut session = Ours::start_with(&site, SMALL_CREDIT);
    session.navigate(BURNS);
    while !session.is_limited() {
        std::thread::sleep(Duration::from_millis(100));
    }
    let (begun, before) = (Instant::now(), session.cpu_seconds());
    std::thread::sleep(MEASURED);
    let used = (session.cpu_seconds() - before) / begun.elapsed().as_secs_f64();
    let verdict = if used <= SHARE * 1.1 { "ok" } else { "OVER" };
    print_line(&format!(
        "a page that burns, after its credit   {used:.3} processors (its share is {SHARE}) {verdict}"
    ));
}

/// Navigations of a session that rested, beside two that burn and have credit left.
pub fn beside_two_that_burn() {
    let (site, pages) = static_pages();
    let mut rested = Ours::start(&site);
    for (what, path) in pages {
        let times = |session: &mut Ours| {
            let mut times: Vec<Duration> = (0..=NAVIGATIONS)
                .map(|_| {
                    std::thread::sleep(THINKING);
                    session.navigate(&path)
                })
                .collect();
            median(&mut times[1..])
        };
        let alone = times(&mut rested);
        let others: Vec<String> = (0..2).map(|_| rested.open_another(BURNS)).collect();
        std::thread::sleep(UNTIL_THEY_BURN);
        let beside = times(&mut rested);
        for other in &others {
            rested.close_another(other);
        }
        line(&format!("{what}, 2 burning"), beside, "alone", alone, 1.5);
    }
}
