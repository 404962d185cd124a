//! From a started bridge to a browser that answers, and the errors on the way.
#![allow(clippy::unwrap_used)]

mod common;

use bridge::wire::VERSION_PATH;
use common::{Host, STUCK, Setup, call, closed, fake, send};
use serde_json::{Value, json};
use std::path::Path;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

fn phase_names(reply: &Value) -> Vec<&str> {
    reply["phases"].as_array().unwrap().iter().map(|phase| phase["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn readiness_has_two_gates_and_reports_each_phase_with_its_time() {
    let host = Host::fake(0, &[]);
    let (status, version) = host.ask("GET", VERSION_PATH).await;
    assert_eq!((status, version["Browser"].as_str()), (200, Some("Fake/1.0")));
    assert_eq!(phase_names(&version), ["bridge", "process", "http"]);
    for phase in version["phases"].as_array().unwrap() {
        assert!(phase["ms"].as_f64().unwrap() > 0.0, "{phase}");
    }
    let mut socket = host.open().await;
    assert_eq!(call(&mut socket, 1, "Test.echo", json!({ "a": "ü" })).await, json!({ "a": "ü" }));
}

#[tokio::test]
async fn the_first_gate_waits_until_chromium_speaks() {
    let setup = Setup { program: fake(&["when", "FOLDER/go"]), ..Setup::default() };
    let host = Host::start(setup);
    let head = |wait| {
        let token = host.token();
        format!("GET {VERSION_PATH} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n{wait}\r\n").into_bytes()
    };
    let mut waiting = host.take().await;
    waiting.write_all(&head("")).await.unwrap();
    let report = host.until(|report| report["process"] == "running").await;
    assert_eq!((&report["stage"], &report["phase"]), (&json!("starting"), &json!("http")));
    assert_eq!(phase_names(&report), ["bridge", "process"]);

    // One that will not wait learns the current stage.
    let (status, report) = host.raw(&head("Stockade-Wait-Ms: 0\r\n")).await;
    assert_eq!((status, &report["phase"]), (503, &json!("http")));

    std::fs::write(host.folder.path().join("go"), "").unwrap();
    let mut answer = String::new();
    timeout(STUCK, waiting.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn a_failed_start_says_phase_process_and_log() {
    let no_exec = ["/"];
    let missing = ["/nowhere/chromium"];
    let by_signal = ["/bin/bash", "-c", "echo dying >&2; kill -SEGV $$"];
    // Its end is noticed although something else holds its pipe open.
    let pipe_held = ["/bin/bash", "-c", "setsid sleep 2 2>/dev/null & echo leaving >&2; exit 5"];
    let cases: [(Vec<&str>, &str, &str, &str); 5] = [
        (pipe_held.to_vec(), "http", "exited:5", "leaving"),
        (fake(&["exit", "7"]), "http", "exited:7", "cannot find a reason to live"),
        (by_signal.to_vec(), "http", "signal:11", "dying"),
        (missing.to_vec(), "process", "not_started", "cannot start chromium: No such file"),
        (no_exec.to_vec(), "process", "not_started", "cannot start chromium: Permission denied"),
    ];
    for (program, phase, process, log) in cases {
        let host = Host::start(Setup { restarts: 3, program, ..Setup::default() });
        let (status, report) = host.ask("GET", VERSION_PATH).await;
        assert_eq!((status, &report["stage"]), (503, &json!("down")), "{report}");
        assert_eq!((&report["phase"], &report["process"]), (&json!(phase), &json!(process)), "{report}");
        assert!(report["log_tail"].as_str().unwrap().contains(log), "{report}");
        assert_eq!(report["restarts_left"], 3);
        let (status, _) = host.ask("GET", "/devtools/browser/00").await;
        assert_eq!(status, 503, "there is nothing to open");
    }
}

#[tokio::test]
async fn chromium_is_restarted_as_often_as_allowed_and_not_while_it_runs() {
    let host = Host::fake(2, &[]);
    let mut paths = Vec::new();
    for left in [2, 1, 0] {
        let path = host.ready().await;
        let (status, refused) = host.ask("POST", "/restart").await;
        assert_eq!((status, &refused["code"]), (409, &json!("still_running")));
        let mut socket = host.try_open(&path, &host.token()).await.unwrap();
        send(&mut socket, json!({ "id": 1, "method": "Test.exit", "params": { "size": 3 } })).await;
        assert_eq!(closed(&mut socket).await, (4502, "chromium ended: exited:3".to_owned()));
        let report = host.until(|report| report["stage"] == "down").await;
        assert_eq!((&report["process"], &report["restarts_left"]), (&json!("exited:3"), &json!(left)));
        paths.push(path);
        let (status, answer) = host.ask("POST", "/restart").await;
        if left == 0 {
            assert_eq!((status, &answer["code"]), (409, &json!("restarts_used_up")));
        } else {
            assert_eq!((status, &answer["restarts_left"]), (200, &json!(left - 1)), "{answer}");
            let (status, version) = host.ask("GET", VERSION_PATH).await;
            assert_eq!((status, phase_names(&version)), (200, vec!["process", "http"]));
            let (status, _) = host.ask("GET", &paths[paths.len() - 1]).await;
            assert_eq!(status, 404, "the address of the old run is no good");
        }
    }
    paths.dedup();
    assert_eq!(paths.len(), 3, "each run has an address of its own");
}

#[tokio::test]
async fn a_crash_is_told_by_its_signal() {
    let host = Host::fake(0, &[]);
    let mut socket = host.open().await;
    send(&mut socket, json!({ "id": 1, "method": "Test.abort" })).await;
    assert_eq!(closed(&mut socket).await, (4502, "chromium ended: signal:6".to_owned()));
}

#[tokio::test]
async fn a_chromium_that_closes_its_pipe_and_lives_on_is_killed() {
    let program = vec!["/bin/bash", "-c", "exec 3<&- 4>&-; exec sleep 1000"];
    let host = Host::start(Setup { program, ..Setup::default() });
    let (status, report) = host.ask("GET", VERSION_PATH).await;
    assert_eq!((status, &report["process"]), (503, &json!("signal:9")), "{report}");
}

#[tokio::test]
async fn what_chromium_leaves_behind_goes_with_it() {
    let host = Host::fake(0, &["helper"]);
    let (_, report) = host.ask("GET", VERSION_PATH).await;
    assert_eq!(report["process"], "exited:0");
    let log = report["log_tail"].as_str().unwrap();
    let pid = log.split_once("helper ").unwrap().1.lines().next().unwrap();
    let gone = async {
        // A dead one whose new parent has yet to reap it counts as gone.
        let status = format!("/proc/{pid}/status");
        while std::fs::read_to_string(Path::new(&status)).is_ok_and(|text| !text.contains("State:\tZ")) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    timeout(STUCK, gone).await.unwrap();
}
