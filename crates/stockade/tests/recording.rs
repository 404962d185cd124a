//! Recordings: screenshots around every action, bundles that verify on another machine, and replays.

use crate::common;

use common::machine::{self, PATIENCE};
use common::site::Site;
use common::{Home, Mcp};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

fn open(mcp: &mut Mcp, record: &str) -> (String, String) {
    let opened = mcp.ok("browser_open_session", json!({ "record": record }));
    (opened["session_id"].as_str().unwrap().to_owned(), opened["record"].as_str().unwrap().to_owned())
}

/// An order in the demo shop that uses everything a session can do.
fn buy(mcp: &mut Mcp, session: &str) {
    mcp.goto(session, "http://shop.test/");
    mcp.ok(
        "browser_type",
        json!({"session_id": session, "role": "searchbox", "text": "lamp", "submit": true}),
    );
    mcp.ok("browser_screenshot", json!({"session_id": session}));
}

/// The log of an audited session with an order. A busy machine may miss the time limit of a screenshot and says so;
/// then the session is repeated.
fn bought(home: &Home, mcp: &mut Mcp) -> Vec<Value> {
    machine::until("a purchase with all its pictures", 4 * PATIENCE, || {
        let (session, record) = open(mcp, "off");
        assert_eq!(record, "audit", "never below the floor");
        buy(mcp, &session);
        mcp.ok("browser_close_session", json!({"session_id": session}));
        let log = home.audit_log();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let lines: Vec<Value> = lines.filter(|line| line["session_id"] == session.as_str()).collect();
        let late = |line: &Value| {
            let result = line["result"].as_str();
            line["event_type"] == "recording_failed"
                && result.is_some_and(|result| result.starts_with("browser_action_timeout:picture:"))
        };
        (!lines.iter().any(late)).then_some(lines)
    })
}

fn digest(path: &Path) -> String {
    audit::sha256_hex(&std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

#[test]
fn an_audited_session_has_images_around_every_action_and_their_digests_in_the_log() {
    let home = Home::new("    recording_floor: audit\n    audit:\n      image_format: png\n");
    let mut mcp = home.mcp();
    let lines = bought(&home, &mut mcp);
    let typing = lines.iter().find(|l| l["event_type"] == "intent" && l["action"] == "type").unwrap();
    let before = &typing["screenshot_before"];
    let path = home.state().join(before["path"].as_str().unwrap());
    assert_eq!(before["sha256"], digest(&path), "kept after the session");
    assert!(std::fs::read(&path).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(before["size"], json!([1280, 800]));
    let mark: Vec<i64> =
        serde_json::from_value(before["mark"].clone()).unwrap_or_else(|_| panic!("{before}"));
    assert!(mark[2] > 50 && mark[3] > 10, "{mark:?}");
    let outcomes: Vec<_> = lines.iter().filter(|l| l["event_type"] == "outcome").collect();
    assert_eq!(outcomes.len(), 3);
    for outcome in outcomes {
        let path = home.state().join(outcome["screenshot_path"].as_str().unwrap());
        assert_eq!(outcome["screenshot_sha256"], digest(&path), "{outcome}");
    }
    assert!(lines.iter().any(|l| l["event_type"] == "session_opened" && l["recording"] == "audit"));
}

#[test]
fn a_transient_ring_is_gone_at_close_and_off_keeps_nothing() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    for record in ["transient", "off"] {
        let (session, _) = open(&mut mcp, record);
        mcp.goto(&session, "http://shop.test/");
        // A busy machine may be too late for one.
        let kept = (0..3).any(|_| {
            mcp.ok("browser_screenshot", json!({"session_id": session}))["persisted_path"].is_string()
        });
        assert_eq!(kept, record == "transient");
        mcp.ok("browser_close_session", json!({"session_id": session}));
        assert!(!home.state().join("recordings").join(&session).exists());
    }
}

fn unpack(bundle: &Path) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    assert!(
        Command::new("tar").arg("-xf").arg(bundle).current_dir(folder.path()).status().unwrap().success()
    );
    folder
}

#[test]
fn a_bundle_is_checked_on_another_machine_and_read_without_stockade() {
    let home = Home::new("");
    let server = home.serve(&[]);
    let mut mcp = home.mcp();
    let (session, _) = open(&mut mcp, "audit");
    buy(&mut mcp, &session);
    let (code, archived) = home.json(&["session", "archive", &session]);
    assert_eq!(code, 0, "{archived}");
    let bundle = PathBuf::from(archived["path"].as_str().unwrap());
    let (_, own) = home.json(&["audit", "verify"]);
    let key = own["chains"][0]["key"].as_str().unwrap();
    drop(mcp);
    drop(server);

    // As on another machine, with only the file and the public key.
    let elsewhere = Home::new("");
    let copy = elsewhere.folder.path().join("b.tar");
    std::fs::copy(&bundle, &copy).unwrap();
    let verify =
        |path: &Path, key: &str| elsewhere.json(&["audit", "verify", path.to_str().unwrap(), "--key", key]);
    let (code, report) = verify(&copy, key);
    assert_eq!((code, &report["sha256"]), (0, &archived["sha256"]), "{report}");
    let other = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c";
    assert_eq!(verify(&copy, other).1["bad"]["wrong"], "other_key");

    let unpacked = unpack(&copy);
    let sums = Command::new("sha256sum")
        .args(["--check", "--quiet", "SHA256SUMS"])
        .current_dir(unpacked.path())
        .status();
    assert!(sums.unwrap().success());
    let events = std::fs::read_to_string(unpacked.path().join("events.jsonl")).unwrap();
    for kind in ["session_opened", "intent", "outcome", "session_ended", "page_navigated"] {
        assert!(events.contains(&format!("\"event_type\":\"{kind}\"")), "{kind}: {events}");
    }
    assert!(std::fs::read_dir(unpacked.path().join("images")).unwrap().count() >= 3);
    assert!(std::fs::read_to_string(unpacked.path().join("egress.json")).unwrap().contains("shop.test"));

    // Changes forty bytes, evenly spread over contents, headers and padding.
    let whole = std::fs::read(&copy).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        std::fs::write(&copy, changed).unwrap();
        let (code, report) = verify(&copy, key);
        assert_eq!((code, &report["error"]["code"]), (1, &json!("bundle_damaged")), "byte {at}: {report}");
    }
    std::fs::write(&copy, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(verify(&copy, key).0, 1);
    let (code, reply) = elsewhere.json(&["session", "replay", copy.to_str().unwrap()]);
    assert_eq!((code, &reply["error"]["code"]), (1, &json!("bundle_damaged")));
}

/// Everything about a session on disk, as text.
fn everything(home: &Home, bundle: &Path, replay: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = vec![("log".to_owned(), home.audit_log().into_bytes())];
    all.push(("replay".to_owned(), std::fs::read(replay).unwrap()));
    let unpacked = unpack(bundle);
    let mut folders = vec![unpacked.path().to_owned(), home.state().join("recordings")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.push((path.display().to_string(), std::fs::read(&path).unwrap()));
            }
        }
    }
    all
}

