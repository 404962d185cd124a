//! Chromium's headless shell without a jail, with its own sandbox, as an unprivileged user.

use super::machine;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

const PROGRAM: &str = "/usr/lib/chromium/chromium-headless-shell";
/// The user it runs as if the tests run as root, because its sandbox does not work as root.
const NOBODY: &str = "65534";

pub struct Chromium {
    child: Child,
    address: String,
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts it and waits until it listens.
    pub fn start(flags: impl IntoIterator<Item = String>) -> Chromium {
        let profile = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .tempdir()
            .unwrap();
        let mut command = if machine::uid() == 0 {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", PROGRAM]);
            command
        } else {
            Command::new(PROGRAM)
        };
        let mut child = command
            .args(flags)
            .arg("--remote-debugging-port=0")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = said
            .find_map(|line| line.unwrap().strip_prefix("DevTools listening on ").map(str::to_owned))
            .expect("Chromium says where it listens");
        // Drains its output, so that the pipe never fills.
        std::thread::spawn(move || said.for_each(drop));
        Chromium { child, address, _profile: profile }
    }

    pub async fn socket(&self, config: Option<WebSocketConfig>) -> WebSocketStream<TcpStream> {
        let authority = self.address.trim_start_matches("ws://").split('/').next().unwrap();
        let stream = TcpStream::connect(authority).await.unwrap();
        stream.set_nodelay(true).unwrap();
        tokio_tungstenite::client_async_with_config(&self.address, stream, config).await.unwrap().0
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
