//! Inspects the machine from outside the jails: processes, cgroups, mounts and folders.

use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub fn uid() -> u32 {
    rustix::process::getuid().as_raw()
}

/// A folder that the users of jails can traverse.
pub fn runtime_root() -> PathBuf {
    if uid() == 0 {
        PathBuf::from("/run/stockade-test")
    } else {
        std::env::temp_dir().join(format!("stockade-test-{}", uid()))
    }
}

pub fn signal(pid: u32, name: &str) {
    let done = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().unwrap();
    assert!(done.success(), "kill -{name} {pid}");
}

/// The same for a listed process, which may have ended since.
pub fn signal_if_there(pid: u32, name: &str) {
    let done = Command::new("kill").args([format!("-{name}"), pid.to_string()]).output().unwrap();
    let gone = !Path::new(&format!("/proc/{pid}")).exists();
    assert!(done.status.success() || gone, "kill -{name} {pid}: {done:?}");
}

/// The time limit of every wait, generous enough for a slow and busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for a condition. Fails with its name at the time limit.
pub fn until<T>(what: &str, patience: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < patience, "{what}: not within {patience:?}");
        pause(begun);
    }
}

/// Sleeps between two looks, longer the longer it takes. A look may cost a query or a call, and other tests need the
/// processor.
pub fn pause(begun: Instant) {
    std::thread::sleep((begun.elapsed() / 8).clamp(Duration::from_millis(5), Duration::from_millis(100)));
}

/// Whether an accepted TCP connection from this local port is still open at its server's end.
pub fn is_connected(port: u16) -> bool {
    // sl local_address rem_address st …; the server's end has the port as its remote one.
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let remote = format!(":{port:04X}");
    table.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // 01 is established; 08 is closed by the client and not yet by the server.
        fields[2].ends_with(&remote) && matches!(fields[3], "01" | "08")
    })
}

#[derive(Debug, Clone)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub arguments: Vec<String>,
}

/// `None` if the process has ended since it was listed. Any other failure panics.
fn unless_gone<T>(read: io::Result<T>) -> Option<T> {
    let gone = |error: &io::Error| {
        error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
    };
    if read.as_ref().is_err_and(gone) { None } else { Some(read.unwrap()) }
}

impl Process {
    pub fn status(&self, field: &str) -> Option<String> {
        let text = unless_gone(std::fs::read_to_string(format!("/proc/{}/status", self.pid)))?;
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        Some(line.unwrap_or_else(|| panic!("no {field} in {text}")).trim().to_owned())
    }

    pub fn namespace(&self, kind: &str) -> Option<PathBuf> {
        unless_gone(std::fs::read_link(format!("/proc/{}/ns/{kind}", self.pid)))
    }

    pub fn is_renderer(&self) -> bool {
        self.arguments.iter().any(|argument| argument == "--type=renderer")
    }
}

pub fn processes() -> Vec<Process> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        let Ok(command) = std::fs::read(entry.path().join("cmdline")) else { continue };
        let mut fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
        let (Some(state), Some(parent)) = (fields.next(), fields.next().and_then(|field| field.parse().ok()))
        else {
            continue;
        };
        // A zombie holds nothing but its number until its parent waits for it.
        if state == "Z" {
            continue;
        }
        let arguments = command.split(|b| *b == 0 || *b == b' ').filter(|a| !a.is_empty());
        let arguments = arguments.map(|a| String::from_utf8_lossy(a).into_owned()).collect();
        found.push(Process { pid, parent, arguments });
    }
    found
}

/// A process and its descendants.
pub fn family(root: u32) -> Vec<Process> {
    let all = processes();
    let mut known = vec![root];
    loop {
        let before = known.len();
        for process in &all {
            if known.contains(&process.parent) && !known.contains(&process.pid) {
                known.push(process.pid);
            }
        }
        if known.len() == before {
            return all.into_iter().filter(|process| known.contains(&process.pid)).collect();
        }
    }
}

/// Cuts every connection that a process has accepted from jails on a socket of this name: the one in use, and the one
/// that a bridge keeps ready. They look the same from here.
pub fn cut_connections(pid: u32, name: &str) {
    use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
    // An accepted connection is listed in the network namespace of the process that dialled it.
    let tables =
        family(pid).into_iter().map(|it| std::fs::read_to_string(format!("/proc/{}/net/unix", it.pid)));
    let sockets: String = tables.flatten().collect();
    // Num RefCount Protocol Flags Type St Inode Path; state 03 is connected.
    let connected: Vec<&str> = sockets
        .lines()
        .filter(|line| line.ends_with(name))
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields[5] == "03")
        .map(|fields| fields[6])
        .collect();
    let process =
        pidfd_open(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), PidfdFlags::empty()).unwrap();
    let ours = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten().filter_map(|entry| {
        let link = std::fs::read_link(entry.path()).ok()?.to_string_lossy().into_owned();
        let inode = link.strip_prefix("socket:[")?.strip_suffix(']')?;
        let number: i32 = entry.file_name().to_string_lossy().parse().ok()?;
        let held = || pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).unwrap();
        connected.contains(&inode).then(held)
    });
    // All descriptors are duplicated before the first is cut, because numbers may be reused afterwards.
    let ours: Vec<_> = ours.collect();
    assert!(!ours.is_empty(), "a connection to cut");
    for socket in ours {
        rustix::net::shutdown(socket, rustix::net::Shutdown::Both).unwrap();
    }
}

/// CPU time that the processes of a cgroup have used, as the kernel counts it.
pub fn cpu_seconds(name: &str) -> f64 {
    let folders = cgroups(name);
    let read = |file: &str| folders.iter().find_map(|folder| std::fs::read_to_string(folder.join(file)).ok());
    if let Some(nanoseconds) = read("cpuacct.usage") {
        return nanoseconds.trim().parse::<f64>().unwrap() / 1e9;
    }
    let stat = read("cpu.stat").unwrap_or_else(|| panic!("{folders:?} count no CPU time"));
    let line = stat.lines().find_map(|line| line.strip_prefix("usage_usec ")).unwrap();
    line.trim().parse::<f64>().unwrap() / 1e6
}

/// Every folder under the cgroup mounts whose path has `name` in it.
pub fn cgroups(name: &str) -> Vec<PathBuf> {
    fn walk(folder: &Path, name: &str, depth: usize, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let path = entry.path();
                if entry.file_name().to_string_lossy().contains(name) {
                    found.push(path.clone());
                }
                if depth > 0 {
                    walk(&path, name, depth - 1, found);
                }
            }
        }
    }
    let mut found = Vec::new();
    walk(Path::new("/sys/fs/cgroup"), name, 7, &mut found);
    found
}

pub fn mounts(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    text.lines().filter(|line| line.contains(name)).map(str::to_owned).collect()
}

/// The peak memory of a process; 0 for one that has ended.
pub fn peak_megabytes(pid: u32) -> Option<f64> {
    let text = unless_gone(std::fs::read_to_string(format!("/proc/{pid}/status")))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap() / 1024.0)
}

/// The proportional set size of a process: its own pages, and its part of shared ones.
pub fn proportional_megabytes(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<f64>().unwrap() / 1024.0
}
