//! The host's end of a bridge, against a peer that plays the bridge.

use super::*;
use crate::error::Fault;
use crate::seen::seen;
use bridge::token::Verifier;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::process::Stdio;
use std::sync::LazyLock;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

const SCOPE: &str = "default/alice";
const TARGET: &str = "j-1";
/// How long anything may take before a test is called stuck. No test measures it.
const STUCK: Duration = Duration::from_secs(30);

struct Jail {
    folder: TempDir,
    tunnel: Arc<Tunnel>,
    verifier: Verifier,
}

fn jail(lifetime: Duration) -> Jail {
    let folder = TempDir::new().unwrap();
    let listener = UnixListener::bind(folder.path().join("cdp.sock")).unwrap();
    let signer = Arc::new(Signer::generate().unwrap());
    let verifier = Verifier::new(&signer.public_key(), SCOPE, TARGET).unwrap();
    let tunnel = Tunnel::new(listener, signer, SCOPE.to_owned(), TARGET.to_owned()).token_lifetime(lifetime);
    Jail { folder, tunnel: Arc::new(tunnel), verifier }
}

impl Jail {
    async fn dial(&self) -> UnixStream {
        UnixStream::connect(self.folder.path().join("cdp.sock")).await.unwrap()
    }

    /// Plays a bridge for one request: checks its token and answers. Gives back the request's head.
    async fn answer(&mut self, status: u16, body: &str) -> String {
        let mut stream = self.dial().await;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            assert_ne!(timeout(STUCK, stream.read_buf(&mut head)).await.unwrap().unwrap(), 0);
        }
        let head = String::from_utf8(head).unwrap();
        let token = head.split_once("Bearer ").unwrap().1.lines().next().unwrap();
        self.verifier.accept(token.as_bytes()).unwrap();
        let reply = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        // A host that has heard enough hangs up.
        stream.write_all(reply.as_bytes()).await.ok();
        head
    }
}

fn version(url: &str) -> Value {
    json!({
        "Browser": "Fake/1.0", "Protocol-Version": "1.3", "User-Agent": "Fake", "V8-Version": "0",
        "webSocketDebuggerUrl": url, "phases": [{ "name": "bridge", "ms": 1.5 }],
    })
}

fn report(stage: &str, phase: &str, process: &str) -> Value {
    json!({
        "stage": stage, "phase": phase, "process": process, "phases": [], "restarts_left": 1,
        "log_tail": "first line\nit hurts\u{1b}[31m\n\n",
    })
}

#[tokio::test]
async fn readiness_is_what_the_bridge_says() {
    let mut jail = jail(MAX_LIFETIME);
    let tunnel = jail.tunnel.clone();
    let body = version("ws://bridge/devtools/browser/00ff").to_string();
    let (ready, head) = tokio::join!(tunnel.version(STUCK), jail.answer(200, &body));
    let ready = ready.unwrap();
    assert_eq!((ready.browser.as_str(), ready.ws_path.as_str()), ("Fake/1.0", "/devtools/browser/00ff"));
    assert_eq!(ready.phases, [Phase { name: PhaseName::Bridge, ms: 1.5 }]);
    assert!(
        head.starts_with("GET /json/version HTTP/1.1\r\n") && head.contains("stockade-wait-ms: "),
        "{head}"
    );
}

#[tokio::test]
async fn an_address_that_points_elsewhere_is_not_followed() {
    for url in [
        "ws://127.0.0.1:9222/devtools/browser/00",
        "ws://bridge/devtools/browser/",
        "ws://bridge/devtools/browser/00\r\nx: y",
        "ws://bridge/devtools/browser/../../restart",
        "ws://bridge/restart",
    ] {
        let mut jail = jail(MAX_LIFETIME);
        let tunnel = jail.tunnel.clone();
        let body = version(url).to_string();
        let (ready, _) = tokio::join!(tunnel.version(STUCK), jail.answer(200, &body));
        assert_eq!(seen(ready.unwrap_err().code()), "bridge_refused", "{url}");
    }
}

#[tokio::test]
async fn a_bridge_that_is_still_waiting_is_asked_again_with_a_fresh_token() {
    let mut jail = jail(MAX_LIFETIME);
    let tunnel = jail.tunnel.clone();
    let waiting = report("starting", "http", "running").to_string();
    let ready = version("ws://bridge/devtools/browser/00").to_string();
    let bridge = async {
        for body in [&waiting, &waiting] {
            jail.answer(503, body).await;
        }
        jail.answer(200, &ready).await;
    };
    let (result, ()) = tokio::join!(tunnel.version(STUCK), bridge);
    assert!(result.is_ok());
}

