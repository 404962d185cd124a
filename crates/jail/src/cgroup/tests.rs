//! Both versions, against folders that imitate the kernel's.

use super::find::{Host, check_controllers, check_within_reach, not_writable};
use super::*;
use crate::CpuWeight;
use std::cell::Cell;

const V1: &str = "\
30 24 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 24 0:28 / /sys/fs/cgroup/pids rw shared:9 - cgroup cgroup rw,pids
33 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
const V1_APART: &str = "\
30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
34 24 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct
31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 24 0:28 / /sys/fs/cgroup/pids rw shared:9 - cgroup cgroup rw,pids";
const V1_UNCOUNTED: &str = "\
30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 24 0:28 / /sys/fs/cgroup/pids rw shared:9 - cgroup cgroup rw,pids";
const V2: &str = "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate";
const V2_IN_CONTAINER: &str = "29 23 0:26 /box/7 /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
const OWN_V1: &str = "6:pids:/me\n5:memory:/me/m\n4:cpu,cpuacct:/\n0::/";
const OWN_V2: &str = "0::/user.slice/run-1.scope";
const OWN_V2_MOVED: &str = "0::/user.slice/run-1.scope/stockade-host";

#[test]
fn the_parent_is_the_mount_for_root_and_a_delegated_cgroup_for_others() {
    let auto = CgroupChoice::Auto;
    let under = CgroupChoice::Under(PathBuf::from("/box/7/mine"));
    let sys = |tail: &str| PathBuf::from("/sys/fs/cgroup").join(tail);
    let three = |memory: &str, cpu: &str, pids: &str| Folders {
        memory: sys(memory),
        cpu: sys(cpu),
        pids: sys(pids),
        cpuacct: None,
    };
    let four = Folders { cpuacct: Some(sys("cpuacct")), ..three("memory", "cpu", "pids") };
    let cases = [
        (V1, OWN_V1, &auto, true, Version::V1, three("memory", "cpu,cpuacct", "pids")),
        (V1, OWN_V1, &auto, false, Version::V1, three("memory/me/m", "cpu,cpuacct", "pids/me")),
        (V1_APART, OWN_V1, &auto, true, Version::V1, four),
        (
            V1,
            OWN_V1,
            &under,
            false,
            Version::V1,
            three("memory/box/7/mine", "cpu,cpuacct/box/7/mine", "pids/box/7/mine"),
        ),
        (V2, OWN_V2, &auto, true, Version::V2, Folders::one(sys(""))),
        (V2, OWN_V2, &auto, false, Version::V2, Folders::one(sys("user.slice/run-1.scope"))),
        (V2, OWN_V2_MOVED, &auto, false, Version::V2, Folders::one(sys("user.slice/run-1.scope"))),
        (V2_IN_CONTAINER, OWN_V2, &under, true, Version::V2, Folders::one(sys("mine"))),
    ];
    for (mounts, own, choice, root, version, folders) in cases {
        let found = Host::parse(mounts, own).parent(choice, root).unwrap();
        assert_eq!(found, (version, folders), "{choice:?} root={root}\n{mounts}");
    }
}

#[test]
fn hosts_without_the_controllers_are_told_apart_from_hosts_with_them() {
    let outside = CgroupChoice::Under(PathBuf::from("/a/../../etc"));
    let cases = [
        ("", CgroupChoice::Auto),
        ("31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory", CgroupChoice::Auto),
        (V1_UNCOUNTED, CgroupChoice::Auto),
        (V2, outside),
    ];
    for (mounts, choice) in cases {
        let error = Host::parse(mounts, OWN_V2).parent(&choice, true).unwrap_err();
        assert_eq!(error.code().to_string(), "limits_unavailable", "{mounts}");
        assert!(!error.hint().is_empty());
    }
}

