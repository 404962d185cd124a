//! The console in a real Chromium, with a real agent that waits for the operator's decision.

use crate::common;

use common::Home;
use common::approval_fixture::{ApprovalFixture, MARKUP};
use common::login::PASSWORD;
use common::operator::Operator;
use common::operator_browser::OperatorBrowser;
use common::site::Site;
use engine::approvals::ApprovalId;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

fn logged_in(asking: &ApprovalFixture) -> OperatorBrowser {
    log_in(asking, OperatorBrowser::start())
}

/// On a console that fetches its list several times a second.
fn hurried(asking: &ApprovalFixture) -> OperatorBrowser {
    let mut person = OperatorBrowser::start();
    person.hurry_timers();
    log_in(asking, person)
}

fn log_in(asking: &ApprovalFixture, mut person: OperatorBrowser) -> OperatorBrowser {
    person.window(1280, 900, false);
    person.log_in(&asking.console(), PASSWORD);
    person.until("document.querySelector('.live.on')");
    person
}

/// Waits until a request is shown, the script runs, and the buttons accept clicks.
const SHOWN: &str = "document.readyState === 'complete' && document.querySelector('.live.on') \
    && document.querySelector('.card') && !document.querySelector('.settling') \
    && !document.getAnimations().some((it) => it.animationName === 'settle')";

#[test]
fn the_console_shows_a_request_and_each_decision_reaches_the_agent() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let mut person = logged_in(&asking);

    // The console also polls, so pushed updates are counted separately.
    person.eval(
        "window.news = 0; window.ours = new EventSource('/operator/events');
         window.ours.addEventListener('change', () => window.news++); 0",
    );
    person.until("window.ours.readyState === EventSource.OPEN");
    let call = asking.click("Delete");
    person.until("document.querySelector('.card')");
    person.until("window.news > 0");
    person.until(SHOWN);
    let text = person.eval("document.querySelector('.card').innerText");
    let text = text.as_str().unwrap();
    for part in ["HIGH RISK", "browser_click", "account.test", "Delete", "post http://account.test/files"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // The screenshot is present, is an image, and has the frame on it.
    person.until("document.querySelector('.picture image')");
    let loaded = person.eval(
        "new Promise(done => { const i = new Image(); i.onload = () => done(i.naturalWidth); i.onerror = () => done(0);
         i.src = document.querySelector('.picture image').getAttribute('href'); })",
    );
    assert_eq!(loaded, json!(1280));
    assert!(
        person.eval("document.querySelector('.whole rect').getBoundingClientRect().width").as_f64().unwrap()
            > 10.0
    );
    person.press(".card button[value=approve]");
    assert_eq!(asking.outcome(call), Ok("http://account.test/files".into()));
    person.until("!document.querySelector('.card') && document.querySelector('.past .approved')");
    assert!(
        person
            .eval("document.querySelector('.past .by').innerText")
            .as_str()
            .unwrap()
            .contains("operator in the console")
    );

    // By keyboard: nothing is selected until the operator selects it.
    asking.again();
    let call = asking.click("Delete");
    person.until(SHOWN);
    person.key("d");
    assert_eq!(person.eval("document.querySelectorAll('.card').length"), json!(1));
    person.key("j");
    person.key("d");
    assert_eq!(asking.outcome(call), Err("denied_by_operator".into()));
    person.until("!document.querySelector('.card') && document.querySelector('.past .denied')");

    // This request gets no answer.
    let call = asking.click("Delete");
    person.until(SHOWN);
    let operator = Operator::of(&asking.home);
    operator.expires(&operator.next().id);
    assert_eq!(asking.outcome(call), Err("approval_timeout".into()));
    person.until(
        "!document.querySelector('.card') && document.querySelector('.past').innerText.includes('no answer')",
    );
    let log = asking.home.audit_log();
    assert!(log.contains("operator operator by console"), "who and by which channel");
}

