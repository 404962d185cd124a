//! Helpers for tests of real jails.
#![allow(dead_code, reason = "each test program uses a part")]

#[path = "../../../stockade/tests/common/seen.rs"]
pub mod seen;

use jail::template::{BuildOptions, Flavour, Store, Template};
use jail::{
    CgroupChoice, JailId, JailSpec, JailState, KeeperCommand, Limits, NativeOptions, NativeRuntime,
    ProcessInfo, Runtime,
};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use tempfile::TempDir;

pub const CONTROLLERS: [&str; 4] = ["memory", "cpu", "cpuacct", "pids"];

/// The small control plane of `tests/programs/host.rs`.
pub fn host_program() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| test_program("jail-host"))
}

/// The program that misbehaves inside a jail.
pub fn probe_program() -> &'static str {
    static PATH: OnceLock<String> = OnceLock::new();
    PATH.get_or_init(|| test_program("jail-probe"))
}

/// An example of this crate, which `cargo test` builds beside the tests.
fn test_program(name: &str) -> String {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("examples").join(name);
    assert!(path.is_file(), "{path:?} is missing; build it with: make test-programs");
    path.to_str().unwrap().to_owned()
}

/// The folder in which the tests of this checkout build templates. The users of jails can reach it, wherever the
/// project was cloned to.
pub fn place() -> PathBuf {
    let uid = rustix::process::getuid().as_raw();
    let checkout = fs::metadata(env!("CARGO_MANIFEST_DIR")).unwrap().ino();
    let place = PathBuf::from(format!("/var/tmp/stockade-jail-tests-{uid}-{checkout}"));
    fs::create_dir_all(&place).unwrap();
    place
}

/// The folder that [`template`] is in.
pub fn store_dir() -> PathBuf {
    place().join("templates")
}

/// A template with the probe in place of the bridge, built once for all tests and kept between runs.
pub fn template() -> &'static Template {
    static BUILT: OnceLock<Template> = OnceLock::new();
    BUILT.get_or_init(|| {
        let store = Store::open(&store_dir()).unwrap();
        let built = store.build(&options(Flavour::Headless), &mut |_| {}).unwrap();
        // Each change of the probe makes another template of 300 MB.
        for old in store.list().unwrap() {
            if old.id() != built.id() {
                fs::remove_dir_all(old.root().parent().unwrap()).unwrap();
            }
        }
        built
    })
}

