//! `script/setup` on other machines, simulated with made-up folders and package managers. Nothing is installed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// The oldest Rust that the workspace says it builds with, such as `1.94`.
fn oldest_rust() -> &'static str {
    let manifest = include_str!("../../../Cargo.toml");
    manifest.split_once("rust-version = \"").unwrap().1.split_once('"').unwrap().0
}

/// A machine with the usual tools only.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(machine.folder.path().join("bin")).unwrap();
        for tool in ["dirname", "sed", "cut", "sort", "head", "grep", "cat"] {
            let real = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
            symlink(real.iter().find(|path| path.exists()).unwrap(), machine.bin(tool)).unwrap();
        }
        machine.with_tool("id", "echo 1000").with_tool("cargo", &format!("echo cargo {}.0", oldest_rust()))
    }

    fn bin(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("bin").join(name)
    }

    fn with_tool(self, name: &str, script: &str) -> Machine {
        fs::write(self.bin(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(self.bin(name), Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn with_file(self, path: &str) -> Machine {
        self.with_text(path, "")
    }

    fn with_text(self, path: &str, text: &str) -> Machine {
        let path = self.folder.path().join("root").join(path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        self
    }

    /// Debian's tools: nothing is installed, and these packages are available.
    fn with_apt(self, packages: &str) -> Machine {
        self.with_tool("apt-get", "echo apt-get was run; exit 9").with_tool("dpkg-query", "exit 1").with_tool(
            "apt-cache",
            &format!("case ' {packages} ' in *\" $2 \"*) exit 0 ;; *) exit 100 ;; esac"),
        )
    }

    /// Every requirement except the browser.
    fn with_all_but_the_browser(self) -> Machine {
        self.with_tool("bwrap", "")
            .with_tool("cc", "")
            .with_file("/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf")
            .with_file("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")
            .with_file("/usr/share/fonts/noto/NotoColorEmoji.ttf")
    }

    fn setup(&self, arguments: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../script/setup");
        Command::new("/bin/bash")
            .arg(script)
            .args(arguments)
            .env_clear()
            .env("PATH", self.folder.path().join("bin"))
            .env("SETUP_ROOT", self.folder.path().join("root"))
            .output()
            .unwrap()
    }
}

fn check(what: &str, machine: &Machine, arguments: &[&str], succeeds: bool, expected: &[&str]) {
    let done = machine.setup(arguments);
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.success(), succeeds, "{what}: {said}");
    for part in expected {
        assert!(said.contains(part), "{what}: {part:?} is not in: {said}");
    }
}

const DRY: &[&str] = &["run", "--dry-run"];

#[test]
fn setup_names_the_packages_of_each_distribution() {
    let debian = Machine::new().with_apt("chromium-headless-shell chromium bubblewrap");
    let packages =
        "bubblewrap chromium-headless-shell fonts-liberation fonts-noto-cjk fonts-noto-color-emoji gcc";
    let install = format!("would run: sudo apt-get install -y --no-install-recommends {packages}");
    check("debian", &debian, DRY, true, &[&format!("missing: {packages}"), &install]);
    let older = Machine::new().with_apt("chromium");
    check(
        "a debian without the shell",
        &older,
        DRY,
        true,
        &["missing: bubblewrap chromium fonts-liberation"],
    );
    let fedora = Machine::new().with_tool("dnf", "exit 9").with_tool("rpm", "exit 1");
    let packages = "bubblewrap chromium-headless liberation-fonts google-noto-sans-cjk-fonts \
        google-noto-color-emoji-fonts gcc";
    check("fedora", &fedora, DRY, true, &[&format!("missing: {packages}"), "would run: sudo dnf install -y"]);
    let arch = Machine::new().with_tool("pacman", "exit 1");
    let packages = "bubblewrap chromium ttf-liberation noto-fonts-cjk noto-fonts-emoji gcc";
    check("arch", &arch, DRY, true, &[&format!("missing: {packages}"), "would run: sudo pacman -S --needed"]);
    let root = Machine::new().with_tool("pacman", "exit 1").with_tool("id", "echo 0");
    check("arch, as root", &root, DRY, true, &["would run: pacman -S --needed"]);
    check("tests need apt", &fedora, &["test", "--dry-run"], false, &["knows apt only"]);
}

#[test]
fn setup_asks_for_root_only_if_something_is_missing_and_says_what_to_run_without_sudo() {
    let shell = "/usr/lib/chromium/chromium-headless-shell";
    let complete = Machine::new().with_apt("").with_all_but_the_browser().with_file(shell);
    // Neither sudo nor apt-get is run: both would fail here.
    for _ in 0..2 {
        check("nothing is missing", &complete, &["run"], true, &["all packages are here", shell]);
    }
    let lacking = Machine::new().with_apt("chromium-headless-shell").with_all_but_the_browser();
    let once = "there is no sudo here, so run this once as root: apt-get install -y --no-install-recommends \
        chromium-headless-shell";
    check("no sudo", &lacking, &["run"], false, &["missing: chromium-headless-shell", once]);
    let bare = Machine::new();
    check("no package manager", &bare, &["run"], false, &["no apt, dnf or pacman", "docs/install.md"]);
    let unknown = Machine::new().with_apt("").with_all_but_the_browser();
    let unknown = unknown.with_tool("apt-get", "exit 0").with_tool("id", "echo 0");
    let expected = "there is no package chromium-headless-shell here; docs/install.md says what to do";
    check("no such package", &unknown, &["run"], false, &[expected]);
}

/// As on Ubuntu 24.04: the package `chromium-browser` and the commands in `PATH` lead to a snap.
fn ubuntu() -> Machine {
    Machine::new()
        .with_apt("chromium-browser bubblewrap fonts-liberation fonts-noto-cjk fonts-noto-color-emoji gcc")
        .with_tool("chromium-browser", "exit 9")
        .with_tool("sudo", "echo sudo was run; exit 9")
        .with_text("/etc/os-release", "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n")
        .with_file("/usr/bin/chromium-browser")
        .with_file("/snap/bin/chromium")
        .with_file("/snap/chromium/current/usr/lib/chromium-browser/chrome")
}

#[test]
fn on_ubuntu_a_snap_is_no_browser_and_setup_names_the_ways_to_get_one_before_it_asks_for_sudo() {
    let ways = [
        "Ubuntu has Chromium as a snap only",
        "/opt/chrome-headless-shell/chrome-headless-shell",
        "google-chrome-stable",
        "make run BROWSER=FILE",
        "docs/install.md",
    ];
    for arguments in [DRY, &["run"]] {
        check("snap", &ubuntu(), arguments, false, &ways);
        let done = ubuntu().setup(arguments);
        let output =
            String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert!(!output.contains("was run") && !output.contains("would run"), "{output}");
    }
    let packages = "bubblewrap fonts-liberation fonts-noto-cjk fonts-noto-color-emoji gcc";
    let rest = format!("would run: sudo apt-get install -y --no-install-recommends {packages}");
    for browser in ["/opt/chrome-headless-shell/chrome-headless-shell", "/opt/google/chrome/chrome"] {
        let ready = ubuntu().with_file(browser);
        check(browser, &ready, DRY, true, &[&rest]);
        let complete = ubuntu().with_all_but_the_browser().with_file(browser);
        check(browser, &complete, &["run"], true, &["all packages are here", browser]);
    }
    let own = ubuntu().with_file("/home/me/chrome");
    check("named", &own, &["run", "--dry-run", "--browser", "/home/me/chrome"], true, &[&rest]);
    // A derivative that packages Chromium itself.
    let packaged = ubuntu().with_apt("chromium bubblewrap");
    check("packaged", &packaged, DRY, true, &["missing: bubblewrap chromium"]);
}

#[test]
fn setup_accepts_every_browser_that_a_template_is_built_from() {
    let source = include_str!("../../jail/src/template/chromium.rs");
    let lists =
        source.split_once("const HEADLESS").unwrap().1.split_once("/// The browser's folder").unwrap().0;
    let paths: Vec<&str> = lists.split('"').filter(|part| part.starts_with('/')).collect();
    assert_eq!(paths.len(), 8, "{paths:?}");
    for path in paths {
        let machine = Machine::new().with_apt("").with_all_but_the_browser().with_file(path);
        check(path, &machine, &["run"], true, &["all packages are here", path]);
    }
    let own = Machine::new().with_apt("").with_all_but_the_browser().with_file("/home/me/chrome");
    check("named", &own, &["run", "--browser", "/home/me/chrome"], true, &["/home/me/chrome"]);
    check("not there", &own, &["run", "--browser", "/home/me/no"], false, &["no program at /home/me/no"]);
}

#[test]
fn setup_holds_the_toolchain_to_the_rust_version_of_the_workspace() {
    let shell = "/usr/lib/chromium/chromium-headless-shell";
    let complete = || Machine::new().with_apt("").with_all_but_the_browser().with_file(shell);
    let oldest = oldest_rust();
    for (version, succeeds) in [(oldest, true), ("1.100.0", true), ("1.93.1", false), ("1.9.0", false)] {
        let machine = complete().with_tool("cargo", &format!("echo 'cargo {version} (abc 2026-01-01)'"));
        let expected = if succeeds { "all packages" } else { oldest };
        check(version, &machine, &["run"], succeeds, &[expected]);
    }
    let without = complete();
    fs::remove_file(without.bin("cargo")).unwrap();
    check("no cargo", &without, &["run"], false, &["no Rust toolchain", oldest]);
}

/// `1.94` and `1.94.0` are the same version.
fn parse_version(text: &str) -> (u32, u32, u32) {
    let mut parts = text.split('.').map(|part| part.parse().unwrap());
    (parts.next().unwrap(), parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

#[test]
fn no_locked_dependency_needs_a_newer_rust_than_the_workspace_says() {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let done = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &platform])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 300, "{}", packages.len());
    let claimed = parse_version(oldest_rust());
    let newer: Vec<String> = packages
        .iter()
        .filter_map(|package| Some((package, package["rust_version"].as_str()?)))
        .filter(|(_, needed)| parse_version(needed) > claimed)
        .map(|(package, needed)| format!("{} {} needs {needed}", package["name"], package["version"]))
        .collect();
    assert!(newer.is_empty(), "Cargo.toml says rust-version {}:\n{}", oldest_rust(), newer.join("\n"));
}

#[test]
fn every_page_that_names_the_oldest_rust_names_the_one_of_the_workspace() {
    let expected = format!("Rust {}", oldest_rust());
    for (path, text) in [
        ("README.md", include_str!("../../../README.md")),
        ("CONTRIBUTING.md", include_str!("../../../CONTRIBUTING.md")),
        ("docs/install.md", include_str!("../../../docs/install.md")),
    ] {
        let named: Vec<&str> =
            text.match_indices("Rust 1.").map(|(at, _)| &text[at..at + "Rust 1.00".len()]).collect();
        assert!(!named.is_empty() && named.iter().all(|name| *name == expected), "{path}: {named:?}");
    }
}