/// The one test that waits for a real deadline.
#[test]
fn a_question_that_nobody_answers_is_denied_at_its_deadline() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 1\n");
    let mut person = logged_in(&asking);
    let call = asking.click("Delete");
    assert_eq!(asking.outcome(call), Err("approval_timeout".into()));
    person.until(
        "!document.querySelector('.card') && document.querySelector('.past').innerText.includes('no answer')",
    );
    let log = asking.home.audit_log();
    assert!(log.contains(r#""result":"expired""#), "{log}");
    let (code, listed) = asking.home.as_operator(&["approvals"]);
    assert_eq!((code, &listed["approvals"][0]["state"]), (0, &json!("expired")), "{listed}");
    let id = ApprovalId::parse(listed["approvals"][0]["id"].as_str().unwrap()).unwrap();
    let asked = Operator::of(&asking.home).find(&id);
    assert!(asked.decided_at.unwrap() >= asked.expires_at, "{:?}", (asked.decided_at, asked.expires_at));
}

#[test]
fn an_irreversible_action_needs_a_second_confirmation_and_a_session_approval_names_its_scope() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let mut person = logged_in(&asking);
    let call = asking.click("Delete account");
    person.until(SHOWN);
    assert!(
        person
            .eval("document.querySelector('.card').innerText")
            .as_str()
            .unwrap()
            .contains("This cannot be undone.")
    );
    assert_eq!(person.eval("document.querySelector('.card button[value=approve]')"), json!(null));
    // The server refuses a form without the second step.
    let refused = person.eval(
        "(async () => { const f = document.querySelector('.card form'); const b = new URLSearchParams(new FormData(f)); b.set('verdict', 'approve');
         const a = await fetch(f.action, {method: 'POST', body: b, headers: {accept: 'application/json'}}); return [a.status, await a.json()]; })()",
    );
    assert_eq!((&refused[0], &refused[1]["code"]), (&json!(400), &json!("confirmation_required")));
    common::known(refused[1].clone());
    person.key("j");
    person.key("a");
    person.until("document.querySelector('details.grave').open");
    // A step that has just opened ignores clicks for a moment.
    person.until(SHOWN);
    person.press(".card button[value=approve_irreversible]");
    assert_eq!(asking.outcome(call), Ok("http://account.test/gone".into()));

    asking.again();
    let call = asking.click("Delete");
    person.until(SHOWN);
    person.press(".card summary[data-key=s]");
    let meant = person.eval("document.querySelector('.card details p').innerText");
    assert!(meant.as_str().unwrap().contains("account.test"), "{meant}");
    person.until(SHOWN);
    person.press(".card button[value=approve_session]");
    assert_eq!(asking.outcome(call), Ok("http://account.test/files".into()));
    asking.again();
    let call = asking.click("Delete");
    assert_eq!(
        asking.outcome(call),
        Ok("http://account.test/files".into()),
        "exactly this is not asked again"
    );
}

#[test]
fn page_markup_is_escaped_in_the_console() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let mut person = hurried(&asking);
    person.eval("window.broken = 0; addEventListener('securitypolicyviolation', () => window.broken++); 0");
    person.press("input[name=sound]");
    let call = asking.click("Delete these");
    person.until(SHOWN);
    let said = person.eval("document.querySelector('.said blockquote').textContent");
    assert_eq!(said, json!(format!("Delete {MARKUP}")));
    for nothing in ["#live script", "#live img", "#live .said *:not(figcaption):not(blockquote):not(bdi)"] {
        assert_eq!(
            person.eval(&format!("document.querySelectorAll('{nothing}').length")),
            json!(0),
            "{nothing}"
        );
    }
    assert!(person.eval("document.title").as_str().unwrap().contains("Stockade"));
    // Page text has a font, a background and a border that our own text never has.
    let differs = person.eval(
        "(() => { const page = getComputedStyle(document.querySelector('.said blockquote')), ours = getComputedStyle(document.querySelector('.card h2'));
         const box = getComputedStyle(document.querySelector('.said'));
         return page.fontFamily !== ours.fontFamily && box.borderTopStyle === 'dashed' && page.unicodeBidi.includes('isolate'); })()",
    );
    assert_eq!(differs, json!(true));
    assert_eq!(person.eval("window.broken"), json!(0), "our own page keeps to its own policy");
    // A click counts even if the list is fetched again while the button is down.
    person.press_while(".card button[value=deny]", OperatorBrowser::until_refreshed);
    assert_eq!(asking.outcome(call), Err("denied_by_operator".into()));
    person.until("document.querySelector('.past li')");
    assert_eq!(person.eval("document.querySelectorAll('.past img, .past script').length"), json!(0));
}

