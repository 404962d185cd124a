//! What a signed-in session carries goes to its own origin and to no other, whatever pages do.

use crate::common;

use common::grant_issuer::GrantIssuer;
use common::machine::{PATIENCE, until};
use common::operator::Operator;
use common::recorder::{RecordedRequest, Recorder, html, redirect};
use common::{Home, Mcp};
use serde_json::json;

const STRICT: &str = "strict-cookie-4f81c27a";
const LAX: &str = "lax-cookie-90b3d6e1";
const HEADER: &str = "header-value-77ce19aa";
const PASSWORD: &str = "password-e2a94b05";
/// `me:password-e2a94b05`
const BASIC: &str = "bWU6cGFzc3dvcmQtZTJhOTRiMDU=";

const ALL: [&str; 5] = [STRICT, LAX, HEADER, PASSWORD, BASIC];

/// Everything a page can send somewhere: frames, pictures, fetches, workers, sockets, beacons, forms, redirects.
fn sends_to(other: &str) -> String {
    format!(
        r#"<title>busy</title><h1>busy</h1>
<iframe src="http://{other}/frame"></iframe><img src="http://{other}/img">
<link rel="prefetch" href="http://{other}/prefetch"><link rel="stylesheet" href="http://{other}/style.css">
<script src="http://{other}/script.js"></script>
<iframe name="post-sink"></iframe><iframe name="get-sink"></iframe>
<form id="post" method="post" action="http://{other}/form" target="post-sink"><input name="a" value="1"></form>
<form id="get" action="http://{other}/getform" target="get-sink"><input name="a" value="1"></form>
<iframe src="/leads-to?http://{other}/framed-redirect"></iframe>
<script>
const sent = [];
const quietly = promise => sent.push(promise.catch(() => {{}}));
quietly(fetch('http://{other}/cors'));
quietly(fetch('http://{other}/credentials', {{credentials: 'include'}}));
quietly(fetch('http://{other}/nocors', {{mode: 'no-cors', method: 'POST', body: 'x', credentials: 'include'}}));
quietly(fetch('/leads-to?http://{other}/redirected', {{mode: 'no-cors', credentials: 'include'}}));
quietly(fetch('http://{other}/keepalive', {{mode: 'no-cors', keepalive: true, credentials: 'include'}}));
const request = new XMLHttpRequest();
request.open('GET', 'http://{other}/xhr'); request.withCredentials = true; request.onerror = () => {{}}; request.send();
navigator.sendBeacon('http://{other}/beacon', 'x');
new WebSocket('ws://{other}/socket');
const code = `fetch('http://{other}/worker', {{mode: 'no-cors', credentials: 'include'}}).catch(() => {{}})`;
new Worker(URL.createObjectURL(new Blob([code], {{type: 'text/javascript'}})));
new EventSource('http://{other}/events', {{withCredentials: true}});
document.getElementById('post').submit();
document.getElementById('get').submit();
addEventListener('load', () => Promise.all(sent).then(() => document.body.append('all sent')));
</script>"#
    )
}

/// What another site tries beside the signed-in one.
const HOSTILE: &str = r#"<title>hostile</title><h1>hostile</h1>
<iframe src="http://own.test/attacked-frame"></iframe><img src="http://own.test/attacked-img">
<iframe name="sink"></iframe>
<form id="post" method="post" action="http://own.test/attacked-post" target="sink"><input name="a" value="1"></form>
<script>
const sent = [];
const quietly = promise => sent.push(promise.catch(() => {}));
quietly(fetch('http://own.test/attacked-nocors', {mode: 'no-cors', method: 'POST', body: 'x', credentials: 'include'}));
quietly(fetch('http://own.test/attacked-cors', {credentials: 'include'}));
navigator.sendBeacon('http://own.test/attacked-beacon', 'x');
new WebSocket('ws://own.test/attacked-socket');
document.getElementById('post').submit();
addEventListener('load', () => Promise.all(sent).then(() => document.body.append('all sent')));
</script>"#;

