//! The bridge's connections: dialled ahead, bounded, and no more than requested.
#![allow(clippy::unwrap_used)]

mod common;

use bridge::wire::MAX_HEAD;
use common::{Host, STUCK, Setup, call, fake};
use serde_json::json;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Long enough that a connection which was going to be dialled would have been.
const QUIET: Duration = Duration::from_millis(300);

#[tokio::test]
async fn one_spare_connection_is_kept_and_the_next_is_dialled_when_it_is_taken() {
    let host = Host::fake(0, &[]);
    let mut first = host.take().await;
    assert!(timeout(QUIET, host.cdp.accept()).await.is_err(), "an idle spare is enough");
    first.write_all(b"G").await.unwrap();
    let second = host.take().await;
    assert!(timeout(QUIET, host.cdp.accept()).await.is_err());
    // A spare that the host drops is replaced.
    drop(second);
    let _third = host.take().await;
}

#[tokio::test]
async fn connections_are_bounded_and_dialled_again_when_one_ends() {
    let host = Host::start(Setup { program: fake(&["when", "FOLDER/go"]), ..Setup::default() });
    let mut busy = Vec::new();
    for _ in 0..8 {
        let mut stream = host.take().await;
        let head = format!("GET /json/version HTTP/1.1\r\nAuthorization: Bearer {}\r\n\r\n", host.token());
        stream.write_all(head.as_bytes()).await.unwrap();
        busy.push(stream);
    }
    assert!(timeout(QUIET, host.cdp.accept()).await.is_err(), "a ninth is not dialled");
    // One that the host gives up on makes room, although chromium has not spoken.
    busy.pop();
    assert_eq!(host.ask("GET", "/status").await.0, 200);
    std::fs::write(host.folder.path().join("go"), "").unwrap();
    for mut stream in busy {
        let mut answer = String::new();
        timeout(STUCK, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
}

#[tokio::test]
async fn what_is_not_a_known_request_is_refused() {
    let host = Host::fake(0, &[]);
    let path = host.ready().await;
    for (method, route, expected) in [
        ("GET", "/", (404, "not_found")),
        ("GET", "/json/version?x", (404, "not_found")),
        ("GET", "/json/list", (404, "not_found")),
        ("POST", "/json/version", (404, "not_found")),
        ("GET", "/restart", (404, "not_found")),
        ("GET", "/devtools/browser/", (404, "not_found")),
        ("GET", "/devtools/browser/0123456789abcdef", (404, "not_found")),
        ("GET", path.as_str(), (400, "websocket_only")),
    ] {
        let (status, refused) = host.ask(method, route).await;
        assert_eq!((status, refused["code"].as_str().unwrap()), expected, "{method} {route}");
    }
    let token = host.token();
    let long = "x".repeat(MAX_HEAD);
    let many = "a: b\r\n".repeat(20);
    for (head, expected) in [
        (format!("GET / HTTP/1.1\r\na: {long}\r\n\r\n"), (431, "head_too_large")),
        (format!("GET / HTTP/1.1\r\n{many}\r\n"), (431, "head_too_large")),
        (
            format!("POST /restart HTTP/1.1\r\nAuthorization: Bearer {token}\r\nContent-Length: 1\r\n\r\nx"),
            (400, "bad_request"),
        ),
        ("\u{1}\u{2}\u{3}\r\n\r\n".to_owned(), (400, "bad_request")),
    ] {
        let (status, refused) = host.raw(head.as_bytes()).await;
        assert_eq!((status, refused["code"].as_str().unwrap()), expected);
    }
}

#[tokio::test]
async fn the_bridge_ends_when_its_host_is_gone() {
    let mut host = Host::fake(0, &[]);
    let mut socket = host.open().await;
    assert_eq!(call(&mut socket, 1, "Test.echo", json!({})).await, json!({}));
    let elsewhere = host.folder.path().join("other.sock");
    host.cdp = tokio::net::UnixListener::bind(elsewhere).unwrap();
    assert_eq!(host.bridge_ended().await, Some(2));
}

#[tokio::test]
async fn proxy_bytes_are_carried_and_each_half_closes_alone() {
    let host = Host::fake(0, &[]);
    let mut browser = TcpStream::connect(("127.0.0.1", host.ready_proxy().await)).await.unwrap();
    let (mut outside, _) = timeout(STUCK, host.egress.accept()).await.unwrap().unwrap();

    let request = vec![b'q'; 1 << 20];
    let sending = async {
        browser.write_all(&request).await.unwrap();
        browser.shutdown().await.unwrap();
    };
    let mut received = Vec::new();
    let ((), read) =
        timeout(STUCK, async { tokio::join!(sending, outside.read_to_end(&mut received)) }).await.unwrap();
    read.unwrap();
    assert!(received == request, "the half that ended had everything in it");

    // The other half is open still.
    outside.write_all(b"answer").await.unwrap();
    outside.shutdown().await.unwrap();
    let mut answer = String::new();
    timeout(STUCK, browser.read_to_string(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer, "answer");
}

#[tokio::test]
async fn proxy_connections_are_bounded_and_go_on_when_one_ends() {
    let host = Host::fake(0, &[]);
    let port = host.ready_proxy().await;
    let mut pairs = Vec::new();
    for _ in 0..256 {
        let browser = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (outside, _) = timeout(STUCK, host.egress.accept()).await.unwrap().unwrap();
        pairs.push((browser, outside));
    }
    let _waiting = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    assert!(timeout(QUIET, host.egress.accept()).await.is_err(), "one too many waits");
    pairs.pop();
    timeout(STUCK, host.egress.accept()).await.unwrap().unwrap();
}

#[tokio::test]
async fn called_as_a_shell_it_runs_nothing_but_xkbcomp() {
    for args in [vec![], vec!["-c", "id"], vec!["-c", "\"/usr/bin/xkbcomp\" -version"], vec!["/etc/hosts"]] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_stockade-bridge")).arg0("sh").args(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("this is not a shell"), "{said}");
        assert!(output.stdout.is_empty());
    }
}

impl Host {
    /// The proxy's port, once the bridge listens on it.
    async fn ready_proxy(&self) -> u16 {
        self.ready().await;
        self.proxy_port
    }
}