#[test]
fn the_link_of_an_agents_client_leads_to_the_log_in_and_then_to_the_question() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let call = asking.click("Delete");
    let id = asking.waiting()["id"].as_str().unwrap().to_owned();
    let mut person = OperatorBrowser::start();
    person.window(390, 844, true);
    person.go(&format!("{}/approvals/{id}", asking.console()));
    person.until("location.pathname === '/console/login'");
    person.press("input[name=password]");
    person.write(asking.password());
    person.key("Enter");
    person.until(&format!("location.pathname === '/console/approvals/{id}' && {SHOWN}"));
    // On a phone nothing is wider than the screen, and buttons are large enough.
    assert_eq!(person.eval("document.documentElement.scrollWidth <= 390"), json!(true));
    let small = "[...document.querySelectorAll('.verdict button')].every(b => !b.offsetHeight || b.offsetHeight >= 44)";
    assert_eq!(person.eval(small), json!(true));
    person.press(".card button[value=deny]");
    assert_eq!(asking.outcome(call), Err("denied_by_operator".into()));
    assert_eq!(asking.decided(&json!(id))["door"], "elicitation");
}

#[test]
fn a_page_of_another_site_can_link_here_and_do_nothing_else() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let mut person = logged_in(&asking);
    let call = asking.click("Delete");
    person.until(SHOWN);
    let id = person.eval("document.querySelector('.card').id");
    let question = format!("{}/approvals/{}", asking.console(), id.as_str().unwrap());
    let answer = format!("http://{}/operator/approvals/{}", asking.server.address(), id.as_str().unwrap());
    let token = person.eval("document.querySelector('.card input[name=form]').value");
    let picture = format!("{answer}/picture");
    // With the form's token, which no other page can know; it does not help.
    let hostile = format!(
        "<title>Elsewhere</title><a href='{question}'>Look</a><iframe src='{question}'></iframe>
         <form method=post action='{answer}' target=there><input name=form value={token}><input name=verdict value=approve>
         <button>Send</button></form><iframe name=there onload='window.loads = (window.loads || 0) + 1'></iframe>
         <script>
         const i = new Image(); i.onload = () => window.seen = 1; i.onerror = () => window.seen = 0; i.src = '{picture}';
         fetch('{answer}', {{method: 'POST', credentials: 'include', body: new URLSearchParams({{form: {token}, verdict: 'approve'}})}})
           .then(() => window.sent = 1, () => window.sent = 0);
         </script>"
    );
    let site = Site::serve(&[("/", &hostile)]);
    // Another site, and another port of the same host, which is the same site for cookies.
    for host in ["localhost", "127.0.0.1"] {
        person.go(&format!("http://{host}:{}/", site.address.port()));
        person.until("window.seen === 0 && window.sent === 0");
        let loads = person.eval("window.loads");
        person.press("button");
        // The response to the form shows as one more document in the frame.
        person.until(&format!("window.loads > {loads}"));
        assert_eq!(asking.waiting()["id"], id, "{host}: it still waits");
        assert_eq!(person.eval("frames[0].length + frames[1].length"), json!(0));
        assert_eq!(person.eval("[0, 1].map(n => { try { return frames[n].document.body.innerText } catch { return '' } }).join('')"), json!(""));
        // A page can only link to the console: a logged-in operator sees the request and decides.
        person.press("a");
        person.until(&format!("location.pathname.startsWith('/console/approvals/') && {SHOWN}"));
    }
    person.press(".card button[value=deny]");
    assert_eq!(asking.outcome(call), Err("denied_by_operator".into()));
}

