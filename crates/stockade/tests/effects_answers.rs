//! Every way to answer a question about an effect: console routes, the console in a real browser, the command line,
//! elicitation, polling, and no answer at all.

use crate::common;

use common::effect_agent::{EffectAgent, EffectFixture, LIMITS, NAMES, grant};
use common::effect_site::{EffectSite, Received};
use common::login::{PASSWORD, form, request, status_and_code};
use common::machine::{PATIENCE, until};
use common::operator::Operator;
use common::operator_browser::OperatorBrowser;
use common::{Mcp, http};
use engine::approvals::{Approval, ApprovalKind, ApprovalState, Verdict};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A page whose buttons send requests that need a yes, of a pattern each, and stays where it is.
const PAGE: &str = "<!doctype html><meta charset=utf-8><title>Acme</title><script src=/lib.js></script><h1>Acme</h1>
<button onclick=\"J('DELETE','/contacts/7')\">Delete contact</button>
<button onclick=\"J('POST','/albums/remove',{album:'Summer in Lund',pictures:312})\">Delete album</button>
<button onclick=\"J('POST','/newsletter/send',{to:'all-readers',subject:'Winter hours'})\">Send newsletter</button>
<button onclick=\"J('POST','/api/keys',{name:'ci',scope:'admin'})\">Create API key</button>
<button onclick=\"J('PATCH','/api/theme',{colour:'green'})\">Save theme</button>
<label>Note <input id=note></label><p role=status id=out></p>";

/// Buttons, each with the request that it sends.
const DENIED: (&str, &str, &str) = ("Delete contact", "DELETE", "/contacts/7");
const EXPIRED: (&str, &str, &str) = ("Delete album", "POST", "/albums/remove");
const APPROVED: (&str, &str, &str) = ("Send newsletter", "POST", "/newsletter/send");

struct Asking {
    fixture: EffectFixture,
    agent: EffectAgent,
    operator: Operator,
}

impl Asking {
    fn start() -> Asking {
        Asking::start_with(LIMITS)
    }

    fn start_with(settings: &str) -> Asking {
        let fixture = EffectFixture::start_with(site(), settings);
        let mut agent = fixture.agent("write");
        fixture.home.set_password();
        let operator = Operator::of(&fixture.home);
        agent.goto("/acme");
        Asking { fixture, agent, operator }
    }

    /// Presses a button and does not wait; the pending call, and the question.
    fn press(&mut self, button: &str) -> (Value, Approval) {
        let click = json!({"role": "button", "name": button, "wait": false});
        let pending = self.agent.call("browser_click", click).expect_err(button);
        let asked = self.operator.next();
        assert_eq!(pending["code"], format!("approval_pending:{}", asked.id), "{pending}");
        assert_eq!(asked.kind, ApprovalKind::Effect, "{asked:?}");
        (pending, asked)
    }

    fn received(&self, (_, method, target): (&str, &str, &str)) -> Vec<Received> {
        self.fixture.site.received_at(method, target)
    }

