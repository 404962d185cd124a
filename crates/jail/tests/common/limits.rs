//! Every limit of a jail, by exceeding it. `crate::home` chooses the runtime.

use crate::common::{cgroups_of, id};
use jail::{CpuWeight, Enforcement, JailState, Limits, Runtime};
use std::fs;

const MIB: u64 = 1024 * 1024;
const EMFILE: i64 = 24;
const EAGAIN: i64 = 11;
const ENOSPC: i64 = 28;

#[test]
fn a_process_that_eats_too_much_memory_is_killed_and_counted_by_the_kernel() {
    let home = crate::home();
    let limits = Limits { memory_bytes: 32 * MIB, ..Limits::default() };
    let said = home.probe(limits, &["eat-in-child"]);
    assert_eq!(said["signal"], 9);
    let stats = home.runtime().stats(&id("probe")).unwrap().unwrap();
    assert_eq!(stats.oom_kills, 1);
    assert_eq!(home.runtime().destroy(&id("probe")).unwrap().unwrap().oom_kills, 1);
}

#[test]
fn a_jail_whose_first_process_is_killed_for_memory_ends_and_its_neighbour_does_not() {
    let home = crate::home();
    home.start("neighbour", Limits::default(), &["stay", "1"]);
    home.start("eater", Limits { memory_bytes: 32 * MIB, ..Limits::default() }, &["eat"]);
    assert_eq!(home.wait_for_exit("eater"), JailState::Exited { code: Some(137), signal: None });
    assert!(home.runtime().destroy(&id("eater")).unwrap().unwrap().oom_kills >= 1);

    let stats = home.runtime().stats(&id("neighbour")).unwrap().unwrap();
    assert_eq!((stats.oom_kills, stats.pids_limit_hits), (0, 0));
    assert!(stats.memory_bytes > 0 && stats.pids >= 3, "{stats:?}");
    assert!(matches!(home.runtime().state(&id("neighbour")).unwrap(), Some(JailState::Running)));
}

#[test]
fn a_thread_storm_stops_at_the_limit_and_is_counted() {
    let home = crate::home();
    let said = home.probe(Limits { pids: 40, ..Limits::default() }, &["threads"]);
    assert_eq!(said["errno"], EAGAIN);
    let started = said["started"].as_u64().unwrap();
    assert!((30..40).contains(&started), "{started}");
    assert!(home.runtime().stats(&id("probe")).unwrap().unwrap().pids_limit_hits >= 1);
}

#[test]
fn memory_only_places_are_full_at_their_size() {
    for folder in ["/tmp", "/dev/shm"] {
        let home = crate::home();
        let limits = Limits { tmp_bytes: 2 * MIB, shm_bytes: 2 * MIB, ..Limits::default() };
        let said = home.probe(limits, &["fill", folder]);
        assert_eq!(said["errno"], ENOSPC, "{folder}");
        assert!(said["written"].as_u64().unwrap() <= 2 * MIB, "{folder}: {said}");
    }
}

#[test]
fn open_files_stop_at_the_limit() {
    let home = crate::home();
    let said = home.probe(Limits { open_files: 64, ..Limits::default() }, &["open-files"]);
    assert_eq!(said["errno"], EMFILE);
    assert!(said["opened"].as_u64().unwrap() < 64);
}

#[test]
fn the_cpu_quota_is_set_only_on_request() {
    let home = crate::home();
    home.start("busy", Limits::default(), &["stay", "0"]);
    let runtime = home.runtime();
    let (quota_file, carried_file) = match runtime.info().enforcement {
        Enforcement::CgroupV1 => ("cpu.cfs_quota_us", "cpu.cfs_burst_us"),
        _ => ("cpu.max", "cpu.max.burst"),
    };
    let knob = |file: &str| {
        let groups = cgroups_of(runtime.info().instance.as_str());
        let knob = groups.iter().map(|group| group.join("busy").join(file)).find(|knob| knob.exists())?;
        let text = fs::read_to_string(knob).unwrap();
        text.split_whitespace().next().map(str::to_owned)
    };
    let quota = || knob(quota_file).unwrap();
    // Kernels before 5.14 carry nothing over.
    let carries = |most: &str| knob(carried_file).is_none_or(|carried| carried == most);
    let unlimited = quota();
    assert!(["-1", "max"].contains(&unlimited.as_str()), "{unlimited}");
    for (share, ration) in [(0.5, "125000"), (2.0, "500000"), (0.25, "62500")] {
        runtime.set_cpu(&id("busy"), Some(share)).unwrap();
        assert_eq!(quota(), ration);
        assert!(carries(ration), "{:?}", knob(carried_file));
    }
    runtime.set_cpu(&id("busy"), None).unwrap();
    assert_eq!(quota(), unlimited);
    assert!(carries("0"));
}

#[test]
fn cpu_time_is_counted_and_weighed_by_the_jails_own_cgroup() {
    let home = crate::home();
    home.start("busy", Limits::default(), &["stay", "0"]);
    let runtime = home.runtime();
    let (weight_file, full, least) = match runtime.info().enforcement {
        Enforcement::CgroupV1 => ("cpu.shares", "1024", "64"),
        _ => ("cpu.weight", "100", "6"),
    };
    let weight = || {
        let groups = cgroups_of(runtime.info().instance.as_str());
        let file = groups.iter().map(|group| group.join("busy").join(weight_file)).find(|file| file.exists());
        fs::read_to_string(file.unwrap()).unwrap().trim().to_owned()
    };
    assert_eq!(weight(), full);
    for (set, expected) in [(CpuWeight::LEAST, least), (CpuWeight::FULL, full)] {
        runtime.set_cpu_weight(&id("busy"), set).unwrap();
        assert_eq!(weight(), expected);
    }
    // Starting the jail took some.
    let first = runtime.cpu_usage(&id("busy")).unwrap().unwrap();
    assert!(!first.is_zero());
    assert!(runtime.cpu_usage(&id("busy")).unwrap().unwrap() >= first);
    runtime.destroy(&id("busy")).unwrap();
    let gone = [
        runtime.cpu_usage(&id("busy")).map(drop),
        runtime.set_cpu(&id("busy"), Some(0.5)),
        runtime.set_cpu_weight(&id("busy"), CpuWeight::FULL),
    ];
    for result in gone {
        assert_eq!(result.unwrap_err().code().to_string(), "jail_unknown");
    }
}

#[test]
fn a_jail_that_floods_its_output_is_kept_short_and_its_runtime_goes_on_answering() {
    let home = crate::home();
    home.start("loud", Limits::default(), &["flood"]);
    for _ in 0..20 {
        assert!(home.runtime().log_tail(&id("loud")).unwrap().len() <= 64 * 1024);
        assert!(matches!(home.runtime().state(&id("loud")).unwrap(), Some(JailState::Running)));
    }
    home.start("quiet", Limits::default(), &["stay", "0"]);
    home.runtime().destroy(&id("loud")).unwrap();
}
