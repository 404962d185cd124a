//! Sealed logins: the browser holds placeholders, the proxy holds the secrets, and applications do not notice.

use crate::common;

use common::grant_issuer::GrantIssuer;
use common::sealed_app::{
    Arrival, BEARER, BIG_BYTES, CSRF, JWT, JWT_SIGNATURE, PASSWORD, SECRETS, SESSION, SealedApp,
};
use common::site::Site;
use common::tls_site::TlsSite;
use common::{Home, Mcp, Server};
use serde_json::{Value, json};

const NAMES: [&str; 3] = ["app.test", "basic.test", "other.test"];

struct SignedIn {
    app: SealedApp,
    home: Home,
    mcp: Mcp,
    session: String,
    _server: Server,
    _site: TlsSite,
}

fn credential(rest: Value) -> Value {
    let mut document = json!({
        "domain": "app.test",
        "cookies": [
            {"name": "sid", "value": SESSION, "httpOnly": true, "secure": true, "sameSite": "Lax"},
            {"name": "csrftoken", "value": CSRF, "secure": true, "sameSite": "Lax"},
        ],
        "localStorage": {"token": BEARER, "jwt": JWT, "theme": {"value": "dark", "secret": false}},
    });
    for (name, value) in rest.as_object().unwrap() {
        document[name] = value.clone();
    }
    document
}

impl SignedIn {
    fn start(rest: Value) -> SignedIn {
        let app = SealedApp::new();
        let site = app.serve(&NAMES);
        let settings = "    max_actions_per_session: 1000\n    session_timeout: 600\n    credentials:\n      egress: [other.test]\n";
        let home = site.home(&NAMES, settings);
        home.store_credential(&credential(rest));
        home.store_credential(
            &json!({"domain": "basic.test", "basic": {"username": "ada", "password": PASSWORD}}),
        );
        let server = home.serve(&[]);
        let mcp = home.mcp();
        let mut signed_in = SignedIn { app, home, mcp, session: String::new(), _server: server, _site: site };
        signed_in.open();
        signed_in
    }

    /// Opens another session with the same logins.
    fn open(&mut self) {
        let grant = GrantIssuer::of(&self.home).token(&["app.test", "basic.test"]);
        let opened =
            self.mcp.ok("browser_open_session", json!({"credential_mode": "operator", "grant": grant}));
        self.session = opened["session_id"].as_str().unwrap().to_owned();
    }