    /// Denies, lets expire and approves, with an answer that goes through `answer`.
    fn check(&mut self, channel: &str, answer: impl Fn(&Asking, &Approval, &str)) {
        let (pending, asked) = self.press(DENIED.0);
        answer(self, &asked, "deny");
        assert_eq!(self.agent.outcome_of(&pending), Err("denied_by_operator".into()), "{channel}");
        assert_eq!(self.operator.find(&asked.id).state, ApprovalState::Denied);

        let (pending, asked) = self.press(EXPIRED.0);
        self.operator.expires(&asked.id);
        assert_eq!(self.agent.outcome_of(&pending), Err("approval_timeout".into()), "{channel}");

        let (pending, asked) = self.press(APPROVED.0);
        assert!(self.received(APPROVED).is_empty(), "{channel}: it waits");
        answer(self, &asked, "approve");
        let done = self.agent.outcome_of(&pending).unwrap_or_else(|code| panic!("{channel}: {code}"));
        assert!(done["error"].is_null(), "{channel}: {done}");
        until("the approved request arrives", PATIENCE, || {
            (!self.received(APPROVED).is_empty()).then_some(())
        });
        assert!(self.received(DENIED).is_empty() && self.received(EXPIRED).is_empty(), "{channel}");
        let arrived = self.received(APPROVED);
        assert_eq!(arrived.len(), 1, "{channel}: {arrived:?}");
        assert_eq!(arrived[0].text(), r#"{"to":"all-readers","subject":"Winter hours"}"#, "{channel}");
        let recorded = until("the outcome is on record", PATIENCE, || self.operator.find(&asked.id).outcome);
        assert!(
            recorded.as_str().contains("ok") || recorded.as_str().contains("200"),
            "{channel}: {recorded:?}"
        );
        let log = self.fixture.home.audit_log();
        let digest = asked.card.effect.as_ref().unwrap().digest.as_str().to_owned();
        assert!(log.contains(&digest), "{channel}: the digest is on record");
        assert!(!log.contains("all-readers") && !log.contains("Winter hours"), "{channel}: values are not");
        assert!(log.contains(channel), "{channel} in the log");
    }
}

fn site() -> EffectSite {
    let site = EffectSite::new();
    site.page("/acme", PAGE);
    site
}

/// The word for yes, which differs for what cannot be undone.
fn approval_word(asked: &Approval, verdict: &str) -> String {
    let is_grave = verdict == "approve" && asked.card.irreversible;
    if is_grave { "approve_irreversible".to_owned() } else { verdict.to_owned() }
}

#[test]
fn an_effect_is_answered_through_the_consoles_routes() {
    Asking::start().check("by console", |asking, asked, verdict| {
        let (home, server) = (&asking.fixture.home, &asking.fixture.server);
        let cookie = home.log_in(server);
        let own = format!("cookie: {cookie}\r\norigin: http://{}\r\n", server.address());
        // The card shows what will be sent.
        let page = request(server, "GET", &format!("/console/approvals/{}", asked.id), &own, "");
        let effect = asked.card.effect.as_ref().unwrap();
        let mut shown = vec![effect.method.as_str().to_owned(), "office.test".to_owned()];
        for field in &effect.fields {
            shown.extend([field.name.as_str().to_owned(), field.value.as_str().to_owned()]);
        }
        for text in shown {
            assert!(page.contains(&text), "{text} in {page}");
        }
        let body =
            form(&[("form", &home.form_of(server, &cookie)), ("verdict", &approval_word(asked, verdict))]);
        let path = format!("/operator/approvals/{}", asked.id);
        let answer = request(server, "POST", &path, &format!("{own}accept: application/json\r\n"), &body);
        assert_eq!(status_and_code(&answer).0, 200, "{answer}");
    });
}

#[test]
fn an_effect_is_listed_and_answered_on_the_command_line() {
    Asking::start().check("by command_line", |asking, asked, verdict| {
        let home = &asking.fixture.home;
        let (code, listed) = home.as_operator(&["approvals"]);
        assert_eq!(code, 0, "{listed}");
        let all = listed["approvals"].as_array().unwrap();
        let one = all.iter().find(|one| one["id"] == asked.id.as_str()).unwrap();
        assert_eq!((&one["kind"], &one["state"]), (&json!("effect"), &json!("waiting")), "{one}");
        for field in ["method", "address", "fields", "operations", "body_bytes", "digest"] {
            assert!(!one["effect"][field].is_null(), "{field} in {one}");
        }
        for field in one["effect"]["fields"].as_array().unwrap() {
            for key in ["name", "value", "length", "is_cut"] {
                assert!(!field[key].is_null(), "{key} in {field}");
            }
        }
        let mut arguments = vec![verdict, asked.id.as_str()];
        if verdict == "approve" && asked.card.irreversible {
            arguments.push("--irreversible");
        }
        let (code, reply) = home.as_operator(&arguments);
        assert_eq!(code, 0, "{reply}");
    });
}

#[test]
fn an_effect_is_polled_for_over_http() {
    let fixture = EffectFixture::start(site());
    let token = grant(&fixture.home, "write", &NAMES);
    let operator = Operator::of(&fixture.home);
    let act = |request: Value| {
        http::post(&fixture.server.address(), fixture.server.key(), "/v1/actions", &request.to_string()).1
    };
    let opened = act(json!({"action": "session.start", "credential_mode": "operator", "grant": token}));
    let session = opened["session_id"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
    act(json!({"action": "page.goto", "session": session, "url": "https://office.test/acme"}));
    for ((button, method, target), verdict, expected) in [
        (DENIED, Some(Verdict::Deny), Some("denied_by_operator")),
        (EXPIRED, None, Some("approval_timeout")),
        (APPROVED, Some(Verdict::Approve { for_session: false }), None),
    ] {
        let click = json!({"action": "page.click", "session": session, "role": "button", "name": button, "wait": false});
        let code = act(click)["error"]["code"].as_str().unwrap().to_owned();
        let asked = operator.next();
        assert_eq!(code, format!("approval_pending:{}", asked.id), "{button}");
        let poll = |seconds: f64| {
            act(
                json!({"action": "session.pending", "pending_id": asked.id.as_str(), "wait_seconds": seconds}),
            )
        };
        assert_eq!(poll(0.2)["data"]["state"], "waiting", "{button}");
        match verdict {
            Some(verdict) => drop(operator.says(&asked.id, verdict).unwrap()),
            None => operator.expires(&asked.id),
        }
        let reply = until("it is decided", PATIENCE, || {
            let reply = poll(20.0);
            (reply["data"]["state"] != "waiting").then_some(reply)
        });
        assert_eq!(reply["error"]["code"].as_str(), expected, "{button}: {reply}");
        let arrived = || fixture.site.received_at(method, target).len();
        match expected {
            Some(_) => assert_eq!(arrived(), 0, "{button}"),
            None => until("it arrives", PATIENCE, || (arrived() == 1).then_some(())),
        }
    }
}

/// One request of revision 2026-07-28, of a client that declares the Tasks extension.
fn request_with_tasks(fixture: &EffectFixture, method: &str, name: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
    });
    let headers = format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\nmcp-name: {name}\r\n");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let (address, key) = (fixture.server.address(), fixture.server.key());
    let (status, answer) = http::answer(http::send_with(&address, key, "/mcp", &headers, &body));
    assert_eq!(status, 200, "{method}: {answer}");
    answer["result"].clone()
}

