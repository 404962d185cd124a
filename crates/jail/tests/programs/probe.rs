//! A hostile program that runs in a jail in place of the bridge and reports what it could do.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let said = match arguments.as_slice() {
        ["facts"] => facts(),
        ["calls"] => calls(),
        ["connect", address] => connect(address),
        ["dial"] => dial(),
        ["fill", folder] => fill(folder),
        ["open-files"] => open_files(),
        ["threads"] => threads(),
        ["eat"] => eat(),
        ["eat-in-child"] => eat_in_child(),
        ["flood"] => flood(),
        ["stay", children] => stay(children),
        ["exit", code] => return ExitCode::from(code.parse().unwrap_or(1)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    match said {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let written = writeln!(io::stderr(), "probe: {error}");
            if written.is_ok() { ExitCode::FAILURE } else { ExitCode::from(2) }
        }
    }
}

fn say(value: &serde_json::Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{value}")?;
    out.flush()
}

/// Everything that is visible inside the jail.
fn facts() -> io::Result<()> {
    let status: BTreeMap<String, String> = fs::read_to_string("/proc/self/status")?
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.to_owned(), value.trim().to_owned()))
        .collect();
    let interfaces: Vec<String> = fs::read_to_string("/proc/net/dev")?
        .lines()
        .skip(2)
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
        .collect();
    let processes: Vec<String> =
        names("/proc")?.into_iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit())).collect();
    let mut tree = Tree::default();
    tree.walk(Path::new("/"))?;
    say(&serde_json::json!({
        "pid": std::process::id(),
        "status": status,
        "interfaces": interfaces,
        "routes": fs::read_to_string("/proc/net/route")?.lines().count() - 1,
        "processes": processes,
        "descriptors": names("/proc/self/fd")?.len(),
        "environment": std::env::vars().collect::<Vec<_>>(),
        "hostname": fs::read_to_string("/proc/sys/kernel/hostname")?.trim(),
        "core_limit": fs::read_to_string("/proc/self/limits")?.lines().find(|l| l.starts_with("Max core")),
        "top": names("/")?,
        "executables": tree.executables,
        "setuid": tree.setuid,
        "writable": tree.writable,
        "mounts": fs::read_to_string("/proc/self/mountinfo")?.lines().collect::<Vec<_>>(),
        "shell": Command::new("/bin/sh").arg("-c").arg("true").status().is_ok(),
        "cgroup": fs::read_to_string("/proc/self/cgroup")?,
    }))
}

