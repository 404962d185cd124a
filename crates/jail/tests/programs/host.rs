//! A small control plane for tests to start, query and kill.
//!
//! `run DIR STORE COUNT CGROUP` starts that many jails from the newest template, prints a line and waits to be killed;
//! `build STORE BRIDGE` builds a template; `probe CGROUP` checks the machine. CGROUP is `auto`, `weaker` or a path.

use jail::template::{BuildOptions, Flavour, Store};
use jail::{
    CgroupChoice, JailError, JailId, JailSpec, KeeperCommand, Limits, NativeOptions, NativeRuntime, Runtime,
    probe_host,
};
use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["jail-keeper"] => return jail::keeper::main(),
        ["run", dir, store, count, cgroup] => run(dir, store, count, cgroup),
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

fn run(dir: &str, store: &str, count: &str, cgroup: &str) -> Result<(), Box<dyn Error>> {
    let options = NativeOptions {
        runtime_dir: PathBuf::from(dir),
        templates: PathBuf::from(store),
        flavour: Flavour::Headless,
        bridge: PathBuf::new(),
        cgroup: choice(cgroup),
        keeper: KeeperCommand::default(),
    };
    // Not verified, because hashing a template takes a second and other tests cover it.
    let template = Store::open(&options.templates)?.newest(options.flavour)?;
    let runtime = match NativeRuntime::start_from(template, &options) {
        Ok(runtime) => runtime,
        Err(error) => {
            say(&format!("refused {} {}", error.code(), error.hint()))?;
            return Err(error.into());
        }
    };
    let mut prepared = Vec::new();
    let mut pids = Vec::new();
    for index in 0..count.parse::<usize>()? {
        let id = JailId::parse(&format!("jail-{index}"))?;
        prepared.push(runtime.prepare(&id)?);
        let spec = JailSpec {
            id,
            limits: Limits::default(),
            command: [jail::BRIDGE, "stay", "3"].map(str::to_owned).to_vec(),
            env: Vec::new(),
        };
        pids.push(runtime.start_jail(&spec)?.pid.to_string());
    }
    let instance = &runtime.info().instance;
    say(&format!("ready {instance} {} {}", runtime.keeper_pid(), pids.join(" ")))?;
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
    let print = |what: &str, error: Option<&JailError>| match error {
        None => say(&format!("{what} fine")),
        Some(error) => say(&format!("{what} {} {}", error.code(), error.hint())),
    };
    print("bubblewrap", host.bubblewrap.as_ref().err())?;
    print("namespaces", host.namespaces.as_ref().err())?;
    print("limits", host.limits.as_ref().err())
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