fn site(asked: &RecordedRequest) -> String {
    let path = asked.path.split('?').next().unwrap_or_default();
    match (asked.host.as_str(), path) {
        ("own.test", "/busy") => html(&sends_to("other.test"), ""),
        ("own.test", "/alone") => {
            html("<script>fetch('/own-fetch'); new Image().src = '/own-img'</script>", "")
        }
        (_, "/leads-to") => redirect(asked.path.split_once('?').map_or("/", |(_, to)| to)),
        ("other.test", "/hostile") => html(HOSTILE, ""),
        ("other.test", "/top") => html("<script>location = 'http://own.test/attacked-top'</script>", ""),
        ("other.test", "/post-top") => html(
            "<form method=post action='http://own.test/attacked-top-post'><input name=a></form><script>document.forms[0].submit()</script>",
            "",
        ),
        ("other.test", "/popup") => {
            html("<title>popup</title><button onclick=\"window.open('/hostile')\">Open</button>", "")
        }
        _ => html("<title>plain</title><p>plain", ""),
    }
}

struct OriginFixture {
    recorder: Recorder,
    mcp: Mcp,
    session: String,
    home: Home,
}

impl OriginFixture {
    /// Where nobody is asked, and the other site may be reached.
    fn start() -> OriginFixture {
        OriginFixture::with(Home::new, "    credentials:\n      egress: [other.test]\n")
    }

    fn with(home: fn(&str) -> Home, settings: &str) -> OriginFixture {
        let recorder = Recorder::serve(site);
        let address = recorder.address;
        let hosts = format!("        own.test: {address}\n        other.test: {address}\n");
        let home = home(&format!("    egress:\n      hosts:\n{hosts}{settings}"));
        home.store_credential(&json!({
            "domain": "own.test",
            "origin": "http://own.test",
            "cookies": [
                {"name": "strict", "value": STRICT, "sameSite": "Strict", "httpOnly": true},
                {"name": "lax", "value": LAX, "sameSite": "Lax"},
            ],
            "headers": {"X-Key": HEADER},
            "basic": {"username": "me", "password": PASSWORD},
        }));
        let token = GrantIssuer::of(&home).token(&["own.test"]);
        let mut mcp = home.mcp();
        let opened = mcp.ok("browser_open_session", json!({"credential_mode": "operator", "grant": token}));
        let session = opened["session_id"].as_str().unwrap().to_owned();
        OriginFixture { recorder, mcp, session, home }
    }

    /// Goes there and waits until the page says that it has sent everything.
    fn run(&mut self, url: &str) {
        self.mcp.goto(&self.session, url);
        self.mcp.ok("browser_wait_for", json!({"session_id": self.session, "text": "all sent"}));
    }

    fn new_tab(&mut self, url: &str) {
        self.mcp.ok("browser_tabs", json!({"session_id": self.session, "action": "new"}));
        self.mcp.goto(&self.session, url);
    }

    /// Waits until each of these was asked for, because what was not asked for shows nothing.
    fn until_asked(&self, host: &str, paths: &[&str]) -> Vec<RecordedRequest> {
        for path in paths {
            until(&format!("{path} is asked for"), PATIENCE, || {
                (self.times_asked(host, path) > 0).then_some(())
            });
        }
        self.asked_of(host)
    }

    fn times_asked(&self, host: &str, path: &str) -> usize {
        self.asked_of(host).iter().filter(|asked| asked.path.split('?').next() == Some(path)).count()
    }

    fn asked_of(&self, host: &str) -> Vec<RecordedRequest> {
        self.recorder.asked().into_iter().filter(|asked| asked.host == host).collect()
    }
}

#[test]
fn a_header_a_cookie_and_a_password_are_seen_by_their_own_origin_and_by_no_other() {
    let mut scene = OriginFixture::start();
    scene.mcp.goto(&scene.session, "http://own.test/alone");
    // What a page has not asked for yet when it is left, it never asks for.
    scene.until_asked("own.test", &["/own-fetch", "/own-img"]);
    scene.run("http://own.test/busy");
    let own = scene.asked_of("own.test");
    for path in ["/alone", "/own-fetch", "/own-img", "/busy"] {
        let asked = own.iter().find(|asked| asked.path == path).unwrap_or_else(|| panic!("{path}"));
        for secret in [STRICT, LAX, HEADER, BASIC] {
            assert!(asked.carries(secret), "{path} lacks {secret}");
        }
    }
    let wanted = [
        "/frame",
        "/img",
        "/script.js",
        "/style.css",
        "/form",
        "/getform",
        "/framed-redirect",
        "/cors",
        "/credentials",
        "/nocors",
        "/redirected",
        "/keepalive",
        "/xhr",
        "/beacon",
        "/socket",
        "/worker",
        "/events",
    ];
    let other = scene.until_asked("other.test", &wanted);
    for asked in &other {
        for secret in ALL {
            assert!(!asked.carries(secret), "{} {} carries {secret}", asked.method, asked.path);
        }
    }
}