#[test]
fn the_cgroup_that_holds_us_and_the_jails_is_found() {
    let cases = [
        (V2, OWN_V2, "user.slice/run-1.scope", "user.slice/run-1.scope"),
        (V2, OWN_V2_MOVED, "user.slice/run-1.scope", "user.slice/run-1.scope"),
        (V2, OWN_V2, "user.slice/run-12.scope", "user.slice"),
        (V2, OWN_V2, "stockade-me", ""),
        (V2, "0::/", "stockade-me", ""),
        (V2_IN_CONTAINER, "0::/box/7/mine/a", "mine/b", "mine"),
        // This process is outside of the mounted part.
        (V2_IN_CONTAINER, "0::/other", "mine", ""),
    ];
    let sys = |tail: &str| Path::new("/sys/fs/cgroup").join(tail);
    for (mounts, own, parent, expected) in cases {
        let above = Host::parse(mounts, own).common_ancestor(&sys(parent)).unwrap();
        assert_eq!(above, sys(expected), "{own} and {parent}");
    }
    assert!(Host::parse(V2, "0::/../out").common_ancestor(&sys("mine")).is_err());
}

#[test]
fn a_read_only_mount_is_told_apart_from_a_cgroup_of_someone_else() {
    for (error, word) in [(Errno::ROFS, "ProtectControlGroups=no"), (Errno::ACCESS, "Delegate=yes")] {
        let error = not_writable(Version::V2, Path::new("/sys/fs/cgroup"), error);
        assert_eq!(error.code().to_string(), "limits_unavailable");
        assert!(error.hint().contains(word) && error.hint().contains("weaker_limits"), "{}", error.hint());
    }
}

#[test]
fn a_parent_out_of_reach_or_without_controllers_is_refused_with_the_way_in() {
    let root = tempfile::tempdir().unwrap();
    fake(root.path(), &[("cgroup.procs", ""), ("cgroup.controllers", "cpuset cpu memory pids\n")]);
    check_within_reach(root.path(), root.path()).unwrap();
    check_controllers(root.path()).unwrap();

    fake(root.path(), &[("cgroup.controllers", "cpuset memory pids\n")]);
    let refused = [
        (check_within_reach(&root.path().join("gone"), root.path()), "runs outside of", "cgroup_parent"),
        (check_controllers(root.path()), "lacks the controllers cpu", "Delegate=cpu memory pids"),
    ];
    for (result, why, fix) in refused {
        let error = result.unwrap_err();
        assert_eq!(error.code().to_string(), "limits_unavailable");
        assert!(error.to_string().contains(why), "{error}");
        assert!(error.hint().contains(fix) && error.hint().contains("systemd-run"), "{}", error.hint());
    }
}

/// A folder with the files that the kernel would make.
fn fake(folder: &Path, files: &[(&str, &str)]) {
    fs::create_dir_all(folder).unwrap();
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

fn id(text: &str) -> InstanceId {
    InstanceId::parse(text).unwrap()
}

const KNOBS_V1: &[(&str, &str)] = &[
    ("memory.limit_in_bytes", ""),
    ("memory.memsw.limit_in_bytes", ""),
    ("memory.usage_in_bytes", "4096\n"),
    ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),
    ("cpu.cfs_period_us", ""),
    ("cpu.cfs_quota_us", ""),
    ("cpu.cfs_burst_us", ""),
    ("cpu.shares", "1024"),
    ("cpuacct.usage", "2500000000\n"),
    ("pids.max", ""),
    ("pids.current", "7\n"),
    ("pids.events", "max 2\n"),
];
const KNOBS_V2: &[(&str, &str)] = &[
    ("memory.max", ""),
    ("memory.swap.max", ""),
    ("memory.current", "4096\n"),
    ("memory.events", "low 0\nmax 9\noom 4\noom_kill 3\noom_group_kill 0\n"),
    ("cpu.max", ""),
    ("cpu.max.burst", ""),
    ("cpu.weight", "100"),
    ("cpu.stat", "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n"),
    ("pids.max", ""),
    ("pids.current", "7\n"),
    ("pids.events", "max 2\n"),
];

