//! Risky actions wait for a person: over MCP, in real jails, with an operator who answers in the approval store.

use crate::common;

use common::Home;
use common::machine::{PATIENCE, until};
use common::operator::Operator;
use common::site::Site;
use engine::approvals::{ApprovalKind, ApprovalState, Verdict};
use serde_json::{Value, json};

const ITEM: &str = "<title>Item</title><form method=post action=/gone><button>Delete item</button></form>\
    <a href=/other>Next</a> <input aria-label=Note>";

fn shop() -> Site {
    Site::serve(&[("/", ITEM), ("/gone", "<h1>It is gone</h1>"), ("/other", "<h1>Other</h1>")])
}

fn home(site: &Site, hitl: &str) -> Home {
    Home::asking(&format!("{}    hitl:\n{hitl}", site.setting(&["item.test"])))
}

fn delete() -> Value {
    json!({"name": "browser_click", "arguments": {"role": "button", "name": "Delete item"}})
}

#[test]
fn an_approved_action_runs_a_denied_one_does_not_and_a_timeout_denies() {
    let site = shop();
    let home = home(&site, "      approval_timeout: 300\n      approvals_per_minute: 60\n");
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let operator = Operator::of(&home);

    let call = mcp.begin("tools/call", delete());
    let asked = operator.next();
    assert_eq!((asked.kind, asked.card.tool.as_str()), (ApprovalKind::Action, "browser_click"));
    assert_eq!((asked.card.action.as_str(), asked.card.domain.as_str()), ("click", "item.test"));
    let element = asked.card.element.clone().unwrap();
    assert_eq!(element.name.as_str(), "Delete item");
    assert_eq!(element.form_target.unwrap().as_str(), "post http://item.test/gone");
    assert!(
        asked.card.mark.is_some_and(|[_, _, width, height]| width > 10 && height > 5),
        "{:?}",
        asked.card
    );
    assert!(!asked.card.irreversible);
    // Reading goes on, and a second question does not come between.
    mcp.ok("browser_read", json!({}));
    assert_eq!(mcp.code("browser_click", delete()["arguments"].clone()), "question_open");
    operator.denies(&asked.id);
    let answer = mcp.answer_to(call);
    assert_eq!(answer["error"]["code"], "denied_by_operator", "{answer}");
    assert!(answer["error"]["hint"].as_str().unwrap().contains("in another way"), "{answer}");

    let call = mcp.begin("tools/call", delete());
    operator.expires(&operator.next().id);
    assert_eq!(mcp.answer_to(call)["error"]["code"], "approval_timeout");
    assert!(!site.requests().contains(&"POST /gone".to_owned()), "{:?}", site.requests());

    let call = mcp.begin("tools/call", delete());
    let asked = operator.next();
    operator.approves(&asked.id);
    let answer = mcp.answer_to(call);
    assert_eq!(answer["url"], "http://item.test/gone", "{answer}");
    assert_eq!(site.requests().iter().filter(|one| *one == "POST /gone").count(), 1);
    let code = operator.says(&asked.id, Verdict::Deny).unwrap_err().code;
    assert_eq!(common::seen::seen(code), "approval_decided");
    // The answer to a form, loaded again, would send it again.
    let call = mcp.begin("tools/call", json!({"name": "browser_reload", "arguments": {}}));
    let again = operator.next();
    assert_eq!(again.card.rule, "reload.posts");
    operator.denies(&again.id);
    assert_eq!(mcp.answer_to(call)["error"]["code"], "denied_by_operator");
    assert_eq!(site.requests().iter().filter(|one| *one == "POST /gone").count(), 1);
    mcp.ok("browser_back", json!({}));
    mcp.ok("browser_reload", json!({}));
    drop(mcp.call("browser_forward", json!({})));
    let call = mcp.begin("tools/call", json!({"name": "browser_reload", "arguments": {}}));
    operator.denies(&operator.next().id);
    assert_eq!(mcp.answer_to(call)["error"]["code"], "denied_by_operator");
    assert_eq!(site.requests().iter().filter(|one| *one == "POST /gone").count(), 1);
    assert_eq!(until("what came of it", PATIENCE, || operator.find(&asked.id).outcome), "ok");
    let log = home.audit_log();
    for word in [
        "approval_asked",
        "operator alice by command_line",
        r#""result":"denied""#,
        &format!(r#""decided_by":"operator alice by command_line ({})""#, asked.id),
    ] {
        assert!(log.contains(word), "{word} in {log}");
    }
}

/// Ways to do with a button what a click on it does, none of which may be done without a person.
#[test]
fn every_way_to_press_a_button_asks_a_person_about_that_button() {
    let page = "<form method=post action=/gone><button id=b><i>Delete</i> <svg role=img aria-label=x width=20 height=20></svg></button></form>
        <select aria-label=What id=s onchange=\"location = '/gone'\"><option>Nothing<option>Delete account</select>
        <form method=post action=/gone><button role=switch aria-label=Delete id=t>x</button></form>";
    let site = Site::serve(&[("/", page), ("/gone", "<h1>It is gone</h1>")]);
    let home = home(&site, "      approval_timeout: 300\n      approvals_per_minute: 60\n");
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let operator = Operator::of(&home);
    let key = |selector: &str, key: &str| json!({"selector": selector, "key": key});
    for (tool, arguments, role) in [
        ("browser_click", json!({"selector": "#b"}), "button"),
        ("browser_click", json!({"selector": "#b i"}), "button"),
        ("browser_click", json!({"role": "img"}), "button"),
        ("browser_press_key", key("#b", "Space"), "button"),
        ("browser_press_key", key("#b", "Control+Space"), "button"),
        ("browser_press_key", key("#b", "Meta+Enter"), "button"),
        ("browser_press_key", key("#s", "End"), "combobox"),
        ("browser_press_key", key("#s", "PageDown"), "combobox"),
        ("browser_check", json!({"selector": "#t"}), "switch"),
        ("browser_drag", json!({"selector": "#b", "to": {"selector": "#b"}}), "button"),
    ] {
        let call = mcp.begin("tools/call", json!({"name": tool, "arguments": arguments}));
        let asked = operator.next();
        let element = asked.card.element.clone().unwrap();
        assert_eq!(element.role.as_str(), role, "{tool} {arguments}");
        assert!(element.form_target.is_some() || role == "combobox", "{tool} {arguments}: {element:?}");
        operator.denies(&asked.id);
        let answer = mcp.answer_to(call);
        assert_eq!(answer["error"]["code"], "denied_by_operator", "{tool} {arguments}: {answer}");
    }
    assert!(site.requests().iter().all(|one| !one.ends_with("/gone")), "{:?}", site.requests());
}

#[test]
fn an_approval_for_the_session_covers_exactly_this_action() {
    let page = "<form method=post action=/gone><button>Delete item</button></form>\
        <form method=post action=/all><button>Delete item</button></form>\
        <button onclick=\"document.title='paid'\">Pay now</button>";
    let site = Site::serve(&[("/", page), ("/gone", "gone"), ("/all", "all gone")]);
    let home = home(&site, "      approvals_per_minute: 60\n");
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let operator = Operator::of(&home);
    let call = mcp.begin("tools/call", delete());
    let asked = operator.next();
    let this: Vec<String> =
        asked.card.for_session.iter().map(|fact| format!("{}={}", fact.name, fact.value.as_str())).collect();
    for part in [
        "action=click",
        "site=http://item.test",
        "role=button",
        "name=Delete item",
        "form=post http://item.test/gone",
    ] {
        assert!(this.iter().any(|it| it == part), "{part} in {this:?}");
    }
    operator.says(&asked.id, Verdict::Approve { for_session: true }).unwrap();
    assert_eq!(mcp.answer_to(call)["url"], "http://item.test/gone");
    // The same again needs no question; the same words on another form do.
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    mcp.ok("browser_click", delete()["arguments"].clone());
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let other = mcp.begin(
        "tools/call",
        json!({"name": "browser_click", "arguments": {"role": "button", "name": "Delete item", "index": 1}}),
    );
    operator.denies(&operator.next().id);
    assert_eq!(mcp.answer_to(other)["error"]["code"], "denied_by_operator");
    // What cannot be undone is asked each time.
    let pay = mcp.begin(
        "tools/call",
        json!({"name": "browser_click", "arguments": {"role": "button", "name": "Pay now"}}),
    );
    let asked = operator.next();
    assert!(asked.card.irreversible && asked.card.for_session.is_empty(), "{:?}", asked.card);
    let code = operator.says(&asked.id, Verdict::Approve { for_session: true }).unwrap_err().code;
    assert_eq!(common::seen::seen(code), "bad_verdict");
    operator.approves(&asked.id);
    assert_eq!(mcp.answer_to(pay)["title"], "paid");
    assert!(home.audit_log().contains("for the session"));
}

#[test]
fn a_client_that_cannot_wait_collects_its_answer_later() {
    let site = shop();
    let home = home(&site, "      approvals_per_minute: 60\n");
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let operator = Operator::of(&home);
    let code = mcp.code("browser_click", json!({"role": "button", "name": "Delete item", "wait": false}));
    let id = code.strip_prefix("approval_pending:").unwrap().to_owned();
    let listed = mcp.ok("browser_pending", json!({}));
    assert_eq!(listed["pending"][0]["pending_id"], id.as_str(), "{listed}");
    assert_eq!(listed["pending"][0]["state"], "waiting");
    let polled = mcp.ok("browser_pending", json!({"pending_id": id, "wait_seconds": 0.2}));
    assert_eq!(polled["state"], "waiting", "{polled}");
    operator.approves(&operator.next().id);
    let done = mcp.ok("browser_pending", json!({"pending_id": id, "wait_seconds": 20}));
    assert_eq!(done["url"], "http://item.test/gone", "{done}");
    // As often as one likes, and it is done once.
    assert_eq!(mcp.ok("browser_pending", json!({"pending_id": id}))["url"], "http://item.test/gone");
    assert_eq!(site.requests().iter().filter(|one| *one == "POST /gone").count(), 1);
    assert_eq!(mcp.code("browser_pending", json!({"pending_id": "ap-aaaaaaaaaaaaaaaa"})), "unknown_approval");
    assert_eq!(mcp.code("browser_pending", json!({"wait_seconds": 100})), "bad_arguments");
}

#[test]
fn too_many_questions_are_denied_unseen_and_the_session_is_flagged() {
    let site = shop();
    let home = home(&site, "      approvals_per_minute: 2\n");
    let server = home.serve(&[]);
    let act = |request: Value| {
        common::http::post(&server.address(), server.key(), "/v1/actions", &request.to_string()).1
    };
    let session = act(json!({"action": "session.start"}))["session_id"].as_str().unwrap().to_owned();
    act(json!({"action": "page.goto", "session": session, "url": "http://item.test/"}));
    let operator = Operator::of(&home);
    let click = json!({"action": "page.click", "session": session, "role": "button", "name": "Delete item", "wait": false});
    for _ in 0..2 {
        let code = act(click.clone())["error"]["code"].as_str().unwrap().to_owned();
        assert!(code.starts_with("approval_pending:"), "{code}");
        let asked = operator.next();
        operator.denies(&asked.id);
        until("the denial is reported", PATIENCE, || {
            let reply = act(json!({"action": "session.pending", "pending_id": asked.id.as_str()}));
            (reply["error"]["code"] == "denied_by_operator").then_some(())
        });
    }
    assert_eq!(act(click)["error"]["code"], "approval_flood");
    assert_eq!(operator.waiting(), 0);
    let shown = act(json!({"action": "session.show", "session": session}));
    assert_eq!(shown["data"]["session"]["flags"], json!(["approval_flood"]), "{shown}");
    assert!(home.audit_log().contains(r#""event_type":"alert""#));
}

#[test]
fn the_settings_decide_what_each_risk_level_does() {
    let page = format!("{ITEM}<button onclick=\"document.title='saved'\">Save</button>");
    let site = Site::serve(&[("/", &page), ("/gone", "gone")]);
    let home = home(&site, "      medium: deny\n      high: allow\n");
    let mut mcp = home.mcp();
    // The first address is another domain, which is medium.
    assert_eq!(mcp.code("browser_navigate", json!({"url": "http://item.test/"})), "denied_by_policy");

    let hosts = site.setting(&["item.test", "admin.item.test"]);
    let home = Home::asking(&format!("{hosts}    hitl:\n      high: ask\n      critical: deny\n"));
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let saved = mcp.ok("browser_click", json!({"role": "button", "name": "Save"}));
    assert_eq!(saved["title"], "saved", "medium is done in a session that carries nothing");
    let operator = Operator::of(&home);
    let admin = json!({"name": "browser_navigate", "arguments": {"url": "http://admin.item.test/"}});
    let call = mcp.begin("tools/call", admin);
    let asked = operator.next();
    assert_eq!(
        (asked.card.rule.as_str(), asked.card.domain.as_str()),
        ("navigate.sensitive-domain", "admin.item.test")
    );
    operator.approves(&asked.id);
    assert_eq!(mcp.answer_to(call)["url"], "http://admin.item.test/");
}

#[test]
fn reloading_a_page_without_a_posted_form_asks_nobody() {
    let page = "<a href=/other>Next</a> <a href=/other target=_blank>Aside</a> <a href=/moved>Further</a> <a href=#x>Here</a>";
    let moved = "HTTP/1.1 302 Found\r\nlocation: /other\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let site = Site::serve(&[("/", page), ("/other", "<h1>Other</h1>"), ("/moved", moved)]);
    let home = home(&site, "      high: deny\n");
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    for link in ["Next", "Further", "Here"] {
        mcp.ok("browser_click", json!({"role": "link", "name": link}));
        mcp.ok("browser_reload", json!({}));
        mcp.ok("browser_back", json!({}));
        mcp.ok("browser_reload", json!({}));
    }
    mcp.ok("browser_click", json!({"role": "link", "name": "Aside"}));
    mcp.ok("browser_tabs", json!({"action": "switch", "tab": "t2"}));
    mcp.ok("browser_reload", json!({}));
}

#[test]
fn without_operators_to_ask_a_risky_action_is_denied() {
    let site = shop();
    let home = home(&site, "      enabled: false\n");
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    assert_eq!(mcp.code("browser_click", delete()["arguments"].clone()), "denied_by_policy");
    for _ in 0..4 {
        assert_eq!(mcp.code("browser_click", json!({"ref": "e999"})), "stale_ref");
    }
    assert!(site.requests().iter().all(|request| request.starts_with("GET ")));
}

#[test]
fn an_unlisted_domain_asks_and_a_typed_credential_alerts() {
    let site = shop();
    let setting = site.setting(&["item.test", "news.test", "evil.test"]);
    let home = Home::asking(&format!(
        "{setting}    domain_allowlist: [item.test]\n    hitl:\n      approvals_per_minute: 60\n"
    ));
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let operator = Operator::of(&home);
    let goto = |host: &str| json!({"name": "browser_navigate", "arguments": {"url": format!("http://{host}/other")}});
    let call = mcp.begin("tools/call", goto("evil.test"));
    let asked = operator.next();
    assert_eq!((asked.kind, asked.card.domain.as_str()), (ApprovalKind::Domain, "evil.test"));
    operator.denies(&asked.id);
    assert_eq!(mcp.answer_to(call)["error"]["code"], "blocked_domain");
    let call = mcp.begin("tools/call", goto("news.test"));
    operator.approves(&operator.next().id);
    assert_eq!(mcp.answer_to(call)["url"], "http://news.test/other");
    // It is one of the session's from now on.
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    mcp.ok("browser_navigate", json!({"url": "http://news.test/other"}));
    assert_eq!(operator.waiting(), 0);

    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let key = ["ghp_0123456789", "abcdefghijABCDEFGHIJ012345"].concat();
    assert_eq!(
        mcp.code("browser_type", json!({"role": "textbox", "name": "Note", "text": key})),
        "credential_typed"
    );
    let log = home.audit_log();
    let alert = log.lines().find(|line| line.contains(r#""event_type":"alert""#)).unwrap();
    assert!(alert.contains("credential_typed") && alert.contains("type.credential"), "{alert}");
    // The session is paused until a person resumes or ends it; reading works.
    let halted = operator.next();
    assert_eq!((halted.kind, halted.card.rule.as_str()), (ApprovalKind::Guidance, "escalation.credential"));
    let code = mcp.code("browser_click", json!({"role": "textbox", "name": "Note"}));
    assert!(code.starts_with("session_paused:"), "{code}");
    mcp.ok("browser_read", json!({}));
    operator.says(&halted.id, Verdict::Resume { note: Some("never type keys".into()) }).unwrap();
    let resumed = until("the session goes on", PATIENCE, || {
        mcp.call("browser_click", json!({"role": "textbox", "name": "Note"})).ok()
    });
    assert!(resumed.to_string().contains("never type keys"), "{resumed}");
    for entry in walk(&home.state()) {
        let bytes = std::fs::read(&entry).unwrap();
        assert!(!bytes.windows(key.len()).any(|part| part == key.as_bytes()), "{}", entry.display());
    }
}

/// Every file under a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(walk(&entry.path()));
        } else if entry.file_type().unwrap().is_file() {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn three_failures_in_a_row_wait_for_a_persons_guidance() {
    let site = shop();
    let pause =
        "      approval_timeout: 300\n      approvals_per_minute: 60\n      failures_before_pause: 3\n";
    let home = home(&site, pause);
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let operator = Operator::of(&home);
    let wrong = json!({"ref": "e999"});
    for _ in 0..2 {
        assert_eq!(mcp.code("browser_click", wrong.clone()), "stale_ref");
    }
    mcp.ok("browser_click", json!({"role": "link", "name": "Next"}));
    for _ in 0..2 {
        assert_eq!(mcp.code("browser_click", wrong.clone()), "stale_ref");
    }
    assert_eq!(operator.waiting(), 0, "a success begins anew");
    let error = mcp.call("browser_click", wrong.clone()).unwrap_err();
    assert!(error["hint"].as_str().unwrap().contains("guidance"), "{error}");
    let asked = operator.next();
    assert_eq!(asked.kind, ApprovalKind::Guidance);
    let paused = mcp.code("browser_back", json!({}));
    assert_eq!(paused, format!("session_paused:{}", asked.id));
    mcp.ok("browser_read", json!({}));
    operator.says(&asked.id, Verdict::Resume { note: Some("use the back button".into()) }).unwrap();
    let reply = mcp.ok("browser_pending", json!({"pending_id": asked.id.as_str(), "wait_seconds": 10}));
    assert_eq!(
        (reply["state"].as_str(), reply["note"].as_str()),
        (Some("resumed"), Some("use the back button"))
    );
    let back = mcp.ok("browser_back", json!({}));
    assert!(back["notes"].to_string().contains("the operator says: use the back button"), "{back}");

    for _ in 0..3 {
        assert_eq!(mcp.code("browser_click", wrong.clone()), "stale_ref");
    }
    let asked = operator.next();
    operator.says(&asked.id, Verdict::End).unwrap();
    until("the session's end", PATIENCE, || {
        let code = mcp.code("browser_back", json!({}));
        let ended = code == "session_ended:operator";
        assert!(ended || code.starts_with("session_paused:"), "{code}");
        ended.then_some(())
    });
    assert_eq!(operator.find(&asked.id).state, ApprovalState::Ended);
}

#[test]
fn a_pause_that_nobody_answers_ends_by_itself() {
    let site = shop();
    let home = home(&site, "      approval_timeout: 1\n      failures_before_pause: 3\n");
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    for _ in 0..3 {
        assert_eq!(mcp.code("browser_click", json!({"ref": "e999"})), "stale_ref");
    }
    let waiting = mcp.ok("browser_pending", json!({}));
    let id = waiting["pending"][0]["pending_id"].as_str().unwrap().to_owned();
    let reply = mcp.ok("browser_pending", json!({"pending_id": id, "wait_seconds": 10}));
    assert_eq!(reply["state"], "expired", "{reply}");
    assert!(reply["notes"].to_string().contains("the session continues"), "{reply}");
    mcp.ok("browser_click", json!({"role": "link", "name": "Next"}));
}

#[test]
fn failures_do_not_pause_a_session_unless_a_setting_says_so() {
    let site = shop();
    let home = home(&site, "      approvals_per_minute: 60\n");
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    for _ in 0..5 {
        assert_eq!(mcp.code("browser_click", json!({"ref": "e999"})), "stale_ref");
    }
    mcp.ok("browser_click", json!({"role": "link", "name": "Next"}));
}

#[test]
fn what_an_operator_denied_is_refused_for_a_while_without_asking() {
    let site = shop();
    let home = home(&site, "      approval_timeout: 300\n      denial_stands: 60\n");
    let mut mcp = home.mcp();
    mcp.ok("browser_navigate", json!({"url": "http://item.test/"}));
    let operator = Operator::of(&home);
    let call = mcp.begin("tools/call", delete());
    operator.denies(&operator.next().id);
    assert_eq!(mcp.answer_to(call)["error"]["code"], "denied_by_operator");
    assert_eq!(mcp.code("browser_click", delete()["arguments"].clone()), "denied_by_operator");
    assert_eq!(operator.waiting(), 0);
    assert!(!site.requests().contains(&"POST /gone".to_owned()), "{:?}", site.requests());
}
