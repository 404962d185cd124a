//! What a program can see and do inside a real jail. `crate::home` chooses the runtime.

use crate::common::seen::seen;
use crate::common::{id, spec};
use jail::{JailError, JailState, Limits, Runtime};
use serde_json::Value;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn a_jail_shows_nothing_of_the_host() {
    let home = crate::home();
    let facts = home.probe(Limits::default(), &["facts"]);
    let is = |key: &str, expected: Value| assert_eq!(facts[key], expected, "{key}");

    is("pid", 1.into());
    is("interfaces", serde_json::json!(["lo"]));
    is("routes", 0.into());
    is("processes", serde_json::json!(["1"]));
    is("hostname", "jail".into());
    is("shell", false.into());
    is("setuid", serde_json::json!([]));
    // The standard three, and the one that lists the folder.
    is("descriptors", 4.into());
    is("environment", serde_json::json!([["GREETING", "hello"], ["PWD", "/"]]));
    is(
        "top",
        serde_json::json!(["dev", "etc", "lib", "lib64", "proc", "run", "stockade", "sys", "tmp", "usr"]),
    );
    assert!(
        facts["core_limit"].as_str().unwrap().split_whitespace().filter(|word| *word == "1").count() == 2
    );
    assert!(
        facts["cgroup"].as_str().unwrap().lines().all(|line| line.ends_with(":/")),
        "{}",
        facts["cgroup"]
    );

    let status = &facts["status"];
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(status[set], "0000000000000000", "{set}");
    }
    assert_eq!(status["Seccomp"], "2");
    assert_eq!(status["NoNewPrivs"], "1");
    assert_eq!(status["Uid"], "1000\t1000\t1000\t1000");
    assert!(["", "1000", "65534"].contains(&status["Groups"].as_str().unwrap()), "{}", status["Groups"]);
}

#[test]
fn a_jail_has_two_programs_and_no_place_to_write_but_memory() {
    let home = crate::home();
    let facts = home.probe(Limits::default(), &["facts"]);

    let executables = strings(&facts["executables"]);
    let (loaders, programs): (Vec<&str>, Vec<&str>) =
        executables.into_iter().partition(|path| path.contains("/ld-linux"));
    assert_eq!(loaders.len(), 1);
    assert_eq!(programs.len(), 2, "{programs:?}");
    assert!(programs.contains(&"/stockade/bridge"));
    assert!(programs.iter().any(|path| path.starts_with("/stockade/chromium/")));

    for writable in strings(&facts["writable"]) {
        let mount = strings(&facts["mounts"])
            .into_iter()
            .rfind(|line| line.split(' ').nth(4) == Some(writable))
            .unwrap_or_else(|| panic!("{writable} is writable and no mount of its own"));
        assert!(mount.contains(" - tmpfs "), "{mount}");
        assert!(mount.contains("size="), "{mount}");
    }
    assert_eq!(strings(&facts["writable"]), ["/dev/shm", "/tmp"]);
}

#[test]
fn the_user_of_a_jail_is_nobody_else_on_the_host() {
    let home = crate::home();
    let mut users = Vec::new();
    for name in ["one", "two"] {
        home.start(name, Limits::default(), &["stay", "0"]);
        let pid = home.first_pid(name);
        let owner = std::fs::metadata(format!("/proc/{pid}")).unwrap().uid();
        assert_eq!(owner, std::fs::metadata(home.instance_dir().join(name)).unwrap().uid());
        assert_ne!(owner, 0);
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let groups = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap();
        assert_eq!(groups.trim(), "", "{name}");
        users.push(owner);
    }
    assert_ne!(users[0], users[1]);
}

#[test]
fn the_kernel_refuses_what_a_browser_has_no_use_for() {
    const EPERM: i64 = 1;
    let home = crate::home();
    let results = home.probe(Limits::default(), &["calls"]);
    let results = results.as_object().unwrap();
    assert!(results.len() > 20);
    for (name, errno) in results {
        let expected = if name.starts_with("allowed") { 0 } else { EPERM };
        assert_eq!(errno.as_i64(), Some(expected), "{name}");
    }
}

#[test]
fn a_server_on_the_hosts_loopback_is_out_of_reach() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let home = crate::home();
    let address = server.local_addr().unwrap().to_string();
    let result = home.probe(Limits::default(), &["connect", &address]);
    assert_eq!(result["tcp"], "connection refused");
    assert_eq!(result["udp"], "network unreachable");
    assert!(server.accept().is_err());
}

#[test]
fn the_two_sockets_are_the_only_way_out_and_their_folder_is_read_only() {
    let home = crate::home();
    let prepared = home.runtime().prepare(&id("probe")).unwrap();
    home.runtime().start(&spec("probe", Limits::default(), &["dial"])).unwrap();
    let ended = home.wait_for_exit("probe");
    let said = home.runtime().log_tail(&id("probe")).unwrap();
    assert_eq!(ended, JailState::Exited { code: Some(0), signal: None }, "{said}");
    for (listener, expected) in [(&prepared.cdp, "cdp"), (&prepared.egress, "egress")] {
        let (mut connection, _) = listener.accept().unwrap();
        connection.set_nonblocking(false).unwrap();
        let mut text = String::new();
        connection.read_to_string(&mut text).unwrap();
        assert_eq!(text, expected);
    }
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["write"], "read-only filesystem or storage medium");
    assert_eq!(said["names"], serde_json::json!(["cdp.sock", "egress.sock"]));
}

#[test]
fn a_jail_that_cannot_start_says_why_and_leaves_nothing() {
    let home = crate::home();
    home.runtime().prepare(&id("bad")).unwrap();
    let mut spec = spec("bad", Limits::default(), &[]);
    spec.command = vec!["/bin/sh".to_owned()];
    let error = home.runtime().start(&spec).unwrap_err();
    assert_eq!(seen(error.code()), "jail_start_failed");
    let JailError::StartFailed { log, .. } = &error else { panic!("{error}") };
    assert!(log.contains("/bin/sh"), "{log}");
    assert!(!home.instance_dir().join("bad").exists());
    assert_eq!(home.runtime().state(&id("bad")).unwrap(), None);
}