#[test]
fn limits_are_written_and_counts_read_in_both_versions() {
    let v1: &[(&str, &str)] = &[
        ("memory.limit_in_bytes", "1000"),
        ("memory.memsw.limit_in_bytes", "1000"),
        ("cpu.cfs_period_us", "250000"),
        ("cpu.cfs_quota_us", "125000"),
        ("cpu.cfs_burst_us", "125000"),
        ("pids.max", "9"),
    ];
    let v2: &[(&str, &str)] = &[
        ("memory.max", "1000"),
        ("memory.swap.max", "0"),
        ("cpu.max", "125000 250000"),
        ("cpu.max.burst", "125000"),
        ("pids.max", "9"),
    ];
    let lifted = [
        [("cpu.cfs_quota_us", "-1"), ("cpu.cfs_burst_us", "0")],
        [("cpu.max", "max 250000"), ("cpu.max.burst", "0")],
    ];
    for (index, (version, knobs, expected)) in
        [(Version::V1, KNOBS_V1, v1), (Version::V2, KNOBS_V2, v2)].into_iter().enumerate()
    {
        let folder = tempfile::tempdir().unwrap();
        fake(folder.path(), knobs);
        let group = Group::new(version, Folders::one(folder.path().to_owned()));
        group.set_limits(&Limits { memory_bytes: 1000, pids: 9, ..Limits::default() }).unwrap();
        group.set_cpu(Some(0.5)).unwrap();
        for (name, value) in expected {
            assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), *value, "{name}");
        }
        let stats = JailStats { memory_bytes: 4096, oom_kills: 3, pids: 7, pids_limit_hits: 2 };
        assert_eq!(group.stats().unwrap(), stats);
        assert_eq!(group.cpu_usage().unwrap(), Duration::from_millis(2500));
        group.set_cpu(None).unwrap();
        for (name, value) in lifted[index] {
            assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), value, "{name}");
        }
    }
}

#[test]
fn the_weight_of_a_jail_goes_from_the_kernels_own_to_a_sixteenth() {
    let cases = [
        (1.0, "1024", "100"),
        (2.0, "1024", "100"),
        (0.49, "512", "50"),
        (0.0, "64", "6"),
        (-1.0, "64", "6"),
    ];
    for (part, shares, weight) in cases {
        for (version, knobs, name, expected) in
            [(Version::V1, KNOBS_V1, "cpu.shares", shares), (Version::V2, KNOBS_V2, "cpu.weight", weight)]
        {
            let folder = tempfile::tempdir().unwrap();
            fake(folder.path(), knobs);
            let group = Group::new(version, Folders::one(folder.path().to_owned()));
            group.set_cpu_weight(CpuWeight::of_part(part)).unwrap();
            assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), expected, "{part}");
        }
    }
}

