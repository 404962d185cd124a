//! Effects of a site whose traffic the proxy does not read, with `"intercept": false`: the driver holds them in the browser,
//! by the same rules.

use crate::common;

use common::effect_agent::EffectFixture;
use common::effect_cases::{Case, consequential_cases};
use common::effect_run::{EffectRun, Outcome, faults_of_arrivals, list, summary};
use common::effect_site::{EffectSite, Received};
use engine::approvals::{ApprovalKind, EffectCard, Verdict};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// Cases for each means that a page has.
const CASES_PER_MEANS: usize = 2;

/// Chromium does not report the messages of a WebSocket before they leave.
fn is_seen(case: &Case) -> bool {
    case.arrival.method != "MESSAGE"
}

fn cases() -> Vec<Case> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let all = consequential_cases().into_iter().filter(is_seen);
    all.filter(|case| {
        let count = counts.entry(case.means.clone()).or_default();
        *count += 1;
        *count <= CASES_PER_MEANS
    })
    .collect()
}

fn start(verdict: Verdict) -> EffectRun {
    EffectRun::start(cases(), verdict, EffectFixture::start_in_browser)
}

fn arrived(run: &EffectRun, outcomes: &[(Case, Outcome)]) -> Vec<String> {
    let late = outcomes.iter().filter(|(case, _)| run.has_arrived(case));
    late.map(|(case, _)| format!("{} ({})", case.name, case.means)).collect()
}

/// The digest that a card shows, of a request as the server received it.
fn digest(origin: &str, received: &Received) -> String {
    let request = policy::EffectRequest {
        transport: policy::EffectTransport::Http,
        method: received.method.clone(),
        url: format!("{origin}{}", received.target),
        content_type: received.content_type.clone(),
        destination: String::new(),
        body: received.body.clone().into(),
    };
    request.digest().to_string()
}

#[test]
fn denied_effects_never_reach_the_server_by_any_means() {
    let run = start(Verdict::Deny);
    for access in ["write", "read"] {
        let outcomes = run.try_all(access);
        println!("{access}, all denied:\n{}", summary(&outcomes));
        // What was held is gone, and does not come late.
        std::thread::sleep(Duration::from_secs(1));
        let arrived = arrived(&run, &outcomes);
        assert!(arrived.is_empty(), "{access}: {} arrived:\n{}", arrived.len(), arrived.join("\n"));
        let broken = list(&outcomes, |outcome| matches!(outcome, Outcome::Broken(_)));
        assert!(broken.is_empty(), "{access}: {}", broken.join("\n"));
        let asked = list(&outcomes, |outcome| *outcome == Outcome::Asked).len();
        assert!(asked * 10 >= outcomes.len() * 9, "{access}: {asked} of {} were asked about", outcomes.len());
        if access == "write" {
            // An ordinary write may lead to a hop that is none.
            run.fixture.site.forget();
        }
    }
    let writes: Vec<String> =
        run.fixture.site.received().iter().filter(|one| one.is_write()).map(Received::line).collect();
    assert!(writes.is_empty(), "{}", writes.join("\n"));
    // People are asked about requests, not about elements. An address that an agent opens is asked about before.
    for one in run.operator.asked().into_iter().filter(|one| one.card.tool.as_str() != "browser_navigate") {
        assert_eq!(one.kind, ApprovalKind::Effect, "{one:?}");
    }
}

