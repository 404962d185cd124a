//! A site that echoes a sealed login in every way it can: no reply, picture, log or record holds a real value.

use crate::common;

use common::echo_search::{find, find_in_files, magenta_in_recordings, magenta_pixels, texts_and_pictures};
use common::echo_site::{API_KEY, EchoSite, NAMES, VALUES};
use common::echo_ways::{Stopped, WAYS, Way, page};
use common::grant_issuer::GrantIssuer;
use common::sealed_app::{BEARER, CSRF, PASSWORD, SESSION};
use common::tls_site::TlsSite;
use common::{Home, Mcp, Server};
use serde_json::{Value, json};

const SETTINGS: &str = "    max_actions_per_session: 100000\n    session_timeout: 3600\n    read_dom: true\n";
/// Two pictures of each action are kept.
const RECORDED: &str = "    recording: audit\n";

/// A signed-in session on the echoing site.
pub struct Echoed {
    pub home: Home,
    pub mcp: Mcp,
    pub session: String,
    log: std::path::PathBuf,
    _server: Server,
    _site: TlsSite,
}

impl Echoed {
    /// Opens the session, and has every value arrive at the site.
    pub fn start(settings: &str) -> Echoed {
        let echo = EchoSite::default();
        let site = echo.serve();
        let home = site.home(&NAMES, &format!("{SETTINGS}{settings}"));
        home.store_credential(&json!({
            "domain": "app.test",
            "cookies": [
                {"name": "sid", "value": SESSION, "httpOnly": true, "secure": true, "sameSite": "Lax"},
                {"name": "csrftoken", "value": CSRF, "secure": true, "sameSite": "Lax"},
            ],
            "localStorage": {"token": BEARER},
            "headers": {"X-Api-Key": API_KEY},
        }));
        home.store_credential(
            &json!({"domain": "basic.test", "basic": {"username": "ada", "password": PASSWORD}}),
        );
        let log = home.folder.path().join("server.log");
        let server = home.serve_logging(&[], &log);
        let mut mcp = home.mcp();
        let grant = GrantIssuer::of(&home).token(&NAMES);
        let opened = mcp.ok("browser_open_session", json!({"credential_mode": "operator", "grant": grant}));
        let session = opened["session_id"].as_str().unwrap().to_owned();
        let mut echoed = Echoed { home, mcp, session, log, _server: server, _site: site };
        for host in NAMES {
            echoed.call("browser_navigate", json!({"url": format!("https://{host}/learn")}));
            echoed.call("browser_wait_for", json!({"text": "site has learned"}));
        }
        let received = echo.received();
        for value in VALUES {
            assert!(received.iter().any(|one| one == value), "{value} did not arrive: {received:?}");
        }
        assert_eq!(received.len(), VALUES.len(), "{received:?}");
        echoed
    }