#[test]
fn a_call_that_waits_is_a_task_for_clients_that_declare_tasks() {
    let fixture = EffectFixture::start(site());
    let token = grant(&fixture.home, "write", &NAMES);
    let operator = Operator::of(&fixture.home);
    let call = |tool: &str, arguments: Value| {
        request_with_tasks(&fixture, "tools/call", tool, json!({"name": tool, "arguments": arguments}))
    };
    let opened = call("browser_open_session", json!({"credential_mode": "operator", "grant": token}));
    let session = opened["structuredContent"]["session_id"].as_str().unwrap_or_else(|| panic!("{opened}"));
    call("browser_navigate", json!({"session_id": session, "url": "https://office.test/acme"}));
    let get = |task: &str| request_with_tasks(&fixture, "tasks/get", task, json!({"taskId": task}));
    let press = |button: &str| {
        let created = call("browser_click", json!({"session_id": session, "role": "button", "name": button}));
        let task = created["taskId"].as_str().unwrap_or_else(|| panic!("{button}: {created}")).to_owned();
        assert_eq!(
            (&created["resultType"], &created["status"]),
            (&json!("task"), &json!("working")),
            "{created}"
        );
        let asked = operator.next();
        assert_eq!((asked.id.as_str(), asked.kind), (task.as_str(), ApprovalKind::Effect));
        assert_eq!(get(&task)["status"], "working", "{button}");
        (task, asked)
    };
    for ((button, method, target), verdict, expected) in [
        (DENIED, Some(Verdict::Deny), Some("denied_by_operator")),
        (EXPIRED, None, Some("approval_timeout")),
        (APPROVED, Some(Verdict::Approve { for_session: false }), None),
    ] {
        let (task, asked) = press(button);
        assert!(fixture.site.received_at(method, target).is_empty(), "{button}");
        match verdict {
            Some(verdict) => drop(operator.says(&asked.id, verdict).unwrap()),
            None => operator.expires(&asked.id),
        }
        let done = until("the task is done", PATIENCE, || {
            let state = get(&task);
            (state["status"] != "working").then_some(state)
        });
        assert_eq!(done["status"], "completed", "{button}: {done}");
        let reply = &done["result"];
        assert_eq!(reply["structuredContent"]["error"]["code"].as_str(), expected, "{button}: {done}");
        assert_eq!(reply["isError"].as_bool().unwrap_or(false), expected.is_some(), "{button}: {done}");
        let arrivals = usize::from(expected.is_none());
        until("as many arrive as were approved", PATIENCE, || {
            (fixture.site.received_at(method, target).len() == arrivals).then_some(())
        });
    }
    let (task, asked) = press("Create API key");
    request_with_tasks(&fixture, "tasks/cancel", &task, json!({"taskId": task}));
    until("the question is withdrawn", PATIENCE, || {
        (operator.find(&asked.id).state == ApprovalState::Withdrawn).then_some(())
    });
    assert_eq!(get(&task)["status"], "cancelled");
    assert!(fixture.site.received_at("POST", "/api/keys").is_empty());
}