/// The public Python client speaks both eras of MCP and opens no page itself: it prints the address for its user.
#[test]
fn a_public_client_is_led_to_the_console_and_each_answer_there_reaches_it() {
    const ITEM: &str =
        "<title>Item</title><form method=post action=/gone><button>Delete item</button></form>";
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = tests.join("../../target/clients/python/bin/python");
    assert!(python.exists(), "the public clients are not installed: run script/setup test");
    let site = Site::serve(&[("/", ITEM), ("/gone", "<title>Gone</title>")]);
    let settings = format!("{}    hitl:\n      approval_timeout: 300\n", site.setting(&["item.test"]));
    let home = Home::new(&settings);
    home.set_password();
    let server = home.serve(&[]);
    let operator = Operator::of(&home);
    let mut person = OperatorBrowser::start();
    person.log_in(&format!("http://{}/console", server.address()), PASSWORD);
    for (mode, version) in [("legacy", "2025-11-25"), ("auto", "2026-07-28")] {
        let mut client = Command::new(&python)
            .arg(tests.join("tests/clients/approving.py"))
            .args(["http", mode, "http://item.test/", server.url(), server.key()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(client.stdout.take().unwrap()).lines().map(Result::unwrap);
        for (press, expected) in [
            (Some("deny"), "denied_by_operator"),
            (None, "approval_timeout"),
            (Some("approve"), "http://item.test/gone"),
        ] {
            let led = said.next().unwrap();
            person.go(led.strip_prefix("led ").unwrap_or_else(|| panic!("{led}")));
            person.until(SHOWN);
            match press {
                Some(press) => person.press(&format!(".card button[value={press}]")),
                None => operator.expires(&operator.next().id),
            }
            assert_eq!(said.next(), Some(format!("{version} {expected}")), "{mode}");
        }
        assert!(client.wait().unwrap().success());
    }
    assert!(home.audit_log().contains("operator operator by elicitation"), "by which channel");
}

#[test]
fn a_paused_session_gets_a_note_and_goes_on_or_is_ended() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n      failures_before_pause: 3\n");
    let mut person = hurried(&asking);
    let fail = |asking: &mut ApprovalFixture| {
        let missing = json!({"session_id": asking.session, "role": "button", "name": "Nowhere"});
        asking.mcp.call("browser_click", missing).unwrap_err()
    };
    for _ in 0..3 {
        assert_eq!(fail(&mut asking)["code"], "element_not_found");
    }
    person.until(SHOWN);
    let text = person.eval("document.querySelector('.card').innerText");
    let text = text.as_str().unwrap();
    assert!(text.contains("PAUSED") && text.contains("element_not_found"), "{text}");
    person.press(".card textarea");
    person.write("Look in the menu <b>at the top</b>.");
    // A fetch of the list keeps a half-written note.
    person.until_refreshed();
    person.press(".card button[value=resume]");
    person.until(
        "!document.querySelector('.card') && document.querySelector('.past').innerText.includes('resumed')",
    );
    let went = asking.mcp.goto(&asking.session, "http://account.test/");
    assert!(went.to_string().contains("Look in the menu <b>at the top</b>."), "{went}");

    for _ in 0..3 {
        fail(&mut asking);
    }
    person.until(SHOWN);
    person.key("j");
    person.key("d");
    person.until(
        "!document.querySelector('.card') && document.querySelector('.past').innerText.includes('ended')",
    );
    let code = asking.mcp.code("browser_read", json!({"session_id": asking.session}));
    assert_eq!(code, "session_ended:operator");
}

/// Makes the pictures in the docs if `STOCKADE_PICTURES` names a folder. People look at them.
#[test]
fn the_console_renders_in_both_sizes_and_colour_schemes() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 120\n");
    let mut person = logged_in(&asking);
    let call = asking.click("Delete");
    person.until(SHOWN);
    person.press(".card button[value=deny]");
    assert_eq!(asking.outcome(call), Err("denied_by_operator".into()));
    asking.mcp.goto(&asking.session, "http://shop.test/order?product=stoneware-mug");
    asking.click("Place order");
    person.until(&format!("{SHOWN} && document.querySelector('.past li')"));
    let folder = std::env::var_os("STOCKADE_PICTURES");
    for (name, width, height, dark) in
        [("console", 1280, 900, false), ("console-dark", 1280, 900, true), ("console-phone", 390, 844, false)]
    {
        person.window(width, height, dark);
        person.eval("scrollTo(0, 0)");
        assert_eq!(
            person.eval("document.querySelectorAll('#waiting > *').length"),
            json!(1),
            "the card alone"
        );
        assert_eq!(
            person.eval(&format!("document.documentElement.scrollWidth <= {width}")),
            json!(true),
            "{name}"
        );
        if let Some(folder) = &folder {
            person.picture(&Path::new(folder).join(format!("{name}.png")));
        }
    }
    // On a phone no button covers the text that it decides on, and the screenshot opens full size.
    let overlap = "(() => { const verdict = document.querySelector('.card .verdict').getBoundingClientRect();
        const body = document.querySelector('.card .body').getBoundingClientRect(); return verdict.top < body.bottom - 1; })()";
    assert_eq!(person.eval(overlap), json!(false));
    let link =
        "fetch(document.querySelector('.card .picture a').href).then((it) => it.headers.get('content-type'))";
    let kind = person.eval(link);
    assert!(kind.as_str().is_some_and(|kind| kind.starts_with("image/")), "{kind}");
    // The second step and the scope of "for this session" are visible before their buttons accept clicks.
    person.press("details.grave summary");
    person.until("document.querySelector('details.grave').open");
    if let Some(folder) = &folder {
        person.picture(&Path::new(folder).join("console-second-step.png"));
    }
}

