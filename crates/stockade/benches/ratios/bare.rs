//! The floor: Chromium's headless shell as it is, with nothing around it but another user.

use crate::link::Link;
use browser::cdp::{Connection, ConnectionOptions, websocket_config};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

const PROGRAM: &str = "/usr/lib/chromium/chromium-headless-shell";
const USER: &str = "65534";

pub struct Shell {
    child: Child,
    address: String,
    _profile: tempfile::TempDir,
}

impl Shell {
    /// Returns when it says that it listens.
    pub fn start() -> Shell {
        let profile = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .tempdir()
            .unwrap();
        let mut command = if rustix::process::getuid().is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--clear-groups", PROGRAM]);
            command
        } else {
            Command::new(PROGRAM)
        };
        let flags = browser::launch_flags(&browser::LaunchOptions::default());
        // The jail's own: its pipe, its proxy and its profile.
        let own = ["--remote-debugging-pipe", "--proxy-", "--user-data-dir"];
        let shared = flags.into_iter().filter(|flag| !own.iter().any(|prefix| flag.starts_with(prefix)));
        let mut child = command
            .args(shared)
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
            .expect("the shell says where it listens");
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        Shell { child, address, _profile: profile }
    }

    pub async fn connection(&self) -> Link {
        Link::over(self.browser_connection().await).await
    }

    pub async fn browser_connection(&self) -> Connection {
        let authority = self.address.trim_start_matches("ws://").split('/').next().unwrap();
        let stream = TcpStream::connect(authority).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (socket, _) =
            tokio_tungstenite::client_async_with_config(&self.address, stream, Some(websocket_config()))
                .await
                .unwrap();
        Connection::over(socket, ConnectionOptions::default())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub fn time_to_ready() -> Duration {
    let begun = Instant::now();
    let _shell = Shell::start();
    begun.elapsed()
}