#[test]
fn a_client_with_elicitation_is_led_to_the_card_of_the_effect() {
    let fixture = EffectFixture::start(site());
    let client = Mcp::start_with(fixture.home.command(&["mcp"]), json!({"elicitation": {"url": {}}}));
    let mut agent = EffectAgent::open(&fixture.home, client, "write", &NAMES);
    let operator = Operator::of(&fixture.home);
    agent.goto("/acme");
    for (way, verdict, expected) in [
        (DENIED, Some(Verdict::Deny), Some("denied_by_operator")),
        (EXPIRED, None, Some("approval_timeout")),
        (APPROVED, Some(Verdict::Approve { for_session: false }), None),
    ] {
        let arguments = json!({"session_id": agent.session, "role": "button", "name": way.0});
        let call = agent.mcp.begin(
            "tools/call",
            json!({"name": "browser_click", "arguments": arguments, "_meta": {"progressToken": way.0}}),
        );
        let asked = operator.next();
        let led = loop {
            let message = agent.mcp.next_message();
            if message["method"] == "elicitation/create" {
                agent.mcp.reply(&message["id"], json!({"action": "accept"}));
                break message["params"].clone();
            }
            assert_ne!(message["id"], call, "the call ended before its person was led: {message}");
        };
        let page = format!("http://{}/console/approvals/{}", fixture.server.address(), asked.id);
        assert_eq!(led["url"], page, "{led}");
        assert_eq!(
            operator.find(&asked.id).state,
            ApprovalState::Waiting,
            "opening the page decides nothing"
        );
        assert!(fixture.site.received_at(way.1, way.2).is_empty());
        match verdict {
            Some(verdict) => drop(operator.says(&asked.id, verdict).unwrap()),
            None => operator.expires(&asked.id),
        }
        let reply = agent.mcp.answer_to(call);
        assert_eq!(reply["error"]["code"].as_str(), expected, "{}: {reply}", way.0);
    }
    until("it arrives", PATIENCE, || {
        (fixture.site.received_at(APPROVED.1, APPROVED.2).len() == 1).then_some(())
    });
}