#[tokio::test]
async fn each_failure_has_a_code_a_hint_and_what_is_known() {
    let down = report("down", "http", "exited:1").to_string();
    let refused = json!({ "code": "token_expired", "message": "m" }).to_string();
    let huge = format!("\"{}\"", "x".repeat(1 << 20));
    for (status, body, code, message) in [
        (
            503,
            down.as_str(),
            "browser_start_failed",
            "phase http, process exited:1; its log ends: it hurts[31m",
        ),
        (401, refused.as_str(), "bridge_refused", "401 token_expired"),
        (418, "tea", "bridge_refused", "418 unavailable"),
        (200, "not json", "bridge_refused", "an invalid answer"),
        (200, huge.as_str(), "bridge_lost", "length limit exceeded"),
    ] {
        let mut jail = jail(MAX_LIFETIME);
        let tunnel = jail.tunnel.clone();
        let (result, _) = tokio::join!(tunnel.version(STUCK), jail.answer(status, body));
        let fault = Fault::from(result.unwrap_err());
        assert_eq!(fault.code.to_string(), code);
        assert!(fault.message.contains(message), "{}", fault.message);
        assert!(!fault.hint.is_empty());
    }
}

#[tokio::test]
async fn a_jail_whose_bridge_never_dials_fails_in_its_first_phase() {
    let jail = jail(MAX_LIFETIME);
    let error = jail.tunnel.version(Duration::from_millis(50)).await.unwrap_err();
    assert_eq!(
        (seen(error.code()).as_str(), error.phase()),
        ("browser_start_failed", Some(PhaseName::Bridge))
    );
}

#[tokio::test]
async fn a_bridge_that_hangs_up_is_lost() {
    let jail = jail(MAX_LIFETIME);
    drop(jail.dial().await);
    assert_eq!(seen(jail.tunnel.version(STUCK).await.unwrap_err().code()), "bridge_lost");
}

#[tokio::test]
async fn refusals_of_a_restart_have_distinct_codes() {
    let fine = report("starting", "process", "not_started").to_string();
    let refusal = |code: &str| json!({ "code": code, "message": "m" }).to_string();
    for (status, body, code) in [
        (200, fine, None),
        (409, refusal("restarts_used_up"), Some("browser_lost")),
        (409, refusal("still_running"), Some("bridge_refused")),
    ] {
        let mut jail = jail(MAX_LIFETIME);
        let tunnel = jail.tunnel.clone();
        let (result, head) = tokio::join!(tunnel.restart(), jail.answer(status, &body));
        assert_eq!(result.err().map(|error| seen(error.code())).as_deref(), code);
        assert!(head.starts_with("POST /restart HTTP/1.1\r\n"), "{head}");
    }
}