/// A store with the shared template in it, as hard links. Unlink a file before changing it.
pub fn scratch() -> (TempDir, Store) {
    let folder = tempfile::tempdir_in(place()).unwrap();
    let original = template().root().parent().unwrap();
    let copied = Command::new("cp").arg("-al").arg(original).arg(folder.path()).status().unwrap();
    assert!(copied.success());
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

pub fn options(flavour: Flavour) -> BuildOptions {
    BuildOptions { flavour, bridge: PathBuf::from(probe_program()), browser: None }
}

pub fn id(text: &str) -> JailId {
    JailId::parse(text).unwrap()
}

pub fn native_options(runtime_dir: PathBuf) -> NativeOptions {
    NativeOptions {
        runtime_dir,
        templates: store_dir(),
        flavour: Flavour::Headless,
        bridge: PathBuf::from(probe_program()),
        cgroup: CgroupChoice::Auto,
        keeper: KeeperCommand { program: host_program().into(), ..KeeperCommand::default() },
    }
}

/// A runtime in a folder of its own.
pub struct Home<R = NativeRuntime> {
    pub runtime: Option<R>,
    pub folder: TempDir,
}

impl Home {
    pub fn new() -> Home {
        Home::with(template())
    }

    pub fn with(template: &Template) -> Home {
        let folder = tempfile::tempdir().unwrap();
        let options = native_options(folder.path().join("run"));
        Home { runtime: Some(NativeRuntime::start_from(template.clone(), &options).unwrap()), folder }
    }

    /// Starts a jail; returns its first process.
    pub fn launch(&self, name: &str, limits: Limits, arguments: &[&str]) -> ProcessInfo {
        self.runtime().prepare(&id(name)).unwrap();
        self.runtime().start_jail(&spec(name, limits, arguments)).unwrap()
    }
}

impl<R: Runtime> Home<R> {
    pub fn runtime(&self) -> &R {
        self.runtime.as_ref().unwrap()
    }

    pub fn runtime_dir(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    pub fn instance_dir(&self) -> PathBuf {
        self.runtime_dir().join(self.runtime().info().instance.as_str())
    }

    pub fn start(&self, name: &str, limits: Limits, arguments: &[&str]) {
        self.runtime().prepare(&id(name)).unwrap();
        self.runtime().start(&spec(name, limits, arguments)).unwrap();
    }

    /// Runs the probe in a jail to its end; returns its output as JSON.
    pub fn probe(&self, limits: Limits, arguments: &[&str]) -> Value {
        self.start("probe", limits, arguments);
        let state = self.wait_for_exit("probe");
        let said = self.runtime().log_tail(&id("probe")).unwrap();
        assert_eq!(state, JailState::Exited { code: Some(0), signal: None }, "{said}");
        serde_json::from_str(said.lines().last().unwrap()).unwrap_or_else(|error| panic!("{error}: {said}"))
    }

    pub fn wait_for_exit(&self, name: &str) -> JailState {
        let mut last = None;
        wait_until(&format!("{name} has ended"), || {
            last = self.runtime().state(&id(name)).unwrap();
            matches!(last, Some(JailState::Exited { .. }))
        });
        last.unwrap()
    }

    /// The processes of a jail, as its cgroup lists them.
    pub fn pids(&self, name: &str) -> Vec<u32> {
        let instances = jail::list(&self.runtime_dir()).unwrap();
        let own = instances.into_iter().find(|report| report.id == self.runtime().info().instance).unwrap();
        own.jails.into_iter().find(|report| report.id == id(name)).unwrap().pids
    }

    /// The jail's PID 1, as the host numbers it.
    pub fn first_pid(&self, name: &str) -> u32 {
        let is_first = |pid: &u32| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
            numbers.split_whitespace().skip(1).last() == Some("1")
        };
        self.pids(name).into_iter().find(is_first).unwrap()
    }
}

pub fn spec(name: &str, limits: Limits, arguments: &[&str]) -> JailSpec {
    let command = std::iter::once(jail::BRIDGE).chain(arguments.iter().copied());
    JailSpec {
        id: id(name),
        limits,
        command: command.map(str::to_owned).collect(),
        env: vec![("GREETING".to_owned(), "hello".to_owned())],
    }
}

/// Retries until it succeeds, with a time limit for a loaded machine.
pub fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..2000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("in vain: {what}");
}

/// Whether a process runs. A zombie counts as dead.
pub fn alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        !matches!(stat.rsplit(") ").next().and_then(|rest| rest.chars().next()), Some('Z' | 'X'))
    })
}

/// The folders of an instance in all mounted cgroup hierarchies.
pub fn cgroups_of(instance: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for mount in std::iter::once(PathBuf::new()).chain(CONTROLLERS.map(PathBuf::from)) {
        let path = Path::new("/sys/fs/cgroup").join(mount).join("stockade").join(instance);
        // A controller that is mounted with another one is a link.
        if path.is_dir() && !found.contains(&path.canonicalize().unwrap()) {
            found.push(path.canonicalize().unwrap());
        }
    }
    found
}

pub fn kill(pid: u32, signal: &str) {
    let done = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status().unwrap();
    assert!(done.success());
}

/// A control plane that tests can kill.
pub struct Host {
    pub child: Child,
    pub instance: String,
    pub keeper: u32,
    pub jails: Vec<u32>,
}

impl Host {
    pub fn start(runtime: &Path, jails: usize) -> Host {
        // Tests in the background of a shell inherit ignored interrupts.
        let mut command = Command::new("env");
        template();
        command.args(["--default-signal=INT,TERM", host_program()]);
        command.arg("run").arg(runtime).arg(store_dir()).arg(jails.to_string()).arg("auto");
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