#[test]
fn the_python_client_is_led_to_the_card_of_an_effect_in_both_eras() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = tests.join("../../target/clients/python/bin/python");
    assert!(python.exists(), "the public clients are not installed: run script/setup test");
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let fixture = EffectFixture::start(site());
        let open = json!({"credential_mode": "operator", "grant": grant(&fixture.home, "write", &NAMES)});
        let operator = Operator::of(&fixture.home);
        let mut client = Command::new(&python)
            .arg(tests.join("tests/clients/approving.py"))
            .args(["http", mode, "https://office.test/acme", fixture.server.url(), fixture.server.key()])
            .env("OPEN_SESSION", open.to_string())
            .env("BUTTONS", [DENIED.0, EXPIRED.0, APPROVED.0].join(","))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(client.stdout.take().unwrap()).lines().map(Result::unwrap);
        for (verdict, expected) in [
            (Some(Verdict::Deny), "denied_by_operator"),
            (None, "approval_timeout"),
            (Some(Verdict::Approve { for_session: false }), "https://office.test/acme"),
        ] {
            let asked = operator.next();
            assert_eq!(asked.kind, ApprovalKind::Effect, "{asked:?}");
            let page = format!("led http://{}/console/approvals/{}", fixture.server.address(), asked.id);
            assert_eq!(said.next(), Some(page), "{mode}");
            match verdict {
                Some(verdict) => drop(operator.says(&asked.id, verdict).unwrap()),
                None => operator.expires(&asked.id),
            }
            assert_eq!(said.next(), Some(format!("{version} {expected}")), "{mode}");
        }
        assert!(client.wait().unwrap().success());
        let writes = fixture.site.received().iter().filter(|one| one.is_write()).count();
        assert_eq!(writes, 1, "{mode}: only the approved one arrives");
    }
}

/// A question is on the page and its buttons take presses.
const SHOWN: &str = "document.readyState === 'complete' && document.querySelector('.live.on') \
    && document.querySelector('.card') && !document.querySelector('.settling') \
    && !document.getAnimations().some((it) => it.animationName === 'settle')";

/// Each text of the card can be brought into view, and nothing lies on it.
fn assert_visible(person: &mut OperatorBrowser, texts: &[&str]) {
    for text in texts {
        let script = format!(
            "(() => {{ const text = {}; const walker = document.createTreeWalker(document.querySelector('.card'), NodeFilter.SHOW_TEXT);
             let node; while ((node = walker.nextNode())) {{ if (!node.data.includes(text)) continue;
               const holder = node.parentElement; holder.scrollIntoView({{block: 'center', behavior: 'instant'}});
               const range = document.createRange(); range.selectNodeContents(node); const box = range.getClientRects()[0]; if (!box) continue;
               const top = document.elementFromPoint(box.x + Math.min(4, box.width / 2), box.y + box.height / 2);
               if (top && (holder.contains(top) || top.contains(holder)) && !top.closest('button')) return 'seen'; return 'covered by ' + (top && top.outerHTML.slice(0, 80)); }}
             return 'missing'; }})()",
            json!(text)
        );
        assert_eq!(person.eval(&script), json!("seen"), "{text}");
    }
}

#[test]
fn the_console_shows_an_effect_on_a_desktop_and_a_phone_and_takes_its_answer() {
    let mut asking = Asking::start();
    let mut person = OperatorBrowser::start();
    person.window(1280, 900, false);
    person.log_in(&format!("http://{}/console", asking.fixture.server.address()), PASSWORD);
    let folder = std::env::var_os("STOCKADE_PICTURES");
    for (name, width, height, way, verdict) in
        [("effect", 1280, 900, EXPIRED, "deny"), ("effect-phone", 390, 844, APPROVED, "approve")]
    {
        let (pending, asked) = asking.press(way.0);
        person.window(width, height, false);
        person.until(SHOWN);
        let effect = asked.card.effect.as_ref().unwrap();
        let mut texts = vec![way.1, way.2];
        for field in &effect.fields {
            texts.extend([field.name.as_str(), field.value.as_str()]);
        }
        assert_visible(&mut person, &texts);
        let fits = person.eval(&format!("document.documentElement.scrollWidth <= {width}"));
        assert_eq!(fits, json!(true), "{name}: it is not wider than the window");
        if let Some(folder) = &folder {
            person.eval("scrollTo(0, 0)");
            person.picture(&Path::new(folder).join(format!("{name}.png")));
        }
        let word = approval_word(&asked, verdict);
        if word == "approve_irreversible" {
            person.press("details.grave summary");
            person.until(SHOWN);
        }
        person.press(&format!(".card button[value={word}]"));
        let outcome = asking.agent.outcome_of(&pending);
        match verdict {
            "deny" => assert_eq!(outcome, Err("denied_by_operator".into())),
            _ => assert!(outcome.is_ok(), "{outcome:?}"),
        }
        person.until("!document.querySelector('.card')");
    }
    assert!(asking.received(EXPIRED).is_empty());
    until("the approved one arrives", PATIENCE, || (asking.received(APPROVED).len() == 1).then_some(()));
}