const SECRETS: &str = "<title>Secrets</title><form action='/found'><input name=q aria-label=Search></form>\
    <input type=password value=pa55w0rd-canary aria-label=Password><script>\
    document.cookie = 'sid=c00kie-canary';\
    fetch('/found', {headers: {authorization: 'Bearer h3ader-canary'}});\
    document.querySelector('form').onsubmit = e => setTimeout(() => { document.title = 'Found ' + new URLSearchParams(location.search).get('q') });\
    </script>";
const FOUND: &str = "<title>Found</title><script>document.title = 'Results for ' + new URLSearchParams(location.search).get('q')</script><p>ok";

#[test]
fn typed_text_passwords_headers_and_cookies_are_in_no_record() {
    let site = Site::serve(&[("/", SECRETS), ("/found", FOUND)]);
    let home = Home::new(&site.setting(&["a.test"]));
    let server = home.serve(&[]);
    let mut mcp = home.mcp();
    let (session, _) = open(&mut mcp, "audit");
    mcp.goto(&session, "http://a.test/");
    let typed = "zebra & crossing/42";
    let typing =
        json!({"session_id": session, "role": "textbox", "name": "Search", "text": typed, "submit": true});
    let after = mcp.ok("browser_type", typing);
    assert!(after["url"].as_str().unwrap().contains("zebra"), "the address does have it: {after}");
    mcp.goto(&session, "http://a.test/");
    let password =
        json!({"session_id": session, "role": "textbox", "name": "Password", "text": "pa55w0rd-canary"});
    assert_eq!(mcp.code("browser_type", password), "secret_field");
    mcp.ok("browser_read", json!({"session_id": session}));
    mcp.ok("browser_screenshot", json!({"session_id": session}));
    let (_, archived) = home.json(&["session", "archive", &session]);
    let replay = home.folder.path().join("replay.html");
    let (code, reply) = home.json(&["session", "replay", &session, "--output", replay.to_str().unwrap()]);
    assert_eq!(code, 0, "{reply}");
    drop(mcp);
    drop(server);
    for (name, bytes) in everything(&home, Path::new(archived["path"].as_str().unwrap()), &replay) {
        let text = String::from_utf8_lossy(&bytes);
        for secret in ["zebra", "crossing", "pa55w0rd", "c00kie", "h3ader"] {
            assert!(!text.contains(secret), "{secret} is in {name}");
        }
    }
}