#[test]
fn another_site_cannot_make_the_signed_in_one_act() {
    let mut scene = OriginFixture::start();
    scene.mcp.goto(&scene.session, "http://own.test/plain");
    scene.recorder.forget();
    // In the same tab, in a second one, in a popup, and in a frame's place.
    scene.run("http://other.test/hostile");
    scene.new_tab("http://own.test/beside");
    scene.new_tab("http://other.test/popup");
    let tried = ["-frame", "-img", "-post", "-nocors", "-cors", "-beacon", "-socket"];
    let tried = tried.map(|path| format!("/attacked{path}"));
    scene.until_asked("own.test", &tried.each_ref().map(String::as_str));
    let before = tried.each_ref().map(|path| scene.times_asked("own.test", path));
    scene.mcp.ok("browser_click", json!({"session_id": scene.session, "role": "button", "name": "Open"}));
    for (path, before) in tried.iter().zip(before) {
        until(&format!("the popup asks for {path}"), PATIENCE, || {
            (scene.times_asked("own.test", path) > before).then_some(())
        });
    }
    for (page, leads_to) in [("top", "/attacked-top"), ("post-top", "/attacked-top-post")] {
        // A page that leads on at once may be gone before its own navigation is reported.
        let url = format!("http://other.test/{page}");
        drop(scene.mcp.call("browser_navigate", json!({"session_id": scene.session, "url": url})));
        scene.until_asked("own.test", &[leads_to]);
    }
    let all = scene.asked_of("own.test");
    let attacked: Vec<RecordedRequest> =
        all.into_iter().filter(|asked| asked.path.starts_with("/attacked")).collect();
    for asked in &attacked {
        for secret in [STRICT, HEADER, PASSWORD, BASIC] {
            assert!(!asked.carries(secret), "{} {} carries {secret}", asked.method, asked.path);
        }
        // A Lax cookie goes with a link that is followed at the top, and with nothing else.
        let followed = asked.path == "/attacked-top" && asked.method == "GET";
        assert_eq!(asked.header("cookie").is_some(), followed, "{} {}", asked.method, asked.path);
    }
}

#[test]
fn a_signed_in_session_stays_on_its_sites_unless_an_operator_extends_it() {
    let mut scene = OriginFixture::with(Home::asking, "    hitl:\n      enabled: false\n");
    scene.run("http://own.test/busy");
    let away = json!({"session_id": scene.session, "url": "http://other.test/"});
    assert_eq!(scene.mcp.code("browser_navigate", away), "blocked_domain");
    // Led there by a redirect, it gets no further than the proxy.
    let led = json!({"session_id": scene.session, "url": "http://own.test/leads-to?http://other.test/"});
    assert_eq!(scene.mcp.code("browser_navigate", led), "egress_not_home");
    let strangers = scene.asked_of("other.test");
    assert!(strangers.is_empty(), "{strangers:?}");
}

#[test]
fn an_extended_session_sends_no_credentials_to_the_other_site() {
    let mut scene = OriginFixture::with(Home::asking, "");
    scene.mcp.goto(&scene.session, "http://own.test/plain");
    let away = json!({"session_id": scene.session, "url": "http://other.test/plain"});
    let call = scene.mcp.begin("tools/call", json!({"name": "browser_navigate", "arguments": away}));
    let operator = Operator::of(&scene.home);
    let asked = operator.next();
    assert_eq!(asked.card.domain, "other.test");
    operator.approves(&asked.id);
    let answer = scene.mcp.answer_to(call);
    assert_eq!(answer["final_url"], "http://other.test/plain", "{answer}");
    let other = scene.asked_of("other.test");
    assert!(!other.is_empty(), "it never got there");
    for asked in &other {
        for secret in ALL {
            assert!(!asked.carries(secret), "{} {} carries {secret}", asked.method, asked.path);
        }
    }
}