/// Counts sounds and notifications of the console, in a browser that supports both.
const COUNTED: &str = "window.made = { notices: [], tones: 0, contexts: [] };
    { const Real = Notification; window.Notification = class extends Real {
        constructor(title, options) { super(title, options); made.notices.push(`${title}: ${options.body}`); } };
      const Audio = AudioContext; window.AudioContext = class extends Audio { constructor() { super(); made.contexts.push(this); } };
      const start = OscillatorNode.prototype.start;
      OscillatorNode.prototype.start = function (at) { made.tones += 1; return start.call(this, at); }; }";

#[test]
fn a_request_rings_and_notifies_if_the_operator_turned_that_on() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let mut person = OperatorBrowser::start();
    let origin = format!("http://{}", asking.server.address());
    let granted = json!({"origin": origin, "permissions": ["notifications"]});
    person.call("Browser.grantPermissions", granted);
    person.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": COUNTED }));
    let mut person = log_in(&asking, person);
    let ask = |asking: &mut ApprovalFixture, person: &mut OperatorBrowser| {
        let call = asking.click("Delete");
        person.until(SHOWN);
        let made = person.eval("[made.tones, made.notices.length]");
        person.press(".card button[value=deny]");
        assert_eq!(asking.outcome(call), Err("denied_by_operator".into()));
        person.until("!document.querySelector('.card')");
        made
    };
    assert_eq!(ask(&mut asking, &mut person), json!([0, 0]), "both are off at first");
    person.press("input[name=sound]");
    person.press("input[name=notice]");
    person.until("document.querySelector('input[name=notice]').checked && localStorage.notice === 'on'");
    assert_eq!(person.eval("made.tones"), json!(2), "turning it on lets it be heard");
    assert_eq!(person.eval("made.contexts[0].resume().then(() => made.contexts[0].state)"), json!("running"));
    assert_eq!(ask(&mut asking, &mut person), json!([4, 1]));
    let notice = person.eval("made.notices[0]");
    assert_eq!(notice, json!("Approval needed: Click “Delete” on account.test — high risk"));
    // The choice is remembered.
    person.go(&asking.console());
    person.until("document.querySelector('input[name=sound]').checked");
    person.press("input[name=sound]");
    person.until("localStorage.sound === 'off'");
    assert_eq!(ask(&mut asking, &mut person), json!([0, 1]), "only the notification is left");
}

#[test]
fn a_click_right_after_the_page_gains_focus_is_ignored() {
    let mut asking = ApprovalFixture::start("      approval_timeout: 300\n");
    let mut person = logged_in(&asking);
    let call = asking.click("Delete");
    person.until(SHOWN);
    let waits = asking.waiting()["id"].clone();
    // When a card has just appeared, none of its buttons accepts a click or a key.
    let early = "addEventListener('DOMContentLoaded', () => { const button = document.querySelector('.card button[value=approve]');
        window.style = getComputedStyle(button).pointerEvents; button.click(); window.pressed = 1; })";
    person.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": early }));
    person.go(&asking.console());
    person.until("window.pressed === 1");
    assert_eq!(person.eval("window.style"), json!("none"));
    for moment in
        ["window.dispatchEvent(new Event('focus'))", "document.dispatchEvent(new Event('visibilitychange'))"]
    {
        person.until(SHOWN);
        let press = format!("{moment}; document.querySelector('.card button[value=approve]').click(); 1");
        assert_eq!(person.eval(&press), json!(1));
    }
    // An accepted click would have sent the form before this request, which the page waits for.
    let listed = person.eval("fetch(document.getElementById('live').dataset.from).then((it) => it.status)");
    assert_eq!(listed, json!(200));
    assert_eq!(asking.waiting()["id"], waits, "it still waits");
    person.until(SHOWN);
    person.press(".card button[value=deny]");
    assert_eq!(asking.outcome(call), Err("denied_by_operator".into()));
}