/// The one test here that waits for a real deadline.
#[test]
fn an_effect_that_nobody_answers_for_fails_at_its_deadline() {
    let settings = LIMITS.replace("approval_timeout: 120", "approval_timeout: 1");
    let mut asking = Asking::start_with(&settings);
    let begun = Instant::now();
    let click = json!({"role": "button", "name": DENIED.0});
    assert_eq!(asking.agent.act("browser_click", click), Err("approval_timeout".into()));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert!(asking.received(DENIED).is_empty());
    assert_eq!(asking.operator.waiting(), 0);
    // The session goes on, and what is ordinary still passes.
    asking.agent.act("browser_click", json!({"role": "button", "name": "Save theme"})).unwrap();
    until("the theme is saved", PATIENCE, || {
        (asking.fixture.site.received_at("PATCH", "/api/theme").len() == 1).then_some(())
    });
}

#[test]
fn while_a_question_is_open_reading_works_and_acting_is_refused() {
    let mut asking = Asking::start_with(&format!("{LIMITS}      denial_stands: 120\n"));
    let (pending, asked) = asking.press(APPROVED.0);
    assert!(asking.agent.read().contains("Acme"));
    for tool in ["browser_screenshot", "browser_pending"] {
        asking.agent.call(tool, json!({})).unwrap_or_else(|error| panic!("{tool}: {error}"));
    }
    for (tool, arguments) in [
        ("browser_click", json!({"role": "button", "name": "Save theme"})),
        ("browser_type", json!({"selector": "#note", "text": "x"})),
        ("browser_press_key", json!({"key": "Enter"})),
        ("browser_navigate", json!({"url": "/"})),
        ("browser_reload", json!({})),
    ] {
        let error = asking.agent.call(tool, arguments).expect_err(tool);
        assert_eq!(error["code"], "question_open", "{tool}: {error}");
    }
    assert!(asking.fixture.site.received().iter().all(|one| !one.is_write()));
    asking.operator.denies(&asked.id);
    assert_eq!(asking.agent.outcome_of(&pending), Err("denied_by_operator".into()));
    // What was denied is not asked again at once; other work goes on.
    let again = asking.agent.act("browser_click", json!({"role": "button", "name": APPROVED.0}));
    assert!(again.is_err(), "{again:?}");
    assert_eq!(asking.operator.waiting(), 0, "nobody is asked again");
    asking.agent.act("browser_click", json!({"role": "button", "name": "Save theme"})).unwrap();
    assert!(asking.received(APPROVED).is_empty());
}