/// Proves as well that each case is alive.
#[test]
fn approved_effects_arrive_once_byte_for_byte_as_the_card_showed_them() {
    let run = start(Verdict::Approve { for_session: false });
    let outcomes = run.try_all("write");
    println!("write, all approved:\n{}", summary(&outcomes));
    let missing = list(&outcomes, |outcome| *outcome != Outcome::Arrived);
    assert!(missing.is_empty(), "{} did not arrive:\n{}", missing.len(), missing.join("\n"));
    let mut faults = faults_of_arrivals(&run, &outcomes);
    let cards: Vec<EffectCard> = run.operator.asked().into_iter().filter_map(|one| one.card.effect).collect();
    let received = run.fixture.site.received();
    for (case, _) in &outcomes {
        // The card shows the method that a header names.
        for one in received.iter().filter(|one| case.arrival.is(one) && case.name != "method-override-header")
        {
            let digest = digest(&run.fixture.origin, one);
            if !cards.iter().any(|card| card.digest.as_str() == digest) {
                faults.push(format!("{}: no card shows these bytes: {}", case.name, one.line()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn office() -> EffectSite {
    let site = EffectSite::new();
    let page = |path: &str, body: &str| {
        let head = "<!doctype html><meta charset=utf-8><script src=/lib.js></script><title>Office</title>";
        site.page(path, &format!("{head}{body}"));
    };
    page(
        "/profile",
        "<form method=post action=/profile/save><input id=name name=name value=Ada>\
         <input id=city name=city><button id=save>Save</button></form>\
         <button id=mark onclick=\"J('POST','/api/items/7',{done:true})\">Done</button>\
         <button id=look onclick=\"Q('query { items { id } }')\">Look</button>",
    );
    page(
        "/chat",
        "<script>const s = L('/live')</script><button id=go onclick=\"s.send('x')\">Delete account</button>",
    );
    page(
        "/stream",
        "<button id=go onclick=\"fetch('/api/stream', { method: 'POST', duplex: 'half', body: new ReadableStream({ \
         start(c) { c.enqueue(new TextEncoder().encode('x')); c.close() } }) }).catch(() => {})\">Next</button>",
    );
    page("/removing", "<button id=go onclick=\"J('DELETE','/api/files/1')\">Remove</button>");
    // Leaves while the question waits.
    page(
        "/leaving",
        "<button id=go onclick=\"J('DELETE','/api/files/1'); setTimeout(() => location = '/profile', 4000)\">Remove</button>",
    );
    site
}

#[test]
fn ordinary_work_asks_nothing_with_write_and_everything_with_read() {
    let fixture = EffectFixture::start_in_browser(office());
    let operator = fixture.operator(Verdict::Deny);
    let steps = |agent: &mut common::effect_agent::EffectAgent| {
        let mut codes = Vec::new();
        for (tool, arguments) in [
            ("browser_click", json!({"selector": "#look"})),
            ("browser_click", json!({"selector": "#mark"})),
            ("browser_type", json!({"selector": "#city", "text": "Riga"})),
            ("browser_click", json!({"selector": "#save"})),
        ] {
            codes.push(agent.act(tool, arguments).err().unwrap_or_default());
        }
        codes
    };
    let mut writer = fixture.agent("write");
    writer.goto("/profile");
    assert_eq!(steps(&mut writer), ["", "", "", ""]);
    assert_eq!(operator.count_of(&writer.session), 0, "{:?}", operator.asked());
    let saved = fixture.site.received_at("POST", "/profile/save");
    assert_eq!(saved.iter().map(Received::text).collect::<Vec<_>>(), ["name=Ada&city=Riga"]);
    assert_eq!(fixture.site.received_at("POST", "/api/items/7").len(), 1);
    // The session says where its effects are decided on.
    let shown = fixture.home.command(&["session", "show", &writer.session]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("a compromised renderer could evade that"), "{shown}");

    fixture.site.forget();
    let mut reader = fixture.agent("read");
    reader.goto("/profile");
    assert_eq!(steps(&mut reader), ["", "denied_by_operator", "", "denied_by_operator"]);
    let writes: Vec<String> =
        fixture.site.received().iter().filter(|one| one.is_write()).map(Received::line).collect();
    assert_eq!(writes, ["POST /graphql {\"query\":\"query { items { id } }\"}"]);
    let asked = operator.asked_by(&reader.session);
    let addresses: Vec<String> =
        asked.iter().filter_map(|one| Some(one.card.effect.as_ref()?.address.as_str().to_owned())).collect();
    assert_eq!(addresses, ["/api/items/7", "/profile/save"].map(|path| format!("{}{path}", fixture.origin)));
}

#[test]
fn what_chromium_does_not_show_is_refused_or_decided_on_by_its_element() {
    let fixture = EffectFixture::start_in_browser(office());
    let mut agent = fixture.agent("write");
    // Whoever opens a session hears where its effects are decided on.
    let notes = agent.opened["notes"][0].as_str().unwrap_or_else(|| panic!("{}", agent.opened));
    assert!(notes.contains("a compromised renderer could evade that"), "{notes}");
    // A body that is still being made cannot be read.
    agent.goto("/stream");
    let refused = agent.act("browser_click", json!({"selector": "#go"}));
    assert_eq!(refused.unwrap_err(), "effect_unreadable");
    // A page that goes away withdraws its request, and the question with it.
    agent.goto("/leaving");
    let left = agent.act("browser_click", json!({"selector": "#go"}));
    assert_eq!(left.unwrap_err(), "approval_void");
    // Messages of a WebSocket leave unseen: the element decides.
    let operator = fixture.operator(Verdict::Deny);
    agent.goto("/chat");
    agent.call("browser_wait_for", json!({"text": "ready"})).unwrap();
    let denied = agent.act("browser_click", json!({"selector": "#go"}));
    assert_eq!(denied.unwrap_err(), "denied_by_operator");
    let asked: Vec<ApprovalKind> = operator.asked().iter().map(|one| one.kind).collect();
    assert_eq!(asked, [ApprovalKind::Action]);
    let effects: Vec<String> =
        fixture.site.received().iter().filter(|one| one.is_write()).map(Received::line).collect();
    assert!(effects.is_empty(), "{effects:?}");
}

#[test]
fn a_websocket_that_an_action_opens_sends_nothing_before_a_person_is_asked() {
    let site = office();
    let head = "<!doctype html><title>Office</title>";
    let opens =
        "const s = new WebSocket('ws://' + location.host + '/live'); s.onopen = () => s.send(this.id)";
    for page in ["/first", "/second", "/third"] {
        let buttons = format!(
            "{head}<button id=more onclick=\"{opens}\">Show more</button><button id=go onclick=\"{opens}\">Delete account</button>"
        );
        site.page(page, &buttons);
    }
    let fixture = EffectFixture::start_in_browser(site);
    let messages = || -> Vec<String> {
        fixture.site.received_at("MESSAGE", "/live").iter().map(Received::text).collect()
    };
    // Nobody would be asked about this element.
    let mut harmless = fixture.agent("write");
    harmless.goto("/first");
    harmless.act("browser_click", json!({"selector": "#more"})).unwrap();
    common::machine::until("the message arrives", common::machine::PATIENCE, || {
        (messages() == ["more"]).then_some(())
    });
    for (verdict, page) in [(Verdict::Deny, "/second"), (Verdict::Approve { for_session: false }, "/third")] {
        fixture.site.forget();
        let operator = fixture.operator(verdict.clone());
        let mut agent = fixture.agent("write");
        agent.goto(page);
        let refused = agent.act("browser_click", json!({"selector": "#go"}));
        assert_eq!(refused.unwrap_err(), "effect_unreadable");
        assert_eq!(operator.count_of(&agent.session), 0, "{:?}", operator.asked());
        agent.goto(page);
        let clicked = agent.act("browser_click", json!({"selector": "#go"}));
        let asked: Vec<ApprovalKind> = operator.asked_by(&agent.session).iter().map(|one| one.kind).collect();
        assert_eq!(asked, [ApprovalKind::Action]);
        if matches!(verdict, Verdict::Deny) {
            assert_eq!(clicked.unwrap_err(), "denied_by_operator");
            std::thread::sleep(Duration::from_secs(1));
            assert!(messages().is_empty(), "{:?}", messages());
        } else {
            clicked.unwrap();
            common::machine::until("the message arrives", common::machine::PATIENCE, || {
                (messages() == ["go"]).then_some(())
            });
        }
    }
}

#[test]
fn a_lost_connection_to_the_browser_lets_no_held_request_leave() {
    let fixture = EffectFixture::start_in_browser(office());
    let mut agent = fixture.agent("write");
    agent.goto("/removing");
    let asked = agent.call("browser_click", json!({"selector": "#go"})).unwrap_err();
    assert!(asked["code"].as_str().unwrap().starts_with("approval_pending:"), "{asked}");
    common::machine::cut_connections(fixture.server.child.id(), "cdp.sock");
    let outcome = agent.outcome_of(&asked).unwrap_err();
    assert!(["approval_void", "connection_restored"].contains(&outcome.as_str()), "{outcome}");
    // The browser lives on, and what it held is refused.
    agent.goto("/profile");
    std::thread::sleep(Duration::from_secs(1));
    let writes: Vec<String> =
        fixture.site.received().iter().filter(|one| one.is_write()).map(Received::line).collect();
    assert!(writes.is_empty(), "{writes:?}");
    // It is still decided on what comes next.
    let operator = fixture.operator(Verdict::Deny);
    agent.goto("/removing");
    let denied = agent.act("browser_click", json!({"selector": "#go"}));
    assert_eq!(denied.unwrap_err(), "denied_by_operator");
    assert_eq!(operator.count_of(&agent.session), 1);
    assert!(fixture.site.received_at("DELETE", "/api/").is_empty());
}
