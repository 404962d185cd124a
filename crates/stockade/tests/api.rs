//! The HTTP API and the command line: the manager's action names, one form of result, through the same gate.

use crate::common;

use common::machine::{self, until};
use common::site::Site;
use common::{Home, Server, http, known};
use serde_json::{Value, json};
use std::time::Duration;

const PAGE: &str = "<title>Page one</title><h1>Hello</h1><p>Some text to extract.</p>
<label>Name <input id=name></label><a href=/two>Two</a>
<label>Colour <select><option>Red<option>Blue</select></label>
<label><input type=checkbox> News</label><p id=log>none</p>
<div id=from draggable=true style='width:50px;height:50px'>from</div><div id=to style='width:50px;height:50px'>to</div>
<button onclick=\"document.title = confirm('Sure?')\">Ask</button><div style='height:4000px'></div>";
const TWO: &str = "<title>Page two</title><p>Second</p>";

struct Api {
    home: Home,
    server: Server,
    _site: Site,
}

impl Api {
    fn start(settings: &str) -> Api {
        let site = Site::serve(&[("/", PAGE), ("/two", TWO)]);
        let home = Home::new(&format!("{settings}{}", site.setting(&["a.test"])));
        let server = home.serve(&[]);
        Api { home, server, _site: site }
    }

    fn post(&self, request: &Value) -> (u16, Value) {
        http::post(&self.server.address(), self.server.key(), "/v1/actions", &request.to_string())
    }

    /// One action that must work; its data.
    fn ok(&self, session: &str, action: &str, mut request: Value) -> Value {
        request["action"] = json!(action);
        request["session"] = json!(session);
        let (status, result) = self.post(&request);
        assert_eq!((status, &result["success"]), (200, &json!(true)), "{request}: {result}");
        assert_eq!(result["action"], action);
        assert!(result["session_id"].as_str().is_some_and(|id| id.starts_with("s-")), "{result}");
        assert!(result.get("error").is_none(), "{result}");
        result["data"].clone()
    }

    /// The status, and the code of the error that it must give.
    fn code(&self, request: Value) -> (u16, String) {
        let (status, result) = self.post(&request);
        assert_eq!(result["success"], false, "{request}: {result}");
        assert!(result.get("data").is_none(), "{result}");
        let error = &result["error"];
        for field in ["message", "hint"] {
            assert!(error[field].as_str().is_some_and(|text| !text.is_empty()), "{request}: {result}");
        }
        assert!(error["retryable"].is_boolean(), "{result}");
        (status, error["code"].as_str().unwrap().to_owned())
    }
}

#[test]
fn every_action_name_works_and_has_one_form_of_result() {
    let api = Api::start("    read_dom: true\n    max_actions_per_session: 200\n");
    let (_, started) = api.post(&json!({"action": "session.start", "session_name": "shop"}));
    assert_eq!(started["success"], true, "{started}");
    assert_eq!(started["data"]["session_name"], "shop", "{started}");
    let id = started["session_id"].as_str().unwrap().to_owned();

    let page = api.ok("shop", "page.goto", json!({"url": "http://a.test/"}));
    assert_eq!(
        (&page["final_url"], &page["title"]),
        (&json!("http://a.test/"), &json!("Page one")),
        "{page}"
    );
    assert_eq!(api.ok(&id, "page.extract", json!({"mode": "title"}))["title"], "Page one");
    let text = api.ok(&id, "page.extract", json!({"mode": "text"}));
    assert!(text["text"].as_str().unwrap().contains("Some text to extract."), "{text}");

    let role = |role: &str, name: &str| json!({"role": role, "name": name});
    for (action, request, expected) in [
        ("page.type", json!({"selector": "#name", "text": "Ada"}), "Ada"),
        ("page.press", json!({"key": "End"}), "Ada"),
        ("page.select", json!({"role": "combobox", "name": "Colour", "option": "Blue"}), "Blue"),
        ("page.check", role("checkbox", "News"), "checked"),
        ("page.hover", role("link", "Two"), "Two"),
        ("page.drag", json!({"selector": "#from", "to": {"selector": "#to"}}), "from"),
        ("page.scroll", json!({"direction": "down", "amount": "page"}), "scrolled"),
        ("page.wait_for", json!({"text": "hello"}), "Hello"),
        ("page.click", role("link", "Two"), "Second"),
        ("page.back", json!({}), "Hello"),
        ("page.forward", json!({}), "Second"),
        ("page.reload", json!({}), "Second"),
        ("page.read", json!({"format": "markdown"}), "Second"),
        ("page.read_dom", json!({}), "<p>Second</p>"),
        ("page.find", json!({"text": "sec"}), "Second"),
        ("page.search_text", json!({"text": "sec"}), "Second"),
        ("page.tabs", json!({}), "t1"),
        ("page.new_tab", json!({}), "t2"),
        ("page.switch_tab", json!({"tab": "t1"}), "t1"),
        ("page.close_tab", json!({"tab": "t2"}), "t1"),
        ("page.screenshot", json!({"include_base64": true}), "image_base64"),
        ("session.show", json!({}), "navigate"),
    ] {
        let data = api.ok(&id, action, request.clone());
        assert!(data.to_string().contains(expected), "{action} {request}: {expected:?} in {data}");
    }
    api.ok(&id, "page.goto", json!({"url": "http://a.test/"}));
    let asked = api.ok(&id, "page.click", role("button", "Ask"));
    assert_eq!(asked["dialog"]["message"], "Sure?");
    assert_eq!(api.ok(&id, "page.dialog", json!({"accept": true}))["title"], "true");

    let (_, listed) = api.post(&json!({"action": "session.list"}));
    assert_eq!(listed["data"]["sessions"][0]["session_id"], id.as_str(), "{listed}");
    let archived = api.ok(&id, "session.archive", json!({}));
    assert!(std::path::Path::new(archived["path"].as_str().unwrap()).is_file());
    let (_, started) = api.post(&json!({"action": "session.start"}));
    let other = started["session_id"].as_str().unwrap();
    assert!(api.ok(other, "session.close", json!({}))["closed_at"].is_string());
}

