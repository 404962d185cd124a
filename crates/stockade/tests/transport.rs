//! MCP transports under failure: invalid messages, servers that end, unknown methods.

use crate::common;

use common::machine::{self, PATIENCE, until};
use common::site::Site;
use common::{Home, Mcp, Server, http, known};
use serde_json::{Value, json};

const PAGE: &str = "<title>Page</title><h1>Hello</h1><button>Press</button>";

/// Lines that are no valid message, with the expected error.
fn unreadable() -> Vec<(String, i64, Value)> {
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"browser_read","arguments":{arguments}}}}}"#
        )
    };
    vec![
        ("{".into(), -32700, json!(null)),
        (call(r#"{"session_id":"\ud800"}"#), -32700, json!(7)),
        (call(r#"{"max_tokens":1e400}"#), -32700, json!(7)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#.into(), -32600, json!(null)),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#.into(), -32600, json!(null)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":"x"}"#.into(), -32600, json!(7)),
        (call("5"), -32602, json!(7)),
    ]
}

#[test]
fn a_message_on_a_pipe_that_cannot_be_read_gets_an_error() {
    let home = Home::new("");
    let mut own = home.mcp();
    let _server = home.serve(&[]);
    let mut joined = home.mcp();
    for mcp in [&mut own, &mut joined] {
        for (line, code, id) in unreadable() {
            mcp.send_line(&line);
            let ping = mcp.begin("ping", json!({}));
            let answer = mcp.next_message();
            known(answer["error"]["data"].clone());
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{line}: {answer}");
            assert_eq!(mcp.next_message()["id"], ping);
        }
        // A response is never answered, even if it is invalid.
        mcp.send_line(r#"{"jsonrpc":"2.0","id":{},"error":5}"#);
        let answer = mcp.request("ping", json!({}));
        assert!(answer["result"].is_object(), "{answer}");
    }
}

#[test]
fn a_message_over_http_that_cannot_be_read_gets_an_error() {
    let home = Home::new("");
    let server = home.serve(&[]);
    for (body, code, id) in unreadable() {
        let (status, answer) = http::post(&server.address(), server.key(), "/mcp", &body);
        // A request gets an error; anything else is refused.
        let expected = if code == -32602 { 200 } else { 400 };
        assert_eq!((status, &answer["error"]["code"]), (expected, &json!(code)), "{body}: {answer}");
        assert_eq!(answer["id"], id, "{body}: {answer}");
    }
}

/// An MCP session of the 2025 revisions over HTTP.
struct HttpClient<'a> {
    server: &'a Server,
    session: String,
}

impl HttpClient<'_> {
    fn connect(server: &Server) -> HttpClient<'_> {
        let about = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}).to_string();
        let mut stream = http::send(&server.address(), server.key(), "/mcp", &hello);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stream, &mut text).unwrap();
        let id = text.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let session = format!("mcp-session-id: {}\r\n", id.unwrap_or_else(|| panic!("{text}")).trim());
        let client = HttpClient { server, session };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(http::answer(client.send(&ready)).0, 202);
        client
    }

    fn send(&self, message: &Value) -> std::net::TcpStream {
        let server = self.server;
        http::send_with(&server.address(), server.key(), "/mcp", &self.session, &message.to_string())
    }

    fn close(&self) -> u16 {
        let (address, key) = (self.server.address(), self.server.key());
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        let request = format!(
            "DELETE /mcp HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {key}\r\n{}\r\n",
            self.session
        );
        std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
        http::answer(stream).0
    }
}

#[test]
fn a_closed_mcp_session_is_gone() {
    let home = Home::new("");
    let server = home.serve(&[]);
    let client = HttpClient::connect(&server);
    let list = json!({"jsonrpc": "2.0", "id": "l", "method": "tools/list"});
    assert_eq!(http::answer(client.send(&list)).0, 200);
    assert_eq!(client.close(), 204);
    let (status, answer) = http::answer(client.send(&list));
    let fault = known(answer["error"]["data"].clone());
    assert_eq!((status, &answer["id"], &fault["code"]), (404, &json!("l"), &json!("unknown_mcp_session")));
    assert!(fault["hint"].as_str().unwrap().contains("No browser session"), "{fault}");
    assert_eq!(client.close(), 404);

    let start = json!({"action": "session.start"}).to_string();
    let (_, started) = http::post(&server.address(), server.key(), "/v1/actions", &start);
    let open = format!("that are open: {}.", started["session_id"].as_str().unwrap());
    let (_, answer) = http::answer(client.send(&list));
    assert!(answer["error"]["message"].as_str().unwrap().contains(&open), "{answer}");
}

#[test]
fn methods_that_are_not_declared_do_not_exist() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let reference = json!({"type": "ref/prompt", "name": "x"});
    for (method, params) in [
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "x"})),
        ("prompts/get", json!({})),
        ("completion/complete", json!({"ref": reference, "argument": {"name": "a", "value": "b"}})),
        ("logging/setLevel", json!({"level": "info"})),
        ("resources/subscribe", json!({"uri": "a:b"})),
        ("no/such", json!({})),
    ] {
        let answer = mcp.request(method, params);
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    let answer = mcp.request("resources/read", json!({"uri": "stockade://screenshots/none"}));
    assert_eq!(answer["error"]["data"]["uri"], "stockade://screenshots/none", "{answer}");
}

/// A session on a page.
fn session_on_page(mcp: &mut Mcp) -> String {
    let session = mcp.open();
    mcp.goto(&session, "http://a.test/");
    session
}

fn wait_for_nothing(session: &str) -> Value {
    let arguments = json!({"session_id": session, "text": "never", "timeout_seconds": 100});
    json!({"name": "browser_wait_for", "arguments": arguments})
}