    /// The whole reply to a call.
    pub fn call(&mut self, tool: &str, mut arguments: Value) -> Value {
        arguments["session_id"] = json!(self.session);
        self.mcp.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Everything that agents do on a page.
    fn drive(&mut self, way: &Way, failures: &mut Vec<String>) {
        let url = format!("https://app.test/way/{}", way.name);
        let on = |selector: &str, more: Value| {
            let mut arguments = json!({"selector": selector, "timeout_seconds": 1});
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            arguments
        };
        let calls = [
            ("browser_navigate", json!({"url": url})),
            ("browser_read", json!({"format": "outline"})),
            ("browser_read", json!({"format": "tree"})),
            ("browser_read", json!({"format": "markdown"})),
            ("browser_read_dom", json!({})),
            ("browser_find", json!({"regex": "."})),
            ("browser_screenshot", json!({})),
            ("browser_hover", on(".v, #press", json!({}))),
            ("browser_click", on("#press", json!({"after_screenshot": way.stopped == Stopped::AtTheReply}))),
            ("browser_dialog", json!({"accept": true})),
            ("browser_click", on(".v, body", json!({"count": 3}))),
            ("browser_click", on("#note", json!({"button": "middle"}))),
            ("browser_press_key", on("#note", json!({"key": "Home"}))),
            ("browser_type", on("#note", json!({"text": " "}))),
            ("browser_select", on("#list", json!({"option": "Two"}))),
            ("browser_wait_for", json!({"text": "never there", "timeout_seconds": 0.2})),
            ("browser_tabs", json!({})),
            ("browser_click", json!({"visible_text": "there is none", "timeout_seconds": 0.2})),
            ("browser_screenshot", json!({"full_page": true})),
        ];
        // A field that holds a value is edited until nothing would recognize the value.
        let edits = [
            ("browser_press_key", on("input.v", json!({"key": "Home"}))),
            ("browser_type", on("input.v", json!({"text": "Q"}))),
            ("browser_press_key", on("input.v", json!({"key": "Backspace"}))),
            ("browser_read", json!({"format": "outline"})),
            ("browser_screenshot", json!({})),
        ];
        let is_field = way.name.starts_with("field") || way.name.starts_with("input");
        for (tool, arguments) in calls.into_iter().chain(edits.into_iter().filter(|_| is_field)) {
            // Of what is not in the browser there is no picture.
            if tool == "browser_screenshot" && way.stopped == Stopped::AtTheProxy {
                continue;
            }
            let reply = self.call(tool, arguments.clone());
            let code = reply["result"]["structuredContent"]["error"]["code"].as_str().unwrap_or_default();
            let (text, pictures) = texts_and_pictures(&reply);
            let mut fail = |what: String| failures.push(format!("{}: {tool} {arguments}: {what}", way.name));
            let finds = find(&text, &VALUES);
            if !finds.is_empty() {
                fail(format!("{finds:?} in {}", beginning(&text)));
            }
            match way.stopped {
                Stopped::AtTheProxy if code == "secret_withheld" => {
                    fail(format!("a real value is in the browser: {}", beginning(&text)));
                }
                Stopped::AtTheReply => {
                    let drawn: usize = pictures.iter().map(|picture| magenta_pixels(picture)).sum();
                    if drawn > 0 {
                        fail(format!("{drawn} pixels of it are drawn"));
                    }
                }
                Stopped::AtTheProxy => {}
            }
        }
    }

    /// What is kept of the session, and what the server says of it.
    fn search_records(&self, failures: &mut Vec<String>) {
        let state = find_in_files(&self.home.state(), &VALUES);
        failures.extend(state.into_iter().map(|(file, finds)| format!("{file}: {finds:?}")));
        for (what, text) in [
            ("server log", std::fs::read_to_string(&self.log).unwrap()),
            ("audit log", self.home.audit_log()),
            ("session show", self.home.json(&["session", "show", &self.session]).1.to_string()),
        ] {
            if text.is_empty() {
                failures.push(format!("{what} is empty"));
            }
            let finds = find(&text, &VALUES);
            if !finds.is_empty() {
                failures.push(format!("{what}: {finds:?}"));
            }
        }
    }
}

fn check(ways: impl Iterator<Item = &'static Way>, settings: &str) -> Echoed {
    let mut echoed = Echoed::start(settings);
    let mut failures = Vec::new();
    for way in ways {
        echoed.drive(way, &mut failures);
    }
    echoed.search_records(&mut failures);
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
    echoed
}

fn stopped_at(stopped: Stopped) -> impl Iterator<Item = &'static Way> {
    WAYS.iter().filter(move |way| way.stopped == stopped)
}

#[test]
fn the_search_finds_every_value_in_what_the_site_sends() {
    assert!(WAYS.len() >= 60);
    let values: Vec<String> = VALUES.iter().map(|value| (*value).to_owned()).collect();
    for way in WAYS {
        let sent = page(way, &values);
        // Of a value that is shown in pieces the browser makes one text, without the tags.
        let shown = strip_tags(&sent);
        for value in VALUES {
            let found = !find(&sent, &[value]).is_empty() || !find(&shown, &[value]).is_empty();
            assert!(found, "{}: {value} in {sent}", way.name);
        }
    }
}

fn strip_tags(html: &str) -> String {
    let pieces = html.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
    pieces.collect::<Vec<_>>().join(" ").replace("&shy;", "")
}

#[test]
fn a_value_that_the_site_shows_is_a_placeholder_in_the_browser() {
    let half = stopped_at(Stopped::AtTheProxy).count() / 2;
    check(stopped_at(Stopped::AtTheProxy).take(half), "");
}

#[test]
fn a_value_that_comes_by_script_or_transport_is_a_placeholder_in_the_browser() {
    let half = stopped_at(Stopped::AtTheProxy).count() / 2;
    check(stopped_at(Stopped::AtTheProxy).skip(half), "");
}

#[test]
fn a_value_that_the_site_takes_apart_does_not_get_into_a_reply() {
    let echoed = check(stopped_at(Stopped::AtTheReply), RECORDED);
    let recorded = magenta_in_recordings(&echoed.home.state());
    let shown: Vec<_> = recorded.iter().filter(|(_, pixels)| *pixels > 0).collect();
    assert!(!recorded.is_empty() && shown.is_empty(), "{shown:?} of {} pictures", recorded.len());
}

/// Enough of a reply to see which it is.
fn beginning(text: &str) -> String {
    text.chars().take(400).collect()
}
