//! The bridge with the real Chromium, and as process 1 of a namespace.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Host, STUCK, Setup, as_nobody, call, closed, fake, headless_shell, is_root, receive, send};
use serde_json::json;
use std::time::Duration;
use tokio::time::{sleep, timeout};

fn headless() -> Host {
    let program = vec![
        headless_shell(),
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--user-data-dir=FOLDER/profile",
        "--remote-debugging-pipe",
    ];
    Host::start(Setup { restarts: 1, around: as_nobody(), program, ..Setup::default() })
}

#[tokio::test]
async fn the_real_chromium_speaks_through_the_bridge() {
    let host = headless();
    let mut socket = host.open().await;
    let version = call(&mut socket, 1, "Browser.getVersion", json!({})).await;
    assert!(version["product"].as_str().unwrap().contains("Chrome"), "{version}");

    let target = call(&mut socket, 2, "Target.createTarget", json!({ "url": "about:blank" })).await;
    let attach = json!({ "targetId": target["targetId"], "flatten": true });
    send(&mut socket, json!({ "id": 3, "method": "Target.attachToTarget", "params": attach })).await;
    let session = loop {
        let message = receive(&mut socket).await;
        if message["id"] == 3 {
            break message["result"]["sessionId"].clone();
        }
    };
    let expression = json!({ "expression": "'x'.repeat(35_000_000)", "returnByValue": true });
    send(
        &mut socket,
        json!({ "id": 4, "sessionId": session, "method": "Runtime.evaluate", "params": expression }),
    )
    .await;
    let answer = receive(&mut socket).await;
    let text = answer["result"]["result"]["value"].as_str().unwrap();
    assert!(text.len() == 35_000_000 && text.bytes().all(|byte| byte == b'x'));
}

#[tokio::test]
async fn a_killed_chromium_is_reported_and_restarted() {
    let host = headless();
    let mut socket = host.open().await;
    send(&mut socket, json!({ "id": 1, "method": "Browser.crash" })).await;
    let (code, reason) = closed(&mut socket).await;
    assert_eq!((code, reason.starts_with("chromium ended: signal:")), (4502, true), "{reason}");
    host.until(|report| report["stage"] == "down").await;
    assert_eq!(host.ask("POST", "/restart").await.0, 200);
    let mut socket = host.open().await;
    let version = call(&mut socket, 1, "Browser.getVersion", json!({})).await;
    assert!(version["product"].is_string(), "{version}");
}

/// The bridge as process 1, in a namespace that otherwise sees the host's files.
fn as_process_1() -> Vec<&'static str> {
    let mut around = as_nobody();
    around.extend(["bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
    around.extend(["--unshare-user", "--unshare-pid", "--as-pid-1", "--die-with-parent"]);
    around
}

#[tokio::test]
async fn as_process_1_it_reaps_what_others_orphaned() {
    let host = Host::start(Setup { around: as_process_1(), program: fake(&[]), ..Setup::default() });
    let spare = host.take().await;
    let bridge = spare.peer_cred().unwrap().pid().unwrap();
    drop(spare);
    let mut socket = host.open().await;
    for id in 0..5 {
        call(&mut socket, id, "Test.orphan", json!({})).await;
    }
    let children = format!("/proc/{bridge}/task/{bridge}/children");
    let reaped = async {
        while std::fs::read_to_string(&children).unwrap().split_whitespace().count() != 1 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(STUCK, reaped).await.expect("only chromium is left, and no zombie");
}

#[tokio::test]
async fn the_bridge_and_its_chromium_leave_no_core_and_gain_no_rights() {
    let host = Host::start(Setup { around: as_process_1(), program: fake(&[]), ..Setup::default() });
    let spare = host.take().await;
    let bridge = spare.peer_cred().unwrap().pid().unwrap();
    drop(spare);
    host.ready().await;
    let children = std::fs::read_to_string(format!("/proc/{bridge}/task/{bridge}/children")).unwrap();
    for pid in [bridge.to_string(), children.trim().to_owned()] {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("NoNewPrivs:\t1"), "{status}");
        let limits = std::fs::read_to_string(format!("/proc/{pid}/limits"));
        // Not dumpable: only root may look.
        if let Ok(limits) = limits {
            let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
            assert!(core.split_whitespace().filter(|word| ["0", "1"].contains(word)).count() == 2, "{core}");
        } else {
            assert!(!is_root());
        }
    }
}

#[tokio::test]
async fn a_headed_chromium_has_a_display_and_the_display_is_a_phase() {
    let mut around = as_process_1();
    // The only shell in there is the bridge, as in the template.
    around.extend(["--tmpfs", "/tmp", "--bind", "FOLDER", "FOLDER"]);
    around.extend(["--ro-bind", "FOLDER/stockade-bridge", "/bin/sh"]);
    let program = vec![
        "/usr/lib/chromium/chromium",
        "--no-first-run",
        "--disable-gpu",
        "--disable-background-networking",
        "--user-data-dir=/tmp/profile",
        "--remote-debugging-pipe",
    ];
    let options = vec!["--display", "1280x800"];
    let host = Host::start(Setup { around, options, program, ..Setup::default() });
    let (status, version) = host.ask("GET", "/json/version").await;
    assert_eq!(status, 200, "{version}");
    let phases: Vec<&str> =
        version["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect();
    assert_eq!(phases, ["bridge", "display", "process", "http"]);
    assert!(!version["User-Agent"].as_str().unwrap().contains("Headless"), "{version}");
}
