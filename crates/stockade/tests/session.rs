//! Sessions from the agent's side: opening, use, limits, end, ownership.

use crate::common;

use common::machine::until;
use common::site::Site;
use common::{Home, known};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

#[test]
fn a_page_is_taken_from_open_to_click_to_close() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let opened = mcp.ok("browser_open_session", json!({"session_name": "shopping"}));
    assert_eq!(opened["credential_mode"], "clean");
    assert_eq!(opened["record"], "transient");
    assert_eq!(opened["actions_left"], 100);
    let session = opened["session_id"].as_str().unwrap();

    let page = mcp.goto(session, "http://shop.test/");
    assert_eq!(page["status"], 200);
    assert_eq!(page["session_id"], session);
    assert!(page["snapshot"].as_str().unwrap().contains("[ref="), "{page}");
    let clicked = mcp.ok("browser_click", json!({"session_id": "shopping", "role": "link", "name": "Stock"}));
    assert_eq!(clicked["url"], "http://shop.test/stock");
    assert_eq!(clicked["actions_left"], 98);
    let tree = mcp.ok("browser_read", json!({"session_id": session, "format": "tree"}));
    assert_eq!(tree["snapshot"]["role"], "RootWebArea");
    assert!(tree["interactive_elements"].as_array().is_some_and(|all| !all.is_empty()));
    let closed = mcp.ok("browser_close_session", json!({"session_id": session}));
    assert!(closed["closed_at"].is_string());
    mcp.ok("browser_close_session", json!({"session_id": session}));
    assert_eq!(mcp.code("browser_read", json!({"session_id": session})), "session_ended:closed");
}

#[test]
fn a_stdio_client_may_omit_the_session_id() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let first = mcp.ok("browser_navigate", json!({"url": "http://shop.test/"}));
    let second = mcp.ok("browser_read", json!({}));
    assert_eq!(first["session_id"], second["session_id"]);
    mcp.ok("browser_close_session", json!({}));
    let third = mcp.ok("browser_navigate", json!({"url": "http://shop.test/"}));
    assert_ne!(first["session_id"], third["session_id"]);
}

#[test]
fn screenshots_are_pictures_that_can_be_fetched_again() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://shop.test/stock");
    let magic = |format: &str| -> &[u8] {
        match format {
            "png" => b"\x89PNG",
            "jpeg" => b"\xff\xd8\xff",
            _ => b"RIFF",
        }
    };
    for format in ["png", "jpeg", "webp"] {
        let shot = mcp.ok("browser_screenshot", json!({"session_id": session, "format": format}));
        let bytes = std::fs::read(shot["persisted_path"].as_str().unwrap()).unwrap();
        assert!(bytes.starts_with(magic(format)), "{format}");
        let uri = format!("stockade://screenshots/{}", shot["screenshot_id"].as_str().unwrap());
        let resource = mcp.request("resources/read", json!({"uri": uri}));
        assert!(
            resource["result"]["contents"][0]["blob"].as_str().is_some_and(|b| !b.is_empty()),
            "{resource}"
        );
    }
    let view = mcp.ok("browser_screenshot", json!({"session_id": session}));
    let full = mcp.ok("browser_screenshot", json!({"session_id": session, "full_page": true}));
    assert!(full["height"].as_u64() > view["height"].as_u64(), "{full} {view}");
    let path = full["persisted_path"].as_str().unwrap().to_owned();
    mcp.ok("browser_close_session", json!({"session_id": session}));
    assert!(!std::path::Path::new(&path).exists(), "a transient picture outlived its session");
}

#[test]
fn a_password_is_neither_typed_nor_shown() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://shop.test/login");
    let typing = json!({"session_id": session, "role": "textbox", "name": "Password", "text": "hunter2"});
    assert_eq!(mcp.code("browser_type", typing), "secret_field");
    let log = home.audit_log();
    assert!(log.contains("\"decision\":\"deny\"") && log.contains("type.secret-field"), "{log}");
    assert!(!log.contains("hunter2"));
}

