//! What the tests of real jails share.
#![allow(dead_code, reason = "each test program uses a part")]

#[path = "../../../stockade/tests/common/seen.rs"]
pub mod seen;

use jail::template::{BuildOptions, Flavour, Store, Template};
use jail::{Id, JailInfo, JailSpec, JailState, Keeper, KeeperOptions, Limits};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

pub const HOST: &str = env!("CARGO_BIN_EXE_jail-host");
pub const PROBE: &str = env!("CARGO_BIN_EXE_jail-probe");
pub const CONTROLLERS: [&str; 3] = ["memory", "cpu", "pids"];

/// Where the tests of this checkout build templates: a folder that the users of jails can reach, wherever the
/// project was cloned to.
pub fn place() -> PathBuf {
    let uid = rustix::process::getuid().as_raw();
    let checkout = fs::metadata(env!("CARGO_MANIFEST_DIR")).unwrap().ino();
    let place = PathBuf::from(format!("/var/tmp/stockade-jail-tests-{uid}-{checkout}"));
    fs::create_dir_all(&place).unwrap();
    place
}

/// A template with the probe in the bridge's place, built once for all tests and kept between runs.
pub fn template() -> &'static Template {
    static BUILT: OnceLock<Template> = OnceLock::new();
    BUILT.get_or_init(|| {
        let store = Store::open(&place().join("templates")).unwrap();
        let built = store.build(&options(Flavour::Headless), &mut |_| {}).unwrap();
        // Each change of the probe makes another 300 MB.
        for old in store.list().unwrap() {
            if old.id() != built.id() {
                fs::remove_dir_all(old.root().parent().unwrap()).unwrap();
            }
        }
        built
    })
}

/// A store with the shared template in it, by hard links. Break a link before you change its file.
pub fn scratch() -> (TempDir, Store) {
    let folder = tempfile::tempdir_in(place()).unwrap();
    let original = template().root().parent().unwrap();
    let copied = Command::new("cp").arg("-al").arg(original).arg(folder.path()).status().unwrap();
    assert!(copied.success());
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

pub fn options(flavour: Flavour) -> BuildOptions {
    BuildOptions { flavour, bridge: PathBuf::from(PROBE), browser: None }
}

pub fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

/// A keeper in a runtime folder of its own.
pub struct Home {
    pub keeper: Option<Keeper>,
    pub runtime: TempDir,
}

impl Home {
    pub fn new() -> Home {
        let runtime = tempfile::tempdir().unwrap();
        let mut options = KeeperOptions::new(runtime.path().join("run"));
        options.executable = PathBuf::from(HOST);
        Home { keeper: Some(Keeper::start(options).unwrap()), runtime }
    }

    pub fn keeper(&self) -> &Keeper {
        self.keeper.as_ref().unwrap()
    }

    pub fn instance_dir(&self) -> PathBuf {
        self.keeper().info().instance_dir.clone()
    }

    pub fn start(&self, name: &str, limits: Limits, arguments: &[&str]) -> JailInfo {
        self.keeper().prepare(&id(name)).unwrap();
        self.keeper().create(&spec(name, limits, arguments)).unwrap()
    }

    /// Runs the probe in a jail to its end; what it said, as JSON.
    pub fn probe(&self, limits: Limits, arguments: &[&str]) -> Value {
        self.start("probe", limits, arguments);
        let state = self.wait_for_exit("probe");
        let said = self.keeper().log_tail(&id("probe")).unwrap();
        assert_eq!(state, JailState::Exited { code: Some(0), signal: None }, "{said}");
        serde_json::from_str(said.lines().last().unwrap()).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    pub fn wait_for_exit(&self, name: &str) -> JailState {
        let mut last = None;
        wait_until(&format!("{name} has ended"), || {
            last = self.keeper().state(&id(name)).unwrap();
            matches!(last, Some(JailState::Exited { .. }))
        });
        last.unwrap()
    }
}

pub fn spec(name: &str, limits: Limits, arguments: &[&str]) -> JailSpec {
    let command = std::iter::once("/stockade/bridge").chain(arguments.iter().copied());
    JailSpec {
        id: id(name),
        root: template().root().to_owned(),
        limits,
        command: command.map(str::to_owned).collect(),
        env: vec![("GREETING".to_owned(), "hello".to_owned())],
    }
}

/// Tries again and again, for as long as a loaded machine may take.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("in vain: {what}");
}

/// Whether a process runs. One that nobody has waited for yet is dead all the same.
pub fn alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), Some('Z' | 'X'))
    })
}

/// The folders of an instance in the cgroup hierarchies, wherever they are mounted.
pub fn cgroups_of(instance: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for mount in std::iter::once(PathBuf::new()).chain(CONTROLLERS.map(PathBuf::from)) {
        let path = Path::new("/sys/fs/cgroup").join(mount).join("stockade").join(instance);
        if path.is_dir() {
            found.push(path);
        }
    }
    found
}

pub fn kill(pid: u32, signal: &str) {
    let done = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status().unwrap();
    assert!(done.success());
}

/// A control plane that can be killed.
pub struct Host {
    pub child: Child,
    pub instance: String,
    pub keeper: u32,
    pub jails: Vec<u32>,
}

impl Host {
    pub fn start(runtime: &Path, jails: usize) -> Host {
        // Tests that run in the background of a shell start out with interrupts ignored.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT,TERM", HOST]);
        command.arg("run").arg(runtime).arg(template().root()).arg(jails.to_string()).arg("auto");
        Host::from(command)
    }

    pub fn from(mut command: Command) -> Host {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let line = first_line(&mut child);
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("ready"), "{line}");
        let instance = words.next().unwrap().to_owned();
        let mut pids = words.map(|word| word.parse().unwrap());
        Host { child, instance, keeper: pids.next().unwrap(), jails: pids.collect() }
    }

    /// Everything of it that must not outlive it.
    pub fn processes(&self) -> Vec<u32> {
        let mut pids: Vec<u32> = Vec::new();
        for cgroup in cgroups_of(&self.instance) {
            for jail in fs::read_dir(cgroup).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
                let procs = fs::read_to_string(jail.path().join("cgroup.procs")).unwrap();
                pids.extend(procs.lines().map(|pid| pid.parse::<u32>().unwrap()));
            }
        }
        pids.push(self.keeper);
        pids.extend(&self.jails);
        pids
    }
}

pub fn first_line(child: &mut Child) -> String {
    use std::io::{BufRead, BufReader};
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    line.trim().to_owned()
}