    /// Calls a tool; its whole reply must be free of every secret.
    fn call(&mut self, tool: &str, mut arguments: Value) -> Value {
        arguments["session_id"] = json!(self.session);
        let answer = self.mcp.request("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = answer.to_string();
        for secret in SECRETS.iter().copied().chain([self.app.session().as_str()]) {
            assert!(!text.contains(secret), "{tool} {arguments}: {text}");
        }
        assert_ne!(answer["result"]["isError"], true, "{tool} {arguments}: {text}");
        answer["result"]["structuredContent"].clone()
    }

    /// Goes to a page and waits until it shows a text.
    fn shows(&mut self, url: &str, text: &str) {
        self.call("browser_navigate", json!({"url": url}));
        self.call("browser_wait_for", json!({"text": text, "timeout_seconds": 100}));
    }

    fn arrivals(&self, target: &str) -> Vec<Arrival> {
        self.app.arrivals().into_iter().filter(|arrival| arrival.target.contains(target)).collect()
    }
}

#[test]
fn applications_with_every_kind_of_login_work_unchanged() {
    let mut signed_in = SignedIn::start(json!({}));
    signed_in.shows("https://app.test/session", "Signed in as Ada");
    signed_in.shows("https://app.test/csrf", "csrf right");
    signed_in.shows("https://app.test/bearer", "bearer right");
    signed_in.shows("https://app.test/jwt", "jwt right");
    signed_in.shows("https://app.test/jwt", "hello Ada Lovelace");
    signed_in.shows("https://basic.test/basic", "Signed in by password");
    signed_in.shows("https://app.test/socket", "message 2 message 2");
    signed_in.shows("https://app.test/events", "event 0 | event 1 | event 2");
    signed_in.shows("https://app.test/worker", "made by the worker");
    for _ in 0..3 {
        signed_in.shows("https://app.test/rotate", "Signed in as Ada");
    }
    signed_in.shows("https://app.test/session", "Signed in as Ada");
    signed_in.shows("https://app.test/big", &format!("{BIG_BYTES} bytes, right"));

    // The proxy kept the last of the rotated values for the operator.
    let kept = signed_in.home.json(&["credential", "list"]).1;
    assert!(kept.to_string().contains("app.test") && kept.to_string().contains("sid"), "{kept}");
}

/// Where a secret may arrive: a cookie under its own name, a stored value in a header, basic authentication.
fn is_allowed(arrival: &Arrival, name: &str, secret: &str) -> bool {
    let own_host = arrival.host.starts_with("app.test") || arrival.host.starts_with("basic.test");
    own_host
        && match secret {
            SESSION => name == "cookie",
            CSRF => name == "cookie" || name == "x-csrftoken",
            BEARER | JWT_SIGNATURE => true,
            PASSWORD => name == "authorization" && arrival.host.starts_with("basic.test"),
            _ => false,
        }
}

fn encodings(secret: &str) -> Vec<String> {
    use base64::Engine;
    let engine = base64::engine::general_purpose::STANDARD;
    let inner = |before: &str| {
        let whole = engine.encode(format!("{before}{secret}"));
        whole[before.len() * 4 / 3 + 1..whole.len() - 4].to_owned()
    };
    let reversed = secret.chars().rev().collect();
    vec![secret.to_owned(), inner(""), inner("x"), inner("xy"), hex::encode(secret), reversed]
}

#[test]
fn a_page_that_sends_its_placeholders_everywhere_publishes_nothing() {
    let mut signed_in = SignedIn::start(json!({}));
    signed_in.shows("https://app.test/everywhere", "all is sent, 3 values");
    let arrivals = signed_in.app.arrivals();
    for path in [
        "/query",
        "/path/",
        "/body",
        "/json",
        "/urlencoded",
        "/oauth/token",
        "/beacon",
        "/form",
        "/multipart",
        "/with-referrer",
        "/header",
        "/copied-cookie",
        "/socket/live",
    ] {
        assert!(arrivals.iter().any(|arrival| arrival.target.contains(path)), "{path} did not arrive");
    }
    for arrival in &arrivals {
        for secret in SECRETS {
            for form in encodings(secret) {
                assert!(!arrival.target.contains(&form), "{secret} in the address: {arrival:?}");
                assert!(!arrival.body.contains(&form), "{secret} in the body: {arrival:?}");
                for (name, value) in arrival.headers.iter().filter(|(_, value)| value.contains(&form)) {
                    assert!(is_allowed(arrival, name, secret), "{secret} in {name} {value}: {arrival:?}");
                }
            }
        }
        // The copies that the page made of a cookie stay what they are.
        for (_, value) in arrival.headers.iter().filter(|(name, _)| name == "cookie") {
            for pair in
                value.split("; ").filter(|pair| pair.starts_with("copy=") || pair.starts_with("longer="))
            {
                assert!(!SECRETS.iter().any(|secret| pair.contains(secret)), "{pair}");
            }
        }
    }

    // The session lists the places, and one of them can be allowed.
    let shown = signed_in.home.json(&["session", "show", &signed_in.session]).1.to_string();
    for place in ["/oauth/token", "/query", "websocket", "body"] {
        assert!(shown.contains(place), "{place}: {shown}");
    }
}

#[test]
fn a_place_that_the_operator_allowed_gets_the_secret_and_no_other_does() {
    let mut signed_in =
        SignedIn::start(json!({"send_in": {"body": "/oauth/token", "websocket": "/socket/live"}}));
    signed_in.shows("https://app.test/everywhere", "all is sent, 3 values");
    let bodies = |target: &str| -> String {
        signed_in.arrivals(target).into_iter().map(|arrival| arrival.body).collect::<Vec<_>>().join("\n")
    };
    for secret in [CSRF, BEARER, JWT_SIGNATURE] {
        assert!(bodies("/oauth/token").contains(secret), "{secret}");
        assert!(bodies("/socket/live").contains(secret), "{secret}");
        for other in ["/body", "/json", "/urlencoded", "/form", "/multipart", "/beacon"] {
            assert!(!bodies(other).contains(secret), "{secret} at {other}");
        }
    }
}

#[test]
fn a_place_is_listed_and_allowed_by_a_command_and_the_application_works_from_then_on() {
    let mut signed_in = SignedIn::start(json!({}));
    signed_in.shows("https://app.test/everywhere", "all is sent, 3 values");
    let session = json!({"session_id": signed_in.session});
    signed_in.mcp.ok("browser_close_session", session);
    let shown = signed_in.home.json(&["credential", "show", "app.test"]).1;
    let listed = shown["credential"]["unreplaced"].as_array().unwrap();
    for (kind, place) in [("body", "/oauth/token"), ("websocket", "/socket/live")] {
        assert!(listed.iter().any(|one| one["kind"] == kind && one["place"] == place), "{place}: {shown}");
    }
    let allow = ["credential", "allow", "app.test", "--body", "/oauth/token"];
    let (code, allowed) = signed_in.home.with_input(&allow, "");
    assert_eq!(code, 0, "{allowed}");
    signed_in.app.forget();
    signed_in.open();
    signed_in.shows("https://app.test/everywhere", "all is sent, 3 values");
    let bodies: String = signed_in.arrivals("/oauth/token").into_iter().map(|arrival| arrival.body).collect();
    assert!(bodies.contains(BEARER), "{bodies}");
    let others: String = signed_in.arrivals("/json").into_iter().map(|arrival| arrival.body).collect();
    assert!(!others.is_empty() && !others.contains(BEARER), "{others}");
}

#[test]
fn a_rotated_value_that_the_operator_accepts_signs_in_the_next_session() {
    let mut signed_in = SignedIn::start(json!({}));
    for _ in 0..2 {
        signed_in.shows("https://app.test/rotate", "Signed in as Ada");
    }
    let session = json!({"session_id": signed_in.session});
    signed_in.mcp.ok("browser_close_session", session);
    // The stored value is an old one by now.
    let (code, accepted) = signed_in.home.with_input(&["credential", "accept", "app.test"], "");
    assert_eq!(code, 0, "{accepted}");
    signed_in.open();
    signed_in.shows("https://app.test/session", "Signed in as Ada");
}

#[test]
fn a_site_whose_certificate_is_not_trusted_is_an_error_with_the_reason() {
    let app = SealedApp::new();
    let site = app.serve(&NAMES);
    let home = Home::new(&format!("    egress:\n      hosts:\n        app.test: {}\n", site.address));
    home.store_credential(&credential(json!({})));
    let _server = home.serve(&[]);
    let mut mcp = home.mcp();
    let grant = GrantIssuer::of(&home).token(&["app.test"]);
    let opened = mcp.ok("browser_open_session", json!({"credential_mode": "operator", "grant": grant}));
    let url = json!({"session_id": opened["session_id"], "url": "https://app.test/session"});
    let answer = mcp.request("tools/call", json!({"name": "browser_navigate", "arguments": url}));
    let error = &answer["result"]["structuredContent"]["error"];
    assert_eq!(error["code"], "tls_untrusted", "{answer}");
    assert!(error["message"].as_str().unwrap().contains("certificate"), "{answer}");
    assert!(app.arrivals().is_empty(), "the site got a request");
}

#[test]
fn text_that_contains_a_placeholder_is_refused() {
    let mut signed_in = SignedIn::start(json!({}));
    signed_in.shows("https://app.test/everywhere", "all is sent, 3 values");
    let session = signed_in.session.clone();
    // What the page sent in a body left as the placeholder. A page can show it to an agent, who has no use for it.
    let sent = signed_in.arrivals("/body").into_iter().map(|arrival| arrival.body);
    let placeholder = sent.into_iter().find(|body| body.len() == BEARER.len()).unwrap();
    assert_ne!(placeholder, BEARER);
    let url = format!("https://app.test/query?q={placeholder}");
    assert_eq!(
        signed_in.mcp.code("browser_navigate", json!({"session_id": session, "url": url})),
        "placeholder_typed"
    );
}

#[test]
fn a_reply_that_would_show_a_sealed_secret_is_withheld_and_the_session_flagged() {
    let mut signed_in = SignedIn::start(json!({}));
    let session = signed_in.session.clone();
    let spelled = json!({"session_id": session, "url": "https://app.test/spelled"});
    assert_eq!(signed_in.mcp.code("browser_navigate", spelled), "secret_withheld");
    let shown = signed_in.home.json(&["session", "show", &session]).1;
    assert!(shown["session"]["flags"].to_string().contains("secret_withheld"), "{shown}");
    // Nothing of that document is shown any more, by any tool.
    for (tool, arguments) in [
        ("browser_read", json!({"session_id": session})),
        ("browser_find", json!({"session_id": session, "regex": "."})),
        ("browser_screenshot", json!({"session_id": session})),
        ("browser_click", json!({"session_id": session, "selector": "body"})),
    ] {
        assert_eq!(signed_in.mcp.code(tool, arguments), "secret_withheld", "{tool}");
    }
    // The session goes on, on pages that do not show it.
    signed_in.shows("https://app.test/session", "Signed in as Ada");
}

#[test]
fn an_unsealed_credential_is_injected_as_it_is_and_shown_as_such() {
    let page =
        "<title>Home</title><p id=out><script>out.textContent = 'length ' + document.cookie.length</script>";
    let site = Site::serve(&[("/", page)]);
    let home = Home::new(&site.setting(&["plain.test"]));
    home.store_credential(&json!({
        "domain": "plain.test", "origin": "http://plain.test", "sealed": false,
        "cookies": [{"name": "sid", "value": SESSION}],
    }));
    let _server = home.serve(&[]);
    let mut mcp = home.mcp();
    let grant = GrantIssuer::of(&home).token(&["plain.test"]);
    let opened = mcp.ok("browser_open_session", json!({"credential_mode": "operator", "grant": grant}));
    let session = opened["session_id"].as_str().unwrap();
    mcp.goto(session, "http://plain.test/");
    let shown = home.json(&["session", "show", session]).1;
    assert!(shown.to_string().contains("\"unsealed\":[\"plain.test\"]"), "{shown}");
    assert!(home.audit_log().contains("not sealed"));
}
