//! Secrets of a signed-in session: values that the site issues are redacted, a restarted browser is signed in again,
//! and an expired login is reported.

use crate::common;

use base64::Engine;
use common::grant_issuer::GrantIssuer;
use common::machine::{self, Process, family};
use common::recorder::{RecordedRequest, Recorder, html, redirect};
use common::{Home, Mcp};
use serde_json::{Value, json};

const COOKIE: &str = "first-9d81b2c4e7f0";
const ROTATED: &str = "second-1b7c33e9aa52";
const STORED: &str = "stored-6a0fe4d91c88";
const HANDED: &str = "handed-e83b5510d7c2";
/// A value outside of cookies and storage.
const REPLIED: &str = "replied-40b7d2aa93ee";
/// An unknown value in the form of a key. Written in two parts, so that no file of ours seems to contain a key.
const UNKNOWN: [&str; 2] = ["ghp_", "R8w2Lq7Zt4Yx0Nv6Bm3Kc9Jd5Hs1Fg2Pe8Ua"];

fn site(asked: &RecordedRequest) -> String {
    let cookie = asked.header("cookie").unwrap_or_default().to_owned();
    match asked.path.as_str() {
        "/rotate" => html(
            &format!("<title>{ROTATED}</title><p>Your new cookie: {ROTATED}, the old one: {cookie}</p>"),
            &format!("set-cookie: sid={ROTATED}; Path=/; HttpOnly; SameSite=Lax\r\n"),
        ),
        "/store" => html(
            &format!(
                "<title>store</title><p id=out></p><script>localStorage.setItem('session', JSON.stringify({{user: 'Ada', token: '{HANDED}'}})); \
                 out.textContent = localStorage.getItem('token') + ' ' + localStorage.getItem('session') + ' ' + localStorage.getItem('theme')</script>"
            ),
            "",
        ),
        "/replied" => html(
            "<title>reply</title><p id=out></p><script>fetch('/api').then((r) => r.json()).then((reply) => { \
             out.textContent = 'It says ' + reply.session.token + ', encoded ' + btoa(reply.session.token); })</script>",
            "",
        ),
        "/api" => html(&json!({"session": {"token": REPLIED, "theme": "dark"}}).to_string(), "")
            .replace("text/html", "application/json"),
        "/unknown" => html(&format!("<title>keys</title><p>Your API key is {}</p>", UNKNOWN.concat()), ""),
        "/private" if !cookie.contains("sid=") => redirect("/login"),
        "/logout" => html("<title>bye</title><p>Bye", "set-cookie: sid=; Path=/; HttpOnly; Max-Age=0\r\n"),
        "/login" => html("<title>Log in</title><h1>Log in</h1>", ""),
        _ => html(&format!("<title>shop</title><p>You sent {cookie}</p>"), ""),
    }
}

struct SignedInFixture {
    recorder: Recorder,
    home: Home,
    granting: GrantIssuer,
    mcp: Mcp,
}

impl SignedInFixture {
    fn start(extra: &str) -> SignedInFixture {
        let recorder = Recorder::serve(site);
        let home = Home::new(&format!(
            "    recording: audit\n    read_dom: true\n    egress:\n      hosts:\n        till.test: {}\n{extra}",
            recorder.address
        ));
        home.store_credential(&json!({
            "domain": "till.test",
            "origin": "http://till.test",
            "cookies": [{"name": "sid", "value": COOKIE, "httpOnly": true, "sameSite": "Lax"}],
            "localStorage": {"token": STORED, "theme": {"value": "dark", "secret": false}},
            "probe": {"path": "/private", "signed_out": {"path": "/login"}},
            "grant_scope": "standing",
        }));
        let (granting, mcp) = (GrantIssuer::of(&home), home.mcp());
        SignedInFixture { recorder, home, granting, mcp }
    }

    fn open(&mut self) -> String {
        let grant = self.granting.token(&["till.test"]);
        let opened =
            self.mcp.ok("browser_open_session", json!({"credential_mode": "operator", "grant": grant}));
        opened["session_id"].as_str().unwrap().to_owned()
    }

    fn goto(&mut self, session: &str, path: &str) -> Result<Value, Value> {
        let url = format!("http://till.test{path}");
        self.mcp.call("browser_navigate", json!({"session_id": session, "url": url}))
    }