#[test]
fn a_limit_is_never_written_to_a_file_that_is_not_a_knob() {
    let folder = tempfile::tempdir().unwrap();
    for version in [Version::V1, Version::V2] {
        let group = Group::new(version, Folders::one(folder.path().to_owned()));
        assert!(group.set_limits(&Limits::default()).is_err());
        assert!(group.set_cpu(Some(1.0)).is_err());
        assert!(group.set_cpu_weight(CpuWeight::FULL).is_err());
        assert!(group.cpu_usage().is_err());
        assert!(group.stats().is_err());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn version_2_enables_controllers_on_the_whole_way_down() {
    let root = tempfile::tempdir().unwrap();
    let control = [("cgroup.subtree_control", "pids\n"), ("cgroup.procs", "")];
    for folder in ["", "stockade", "stockade/i1"] {
        fake(&root.path().join(folder), &control);
    }
    let shared = Folders::one(root.path().join(SHARED));
    Cgroups { version: Version::V2, instance: id("i1"), shared }.make().unwrap();
    for folder in ["", "stockade", "stockade/i1"] {
        let file = root.path().join(folder).join("cgroup.subtree_control");
        assert_eq!(fs::read_to_string(file).unwrap(), "+memory +cpu", "{folder}");
    }
}

#[test]
fn processes_are_moved_out_of_the_way_until_the_kernel_is_content() {
    let root = tempfile::tempdir().unwrap();
    fake(root.path(), &[("cgroup.procs", "11\n")]);
    // The kernel refuses while there are processes; one of them forks while it is moved.
    let rounds = Cell::new(0);
    let refused = |errno: Errno| Err(JailError::file("enabling", root.path())(errno.into()));
    let moved = || fs::read_to_string(root.path().join(OWN_LEAF).join("cgroup.procs")).unwrap();
    enable_or_move_processes(root.path(), || {
        rounds.set(rounds.get() + 1);
        match rounds.get() {
            1 => return refused(Errno::BUSY),
            2 => assert_eq!(moved(), "11"),
            _ => return Ok(()),
        }
        fake(root.path(), &[("cgroup.procs", "12\n")]);
        refused(Errno::BUSY)
    })
    .unwrap();
    assert_eq!((rounds.get(), moved().as_str()), (3, "12"));

    // Any other error is final, and nothing is moved.
    fake(root.path(), &[("cgroup.procs", "13\n")]);
    assert!(enable_or_move_processes(root.path(), || refused(Errno::NOENT)).is_err());
    assert_eq!(moved(), "12");
}

#[test]
fn an_instance_whose_controllers_cannot_be_enabled_leaves_no_cgroup() {
    // No cgroup.subtree_control to write to.
    let root = tempfile::tempdir().unwrap();
    let shared = Folders::one(root.path().join(SHARED));
    assert!(Cgroups { version: Version::V2, instance: id("i1"), shared }.make().is_err());
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn the_shared_cgroup_goes_with_the_last_instance() {
    let root = tempfile::tempdir().unwrap();
    let folders = Folders {
        memory: root.path().join("memory/stockade"),
        cpu: root.path().join("cpu/stockade"),
        pids: root.path().join("pids/stockade"),
        cpuacct: Some(root.path().join("cpuacct/stockade")),
    };
    let of = |name: &str| Cgroups { version: Version::V1, instance: id(name), shared: folders.clone() };
    for hierarchy in ["memory", "cpu", "pids", "cpuacct"] {
        fs::create_dir(root.path().join(hierarchy)).unwrap();
    }
    let (first, second) = (of("i1"), of("i2"));
    first.make().unwrap();
    second.make().unwrap();
    first.remove().unwrap();
    assert!(folders.memory.join("i2").is_dir() && !folders.memory.join("i1").exists());
    second.remove().unwrap();
    second.remove().unwrap();
    for folder in folders.each() {
        assert!(!folder.exists(), "{}", folder.display());
    }
}

#[test]
fn a_real_version_2_cgroup_is_emptied_and_removed() {
    // With controllers in version 1, version 2 is mounted too and can kill.
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 ")).unwrap();
    let mount = Path::new(mount.split(' ').nth(4).unwrap());
    let folder = mount.join(format!("stockade-test-{}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    let group = Group::new(Version::V2, Folders::one(folder.clone()));
    let mut sleepers: Vec<_> =
        (0..3).map(|_| std::process::Command::new("sleep").arg("1000").spawn().unwrap()).collect();
    for sleeper in &sleepers {
        fs::write(folder.join("cgroup.procs"), sleeper.id().to_string()).unwrap();
    }
    assert_eq!(group.pids().unwrap().len(), 3);
    assert_eq!(group.kill_all().unwrap(), Some(3));
    for sleeper in &mut sleepers {
        assert!(!sleeper.wait().unwrap().success());
    }
    group.remove().unwrap();
    group.remove().unwrap();
    assert!(!folder.exists());
}