#[test]
fn a_wrong_request_gets_a_code_and_reaches_no_other_session() {
    let api = Api::start("");
    let (_, started) = api.post(&json!({"action": "session.start"}));
    let id = started["session_id"].as_str().unwrap();
    for (request, expected) in [
        (json!({"action": "page.fly", "session": id}), (400, "unknown_action")),
        (json!({"session": id}), (400, "bad_arguments")),
        (json!({"action": 7}), (400, "bad_arguments")),
        (json!({"action": "page.goto", "url": "http://a.test/"}), (400, "session_required")),
        (json!({"action": "page.goto", "session": 7, "url": "http://a.test/"}), (400, "bad_arguments")),
        (json!({"action": "page.goto", "session": id, "session_id": id}), (400, "bad_arguments")),
        (json!({"action": "page.goto", "session": id}), (400, "bad_arguments")),
        (json!({"action": "page.goto", "session": id, "address": "x"}), (400, "bad_arguments")),
        (json!({"action": "page.goto", "session": id, "url": "ftp://a.test/"}), (400, "bad_address")),
        (json!({"action": "page.click", "session": id, "selector": "[id]"}), (400, "bad_selector")),
        (json!({"action": "page.extract", "session": id, "mode": "html"}), (400, "bad_arguments")),
        (json!({"action": "page.extract", "session": id, "tone": "html"}), (400, "bad_arguments")),
        (json!({"action": "page.tabs", "session": id, "tab": "t1"}), (400, "bad_arguments")),
        (json!({"action": "session.list", "all": true}), (400, "bad_arguments")),
        (json!({"action": "session.show"}), (400, "session_required")),
        (json!({"action": "page.read", "session": "s-nowhere"}), (200, "unknown_session")),
        (json!({"action": "session.show", "session": "nowhere"}), (200, "unknown_session")),
        (json!({"action": "page.click", "session": id, "ref": "e99"}), (200, "stale_ref")),
        (json!({"action": "page.read_dom", "session": id}), (200, "read_dom_disabled")),
    ] {
        let (status, code) = api.code(request.clone());
        assert_eq!((status, code.as_str()), expected, "{request}");
    }
    let address = api.server.address();
    for body in ["", "[]", "{", "7"] {
        let (status, result) = http::post(&address, api.server.key(), "/v1/actions", body);
        assert_eq!((status, &result["error"]["code"]), (400, &json!("bad_arguments")), "{body}: {result}");
    }
    let (status, refused) = http::post(&address, "wrong", "/v1/actions", "{}");
    assert_eq!((status, &refused["code"]), (401, &json!("unauthorized")), "{refused}");

    let (_, made) = api.home.json(&["key", "make", "--actor", "other"]);
    let other = made["key"].as_str().unwrap();
    for action in ["page.read", "session.show", "session.close", "session.archive"] {
        let request = json!({"action": action, "session": id}).to_string();
        let (_, result) = http::post(&address, other, "/v1/actions", &request);
        assert_eq!(result["error"]["code"], "unknown_session", "{action}: {result}");
    }
    let (_, listed) = http::post(&address, other, "/v1/actions", r#"{"action": "session.list"}"#);
    assert_eq!(listed["data"]["sessions"], json!([]), "{listed}");
}

fn outcome_of_wait(home: &Home) -> Option<String> {
    let line = home
        .audit_log()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|line| line["event_type"] == "outcome" && line["action"] == "wait_for");
    line.map(|line| known(json!({"code": line["result"]}))["code"].as_str().unwrap().to_owned())
}

