//! While a person decides: the call stays alive, hangs up, comes back; the control plane dies; the session ends.

use crate::common;

use common::machine::{self, PATIENCE, until};
use common::operator::Operator;
use common::site::Site;
use common::{Home, Mcp, Server, http};
use engine::approvals::{ApprovalId, ApprovalState, Verdict};
use serde_json::{Value, json};
use std::time::Instant;

const ITEM: &str = "<title>Item</title><form method=post action=/gone><button>Delete item</button></form>";

fn shop() -> Site {
    Site::serve(&[("/", ITEM), ("/gone", "<title>Gone</title>")])
}

fn home(site: &Site) -> Home {
    let hosts = site.setting(&["item.test"]);
    Home::asking(&format!("{hosts}    hitl:\n      approval_timeout: 120\n      approvals_per_minute: 60\n"))
}

fn delete(arguments: Value) -> Value {
    let mut all = json!({"role": "button", "name": "Delete item"});
    all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
    all
}

fn posts(site: &Site) -> usize {
    site.requests().iter().filter(|request| request.starts_with("POST ")).count()
}

/// One action over HTTP.
fn act(server: &Server, request: Value) -> Value {
    http::post(&server.address(), server.key(), "/v1/actions", &request.to_string()).1
}

fn open(server: &Server) -> String {
    let session = act(server, json!({"action": "session.start"}))["session_id"].as_str().unwrap().to_owned();
    let page = act(server, json!({"action": "page.goto", "session": session, "url": "http://item.test/"}));
    assert_eq!(page["success"], true, "{page}");
    session
}

fn ask(server: &Server, session: &str, more: Value) -> Value {
    let mut request = delete(more);
    request["action"] = json!("page.click");
    request["session"] = json!(session);
    act(server, request)
}

fn pending(server: &Server, id: &ApprovalId) -> Value {
    act(server, json!({"action": "session.pending", "pending_id": id.as_str(), "wait_seconds": 20}))
}

#[test]
fn a_client_hears_that_a_person_is_asked_and_is_led_to_the_page_where_they_answer() {
    let site = shop();
    let home = home(&site);
    let server = home.serve(&[]);
    let mut mcp = Mcp::start_with(home.command(&["mcp"]), json!({"elicitation": {"url": {}}}));
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let operator = Operator::of(&home);
    let call =
        json!({"name": "browser_click", "arguments": delete(json!({})), "_meta": {"progressToken": "p1"}});
    let call = mcp.begin("tools/call", call);
    let asked = operator.next();
    let (mut led, mut progress) = (None, Vec::new());
    let begun = Instant::now();
    while led.is_none() || progress.len() < 3 {
        assert!(begun.elapsed() < PATIENCE, "{led:?} {progress:?}");
        let message = mcp.next_message();
        match message["method"].as_str() {
            Some("elicitation/create") => {
                mcp.reply(&message["id"], json!({"action": "accept"}));
                led = Some(message["params"].clone());
            }
            Some("notifications/progress") => {
                let note = message["params"]["message"].to_string();
                // On a slow machine the call runs for a while before anybody is asked.
                if !progress.is_empty() || note.contains("waiting for approval") {
                    progress.push(note);
                }
            }
            _ => panic!("{message}"),
        }
    }
    let led = led.unwrap();
    let page = format!("http://{}/console/approvals/{}", server.address(), asked.id);
    assert_eq!((led["mode"].as_str(), led["url"].as_str()), (Some("url"), Some(page.as_str())), "{led}");
    assert!(
        progress.iter().all(|note| note.contains(asked.id.as_str()) && note.contains(&page)),
        "{progress:?}"
    );
    assert_eq!(operator.find(&asked.id).state, ApprovalState::Waiting, "opening the page decides nothing");
    assert_eq!(posts(&site), 0);
    operator.approves(&asked.id);
    assert_eq!(mcp.answer_to(call)["title"], "Gone");
    assert_eq!(posts(&site), 1);
}

#[test]
fn a_disconnected_client_can_fetch_its_result_and_no_other_client_can() {
    let site = shop();
    let home = home(&site);
    let server = home.serve(&[]);
    let session = open(&server);
    let operator = Operator::of(&home);
    let mut click = delete(json!({}));
    click["action"] = json!("page.click");
    click["session"] = json!(session);
    let hanging = http::send(&server.address(), server.key(), "/v1/actions", &click.to_string());
    let asked = operator.next();
    let port = hanging.local_addr().unwrap().port();
    drop(hanging);
    until("the server closes its end of the connection", PATIENCE, || {
        (!machine::is_connected(port)).then_some(())
    });
    operator.approves(&asked.id);
    assert_eq!(pending(&server, &asked.id)["data"]["title"], "Gone");
    assert_eq!(posts(&site), 1);
    let mut other = Mcp::start(home.command(&["mcp", "--actor", "other"]));
    assert_eq!(other.code("browser_pending", json!({"pending_id": asked.id.as_str()})), "unknown_approval");
    assert_eq!(other.ok("browser_pending", json!({}))["pending"], json!([]));

    // A session may be named; it narrows the list, and another session's question is not found in it.
    let second = open(&server);
    let of = |key: &str, session: &str| act(&server, json!({"action": "session.pending", key: session}));
    for key in ["session", "session_id"] {
        assert_eq!(of(key, &session)["data"]["pending"][0]["pending_id"], asked.id.as_str());
        assert_eq!(of(key, &second)["data"]["pending"], json!([]));
    }
    assert_eq!(of("session", "s-none")["error"]["code"], "unknown_session");
    let elsewhere = json!({"action": "session.pending", "session": second, "pending_id": asked.id.as_str()});
    assert_eq!(act(&server, elsewhere)["error"]["code"], "unknown_approval");
    other.ok("browser_open_session", json!({"session_name": "mine"}));
    assert_eq!(other.ok("browser_pending", json!({"session_id": "mine"}))["pending"], json!([]));
    assert_eq!(other.code("browser_pending", json!({"session_id": session})), "unknown_session");
}

