//! Jails of real sessions, inspected from the host: Chromium's own sandbox, site isolation, and the jail's boundaries.

use crate::common;

use common::Home;
use common::machine::{Process, family, uid};
use common::site::Site;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

fn three_sites() -> (Home, Site) {
    let frames = "<h1>Three</h1><iframe src=http://two.test/inner></iframe><iframe src=http://three.test/inner></iframe>";
    let site = Site::serve(&[("/", frames), ("/inner", "<button>Inner</button>")]);
    let home = Home::new(&site.setting(&["one.test", "two.test", "three.test"]));
    (home, site)
}

/// The processes of the jail: the bridge and all of Chromium.
fn jailed(all: &[Process]) -> Vec<&Process> {
    let ours = std::fs::read_link("/proc/self/ns/pid").unwrap();
    all.iter().filter(|process| process.namespace("pid").is_some_and(|theirs| theirs != ours)).collect()
}

#[test]
fn renderers_have_a_sandbox_of_their_own_and_each_site_its_own_renderer() {
    let (home, _site) = three_sites();
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://one.test/");
    let all = family(mcp.child.id());
    let inside = jailed(&all);

    let browser = inside
        .iter()
        .find(|p| {
            p.arguments.iter().any(|a| a == "--remote-debugging-pipe")
                && !p.arguments.iter().any(|a| a.starts_with("--type="))
        })
        .expect("a browser process");
    let renderers: Vec<_> = inside.iter().filter(|p| p.is_renderer()).collect();
    assert!(renderers.len() >= 3, "{} renderers for three sites", renderers.len());
    let filters = |p: &Process| Some(p.status("Seccomp_filters")?.parse::<u32>().unwrap());
    // Skips processes that have ended meanwhile: Chromium keeps some in reserve and ends them.
    let has_a_sandbox = |renderer: &Process| {
        for kind in ["user", "pid", "net"] {
            assert_ne!(renderer.namespace(kind)?, browser.namespace(kind)?, "{kind} of {renderer:?}");
        }
        assert_eq!(filters(renderer)?, filters(browser)? + 1, "{renderer:?}");
        assert_eq!(renderer.status("NoNewPrivs")?, "1");
        Some(())
    };
    let sandboxed = renderers.iter().filter_map(|renderer| has_a_sandbox(renderer)).count();
    assert!(sandboxed >= 3, "{sandboxed} of {renderers:?}");
    for process in &all {
        assert!(!process.arguments.iter().any(|a| a.contains("no-sandbox")), "assert: {process:?}");
    }
}

/// `None` for a process that has ended meanwhile.
fn is_held(process: &Process, bridge: &Process) -> Option<()> {
    let host = |kind: &str| std::fs::read_link(format!("/proc/self/ns/{kind}")).unwrap();
    for kind in ["user", "pid", "net", "ipc", "uts", "mnt", "cgroup"] {
        assert_ne!(process.namespace(kind)?, host(kind), "{kind} of {process:?}");
    }
    let users: BTreeSet<String> = process.status("Uid")?.split_whitespace().map(str::to_owned).collect();
    assert!(!users.contains("0"), "{process:?} runs as {users:?}");
    if uid() == 0 {
        assert_ne!(users, BTreeSet::from([uid().to_string()]));
    }
    assert_eq!(process.status("Seccomp")?, "2", "{process:?}");
    assert_eq!(process.status("NoNewPrivs")?, "1", "{process:?}");
    // Chromium's zygotes have one capability, in user namespaces of their own, to make those of renderers.
    if process.arguments.iter().any(|a| a == "--type=zygote")
        && process.namespace("user")? != bridge.namespace("user")?
    {
        return Some(());
    }
    for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
        assert_eq!(process.status(set)?, "0000000000000000", "{set} of {process:?}");
    }
    Some(())
}

#[test]
fn every_process_of_a_jail_is_unprivileged_filtered_and_walled_in() {
    let (home, _site) = three_sites();
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://one.test/");
    let all = family(mcp.child.id());
    let inside = jailed(&all);
    assert!(inside.len() >= 6, "{inside:#?}");
    let bridge =
        inside.iter().find(|p| p.arguments.first().is_some_and(|a| a.ends_with("/stockade/bridge"))).unwrap();
    let held = inside.iter().filter_map(|process| is_held(process, bridge)).count();
    assert!(held >= 6, "{held} of {inside:#?}");
    assert_eq!(bridge.status("NSpid").unwrap().split_whitespace().last(), Some("1"));
    assert_eq!(bridge.status("CapBnd").unwrap(), "0000000000000000");

    let network = std::fs::read_to_string(format!("/proc/{}/net/dev", bridge.pid)).unwrap();
    let interfaces: Vec<&str> =
        network.lines().skip(2).filter_map(|line| line.split(':').next()).map(str::trim).collect();
    assert_eq!(interfaces, ["lo"]);
    let routes = std::fs::read_to_string(format!("/proc/{}/net/route", bridge.pid)).unwrap();
    assert_eq!(routes.lines().count(), 1, "{routes}");
}

#[test]
fn a_jail_has_two_programs_no_shell_and_no_setuid_file() {
    let (home, _site) = three_sites();
    let mut mcp = home.mcp();
    mcp.open();
    let all = family(mcp.child.id());
    let inside = jailed(&all);
    let bridge =
        inside.iter().find(|p| p.arguments.first().is_some_and(|a| a.ends_with("/stockade/bridge"))).unwrap();
    let root = PathBuf::from(format!("/proc/{}/root", bridge.pid));
    let mut programs = Vec::new();
    walk(&root, &mut |path, mode| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(mode & 0o6000, 0, "setuid or setgid: {}", path.display());
        for interpreter in ["sh", "bash", "dash", "busybox", "python3", "perl", "node", "env"] {
            assert_ne!(name, interpreter, "{}", path.display());
        }
        // The ELF loader is a library with the executable bit, which the kernel requires.
        if mode & 0o111 != 0 && !name.starts_with("ld-linux") {
            programs.push(path.strip_prefix(&root).unwrap().to_path_buf());
        }
    });
    assert_eq!(programs.len(), 2, "{programs:?}");
    for folder in ["home", "root", "work", "var", "boot", "mnt", "opt", "srv", "media"] {
        assert!(!root.join(folder).exists(), "/{folder} is in the jail");
    }
}

/// Every file below `folder`, without following mounts such as /proc and /dev.
fn walk(folder: &Path, see: &mut dyn FnMut(&Path, u32)) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && !matches!(entry.file_name().to_str(), Some("proc" | "dev")) {
            walk(&path, see);
        } else if kind.is_file() {
            see(&path, entry.metadata().unwrap().permissions().mode());
        }
    }
}