#[test]
fn an_effect_allowed_for_the_session_covers_its_pattern_and_no_other() {
    let page = "<!doctype html><title>Room</title><script src=/lib.js></script>
        <input id=text aria-label=Message><button id=go onclick=\"F('/rooms/general/messages',{text:text.value})\">Send</button>
        <button id=all onclick=\"F('/rooms/everybody/messages',{text:text.value})\">Send to all</button>
        <button id=more onclick=\"F('/rooms/general/messages',{text:text.value,notify:'all'})\">Send and notify</button>";
    let site = EffectSite::new();
    site.page("/room", page);
    let fixture = EffectFixture::start(site);
    let mut agent = fixture.agent("write");
    let operator = Operator::of(&fixture.home);
    agent.goto("/room");
    agent.act("browser_type", json!({"selector": "#text", "text": "one"})).unwrap();
    let click = |selector: &str| json!({"selector": selector, "wait": false});
    let pending = agent.call("browser_click", click("#go")).unwrap_err();
    let asked = operator.next();
    assert!(!asked.card.for_session.is_empty(), "it can be given for the session: {:?}", asked.card);
    operator.says(&asked.id, Verdict::Approve { for_session: true }).unwrap();
    agent.outcome_of(&pending).unwrap();
    let arrived = || fixture.site.received_at("POST", "/rooms/general/messages");
    until("the first arrives", PATIENCE, || (arrived().len() == 1).then_some(()));
    // Other words, the same pattern.
    agent.act("browser_type", json!({"selector": "#text", "text": "two", "clear_first": true})).unwrap();
    agent.act("browser_click", json!({"selector": "#go"})).unwrap();
    until("the second arrives", PATIENCE, || (arrived().len() == 2).then_some(()));
    assert_eq!(arrived()[1].text(), "text=two");
    // Another path, and another set of fields, are asked about.
    for selector in ["#all", "#more"] {
        let pending = agent.call("browser_click", click(selector)).unwrap_err();
        let asked = operator.next();
        operator.denies(&asked.id);
        assert_eq!(agent.outcome_of(&pending), Err("denied_by_operator".into()), "{selector}");
    }
    assert_eq!(arrived().len(), 2);
    assert!(fixture.site.received_at("POST", "/rooms/everybody/messages").is_empty());
}

#[test]
fn secrets_and_long_values_are_shown_by_their_length() {
    let long = "lorem ipsum ".repeat(2_000);
    let page = format!(
        "<!doctype html><title>Form</title><form method=post action=/integrations/tokens/create>
         <input type=hidden name=client_secret value=hunter2-but-longer-0451><input name=name value=mirror>
         <textarea name=terms>{long}</textarea><button id=go>Create token</button></form>"
    );
    let site = EffectSite::new();
    site.page("/form", &page);
    let fixture = EffectFixture::start(site);
    let mut agent = fixture.agent("write");
    let operator = Operator::of(&fixture.home);
    agent.goto("/form");
    let pending = agent.call("browser_click", json!({"selector": "#go", "wait": false})).unwrap_err();
    let asked = operator.next();
    let effect = asked.card.effect.as_ref().unwrap();
    let field = |name: &str| {
        effect.fields.iter().find(|field| field.name.as_str() == name).unwrap_or_else(|| panic!("{effect:?}"))
    };
    let secret = field("client_secret");
    assert!(!secret.value.as_str().contains("hunter2"), "{secret:?}");
    assert_eq!(secret.length, "hunter2-but-longer-0451".len() as u64);
    assert_eq!(field("name").value.as_str(), "mirror");
    let terms = field("terms");
    assert!(terms.is_cut && terms.value.as_str().len() < 2_000, "{} bytes", terms.value.as_str().len());
    assert_eq!(terms.length, long.len() as u64);
    let listed = serde_json::to_string(&asked).unwrap();
    assert!(!listed.contains("hunter2"), "{listed}");
    operator.approves(&asked.id);
    agent.outcome_of(&pending).unwrap();
    let arrived = until("it arrives", PATIENCE, || {
        fixture.site.received_at("POST", "/integrations/tokens/create").into_iter().next()
    });
    assert_eq!(arrived.body.len() as u64, effect.body_bytes);
    assert!(arrived.text().contains("hunter2-but-longer-0451") && arrived.text().contains("lorem"));
    let log = fixture.home.audit_log();
    assert!(!log.contains("hunter2") && !log.contains("lorem"), "values are not on record");
    assert!(log.contains("client_secret (23)"), "names and lengths are: {log}");
}