#[test]
fn a_timeout_names_the_action_as_its_caller_did() {
    let site = Site::serve(&[("/", "HANG")]);
    let home = Home::new(&site.setting(&["silent.test"]));
    let server = home.serve(&[]);
    let mut mcp = home.mcp();
    let session = mcp.open();
    let url = "http://silent.test/";
    for (action, expected) in [
        (json!({"action": "page.goto", "url": url}), "browser_action_timeout:goto:1.5s"),
        (json!({"action": "page.wait_for", "text": "never"}), "browser_action_timeout:wait_for:1.5s"),
    ] {
        let mut request = action;
        request["session"] = json!(session);
        request["timeout_seconds"] = json!(1.5);
        let (_, result) = http::post(&server.address(), server.key(), "/v1/actions", &request.to_string());
        assert_eq!(result["error"]["code"], expected, "{result}");
    }
    let (_, printed) = home.json(&["page", "goto", &session, url, "--timeout-seconds", "1.5"]);
    assert_eq!(printed["error"]["code"], "browser_action_timeout:goto:1.5s", "{printed}");
    let message = printed["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("goto "), "{printed}");
    let arguments = json!({"session_id": session, "url": url, "timeout_seconds": 1.5});
    assert_eq!(mcp.code("browser_navigate", arguments), "browser_action_timeout:navigate:1.5s");
}

#[test]
fn a_caller_that_hangs_up_stops_the_work() {
    let api = Api::start("");
    let (_, started) = api.post(&json!({"action": "session.start"}));
    let id = started["session_id"].as_str().unwrap();
    api.ok(id, "page.goto", json!({"url": "http://a.test/"}));
    let wait = json!({"action": "page.wait_for", "session": id, "text": "never", "timeout_seconds": 100});
    let stream = http::send(&api.server.address(), api.server.key(), "/v1/actions", &wait.to_string());
    until("the wait to begin", Duration::from_secs(30), || {
        api.home.audit_log().contains("wait_for").then_some(())
    });
    drop(stream);
    let result = until("its end", Duration::from_secs(30), || outcome_of_wait(&api.home));
    assert_eq!(result, "cancelled");
    assert_eq!(api.ok(id, "page.extract", json!({"mode": "title"}))["title"], "Page one");
}

#[test]
fn a_call_that_the_end_of_the_server_cuts_short_ends_with_a_code_of_its_own() {
    let api = Api::start("");
    let (_, started) = api.post(&json!({"action": "session.start"}));
    let id = started["session_id"].as_str().unwrap();
    api.ok(id, "page.goto", json!({"url": "http://a.test/"}));
    let wait = json!({"action": "page.wait_for", "session": id, "text": "never", "timeout_seconds": 100});
    let stream = http::send(&api.server.address(), api.server.key(), "/v1/actions", &wait.to_string());
    until("the wait to begin", Duration::from_secs(30), || {
        api.home.audit_log().contains("wait_for").then_some(())
    });
    machine::signal(api.server.child.id(), "TERM");
    let (_, result) = http::answer(stream);
    assert_eq!(result["error"]["code"], "session_ended:shutdown", "{result}");
}

#[test]
fn a_cancelled_call_stops_the_work() {
    let site = Site::serve(&[("/", PAGE)]);
    let home = Home::new(&site.setting(&["a.test"]));
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://a.test/");
    let wait = json!({"session_id": session, "text": "never", "timeout_seconds": 100});
    let id = mcp.begin("tools/call", json!({"name": "browser_wait_for", "arguments": wait}));
    until("the wait to begin", Duration::from_secs(30), || {
        home.audit_log().contains("wait_for").then_some(())
    });
    // One that waits for its turn behind it is stopped as well.
    let read = json!({"session_id": session});
    let waiting = mcp.begin("tools/call", json!({"name": "browser_read", "arguments": read}));
    for id in [waiting, id] {
        mcp.notify("notifications/cancelled", json!({"requestId": id, "reason": "enough"}));
    }
    assert_eq!(until("its end", Duration::from_secs(30), || outcome_of_wait(&home)), "cancelled");
    let find = mcp.ok("browser_find", json!({"session_id": session, "text": "hello"}));
    assert_eq!(find["total"], 1);
    assert!(!home.audit_log().contains("\"action\":\"read\""), "{}", home.audit_log());
}

#[test]
fn the_command_line_has_the_same_verbs() {
    let api = Api::start("");
    let home = &api.home;
    let run = |arguments: &[&str]| {
        let (code, json) = home.json(arguments);
        assert_eq!(code, 0, "{arguments:?}: {json}");
        json
    };
    let started = run(&["session", "start", "shop"]);
    assert_eq!(started["session_name"], "shop");
    run(&["page", "goto", "shop", "http://a.test/"]);
    for (arguments, expected) in [
        (vec!["page", "type", "shop", "Ada", "--selector", "#name"], "Ada"),
        (vec!["page", "press", "shop", "End"], "Ada"),
        (vec!["page", "select", "shop", "Blue", "--role", "combobox"], "Blue"),
        (vec!["page", "check", "shop", "--role", "checkbox"], "checked"),
        (vec!["page", "scroll", "shop", "down", "--amount", "300"], "scrolled 300 pixels"),
        (vec!["page", "click", "shop", "--role", "link", "--name", "Two"], "Second"),
        (vec!["page", "back", "shop"], "Hello"),
        (vec!["page", "wait-for", "shop", "hello"], "Hello"),
        (vec!["page", "extract", "shop", "title"], "Page one"),
        (vec!["page", "find", "shop", "hello"], "Hello"),
        (vec!["page", "screenshot", "shop"], "persisted_path"),
        (vec!["page", "tabs", "shop"], "t1"),
    ] {
        let json = run(&arguments);
        assert!(json.to_string().contains(expected), "{arguments:?}: {json}");
    }
    let (code, failed) = home.json(&["page", "click", "shop", "e999"]);
    assert_eq!((code, &failed["error"]["code"]), (1, &json!("stale_ref")), "{failed}");
    let (code, failed) = home.json(&["page", "read", "shop", "--actor", "other"]);
    assert_eq!((code, &failed["error"]["code"]), (1, &json!("unknown_session")), "{failed}");
    let (code, failed) = home.json(&["page", "click", "shop", "--index", "two"]);
    assert_eq!((code, &failed["error"]["code"]), (2, &json!("usage")), "{failed}");
    let shown = home.command(&["page", "read", "shop"]).output().unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("heading \"Hello\"") && text.contains("  title            Page one\n"), "{text}");
    run(&["session", "close", "shop"]);
}