#[test]
fn closing_a_session_withdraws_its_approval_request() {
    let site = shop();
    let home = home(&site);
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let operator = Operator::of(&home);
    let call = mcp.begin("tools/call", json!({"name": "browser_click", "arguments": delete(json!({}))}));
    let asked = operator.next();
    let close = mcp.begin("tools/call", json!({"name": "browser_close_session", "arguments": {}}));
    let mut answers = Vec::new();
    while answers.len() < 2 {
        let message = mcp.next_message();
        if message["id"] == call || message["id"] == close {
            answers.push(message);
        }
    }
    let reply = answers.iter().find(|answer| answer["id"] == call).unwrap();
    assert_eq!(reply["result"]["structuredContent"]["error"]["code"], "session_ended:closed", "{reply}");
    until("the question is withdrawn", PATIENCE, || {
        (operator.find(&asked.id).state == ApprovalState::Withdrawn).then_some(())
    });
    assert!(operator.says(&asked.id, Verdict::Approve { for_session: false }).is_err());
    assert_eq!(posts(&site), 0);
}

#[test]
fn cancelling_a_call_withdraws_its_approval_request() {
    let site = shop();
    let home = home(&site);
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let operator = Operator::of(&home);
    let call = mcp.begin("tools/call", json!({"name": "browser_click", "arguments": delete(json!({}))}));
    let asked = operator.next();
    mcp.notify("notifications/cancelled", json!({"requestId": call}));
    until("the question is withdrawn", PATIENCE, || {
        (operator.find(&asked.id).state == ApprovalState::Withdrawn).then_some(())
    });
    // What came of the call is reported a moment after the question is gone.
    let reply = until("the call is reported as cancelled", PATIENCE, || {
        mcp.call("browser_pending", json!({"pending_id": asked.id.as_str()})).err()
    });
    assert_eq!(reply["code"], "cancelled");
    assert_eq!(posts(&site), 0);
}

#[test]
fn a_killed_control_plane_applies_no_decision_when_it_is_back() {
    let site = shop();
    let home = home(&site);
    let mut server = home.serve(&[]);
    let key = server.key().to_owned();
    let operator = Operator::of(&home);
    let session = open(&server);
    let code = ask(&server, &session, json!({"wait": false}))["error"]["code"].as_str().unwrap().to_owned();
    assert!(code.starts_with("approval_pending:"), "{code}");
    let waiting = operator.next().id;
    machine::signal(server.child.id(), "KILL");
    server.child.wait().unwrap();

    // What waits is closed by the next start, and cannot be answered.
    let mut server = home.serve(&[]);
    server.banner["key"] = json!(key);
    assert_eq!(operator.find(&waiting).state, ApprovalState::Interrupted);
    let late = operator.says(&waiting, Verdict::Approve { for_session: false }).unwrap_err();
    assert_eq!(late.code.to_string(), "approval_decided");
    assert_eq!(pending(&server, &waiting)["data"]["state"], "interrupted");

    // What was approved and not done yet is not done later.
    let session = open(&server);
    ask(&server, &session, json!({"wait": false}));
    let approved = operator.next().id;
    machine::signal(server.child.id(), "STOP");
    operator.approves(&approved);
    machine::signal(server.child.id(), "KILL");
    server.child.wait().unwrap();
    let mut server = home.serve(&[]);
    server.banner["key"] = json!(key);
    let reply = pending(&server, &approved);
    assert_eq!(reply["data"]["state"], "approved", "{reply}");
    assert!(reply["data"]["notes"].to_string().contains("was not done"), "{reply}");
    // Only a session does what was approved, and the control plane started without one.
    assert_eq!(act(&server, json!({"action": "session.list"}))["data"]["sessions"], json!([]));
    let row = operator.find(&approved);
    assert_eq!((row.state, row.outcome), (ApprovalState::Approved, None));
    assert_eq!(posts(&site), 0);
}

#[test]
fn an_unresponsive_browser_ends_its_session() {
    let site = shop();
    let hosts = site.setting(&["item.test"]);
    // A machine so busy that a healthy browser misses two checks ends the session as well, and sooner.
    let home = Home::asking(&format!("{hosts}    health_interval: 1\n"));
    let server = home.serve(&[]);
    let session = act(&server, json!({"action": "session.start"}))["session_id"].as_str().unwrap().to_owned();
    let browsers: Vec<u32> = machine::family(server.child.id())
        .into_iter()
        .filter(|process| process.arguments.first().is_some_and(|name| name.contains("headless")))
        .map(|process| process.pid)
        .collect();
    assert!(!browsers.is_empty());
    for pid in browsers {
        machine::signal_if_there(pid, "STOP");
    }
    until("the session ends", PATIENCE, || {
        let shown = act(&server, json!({"action": "session.show", "session": session}));
        (shown["data"]["session"]["state"] == "unhealthy").then_some(())
    });
    let late = act(&server, json!({"action": "page.back", "session": session}));
    assert_eq!(late["error"]["code"], "session_ended:unhealthy");
}