    /// Everything that is on this machine's disk about it.
    fn files(&self) -> Vec<u8> {
        fn gather(folder: &std::path::Path, into: &mut Vec<u8>) {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    gather(&path, into);
                } else if path.is_file() {
                    into.extend(std::fs::read(&path).unwrap());
                }
            }
        }
        let mut all = Vec::new();
        gather(&self.home.state(), &mut all);
        all
    }
}

fn holds(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[test]
fn a_secret_issued_by_the_site_is_redacted_from_then_on() {
    let mut scene = SignedInFixture::start("");
    let session = scene.open();
    let mut replies = Vec::new();
    for path in ["/", "/rotate", "/", "/store", "/unknown", "/replied"] {
        replies.push(scene.goto(&session, path).unwrap().to_string());
    }
    replies.push(
        scene.mcp.ok("browser_wait_for", json!({"session_id": session, "text": "It says"})).to_string(),
    );
    replies.push(scene.mcp.ok("browser_read_dom", json!({"session_id": session})).to_string());
    let all = replies.join("\n");
    let encoded = base64::prelude::BASE64_STANDARD.encode(REPLIED);
    for secret in [COOKIE, ROTATED, STORED, HANDED, REPLIED, &encoded, &UNKNOWN.concat()] {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
    assert!(all.contains("You sent sid=[redacted]"), "{all}");
    assert!(all.contains("Your API key is [redacted]"), "{all}");
    assert!(all.contains("It says [redacted], encoded [redacted]"), "{all}");
    // Values that the operator marked as not secret are shown.
    assert!(all.contains("dark"), "{all}");

    // The vault keeps the old value until an operator accepts the new one.
    let (code, shown) = scene.home.json(&["credential", "show", "till.test"]);
    assert!(
        code == 0 && shown.to_string().contains("sid") && !shown.to_string().contains(ROTATED),
        "{shown}"
    );
    scene.recorder.forget();
    let other = scene.open();
    scene.goto(&other, "/").unwrap();
    let sent = |recorder: &Recorder, value: &str| recorder.asked().iter().any(|asked| asked.carries(value));
    assert!(sent(&scene.recorder, COOKIE) && !sent(&scene.recorder, ROTATED));
    let (code, reply) = scene.home.with_input(&["credential", "accept", "till.test"], "");
    assert_eq!(code, 0, "{reply}");
    scene.recorder.forget();
    let third = scene.open();
    scene.goto(&third, "/").unwrap();
    assert!(sent(&scene.recorder, ROTATED) && !sent(&scene.recorder, COOKIE));

    for session in [session, other, third] {
        scene.mcp.ok("browser_close_session", json!({"session_id": session}));
    }
    let files = scene.files();
    assert!(holds(&files, "credential_injected") && holds(&files, "grant_used"), "nothing was on record");
    for secret in [COOKIE, ROTATED, STORED, HANDED, REPLIED, &UNKNOWN.concat()] {
        assert!(!holds(&files, secret), "{secret} is on disk");
    }
}

#[test]
fn a_crash_leaves_no_core_file() {
    use std::os::unix::process::ExitStatusExt;
    let mut scene = SignedInFixture::start("");
    let folder = tempfile::tempdir().unwrap();
    let plain = scene.home.command(&["mcp", "--demo"]);
    // As on a machine that keeps core dumps.
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "ulimit -S -c unlimited; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args())
        .envs(plain.get_envs().filter_map(|(key, value)| Some((key, value?))))
        .current_dir(folder.path());
    scene.mcp = Mcp::start(command);
    let session = scene.open();
    scene.goto(&session, "/").unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", scene.mcp.child.id())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core")).unwrap();
    // A limit of one byte keeps the machine's core handler from running; 0 does not.
    assert_eq!(
        core.split_whitespace().collect::<Vec<_>>(),
        ["Max", "core", "file", "size", "1", "1", "bytes"]
    );
    machine::signal(scene.mcp.child.id(), "ABRT");
    let ended = scene.mcp.child.wait().unwrap();
    assert_eq!((ended.signal(), ended.core_dumped()), (Some(6), false));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(!holds(&scene.files(), COOKIE));
}

