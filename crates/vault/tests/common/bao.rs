//! A real OpenBao server on loopback, with its storage on disk, that can be stopped and started again.

use super::{free_port, part, until};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub struct Bao {
    pub address: String,
    pub folder: tempfile::TempDir,
    pub root_token: String,
    port: u16,
    unseal_key: String,
    server: Option<Child>,
}

impl Bao {
    /// Initialised, unsealed, with a KV mount of version 2 at `secrets/`.
    pub fn start() -> Bao {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let (data, cluster) = (folder.path().join("data"), free_port());
        std::fs::create_dir(&data).unwrap();
        let config = format!(
            "storage \"raft\" {{\n path = \"{}\"\n node_id = \"one\"\n performance_multiplier = 1\n}}\n\
             listener \"tcp\" {{\n address = \"127.0.0.1:{port}\"\n cluster_address = \"127.0.0.1:{cluster}\"\n \
             tls_disable = true\n}}\n\
             api_addr = \"http://127.0.0.1:{port}\"\ncluster_addr = \"http://127.0.0.1:{cluster}\"\n",
            data.display()
        );
        std::fs::write(folder.path().join("bao.hcl"), config).unwrap();
        let address = format!("http://127.0.0.1:{port}");
        let mut bao =
            Bao { address, folder, root_token: String::new(), port, unseal_key: String::new(), server: None };
        bao.run();
        let made: Value = serde_json::from_str(&bao.cli(&[
            "operator",
            "init",
            "-format=json",
            "-key-shares=1",
            "-key-threshold=1",
        ]))
        .unwrap();
        bao.unseal_key = made["unseal_keys_b64"][0].as_str().unwrap().to_owned();
        bao.root_token = made["root_token"].as_str().unwrap().to_owned();
        bao.unseal();
        bao.cli(&["secrets", "enable", "-path=secrets", "-version=2", "kv"]);
        bao
    }

    /// Starts the server, which comes up sealed.
    pub fn run(&mut self) {
        let log = std::fs::File::create(self.folder.path().join("log")).unwrap();
        let server = Command::new(part("bao"))
            .args(["server", "-config"])
            .arg(self.folder.path().join("bao.hcl"))
            .env("HOME", self.folder.path())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        self.server = Some(server);
        let port = self.port;
        until("OpenBao listens", || TcpStream::connect(("127.0.0.1", port)).ok());
    }

    pub fn unseal(&self) {
        self.cli(&["operator", "unseal", &self.unseal_key]);
        until("OpenBao is active", || self.try_cli(&["token", "lookup"], None).ok());
    }

    pub fn seal(&self) {
        self.cli(&["operator", "seal"]);
    }

    pub fn kill(&mut self) {
        let mut server = self.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// Stops the process: it accepts connections and does not answer.
    pub fn hang(&self, hangs: bool) {
        let server = self.server.as_ref().unwrap().id();
        let signal = if hangs { "-STOP" } else { "-CONT" };
        assert!(Command::new("kill").args([signal, &server.to_string()]).status().unwrap().success());
    }

    pub fn put(&self, path: &str, document: &str) {
        self.try_cli(&["kv", "put", "-mount=secrets", path, "-"], Some(document)).unwrap();
    }

    #[track_caller]
    pub fn cli(&self, arguments: &[&str]) -> String {
        self.try_cli(arguments, None).unwrap_or_else(|words| panic!("bao {arguments:?}: {words}"))
    }

    pub fn try_cli(&self, arguments: &[&str], input: Option<&str>) -> Result<String, String> {
        run(self.folder.path(), &self.address, &self.root_token, arguments, input)
    }

    /// Runs a command and returns a field of its result, such as `auth.client_token`.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let text = self.cli(&[arguments, &["-format=json"]].concat());
        serde_json::from_str(&text).unwrap_or(json!(null))
    }

    pub fn policy(&self, name: &str, rules: &str) {
        self.try_cli(&["policy", "write", name, "-"], Some(rules)).unwrap();
    }
}

pub fn run(
    home: &Path,
    address: &str,
    token: &str,
    arguments: &[&str],
    input: Option<&str>,
) -> Result<String, String> {
    let mut child = Command::new(part("bao"))
        .args(arguments)
        .env_remove("BAO_NAMESPACE")
        .env("BAO_ADDR", address)
        .env("BAO_TOKEN", token)
        .env("HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(input.unwrap_or_default().as_bytes()).unwrap();
    drop(pipe);
    let done = child.wait_with_output().unwrap();
    if done.status.success() {
        Ok(String::from_utf8(done.stdout).unwrap())
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into_owned())
    }
}

impl Drop for Bao {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }
}

/// OpenBao's development server with TLS, and the certificate of its authority.
pub struct TlsBao {
    pub address: String,
    pub authority: PathBuf,
    folder: tempfile::TempDir,
    server: Child,
}

impl TlsBao {
    pub fn start() -> TlsBao {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let log = std::fs::File::create(folder.path().join("log")).unwrap();
        let server = Command::new(part("bao"))
            .args(["server", "-dev-tls", "-dev-root-token-id=root", "-dev-no-store-token"])
            .arg(format!("-dev-tls-cert-dir={}", folder.path().display()))
            .arg(format!("-dev-listen-address=127.0.0.1:{port}"))
            .env("HOME", folder.path())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        until("OpenBao listens", || TcpStream::connect(("127.0.0.1", port)).ok());
        let authority = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.to_string_lossy().ends_with("-ca.pem"))
            .expect("the authority's certificate");
        TlsBao { address: format!("https://127.0.0.1:{port}"), authority, folder, server }
    }

    pub fn put(&self, path: &str, document: &str) {
        let authority = format!("-ca-cert={}", self.authority.display());
        let arguments = ["kv", "put", &authority, "-mount=secret", path, "-"];
        until("a secret is put", || {
            run(self.folder.path(), &self.address, "root", &arguments, Some(document)).ok()
        });
    }
}

impl Drop for TlsBao {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}