#[tokio::test]
async fn only_the_process_that_dialled_first_is_taken_for_the_bridge() {
    let mut jail = jail(MAX_LIFETIME);
    let path = jail.folder.path().join("cdp.sock");
    let first = jail.dial().await;
    // Taking it makes sure that it was seen.
    drop(jail.tunnel.idle_connection("testing").await.unwrap());
    drop(first);
    let status = report("ready", "http", "running").to_string();
    // Another process dials and would answer; it is hung up on and never hears a token.
    let script = "import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\nsys.stdout.write(str(len(s.recv(1))))";
    let stranger = std::process::Command::new("python3")
        .args(["-c", script])
        .arg(&path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let heard = tokio::task::spawn_blocking(move || stranger.wait_with_output().unwrap());
    let heard = timeout(STUCK, heard).await.unwrap().unwrap();
    assert_eq!(String::from_utf8(heard.stdout).unwrap(), "0");
    let tunnel = jail.tunnel.clone();
    let (result, _) = tokio::join!(tunnel.status(), jail.answer(200, &status));
    assert_eq!(result.unwrap().process, ProcessState::Running, "the bridge itself is still heard");
}

/// Captures log lines of this thread.
#[derive(Clone, Default)]
struct Logged(Arc<std::sync::Mutex<Vec<u8>>>);

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::Write::write(&mut *self.0.lock().unwrap(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Logged {
    fn start() -> (Logged, tracing::subscriber::DefaultGuard) {
        // With a single subscriber, a callsite that another test's thread hits first is cached as disabled.
        static OTHER: LazyLock<tracing::Dispatch> =
            LazyLock::new(|| tracing::Dispatch::new(tracing_subscriber::registry()));
        LazyLock::force(&OTHER);
        let logged = Logged::default();
        let writer = logged.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
        (logged, tracing::subscriber::set_default(log))
    }

    fn lines(&self) -> Vec<String> {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap().lines().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn a_flood_of_strangers_is_slowed_down_and_gets_two_lines_in_the_log() {
    let (logged, _guard) = Logged::start();
    let mut jail = jail(MAX_LIFETIME);
    let path = jail.folder.path().join("cdp.sock");
    let first = jail.dial().await;
    drop(jail.tunnel.idle_connection("testing").await.unwrap());
    drop(first);
    // Prints the total duration in milliseconds.
    let script = "import socket,sys,time\nbegan=time.monotonic()\n\
                  for _ in range(1025):\n s=socket.socket(socket.AF_UNIX)\n s.connect(sys.argv[1])\n s.recv(1)\n s.close()\n\
                  print(int((time.monotonic()-began)*1000))";
    let mut flood = std::process::Command::new("python3");
    flood.args(["-c", script]).arg(&path);
    let flooded = tokio::task::spawn_blocking(move || flood.output().unwrap());
    let flooded = timeout(STUCK, flooded).await.unwrap().unwrap();
    let took: u64 = String::from_utf8(flooded.stdout).unwrap().trim().parse().unwrap();
    // Four rests, which no sleep cuts short, however fast or slow the machine is.
    assert!(took >= 200, "{took} ms");

    let status = report("ready", "http", "running").to_string();
    let tunnel = jail.tunnel.clone();
    let (result, _) = tokio::join!(tunnel.status(), jail.answer(200, &status));
    assert_eq!(result.unwrap().process, ProcessState::Running, "the bridge itself is still heard");

    drop((tunnel, jail));
    let all_logged = async {
        while logged.lines().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    timeout(STUCK, all_logged).await.unwrap();
    let lines = logged.lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("not the bridge"), "{lines:?}");
    assert!(lines[1].contains("strangers=1025"), "{lines:?}");
}

#[tokio::test]
async fn connections_nobody_asked_for_are_turned_away() {
    let jail = jail(MAX_LIFETIME);
    let mut dialled = Vec::new();
    for _ in 0..5 {
        dialled.push(jail.dial().await);
    }
    let mut ended = 0;
    for stream in &mut dialled[2..] {
        ended += timeout(STUCK, stream.read(&mut [0])).await.unwrap().unwrap();
    }
    assert_eq!(ended, 0, "the third and later ones were closed");
}

#[tokio::test]
async fn the_websocket_is_opened_with_a_token_and_kept_renewed_with_others() {
    let mut jail = jail(Duration::from_secs(2));
    let tunnel = jail.tunnel.clone();
    let mut first = String::new();
    #[expect(clippy::result_large_err, reason = "the handshake's own type")]
    let note = |request: &Request, response: Response| {
        first = request.headers()["authorization"].to_str().unwrap().to_owned();
        Ok(response)
    };
    let stream = jail.dial().await;
    let (opened, served) =
        tokio::join!(tunnel.open_cdp("/devtools/browser/00"), accept_hdr_async(stream, note));
    let (mut host, mut bridge) = (opened.unwrap(), served.unwrap());
    jail.verifier.accept(first.strip_prefix("Bearer ").unwrap().as_bytes()).unwrap();

    let (renewals, mut tokens) = mpsc::channel(1);
    let renewing = tokio::spawn(keep_renewed(tunnel, renewals));
    for _ in 0..3 {
        let token = timeout(STUCK, tokens.recv()).await.unwrap().unwrap();
        host.send(Message::Binary(token)).await.unwrap();
        let frame = timeout(STUCK, bridge.next()).await.unwrap().unwrap().unwrap();
        jail.verifier.accept(&frame.into_data()).unwrap();
    }
    drop(tokens);
    timeout(STUCK, renewing).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn the_listener_goes_with_the_tunnel() {
    let Jail { folder, tunnel, .. } = jail(MAX_LIFETIME);
    drop(tunnel);
    let gone = async { while UnixStream::connect(folder.path().join("cdp.sock")).await.is_ok() {} };
    timeout(STUCK, gone).await.unwrap();
}

#[test]
fn the_reasons_that_a_bridge_refuses_a_token_are_error_codes() {
    use bridge::token::Refusal;
    for refusal in [
        Refusal::Missing,
        Refusal::Malformed,
        Refusal::BadSignature,
        Refusal::WrongScope,
        Refusal::WrongTarget,
        Refusal::Expired,
        Refusal::TooLong,
        Refusal::Replayed,
        Refusal::MemoryFull,
    ] {
        assert!(error_code::ErrorCode::parse(refusal.code()).is_some(), "{}", refusal.code());
    }
}