fn names(folder: &str) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// The result of a walk over all files outside of /proc.
#[derive(Default)]
struct Tree {
    executables: Vec<PathBuf>,
    setuid: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

impl Tree {
    fn walk(&mut self, folder: &Path) -> io::Result<()> {
        if folder == Path::new("/proc") {
            return Ok(());
        }
        let attempt = folder.join(".probe");
        if File::create(&attempt).is_ok() {
            fs::remove_file(&attempt)?;
            self.writable.push(folder.to_owned());
        }
        // An unreadable folder contains nothing that the program could use.
        let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
        for entry in entries {
            let path = entry?.path();
            let metadata = fs::symlink_metadata(&path)?;
            if metadata.is_dir() {
                self.walk(&path)?;
                continue;
            }
            let mode = metadata.permissions().mode();
            if metadata.is_file() && mode & 0o111 != 0 {
                self.executables.push(path.clone());
            }
            if mode & 0o6000 != 0 {
                self.setuid.push(path.clone());
            }
            if metadata.is_file() && OpenOptions::new().append(true).open(&path).is_ok() {
                self.writable.push(path);
            }
        }
        Ok(())
    }
}

/// Makes system calls that must be refused, and some that must not; the error number of each, 0 for none.
fn calls() -> io::Result<()> {
    let attempts: Vec<(&str, libc::c_long, [libc::c_long; 3])> = vec![
        ("ptrace", libc::SYS_ptrace, [0, 0, 0]),
        ("mount", libc::SYS_mount, [0, 0, 0]),
        ("fsopen", libc::SYS_fsopen, [0, 0, 0]),
        ("open_tree", libc::SYS_open_tree, [0, 0, 0]),
        ("setns", libc::SYS_setns, [-1, 0, 0]),
        ("bpf", libc::SYS_bpf, [0, 0, 0]),
        ("perf_event_open", libc::SYS_perf_event_open, [0, 0, 0]),
        ("userfaultfd", libc::SYS_userfaultfd, [1, 0, 0]),
        ("io_uring_setup", libc::SYS_io_uring_setup, [1, 0, 0]),
        ("keyctl", libc::SYS_keyctl, [0, 0, 0]),
        ("add_key", libc::SYS_add_key, [0, 0, 0]),
        ("open_by_handle_at", libc::SYS_open_by_handle_at, [-1, 0, 0]),
        ("process_vm_readv", libc::SYS_process_vm_readv, [1, 0, 0]),
        ("pidfd_getfd", libc::SYS_pidfd_getfd, [-1, 0, 0]),
        ("kcmp", libc::SYS_kcmp, [1, 1, 0]),
        ("kexec_load", libc::SYS_kexec_load, [0, 0, 0]),
        ("init_module", libc::SYS_init_module, [0, 0, 0]),
        ("vsock", libc::SYS_socket, [libc::AF_VSOCK.into(), libc::SOCK_STREAM.into(), 0]),
        ("packet", libc::SYS_socket, [libc::AF_PACKET.into(), libc::SOCK_RAW.into(), 0]),
        ("alg", libc::SYS_socket, [libc::AF_ALG.into(), libc::SOCK_SEQPACKET.into(), 0]),
        ("bluetooth", libc::SYS_socket, [libc::AF_BLUETOOTH.into(), libc::SOCK_RAW.into(), 0]),
        ("vsock pair", libc::SYS_socketpair, [libc::AF_VSOCK.into(), libc::SOCK_STREAM.into(), 0]),
        // getpid by its x32 number, harmless if it worked.
        #[cfg(target_arch = "x86_64")]
        ("x32 getpid", libc::SYS_getpid | 0x4000_0000, [0, 0, 0]),
        ("allowed unix", libc::SYS_socket, [libc::AF_UNIX.into(), libc::SOCK_STREAM.into(), 0]),
        ("allowed inet", libc::SYS_socket, [libc::AF_INET.into(), libc::SOCK_STREAM.into(), 0]),
        // The filter refuses before the descriptor is checked; without the filter this one is invalid.
        ("iptables", libc::SYS_setsockopt, [-1, libc::SOL_IP.into(), 64]),
        ("ip6tables", libc::SYS_setsockopt, [-1, libc::SOL_IPV6.into(), 64]),
        ("arptables", libc::SYS_setsockopt, [-1, libc::SOL_IP.into(), 96]),
        ("ebtables", libc::SYS_setsockopt, [-1, libc::SOL_IP.into(), 128]),
        ("xfrm policy", libc::SYS_setsockopt, [-1, libc::SOL_IP.into(), libc::IP_XFRM_POLICY.into()]),
    ];
    let mut results = BTreeMap::new();
    let mut attempt = |name: String, number, arguments| results.insert(name, call(number, arguments));
    for (name, number, arguments) in attempts {
        attempt(name.to_owned(), number, arguments);
    }
    for (name, arguments) in sockets() {
        attempt(name.to_owned(), libc::SYS_socket, arguments.map(Into::into));
    }
    // Again with all capabilities in a network namespace of its own, as Chromium's sandbox has for a moment.
    let namespaces = libc::CLONE_NEWUSER | libc::CLONE_NEWNET;
    attempt("allowed namespaces".to_owned(), libc::SYS_unshare, [namespaces.into(), 0, 0]);
    for (name, arguments) in sockets() {
        attempt(format!("{name} in a namespace"), libc::SYS_socket, arguments.map(Into::into));
    }
    say(&serde_json::json!(results))
}

/// Sockets that a browser uses, and sockets that expose more of the kernel than it needs.
fn sockets() -> Vec<(&'static str, [libc::c_int; 3])> {
    use libc::{AF_INET, AF_INET6, AF_NETLINK, SOCK_DGRAM, SOCK_RAW, SOCK_STREAM};
    vec![
        ("netfilter", [AF_NETLINK, SOCK_RAW, libc::NETLINK_NETFILTER]),
        ("xfrm", [AF_NETLINK, SOCK_RAW, libc::NETLINK_XFRM]),
        ("audit", [AF_NETLINK, SOCK_RAW, libc::NETLINK_AUDIT]),
        ("socket diagnosis", [AF_NETLINK, SOCK_RAW, libc::NETLINK_SOCK_DIAG]),
        ("generic netlink", [AF_NETLINK, SOCK_RAW, libc::NETLINK_GENERIC]),
        ("raw", [AF_INET, SOCK_RAW, libc::IPPROTO_RAW]),
        ("raw tcp", [AF_INET, SOCK_RAW | libc::SOCK_CLOEXEC, libc::IPPROTO_TCP]),
        ("raw 6", [AF_INET6, SOCK_RAW, libc::IPPROTO_RAW]),
        ("ping", [AF_INET, SOCK_DGRAM, libc::IPPROTO_ICMP]),
        ("udp-lite", [AF_INET, SOCK_DGRAM, libc::IPPROTO_UDPLITE]),
        ("udp-lite 6", [AF_INET6, SOCK_DGRAM, libc::IPPROTO_UDPLITE]),
        ("mptcp", [AF_INET, SOCK_STREAM | libc::SOCK_NONBLOCK, libc::IPPROTO_MPTCP]),
        ("sctp", [AF_INET6, SOCK_STREAM, libc::IPPROTO_SCTP]),
        ("dccp", [AF_INET, libc::SOCK_DCCP, 0]),
        ("allowed routes", [AF_NETLINK, SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE]),
        ("allowed devices", [AF_NETLINK, SOCK_DGRAM, libc::NETLINK_KOBJECT_UEVENT]),
        ("allowed tcp", [AF_INET, SOCK_STREAM | libc::SOCK_NONBLOCK, libc::IPPROTO_TCP]),
        ("allowed udp", [AF_INET, SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0]),
        ("allowed udp 6", [AF_INET6, SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::IPPROTO_UDP]),
    ]
}

fn call(number: libc::c_long, [a, b, c]: [libc::c_long; 3]) -> i32 {
    // SAFETY: every pointer in these calls is null, so the kernel has nothing of ours to read or write.
    #[allow(unsafe_code)]
    let result = unsafe { libc::syscall(number, a, b, c, 0, 0, 0) };
    if result == -1 { io::Error::last_os_error().raw_os_error().unwrap_or(-1) } else { 0 }
}

fn connect(address: &str) -> io::Result<()> {
    let address: SocketAddr = address.parse().map_err(io::Error::other)?;
    let tcp = TcpStream::connect_timeout(&address, Duration::from_secs(1)).map(drop);
    let outside: SocketAddr = ([192, 0, 2, 1], 53).into();
    let udp = UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"x", outside)).map(drop);
    let kind = |result: io::Result<()>| result.err().map(|error| error.kind().to_string());
    say(&serde_json::json!({ "tcp": kind(tcp), "udp": kind(udp) }))
}

