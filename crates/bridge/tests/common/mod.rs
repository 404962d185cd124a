//! The host's side for one bridge: sockets, key, and requests.
#![allow(clippy::unwrap_used, clippy::expect_used, dead_code)]

#[path = "../../../stockade/tests/common/seen.rs"]
mod seen;

use bridge::token::Signer;
use bridge::wire::{BROWSER_PATH, VERSION_PATH};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{ClientRequestBuilder, Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

pub const SCOPE: &str = "default/alice";
pub const TARGET: &str = "j-1";
/// Who the bridge runs as where Chromium must not be root.
pub const NOBODY: u32 = 65534;
/// How long anything may take before a test is called stuck. No test measures it.
pub const STUCK: Duration = Duration::from_secs(60);
pub const LIFETIME: Duration = Duration::from_secs(60);

pub type Socket = WebSocketStream<UnixStream>;

pub struct Host {
    pub folder: TempDir,
    pub signer: Signer,
    pub cdp: UnixListener,
    pub egress: UnixListener,
    pub proxy_port: u16,
    pub bridge: Child,
}

/// How the bridge is run.
#[derive(Default)]
pub struct Setup<'a> {
    pub restarts: u32,
    /// What the bridge's command line begins with: nothing, or a program that runs it.
    pub around: Vec<&'a str>,
    /// More options for the bridge.
    pub options: Vec<&'a str>,
    /// Chromium's program and arguments. Here and around it FOLDER stands for the host's folder.
    pub program: Vec<&'a str>,
}

/// The fake itself: an example of this crate, which `cargo test` builds beside the tests.
fn fake_chromium() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(2).unwrap().join("examples/fake-chromium");
    assert!(path.is_file(), "{path:?} is missing; build it with: make test-programs");
    path
}

/// The fake, with its arguments, started so that the pipe is its stdin and stdout.
pub fn fake<'a>(args: &[&'a str]) -> Vec<&'a str> {
    let shell = ["/bin/bash", "-c", "exec \"$0\" \"$@\" <&3 >&4 3<&- 4>&-", "FOLDER/fake-chromium"];
    [&shell, args].concat()
}

/// A program that is being written cannot be started, and a child that was forked meanwhile keeps it open for writing
/// until it has become a program of its own. So only one of both happens at a time.
static WRITING: Mutex<()> = Mutex::new(());

fn spawn(command: &mut Command) -> Child {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    // A child of some other test may still be on its way to becoming a program.
    for _ in 0..200 {
        match command.spawn() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            spawned => return spawned.unwrap(),
        }
    }
    command.spawn().unwrap()
}

pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Host {
    pub fn start(setup: Setup<'_>) -> Host {
        let folder = TempDir::new().unwrap();
        let listen = |name| {
            let path = folder.path().join(name);
            let listener = UnixListener::bind(&path).unwrap();
            chown(&path, Some(NOBODY), Some(NOBODY)).ok();
            listener
        };
        let (cdp, egress) = (listen("cdp.sock"), listen("egress.sock"));
        // The user it runs as may not be able to reach the build's own folder.
        let alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        for program in [PathBuf::from(env!("CARGO_BIN_EXE_stockade-bridge")), fake_chromium()] {
            let name = program.file_name().unwrap();
            std::fs::copy(&program, folder.path().join(name)).unwrap();
        }
        drop(alone);
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).ok();
        let signer = Signer::generate().unwrap();
        let proxy_port = free_port();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let folder_text = folder.path().to_str().unwrap();
        let filled = |word: &&str| word.replace("FOLDER", folder_text);
        let mut line: Vec<String> = setup.around.iter().map(filled).collect();
        line.push(path("stockade-bridge"));
        for (option, value) in [
            ("--cdp", path("cdp.sock")),
            ("--egress", path("egress.sock")),
            ("--public-key", signer.public_key()),
            ("--scope", SCOPE.to_owned()),
            ("--target", TARGET.to_owned()),
            ("--restarts", setup.restarts.to_string()),
            ("--proxy-port", proxy_port.to_string()),
        ] {
            line.extend([option.to_owned(), value]);
        }
        line.extend(setup.options.iter().map(|word| word.to_string()));
        line.push("--".to_owned());
        line.extend(setup.program.iter().map(filled));
        let bridge = spawn(Command::new(&line[0]).args(&line[1..]).stdin(Stdio::null()));
        Host { folder, signer, cdp, egress, proxy_port, bridge }
    }

    pub fn fake(restarts: u32, args: &[&str]) -> Host {
        Host::start(Setup { restarts, program: fake(args), ..Setup::default() })
    }

    pub fn token(&self) -> String {
        self.signer.mint(SCOPE, TARGET, LIFETIME).unwrap()
    }

    /// The next connection that the bridge dialled.
    pub async fn take(&self) -> UnixStream {
        timeout(STUCK, self.cdp.accept()).await.unwrap().unwrap().0
    }

    /// Sends bytes over a connection of its own and gives back the status and the body.
    pub async fn raw(&self, request: &[u8]) -> (u16, Value) {
        let mut stream = self.take().await;
        stream.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        // A bridge that answers before it has read everything resets the connection behind its answer.
        match timeout(STUCK, stream.read_to_end(&mut answer)).await.unwrap() {
            Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => panic!("{error}"),
            _ => assert!(!answer.is_empty(), "no answer"),
        }
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let (status, body): (u16, Value) =
            (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap());
        if let Some(code) = body["code"].as_str() {
            seen::seen(code);
        }
        (status, body)
    }

    pub async fn ask_with(&self, method: &str, path: &str, token: &str) -> (u16, Value) {
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: bridge\r\nAuthorization: Bearer {token}\r\n\r\n");
        self.raw(head.as_bytes()).await
    }

    pub async fn ask(&self, method: &str, path: &str) -> (u16, Value) {
        self.ask_with(method, path, &self.token()).await
    }

    /// Waits until Chromium speaks, and gives the path of its WebSocket.
    pub async fn ready(&self) -> String {
        let (status, version) = self.ask("GET", VERSION_PATH).await;
        assert_eq!(status, 200, "{version}");
        let url = version["webSocketDebuggerUrl"].as_str().unwrap();
        assert!(url.contains(BROWSER_PATH), "{url}");
        url.strip_prefix("ws://bridge").unwrap().to_owned()
    }

    pub async fn try_open(&self, path: &str, token: &str) -> Result<Socket, Box<Error>> {
        let request = ClientRequestBuilder::new(format!("ws://bridge{path}").parse().unwrap())
            .with_header("Authorization", format!("Bearer {token}"));
        let large = Some(128 << 20);
        let config = WebSocketConfig::default().max_message_size(large).max_frame_size(large);
        let opening = client_async_with_config(request, self.take().await, Some(config));
        Ok(timeout(STUCK, opening).await.unwrap()?.0)
    }

    pub async fn open(&self) -> Socket {
        let path = self.ready().await;
        self.try_open(&path, &self.token()).await.unwrap()
    }

    /// Polls the bridge's report until it says what is waited for.
    pub async fn until(&self, what: impl Fn(&Value) -> bool) -> Value {
        let polling = async {
            loop {
                let (status, report) = self.ask("GET", "/status").await;
                assert_eq!(status, 200, "{report}");
                if what(&report) {
                    return report;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(STUCK, polling).await.unwrap()
    }

    pub async fn bridge_ended(&mut self) -> Option<i32> {
        let waiting = async {
            loop {
                if let Some(status) = self.bridge.try_wait().unwrap() {
                    return status.code();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(STUCK, waiting).await.unwrap()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Chromium, fake or real, ends when its pipe closes.
        self.bridge.kill().ok();
        self.bridge.wait().ok();
    }
}

pub async fn send(socket: &mut Socket, message: Value) {
    socket.send(Message::text(message.to_string())).await.unwrap();
}

/// The next CDP message.
pub async fn receive(socket: &mut Socket) -> Value {
    match timeout(STUCK, socket.next()).await.unwrap().unwrap().unwrap() {
        Message::Text(text) => serde_json::from_str(&text).unwrap(),
        other => panic!("not a message: {other:?}"),
    }
}

pub async fn call(socket: &mut Socket, id: u32, method: &str, params: Value) -> Value {
    send(socket, json!({ "id": id, "method": method, "params": params })).await;
    let reply = receive(socket).await;
    assert_eq!(reply["id"], id, "{reply}");
    reply["result"].clone()
}

/// Reads on until the connection is closed, and says why.
pub async fn closed(socket: &mut Socket) -> (u16, String) {
    let waiting = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Close(Some(CloseFrame { code, reason })))) => {
                    return (code.into(), reason.to_string());
                }
                Some(Ok(_)) => {}
                other => panic!("ended without a close frame: {other:?}"),
            }
        }
    };
    timeout(STUCK, waiting).await.unwrap()
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs a program as an unprivileged user if the tests run as root.
pub fn as_nobody() -> Vec<&'static str> {
    if is_root() { vec!["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] } else { vec![] }
}

/// The real program of Chromium's headless shell, not its wrapper script.
pub fn headless_shell() -> &'static str {
    let known = ["/usr/lib/chromium/chromium-headless-shell", "/usr/lib/chromium/headless_shell"];
    known.into_iter().find(|path| Path::new(path).exists()).expect("install chromium-headless-shell")
}