/// The parent of the other processes.
fn is_browser(process: &Process) -> bool {
    let is = |start: &str| process.arguments.iter().any(|argument| argument.starts_with(start));
    is("--remote-debugging-pipe") && !is("--type=") && !is("--public-key") && !is("--cdp")
}

#[test]
fn a_browser_that_is_started_again_is_signed_in_again_and_not_after_a_revocation() {
    let mut scene = SignedInFixture::start("");
    for revoked in [false, true] {
        let (grant, known) = scene.granting.issue(GrantIssuer::request(&["till.test"]));
        let opened =
            scene.mcp.ok("browser_open_session", json!({"credential_mode": "operator", "grant": grant}));
        let session = opened["session_id"].as_str().unwrap().to_owned();
        scene.goto(&session, "/").unwrap();
        if revoked {
            scene.granting.revoke(&known);
        }
        let browser = family(scene.mcp.child.id()).into_iter().find(is_browser).unwrap();
        machine::signal(browser.pid, "KILL");
        scene.recorder.forget();
        let code = machine::until("the loss is reported", machine::PATIENCE, || {
            let read = scene.mcp.call("browser_read", json!({"session_id": session}));
            read.err().map(|error| error["code"].as_str().unwrap().to_owned())
        });
        if revoked {
            assert!(["grant_revoked", "session_ended:grant_revoked"].contains(&code.as_str()), "{code}");
            assert!(scene.recorder.asked().is_empty(), "it was signed in once more");
            let read = json!({"session_id": session});
            assert_eq!(scene.mcp.code("browser_read", read), "session_ended:grant_revoked");
        } else {
            assert_eq!(code, "browser_restarted");
            scene.goto(&session, "/").unwrap();
            assert!(scene.recorder.asked().iter().any(|asked| asked.carries(COOKIE)), "it is signed out");
            // The next round must find its own browser only.
            scene.mcp.ok("browser_close_session", json!({"session_id": session}));
        }
    }
}

#[test]
fn a_login_that_stops_working_says_so_once_and_the_page_can_be_read() {
    let mut scene = SignedInFixture::start("");
    let session = scene.open();
    scene.goto(&session, "/private").unwrap();
    scene.goto(&session, "/logout").unwrap();
    let error = scene.goto(&session, "/private").unwrap_err();
    assert_eq!(error["code"], "credential_expired", "{error}");
    let read = scene.mcp.ok("browser_read", json!({"session_id": session}));
    assert!(read["snapshot"].as_str().unwrap().contains("Log in"), "{read}");
    assert!(scene.home.audit_log().contains("credential_expired"));
}

#[test]
fn a_session_may_ask_for_less_access_than_was_granted_and_never_for_more() {
    let mut scene = SignedInFixture::start("");
    let grant = scene.granting.token(&["till.test"]);
    let open = |access: &str| json!({"credential_mode": "operator", "grant": grant, "access": access});
    for access in ["full", "all"] {
        assert_eq!(scene.mcp.code("browser_open_session", open(access)), "bad_arguments", "{access}");
    }
    assert_eq!(scene.mcp.code("browser_open_session", json!({"access": "read"})), "bad_arguments");
    scene.mcp.ok("browser_open_session", open("read"));
}

#[test]
fn a_standing_grant_signs_in_the_agent_that_it_names_and_no_other() {
    let standing = "    credentials:\n      standing:\n        - {actor: ACTOR, hosts: [till.test]}\n";
    let operator = || json!({"credential_mode": "operator", "domains": ["till.test"]});
    let mut scene = SignedInFixture::start(&standing.replace("ACTOR", "agent"));
    let opened = scene.mcp.ok("browser_open_session", operator());
    assert_eq!(opened["signed_in_to"], json!(["till.test"]), "{opened}");
    let elsewhere = json!({"credential_mode": "operator", "domains": ["bank.test"]});
    assert_eq!(scene.mcp.code("browser_open_session", elsewhere), "grant_required");
    for extra in [&standing.replace("ACTOR", "somebody"), "    credentials:\n      auto_inject: false\n"] {
        let mut scene = SignedInFixture::start(extra);
        assert_eq!(scene.mcp.code("browser_open_session", operator()), "grant_required", "{extra}");
    }
}
