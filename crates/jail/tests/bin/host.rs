//! A control plane in miniature, for tests to start, question and kill.
//!
//! `run DIR ROOT COUNT CGROUP` starts that many jails, says so and waits to be killed; `build STORE BRIDGE`
//! builds a template; `probe CGROUP` looks at the machine. CGROUP is `auto`, `weaker` or a path.

use jail::template::{BuildOptions, Flavour, Store};
use jail::{CgroupChoice, Id, JailError, JailSpec, Keeper, KeeperOptions, Limits, probe_host};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["jail-keeper"] => return jail::keeper::main(),
        ["run", dir, root, count, cgroup] => run(dir, root, count, cgroup),
        ["build", store, bridge] => build(store, bridge),
        ["probe", cgroup] => probe(cgroup),
        _ => Err("unknown arguments".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if say(&format!("error {error}")).is_ok() => ExitCode::FAILURE,
        Err(_) => ExitCode::from(2),
    }
}

fn run(dir: &str, root: &str, count: &str, cgroup: &str) -> Result<(), Box<dyn Error>> {
    let mut options = KeeperOptions::new(PathBuf::from(dir));
    options.cgroup = choice(cgroup);
    let keeper = match Keeper::start(options) {
        Ok(keeper) => keeper,
        Err(error) => {
            say(&format!("refused {} {}", error.code(), error.hint()))?;
            return Err(error.into());
        }
    };
    let mut listeners = Vec::new();
    let mut pids = Vec::new();
    for index in 0..count.parse::<usize>()? {
        let id = Id::parse(&format!("jail-{index}"))?;
        listeners.push(keeper.prepare(&id)?);
        let spec = JailSpec {
            id,
            root: PathBuf::from(root),
            limits: Limits::default(),
            command: ["/stockade/bridge", "stay", "3"].map(str::to_owned).to_vec(),
            env: Vec::new(),
        };
        pids.push(keeper.create(&spec)?.pid.to_string());
    }
    let info = keeper.info();
    say(&format!("ready {} {} {}", info.instance, info.pid, pids.join(" ")))?;
    loop {
        std::thread::park();
    }
}

fn build(store: &str, bridge: &str) -> Result<(), Box<dyn Error>> {
    let options = BuildOptions { flavour: Flavour::Headless, bridge: PathBuf::from(bridge), browser: None };
    match Store::open(Path::new(store)).and_then(|store| store.build(&options, &mut |_| {})) {
        Ok(template) => say(&format!("built {}", template.root().display())),
        Err(error) => say(&format!("refused {} {}", error.code(), error.hint())),
    }
}

fn probe(cgroup: &str) -> Result<(), Box<dyn Error>> {
    let host = probe_host(&choice(cgroup));
    let tell = |what: &str, error: Option<&JailError>| match error {
        None => say(&format!("{what} fine")),
        Some(error) => say(&format!("{what} {} {}", error.code(), error.hint())),
    };
    tell("bubblewrap", host.bubblewrap.as_ref().err())?;
    tell("namespaces", host.namespaces.as_ref().err())?;
    tell("limits", host.limits.as_ref().err())
}

fn choice(text: &str) -> CgroupChoice {
    match text {
        "auto" => CgroupChoice::Auto,
        "weaker" => CgroupChoice::Weaker,
        path => CgroupChoice::Under(PathBuf::from(path)),
    }
}

fn say(line: &str) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