#[test]
fn every_action_is_on_record_before_and_after() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://shop.test/");
    mcp.ok("browser_type", json!({"session_id": session, "role": "searchbox", "text": "blue lamp"}));
    mcp.ok("browser_close_session", json!({"session_id": session}));
    let lines: Vec<Value> =
        home.audit_log().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["event_type"], &lines[0]["seq"]), (&json!("log_begun"), &json!(1)));
    let of_agent = |line: &&Value| {
        let by_itself = matches!(line["event_type"].as_str(), Some("page_navigated" | "egress"));
        line["session_id"] == session && !by_itself
    };
    let lines: Vec<&Value> = lines.iter().filter(of_agent).collect();
    let kinds: Vec<_> = lines
        .iter()
        .map(|l| (l["event_type"].as_str().unwrap(), l["action"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(
        kinds,
        [
            ("session_opened", ""),
            ("intent", "navigate"),
            ("outcome", "navigate"),
            ("intent", "type"),
            ("outcome", "type"),
            ("session_ended", "")
        ]
    );
    for pair in [&lines[1..3], &lines[3..5]] {
        assert_eq!(pair[0]["correlation_id"], pair[1]["correlation_id"]);
    }
    assert_eq!(lines[3]["input_value"], "[9 characters]");
    assert!(lines.iter().all(|line| line["session_id"] == session && line["actor"] == "agent"));
}

#[test]
fn a_session_ends_at_its_deadline_and_says_so() {
    let home = Home::new("    session_timeout: 2\n    max_actions_per_session: 100000\n");
    let mut mcp = home.mcp();
    let session = mcp.open();
    let code = until("the deadline", Duration::from_secs(20), || {
        mcp.call("browser_read", json!({"session_id": session}))
            .err()
            .map(|e| e["code"].as_str().unwrap().to_owned())
    });
    assert_eq!(code, "session_ended:deadline");
}

#[test]
fn a_session_ends_after_its_last_action_and_says_so() {
    let home = Home::new("    max_actions_per_session: 2\n");
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://shop.test/");
    assert_eq!(mcp.ok("browser_read", json!({"session_id": session}))["actions_left"], 0);
    assert_eq!(mcp.code("browser_read", json!({"session_id": session})), "session_ended:action_limit");
}

#[test]
fn the_number_of_concurrent_sessions_is_limited() {
    let home = Home::new("    max_concurrent_sessions: 2\n");
    let mut mcp = home.mcp();
    let first = mcp.open();
    mcp.open();
    assert_eq!(mcp.code("browser_open_session", json!({})), "too_many_sessions");
    mcp.ok("browser_close_session", json!({"session_id": first}));
    mcp.open();
}

#[test]
fn a_session_name_is_unique_under_concurrent_requests() {
    let home = Home::new("");
    let _server = home.serve(&[]);
    let clients: Vec<_> = (0..3).map(|_| home.mcp()).collect();
    let openings: Vec<_> = clients
        .into_iter()
        .map(|mut mcp| {
            std::thread::spawn(move || {
                let opened = mcp.call("browser_open_session", json!({"session_name": "shared"}));
                // The client is returned too: closing it would close its session and free the name.
                (opened.map_err(|error| error["code"].as_str().unwrap().to_owned()), mcp)
            })
        })
        .collect();
    let done: Vec<_> = openings.into_iter().map(|opening| opening.join().unwrap()).collect();
    let refused: Vec<_> = done.iter().filter_map(|(opened, _)| opened.as_ref().err()).collect();
    assert_eq!(refused, ["session_name_taken", "session_name_taken"]);
}

#[test]
fn wrong_calls_get_a_code_and_a_next_step() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://shop.test/");
    for (tool, arguments, expected) in [
        ("browser_read", json!({"session_id": "s-nowhere"}), "unknown_session"),
        ("browser_navigate", json!({"session_id": session}), "bad_arguments"),
        ("browser_navigate", json!({"session_id": session, "url": 7}), "bad_arguments"),
        (
            "browser_navigate",
            json!({"session_id": session, "url": "http://shop.test/", "wait_for": "forever"}),
            "bad_arguments",
        ),
        (
            "browser_navigate",
            json!({"session_id": session, "url": "http://shop.test/", "timeout_seconds": 1000}),
            "bad_arguments",
        ),
        ("browser_navigate", json!({"session_id": session, "url": "shop.test"}), "bad_address"),
        ("browser_navigate", json!({"session_id": session, "url": "javascript:alert(1)"}), "bad_address"),
        (
            "browser_navigate",
            json!({"session_id": session, "url": "http://127.0.0.1:8099/"}),
            "egress_refused",
        ),
        (
            "browser_navigate",
            json!({"session_id": session, "url": "http://169.254.169.254/latest/meta-data"}),
            "egress_refused",
        ),
        ("browser_click", json!({"session_id": session}), "bad_arguments"),
        ("browser_click", json!({"session_id": session, "selector": "#x"}), "element_not_found"),
        ("browser_click", json!({"session_id": session, "selector": "[href]"}), "bad_selector"),
        ("browser_click", json!({"session_id": session, "color": "red"}), "bad_arguments"),
        ("browser_click", json!({"session_id": session, "ref": "e1", "role": "button"}), "bad_arguments"),
        ("browser_click", json!({"session_id": session, "ref": "e999999"}), "stale_ref"),
        ("browser_open_session", json!({"session_name": "Not A Name"}), "bad_arguments"),
        (
            "browser_open_session",
            json!({"credential_mode": "operator", "domains": ["shop.test"]}),
            "grant_required",
        ),
    ] {
        assert_eq!(mcp.code(tool, arguments.clone()), expected, "{tool} {arguments}");
    }
    let unknown = mcp.call("browser_fly", json!({})).unwrap_err();
    assert_eq!(unknown["data"]["code"], "unknown_tool", "{unknown}");
}

#[test]
fn a_caller_sees_the_sessions_of_its_own_scope_only() {
    let home = Home::new("");
    let server = home.serve(&[]);
    let mut one = home.mcp_with(&["--actor", "one"]);
    let mut two = home.mcp_with(&["--actor", "two"]);
    let session = one.open();
    assert_eq!(two.code("browser_read", json!({"session_id": session})), "unknown_session");
    assert_eq!(two.code("browser_close_session", json!({"session_id": session})), "unknown_session");
    one.goto(&session, "http://shop.test/");
    // The owner of the state folder sees all sessions.
    let (_, listed) = home.json(&["session", "list"]);
    assert_eq!(listed["sessions"][0]["session_id"], session.as_str(), "{listed}");
    let (_, shown) = home.json(&["session", "show", &session]);
    assert_eq!(shown["history"]["entries"][0]["action"], "navigate");
    let (_, archived) = home.json(&["session", "archive", &session]);
    let bundle = archived["path"].as_str().unwrap();
    let inside = |name: &str| -> Value {
        let read = std::process::Command::new("tar").args(["-xOf", bundle, name]).output().unwrap();
        serde_json::from_slice(&read.stdout).unwrap_or_else(|_| panic!("{read:?}"))
    };
    assert_eq!(inside("session.json")["session"]["session_id"], session.as_str());
    assert!(inside("egress.json")["entries"].as_array().is_some_and(|all| !all.is_empty()));
    assert_eq!(one.code("browser_read", json!({"session_id": session})), "session_ended:closed");
    drop(server);
}

#[test]
fn http_requires_a_key_and_a_loopback_origin() {
    let home = Home::new("");
    let server = home.serve(&[]);
    let address = server.address();
    let ask = |path: &str, host: &str, extra: &str| -> String {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{extra}\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(ask("/healthz", &address, "").starts_with("HTTP/1.1 200"));
    assert!(ask("/", &address, "").contains("Stockade"));
    for (path, host, extra, status, code) in [
        ("/healthz", "evil.example", "", 403, "host_refused"),
        ("/mcp", "evil.example", "", 403, "host_refused"),
        ("/healthz", address.as_str(), "origin: http://evil.example\r\n", 403, "origin_refused"),
        ("/mcp", address.as_str(), "", 401, "unauthorized"),
        ("/mcp", address.as_str(), "authorization: Bearer wrong\r\n", 401, "unauthorized"),
        ("/v1/screenshots/img-x", address.as_str(), "", 401, "unauthorized"),
        ("/nowhere", address.as_str(), "", 404, "not_found"),
    ] {
        let answer = ask(path, host, extra);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{path} {host}: {answer}");
        assert_eq!(error_in(&answer), code, "{path} {host}: {answer}");
    }
    let key = format!("authorization: Bearer {}\r\n", server.key());
    assert_eq!(error_in(&ask("/v1/screenshots/img-x", &address, &key)), "unknown_screenshot");
}

/// The code in the body of an HTTP response.
fn error_in(answer: &str) -> String {
    let error = answer.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{answer}"));
    known(serde_json::from_str(error).unwrap())["code"].as_str().unwrap().to_owned()
}

#[test]
fn slow_connections_are_limited_and_block_no_other_client() {
    let home = Home::new("");
    let server = home.serve(&[]);
    let address = server.address();
    let dawdle = || {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\n").unwrap();
        stream
    };
    let mut held: Vec<_> = (0..256).map(|_| dawdle()).collect();
    let read = |stream: &mut TcpStream| {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut answer = [0; 12];
        stream.read(&mut answer).map(|count| answer[..count].to_vec())
    };
    let mut next = TcpStream::connect(&address).unwrap();
    write!(next, "GET /healthz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    assert_eq!(read(&mut next).unwrap(), b"HTTP/1.1 200");
    assert!(
        read(&mut held[0]).is_ok_and(|answer| answer.is_empty()),
        "the 257th was served beside 256 others"
    );
    held[255].write_all(format!("host: {address}\r\n\r\n").as_bytes()).unwrap();
    assert_eq!(read(&mut held[255]).unwrap(), b"HTTP/1.1 200", "others than the quietest stay");
}

#[test]
fn an_mcp_session_id_is_bound_to_its_key() {
    let home = Home::new("");
    let server = home.serve(&[]);
    let (_, made) = home.json(&["key", "make", "--actor", "other"]);
    let other = made["key"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    let address = server.address();
    let post = |key: &str, session: &str, body: &str| -> String {
        let mut stream = TcpStream::connect(&address).unwrap();
        let session =
            if session.is_empty() { String::new() } else { format!("mcp-session-id: {session}\r\n") };
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {key}\r\n{session}\
             content-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let about = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}).to_string();
    let answer = post(server.key(), "", &hello);
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    let id = id.unwrap_or_else(|| panic!("{answer}")).trim().to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
    assert!(post(&other, &id, &list).starts_with("HTTP/1.1 404"));
    assert!(post(server.key(), &id, &list).starts_with("HTTP/1.1 200"));
}

#[test]
fn smoke_takes_five_steps_on_a_page_it_has_never_seen() {
    let site = Site::serve(&[("/", "<title>Unseen</title><h1>Hello</h1><p>Some text to extract.</p>")]);
    let home = Home::new(&site.setting(&["unseen.test"]));
    let picture = home.folder.path().join("page.png");
    let (code, report) = home.json(&["smoke", "http://unseen.test/", "--picture", picture.to_str().unwrap()]);
    assert_eq!((code, &report["error"]), (0, &Value::Null), "{report}");
    let steps: Vec<_> =
        report["steps"].as_array().unwrap().iter().map(|s| s["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["start", "goto", "extract", "screenshot", "archive"]);
    assert!(
        report["steps"].as_array().unwrap().iter().all(|s| s["ok"] == true && s["ms"].as_f64() > Some(0.0))
    );
    assert_eq!(report["title"], "Unseen");
    assert!(report["text"].as_str().unwrap().contains("Some text to extract."));
    assert!(std::fs::read(picture).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn smoke_on_a_dead_host_fails_with_a_code_and_a_hint() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let home = Home::new(&format!("    egress:\n      hosts:\n        dead.test: {closed}\n"));
    for (url, expected) in
        [("http://dead.test/", "connection_refused"), ("http://nowhere.invalid/", "host_not_found")]
    {
        let (code, report) = home.json(&["smoke", url]);
        assert_eq!(code, 1, "{report}");
        assert_eq!(report["error"]["code"], expected, "{report}");
        assert!(!report["error"]["hint"].as_str().unwrap().is_empty());
        assert_eq!(report["steps"][1]["ok"], false);
    }
}
