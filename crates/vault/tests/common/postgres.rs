//! A real PostgreSQL on loopback that can be stopped and started again.

use super::{free_port, until};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub struct Postgres {
    pub url: String,
    folder: tempfile::TempDir,
    port: u16,
    server: Option<Child>,
}

/// An unprivileged user, because PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;

impl Postgres {
    pub fn start() -> Postgres {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        if rustix::process::getuid().is_root() {
            chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let made = program("initdb", folder.path())
            .args(["--auth=trust", "--username=postgres", "--no-sync", "-D"])
            .arg(folder.path().join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        let mut postgres = Postgres { url, folder, port, server: None };
        postgres.run();
        postgres
    }

    pub fn run(&mut self) {
        let server = program("postgres", self.folder.path())
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-p", &self.port.to_string()])
            .arg("-k")
            .arg(self.folder.path())
            .arg("-D")
            .arg(self.folder.path().join("data"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.server = Some(server);
        let port = self.port;
        until("PostgreSQL listens", || TcpStream::connect(("127.0.0.1", port)).ok());
    }

    /// Stops at once, as in a power cut: its connections break.
    pub fn kill(&mut self) {
        let mut server = self.server.take().unwrap();
        let quit = Command::new("kill").args(["-QUIT", &server.id().to_string()]).status().unwrap();
        assert!(quit.success());
        server.wait().unwrap();
    }

    /// Stops its processes with SIGSTOP: they accept connections and do not answer.
    pub fn hang(&self, hangs: bool) {
        let server = self.server.as_ref().unwrap().id().to_string();
        let children = std::fs::read_to_string(format!("/proc/{server}/task/{server}/children")).unwrap();
        let signal = if hangs { "-STOP" } else { "-CONT" };
        let status = Command::new("kill").arg(signal).arg(&server).args(children.split_whitespace()).status();
        assert!(status.unwrap().success());
    }
}

fn program(name: &str, folder: &Path) -> Command {
    let file = find(name);
    let mut command = if rustix::process::getuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(file);
        command
    } else {
        Command::new(file)
    };
    command.current_dir(folder).env("LC_ALL", "C.UTF-8");
    command
}

fn find(name: &str) -> PathBuf {
    let versions = std::fs::read_dir("/usr/lib/postgresql").expect("PostgreSQL: run script/setup test");
    let mut found: Vec<PathBuf> = versions
        .map(|entry| entry.unwrap().path().join("bin").join(name))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found.pop().expect("a PostgreSQL server: run script/setup test")
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.kill();
        }
    }
}