#[test]
fn the_actions_are_listed_with_their_parameters() {
    let api = Api::start("");
    let address = api.server.address();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    let key = api.server.key();
    std::io::Write::write_all(
        &mut stream,
        format!("GET /v1/actions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\r\n")
            .as_bytes(),
    )
    .unwrap();
    let (status, listed) = http::answer(stream);
    assert_eq!(status, 200);
    let actions = listed["actions"].as_array().unwrap();
    let drag = actions.iter().find(|action| action["action"] == "page.drag").unwrap();
    assert!(drag["parameters"]["to"]["properties"]["selector"].is_object(), "{drag}");
    assert_eq!(drag["required"], json!(["to"]));
    assert!(drag["parameters"].get("session_id").is_none());
}

#[test]
fn an_mcp_client_that_closes_its_connection_stops_the_work() {
    let api = Api::start("");
    let (_, started) = api.post(&json!({"action": "session.start"}));
    let id = started["session_id"].as_str().unwrap();
    api.ok(id, "page.goto", json!({"url": "http://a.test/"}));
    let wait = json!({"session_id": id, "text": "never", "timeout_seconds": 100});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "browser_wait_for", "arguments": wait,
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                      "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                      "io.modelcontextprotocol/clientCapabilities": {}}}});
    let headers =
        "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: browser_wait_for\r\n";
    let stream = http::send_with(&api.server.address(), api.server.key(), "/mcp", headers, &call.to_string());
    until("the wait to begin", Duration::from_secs(30), || {
        api.home.audit_log().contains("wait_for").then_some(())
    });
    drop(stream);
    assert_eq!(until("its end", Duration::from_secs(30), || outcome_of_wait(&api.home)), "cancelled");
}