/// Connects to the host through both sockets, and tries to leave files in their folder.
fn dial() -> io::Result<()> {
    for name in ["cdp", "egress"] {
        UnixStream::connect(format!("/run/stockade/{name}.sock"))?.write_all(name.as_bytes())?;
    }
    let written = File::create("/run/stockade/left-behind").err().map(|error| error.kind().to_string());
    say(&serde_json::json!({ "write": written, "names": names("/run/stockade")? }))
}

fn fill(folder: &str) -> io::Result<()> {
    let mut file = File::create(Path::new(folder).join("filler"))?;
    let chunk = vec![1; 64 * 1024];
    let mut written = 0_u64;
    let error = loop {
        match file.write_all(&chunk) {
            Ok(()) => written += chunk.len() as u64,
            Err(error) => break error.raw_os_error(),
        }
    };
    say(&serde_json::json!({ "written": written, "errno": error }))
}

fn open_files() -> io::Result<()> {
    let mut files = Vec::new();
    let error = loop {
        match File::open("/dev/null") {
            Ok(file) => files.push(file),
            Err(error) => break error.raw_os_error(),
        }
    };
    let opened = files.len();
    drop(files);
    say(&serde_json::json!({ "opened": opened, "errno": error }))
}

fn threads() -> io::Result<()> {
    let mut started = 0;
    let error = loop {
        let thread = std::thread::Builder::new().stack_size(64 * 1024).spawn(|| {
            loop {
                std::thread::park();
            }
        });
        match thread {
            Ok(_) => started += 1,
            Err(error) => break error.raw_os_error(),
        }
    };
    say(&serde_json::json!({ "started": started, "errno": error }))
}

fn eat() -> io::Result<()> {
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    loop {
        eaten.push(vec![1; 1024 * 1024]);
    }
}

fn eat_in_child() -> io::Result<()> {
    let status = Command::new("/stockade/bridge").arg("eat").status()?;
    use std::os::unix::process::ExitStatusExt;
    say(&serde_json::json!({ "signal": status.signal() }))
}

/// Writes until it is killed.
fn flood() -> io::Result<()> {
    let mut out = io::stdout().lock();
    loop {
        out.write_all(&[b'x'; 4096])?;
    }
}

fn stay(children: &str) -> io::Result<()> {
    let children: usize = children.parse().map_err(io::Error::other)?;
    for _ in 0..children {
        Command::new("/stockade/bridge").args(["stay", "0"]).spawn()?;
    }
    loop {
        std::thread::park();
    }
}
