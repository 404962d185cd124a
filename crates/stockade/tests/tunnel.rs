//! The host's end of the tunnel, against the real bridge with a fake browser behind it.

use crate::common::seen::seen;
use bridge::token::Signer;
use bridge::wire::ProcessState;
use engine::provider::sandbox::tunnel::Tunnel;
use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

const SCOPE: &str = "default/alice";
const TARGET: &str = "j-1";
/// The time limit of every wait.
const STUCK: Duration = Duration::from_secs(30);

/// A program of another crate of the workspace, which cargo puts beside ours or among the examples.
fn program(name: &str) -> PathBuf {
    let folder = Path::new(crate::common::PROGRAM).parent().unwrap();
    let places = [folder.join(name), folder.join("examples").join(name)];
    let built = places.into_iter().find(|program| program.exists());
    built.unwrap_or_else(|| panic!("{name} is missing: run `cargo test --workspace --no-run` first"))
}

#[tokio::test]
async fn a_real_bridge_is_driven_from_start_to_its_last_restart() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let listener = UnixListener::bind(path("cdp.sock")).unwrap();
    let signer = Arc::new(Signer::generate().unwrap());
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut bridge = std::process::Command::new(program("stockade-bridge"))
        .arg("--cdp")
        .arg(path("cdp.sock"))
        .arg("--egress")
        .arg(path("egress.sock"))
        .args(["--public-key", &signer.public_key(), "--scope", SCOPE, "--target", TARGET])
        .args(["--restarts", "1", "--proxy-port", &free.to_string(), "--"])
        .args(["/bin/bash", "-c", "exec \"$0\" <&3 >&4 3<&- 4>&-"])
        .arg(program("examples/fake-chromium"))
        .spawn()
        .unwrap();
    let tunnel = Tunnel::new(listener, signer, SCOPE.to_owned(), TARGET.to_owned());
    for restarts_left in [1, 0] {
        let ready = tunnel.version(STUCK).await.unwrap();
        assert_eq!(ready.browser, "Fake/1.0");
        let mut socket = tunnel.open_cdp(&ready.ws_path).await.unwrap();
        let call = json!({ "id": 1, "method": "Test.exit", "params": { "size": 3 } });
        socket.send(Message::text(call.to_string())).await.unwrap();
        let end = timeout(STUCK, socket.next()).await.unwrap().unwrap().unwrap();
        assert!(matches!(&end, Message::Close(Some(frame)) if u16::from(frame.code) == 4502), "{end:?}");
        let report = tunnel.status().await.unwrap();
        assert_eq!((report.process, report.restarts_left), (ProcessState::Exited(3), restarts_left));
        let stale = tunnel.open_cdp(&ready.ws_path).await.unwrap_err();
        assert_eq!(seen(stale.code()), "bridge_refused");
        let restarted = tunnel.restart().await;
        assert_eq!(
            restarted.err().map(|error| error.code().name()),
            (restarts_left == 0).then_some("browser_lost")
        );
    }
    drop(tunnel);
    let ended = tokio::task::spawn_blocking(move || bridge.wait().unwrap());
    assert_eq!(
        timeout(STUCK, ended).await.unwrap().unwrap().code(),
        Some(2),
        "the bridge goes with its host"
    );
}