fn until_waiting(home: &Home) {
    until("the wait to begin", PATIENCE, || home.audit_log().contains("wait_for").then_some(()));
}

fn home_with_page() -> (Home, Site) {
    let site = Site::serve(&[("/", PAGE)]);
    (Home::new(&site.setting(&["a.test"])), site)
}

#[test]
fn a_call_over_mcp_http_that_a_stop_cuts_short_is_answered() {
    for is_stateless in [false, true] {
        let (home, _site) = home_with_page();
        let server = home.serve(&[]);
        let mut other = home.mcp();
        let session = session_on_page(&mut other);
        let mut params = wait_for_nothing(&session);
        let stream = if is_stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params});
            let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: browser_wait_for\r\n";
            http::send_with(&server.address(), server.key(), "/mcp", headers, &call.to_string())
        } else {
            let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params});
            HttpClient::connect(&server).send(&call)
        };
        until_waiting(&home);
        machine::signal(server.child.id(), "TERM");
        let (status, answer) = http::answer(stream);
        let error = known(answer["result"]["structuredContent"]["error"].clone());
        assert_eq!((status, &answer["id"]), (200, &json!(5)), "{answer}");
        assert_eq!(error["code"], "session_ended:shutdown", "{answer}");
    }
}

#[test]
fn a_call_over_a_pipe_that_a_stop_cuts_short_is_answered() {
    let (home, _site) = home_with_page();
    let mut mcp = home.mcp();
    let session = session_on_page(&mut mcp);
    let call = mcp.begin("tools/call", wait_for_nothing(&session));
    until_waiting(&home);
    machine::signal(mcp.child.id(), "TERM");
    let answer = mcp.answer_to(call);
    assert_eq!(answer["error"]["code"], "session_ended:shutdown", "{answer}");
    assert!(mcp.child.wait().unwrap().success());
}

#[test]
fn a_call_that_a_killed_server_leaves_is_answered_and_the_client_goes_on_alone() {
    let (home, _site) = home_with_page();
    let mut server = home.serve(&[]);
    let mut mcp = home.mcp();
    let session = session_on_page(&mut mcp);
    let call = mcp.begin("tools/call", wait_for_nothing(&session));
    until_waiting(&home);
    machine::signal(server.child.id(), "KILL");
    server.child.wait().unwrap();
    let error = mcp.answer_to(call)["error"].clone();
    assert_eq!((&error["code"], &error["retryable"]), (&json!("server_lost"), &json!(false)), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("browser_open_session"), "{error}");

    // It notices: the next call works, on a control plane of its own.
    assert_eq!(mcp.code("browser_read", json!({"session_id": session})), "unknown_session");
    session_on_page(&mut mcp);
    assert!(mcp.close().success());
}

#[test]
fn an_idle_client_of_a_killed_server_is_told_so_and_joins_the_next() {
    let (home, _site) = home_with_page();
    let mut server = home.serve(&[]);
    let mut mcp = home.mcp();
    let session = session_on_page(&mut mcp);
    machine::signal(server.child.id(), "KILL");
    server.child.wait().unwrap();
    let _next = home.serve(&[]);
    let error = mcp.call("browser_read", json!({"session_id": session})).unwrap_err();
    assert_eq!((&error["code"], &error["retryable"]), (&json!("server_lost"), &json!(false)), "{error}");
    let session = session_on_page(&mut mcp);
    let (_, listed) = home.json(&["session", "list"]);
    assert!(listed.to_string().contains(&session), "it is the next server's: {listed}");
    assert!(mcp.close().success());
}

#[test]
fn a_client_whose_server_is_gone_gets_the_reason_while_no_other_can_be_started() {
    let (home, _site) = home_with_page();
    let mut server = home.serve(&[]);
    let mut mcp = home.mcp();
    machine::signal(server.child.id(), "KILL");
    server.child.wait().unwrap();
    // From now on the database cannot be opened.
    let database = home.state().join("stockade.db");
    assert!(database.exists());
    std::fs::remove_file(&database).unwrap();
    std::fs::create_dir(&database).unwrap();
    // A request that was in flight when the server ended gets that error first.
    let code = match mcp.code("browser_open_session", json!({})).as_str() {
        "server_lost" => mcp.code("browser_open_session", json!({})),
        code => code.to_owned(),
    };
    assert_eq!(code, "storage_failed");
    // Each request checks again.
    std::fs::remove_dir(&database).unwrap();
    mcp.open();
    assert!(mcp.close().success());
}

#[test]
fn a_failure_in_a_browser_that_the_call_itself_opened_says_so() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let click = json!({"role": "button", "name": "Order", "timeout_seconds": 1});
    let first = mcp.call("browser_click", click.clone()).unwrap_err();
    assert!(first["message"].as_str().unwrap().contains("new session"), "{first}");
    let second = mcp.call("browser_click", click).unwrap_err();
    assert!(!second["message"].as_str().unwrap().contains("new session"), "{second}");
}

#[test]
fn an_empty_text_for_an_optional_argument_counts_as_left_out() {
    let (home, _site) = home_with_page();
    let mut mcp = home.mcp();
    let session = mcp.ok("browser_open_session", json!({"session_name": "", "grant": ""}));
    let session = session["session_id"].as_str().unwrap();
    mcp.goto(session, "http://a.test/");
    let unused = json!({"session_id": "", "ref": "", "selector": "", "visible_text": "", "role": "button", "name": "Press"});
    mcp.ok("browser_click", unused);
    // Required arguments are taken as they are, even if empty.
    assert_eq!(mcp.code("browser_navigate", json!({"session_id": session, "url": ""})), "bad_address");
}
