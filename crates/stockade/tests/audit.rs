//! The record as an operator meets it: the commands that read, check and export it, and what may not be in it.

use crate::common;

use common::Home;
use common::machine::{PATIENCE, until};
use common::site::Site;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

fn events(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let mut all = vec!["audit", "tail", "-n", "10000"];
    all.extend(arguments);
    let (code, answer) = home.json(&all);
    assert_eq!(code, 0, "{answer}");
    answer["events"].as_array().unwrap().clone()
}

fn human(home: &Home, arguments: &[&str]) -> String {
    let done = home.command(arguments).output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_log_is_followed_filtered_shown_checked_and_exported() {
    let home = Home::new("");
    let mut mcp = home.mcp();
    let mut following = home
        .command(&["audit", "tail", "--follow", "--json", "--decision", "deny"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let session = mcp.open();
    mcp.goto(&session, "http://shop.test/login");
    let typing = json!({"session_id": session, "role": "textbox", "name": "Password", "text": "hunter2"});
    assert_eq!(mcp.code("browser_type", typing), "secret_field");
    mcp.ok("browser_close_session", json!({"session_id": session}));

    let mut line = String::new();
    BufReader::new(following.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let followed: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(followed["success"], true, "{followed}");
    let followed = &followed["data"]["events"][0];
    assert_eq!((&followed["decision"], &followed["session_id"]), (&json!("deny"), &json!(session)));
    following.kill().unwrap();
    following.wait().unwrap();

    let count = |arguments: &[&str]| events(&home, arguments).len();
    let all = count(&[]);
    assert!(all >= 6, "{all}");
    assert_eq!(count(&["--decision", "deny"]), 1);
    assert_eq!(count(&["--action", "navigate"]), 2);
    assert_eq!(count(&["--session", "s-other"]), 0);
    assert_eq!(count(&["--actor", "agent", "--since", "1h"]), count(&["--session", &session]));
    assert_eq!(count(&["--since", "2999-01-01T00:00:00Z"]), 0);
    let (code, wrong) = home.json(&["audit", "tail", "--decision", "maybe"]);
    assert_eq!((code, &wrong["error"]["code"]), (2, &json!("usage")), "{wrong}");

    let intent = &events(&home, &["--action", "navigate"])[0];
    for field in ["actor", "tenant", "jail_id", "url", "user_agent", "risk", "rule", "decision", "decided_by"]
    {
        assert!(intent[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {intent}");
    }
    assert!(intent["user_agent"].as_str().unwrap().contains("Chrome/"), "{intent}");
    assert_eq!(intent["domain"], "shop.test");
    let id = intent["correlation_id"].as_str().unwrap();
    let (_, shown) = home.json(&["audit", "show", id]);
    assert_eq!(shown["events"].as_array().unwrap().len(), 2, "{shown}");
    let (code, unknown) = home.json(&["audit", "show", "999999"]);
    assert_eq!((code, &unknown["error"]["code"]), (1, &json!("unknown_event")));

    let (code, report) = home.json(&["audit", "verify"]);
    assert_eq!((code, &report["error"]), (0, &json!(null)), "{report}");
    let csv = human(&home, &["audit", "export", "--format", "csv"]);
    assert!(csv.starts_with("chain,seq,timestamp,") && csv.lines().count() > all, "{csv}");
    assert_eq!(human(&home, &["audit", "export"]), home.audit_log());
    for arguments in [&["audit", "tail"][..], &["audit", "show", id], &["audit", "verify"]] {
        let text = human(&home, arguments);
        assert!(text.lines().count() > 1, "{text}");
        for line in text.lines().filter(|line| !line.contains("key ")) {
            assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
        }
    }
    drop(mcp);

    // One changed byte in the middle: the place is named, and the exit code says it.
    let chain = &audit::chain_folders(&home.state().join("audit")).unwrap()[0];
    let segment = &audit::segments(chain).unwrap()[0].path;
    let text = std::fs::read_to_string(segment).unwrap();
    std::fs::write(segment, text.replacen("shop.test", "shop.tset", 1)).unwrap();
    let (code, report) = home.json(&["audit", "verify"]);
    assert_eq!(code, 1);
    let bad = &report["chains"][0]["bad"];
    let line = text.lines().position(|line| line.contains("shop.test")).unwrap() + 1;
    assert_eq!((&bad["line"], &bad["wrong"]), (&json!(line), &json!("changed")), "{report}");
    // And nothing is done on top of it.
    let mut mcp = home.mcp();
    assert_eq!(mcp.code("browser_open_session", json!({})), "audit_corrupt");
    assert_eq!(events(&home, &[]).len(), text.lines().count(), "reading goes on");
}

/// The log of control planes that run side by side, one a chain, and their heads.
fn write_log(state: &Path, chains: usize) -> Vec<audit::Head> {
    let open = |_| {
        let key = audit::Key::load_or_create(&state.join("keys/audit.key")).unwrap();
        let options = audit::LogOptions { key, segment_bytes: 1 << 20, most_bytes: 1 << 24 };
        audit::Log::open(&state.join("audit"), "i1", options).unwrap().0
    };
    let logs: Vec<audit::Log> = (0..chains).map(open).collect();
    logs.iter().map(|log| audit::read_head(log.folder()).unwrap().unwrap()).collect()
}

#[test]
fn the_tail_that_a_crash_leaves_is_no_manipulation_and_has_an_exit_code_of_its_own() {
    let home = Home::new("");
    write_log(&home.state(), 1);
    let chain = &audit::chain_folders(&home.state().join("audit")).unwrap()[0];
    // The writer's thread lets go of the chain a moment after the last sender, and cuts off what it did not write.
    let lock = std::fs::File::open(chain.join("lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let segment = audit::segments(chain).unwrap().pop().unwrap().path;
    let whole = std::fs::read(&segment).unwrap();
    std::fs::write(&segment, [&whole[..], b"{\"seq\":9,\"prev\":\"00"].concat()).unwrap();
    let (code, report) = home.json(&["audit", "verify"]);
    let found = &report["chains"][0];
    assert_eq!(
        (code, &report["error"]["code"], &found["status"]),
        (3, &json!("audit_incomplete"), &json!("incomplete_tail")),
        "{report}"
    );
    assert_eq!((&found["incomplete_tail"]["bytes"], &found["bad"]), (&json!(19), &Value::Null), "{report}");
    let text = human(&home, &["audit", "verify"]);
    for words in ["incomplete tail, 19 bytes", "next start"] {
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{words}: {text}");
    }
    assert!(!text.contains("BAD"), "{text}");

    // The same end, when the head says that the line was whole.
    std::fs::write(&segment, &whole[..whole.len() - 10]).unwrap();
    let (code, report) = home.json(&["audit", "verify"]);
    assert_eq!((code, &report["chains"][0]["status"]), (1, &json!("bad")), "{report}");
}

/// The exit code of a check, what it found wrong, and how many heads it was not asked about.
fn verified(home: &Home, arguments: &[&str]) -> (i32, String, u64) {
    let (code, answer) = home.json(&[&["audit", "verify"][..], arguments].concat());
    let left_out = answer["anchors_left_out"].as_u64().unwrap_or(0);
    let Some(chains) = answer["chains"].as_array() else {
        return (code, answer["error"]["code"].as_str().unwrap().to_owned(), left_out);
    };
    let wrong: Vec<&str> = chains.iter().filter_map(|chain| chain["bad"]["message"].as_str()).collect();
    assert_eq!(
        (answer["error"].is_null(), code),
        (wrong.is_empty(), i32::from(!wrong.is_empty())),
        "{answer}"
    );
    (code, wrong.join("; "), left_out)
}

#[test]
fn each_head_in_an_anchor_file_has_to_be_part_of_a_log_that_is_here() {
    let home = Home::new("");
    let (state, folder) = (home.state(), home.folder.path());
    let ours = write_log(&state, 2);
    let theirs = write_log(&folder.join("theirs"), 1);
    let file = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let lines = |heads: &[&audit::Head]| -> String {
        heads.iter().map(|head| format!("{}\n", serde_json::to_string(head).unwrap())).collect()
    };
    let own = &*file("own", lines(&[&ours[0], &ours[1]]));
    let second = &*file("second", lines(&[&ours[1]]));
    let shared = &*file("shared", lines(&[&ours[0], &ours[1], &theirs[0]]));
    let foreign = &*file("foreign", lines(&[&theirs[0]]));
    let empty = &*file("empty", String::new());
    // Words, no head, and one that somebody changed.
    let changed = lines(&[&ours[0]]).replacen("\"seq\":", "\"seq\":7", 1);
    let junk = &*file("junk", format!("junk\n{{}}\n{changed}"));
    let nowhere = folder.join("nowhere");
    let nowhere = nowhere.to_str().unwrap();
    let first_chain = state.join("audit/chain-1");
    let first_chain = first_chain.to_str().unwrap();
    let key = ours[0].key.as_str();

    let check = |rows: &[(&[&str], i32, &str, u64)]| {
        for (arguments, code, wrong, left_out) in rows {
            let found = verified(&home, arguments);
            assert_eq!((found.0, found.2), (*code, *left_out), "{arguments:?}: {found:?}");
            assert!(
                found.1.contains(wrong) && found.1.is_empty() == wrong.is_empty(),
                "{arguments:?}: {found:?}"
            );
        }
    };
    let other_key = "no log with key";
    check(&[
        (&["--anchor", own], 0, "", 0),
        (&["--anchor", second], 0, "", 0),
        (&["--anchor", shared], 1, other_key, 0),
        (&["--anchor", shared, "--key", key], 0, "", 1),
        (&["--anchor", foreign], 1, other_key, 0),
        (&["--anchor", foreign, "--key", key], 2, "bad_arguments", 0),
        (&["--anchor", empty], 2, "bad_arguments", 0),
        (&["--anchor", junk], 2, "bad_arguments", 0),
        (&["--anchor", nowhere], 1, "audit_unreadable", 0),
        (&[first_chain, "--anchor", own], 0, "", 1),
        (&[first_chain, "--anchor", second], 1, "the chain is not here", 0),
        (&[first_chain, "--anchor", shared], 1, other_key, 1),
        (&["--key", "zz"], 2, "usage", 0),
    ]);

    // Another log in its place, with a key of its own.
    std::fs::rename(state.join("audit"), folder.join("old-audit")).unwrap();
    std::fs::rename(state.join("keys"), folder.join("old-keys")).unwrap();
    write_log(&state, 1);
    check(&[
        (&[], 0, "", 0),
        (&["--anchor", own], 1, other_key, 0),
        (&["--anchor", own, "--key", key], 1, "another key", 0),
        (&[first_chain, "--anchor", own], 1, other_key, 0),
    ]);
    // Or none, with that key or without.
    std::fs::remove_dir_all(state.join("audit")).unwrap();
    std::fs::create_dir(state.join("audit")).unwrap();
    check(&[(&[], 0, "", 0), (&["--anchor", own], 1, other_key, 0)]);
    std::fs::remove_dir_all(state.join("keys")).unwrap();
    check(&[(&["--anchor", own], 1, other_key, 0), (&[nowhere, "--anchor", own], 1, "audit_unreadable", 0)]);
}

/// A small file system in place of the state folder; the user that runs the tests has to be allowed to mount.
struct SmallFilesystem(std::path::PathBuf);

impl SmallFilesystem {
    fn mount(folder: std::path::PathBuf) -> Option<SmallFilesystem> {
        std::fs::create_dir_all(&folder).unwrap();
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs"]).arg(&folder);
        mount.output().is_ok_and(|done| done.status.success()).then_some(SmallFilesystem(folder))
    }

    fn fill(&self) -> std::path::PathBuf {
        use std::io::Write;
        let path = self.0.join("filler");
        let mut file = std::fs::File::create(&path).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        path
    }
}

impl Drop for SmallFilesystem {
    fn drop(&mut self) {
        drop(std::process::Command::new("umount").arg("--lazy").arg(&self.0).status());
    }
}

#[test]
fn a_disk_that_fills_up_loses_no_outcome_stops_the_next_action_and_comes_back_by_itself() {
    let site = Site::serve(&[("/", "<title>One</title><button>b</button>")]);
    let home = Home::new(&site.setting(&["a.test"]));
    let Some(disk) = SmallFilesystem::mount(home.state()) else {
        assert_ne!(common::machine::uid(), 0, "root can mount a tmpfs");
        return;
    };
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://a.test/");
    let wait = json!({"session_id": session, "text": "never", "timeout_seconds": 2});
    let running = mcp.begin("tools/call", json!({"name": "browser_wait_for", "arguments": wait}));
    until("its intent", PATIENCE, || home.audit_log().contains("wait_for").then_some(()));
    let filler = disk.fill();
    let answer = loop {
        let message = mcp.next_message();
        if message["id"] == running {
            break message["result"]["structuredContent"]["error"]["code"].as_str().unwrap().to_owned();
        }
    };
    assert_eq!(answer, "browser_action_timeout:wait_for:2s", "the reply is as if nothing had happened");
    let log = home.audit_log();
    assert!(log.lines().any(|line| line.contains("\"outcome\"") && line.contains("wait_for")), "{log}");

    let click = json!({"session_id": session, "selector": "button"});
    // The last block may have room for a few more.
    let refused = (0..20).find_map(|_| mcp.call("browser_click", click.clone()).err()).unwrap();
    assert_eq!((&refused["code"], &refused["retryable"]), (&json!("disk_full"), &json!(true)), "{refused}");
    assert_eq!(home.json(&["audit", "verify"]).0, 0, "reading goes on");

    std::fs::remove_file(filler).unwrap();
    mcp.ok("browser_click", click);
    mcp.ok("browser_close_session", json!({"session_id": session}));
    drop(mcp);
    assert_eq!(home.json(&["audit", "verify"]).0, 0);
    let lines: Vec<Value> =
        home.audit_log().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |kind: &str| lines.iter().filter(|line| line["event_type"] == kind).count();
    assert_eq!(count("intent"), count("outcome"));
}

const HOSTILE: &str = "<title>x</title><body><button>b</button><script>\
    const evil = '\\u001b[2J\\u001b]0;t\\u0007\\r\\n{\"seq\":1,\"event_type\":\"forged\"}\\u202e\\u200b=HYPERLINK(\"http://x\")<script>alert(1)</'+'script><img src=x onerror=alert(1)>';\
    document.title = '=1+1' + evil + 'T'.repeat(1 << 20);\
    document.querySelector('button').setAttribute('aria-label', '=cmd|' + evil + 'N'.repeat(1 << 20));\
    document.querySelector('button').onclick = () => { history.pushState(0, '', '/?' + encodeURIComponent(evil) + 'U'.repeat(1 << 20)); alert(evil); };\
    </script>";

#[test]
fn hostile_titles_names_and_addresses_forge_nothing_and_stay_small() {
    let site = Site::serve(&[("/", HOSTILE)]);
    let home = Home::new(&site.setting(&["a.test"]));
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://a.test/");
    mcp.ok("browser_click", json!({"session_id": session, "selector": "button"}));
    mcp.ok("browser_close_session", json!({"session_id": session}));
    until("the dialog's event", PATIENCE, || home.audit_log().contains("page_dialog").then_some(()));
    drop(mcp);

    let log = home.audit_log();
    assert!(log.lines().all(|line| line.len() < 8 * 1024), "a line is long");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| line["event_type"] != "forged"));
    assert!(lines.iter().any(|line| line["title"].as_str().is_some_and(|title| title.starts_with("=1+1"))));
    assert!(lines.iter().any(|line| line["event_type"] == "page_dialog"), "{log}");
    for text in [human(&home, &["audit", "tail"]), human(&home, &["audit", "show", "4"]), log] {
        let bad = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        };
        assert!(!text.contains(bad), "{text:?}");
    }
    let page = home.folder.path().join("replay.html");
    let (code, made) = home.json(&["session", "replay", &session, "--output", page.to_str().unwrap()]);
    assert_eq!(code, 0, "{made}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.len() < 64 * 1024 && page.contains("=1+1"), "{} bytes", page.len());
    assert!(!page.contains("<script") && !page.contains("<img src=x") && !page.contains('\u{1b}'), "{page}");
    let csv = human(&home, &["audit", "export", "--format", "csv"]);
    for row in csv.lines() {
        for cell in row.split(',') {
            let inner = cell.trim_start_matches('"');
            assert!(!inner.starts_with(['=', '+', '-', '@', '\t', '|']), "{cell}");
        }
    }
    assert_eq!(home.json(&["audit", "verify"]).0, 0);
}

const BUSY: &str = "<title>Busy</title><h1>Busy</h1><script>\
    setTimeout(() => { alert('hello'); window.open('/popup'); \
      const a = document.createElement('a'); a.href = 'data:text/plain,x'; a.download = 'f.txt'; a.click(); \
      history.pushState(0, '', '/step'); setTimeout(() => { location = '/next' }, 1500); }, 100)</script>";

#[test]
fn what_a_page_does_by_itself_is_on_record() {
    let next = "<title>Next</title><script>let n = 0; setInterval(() => { for (let i = 0; i < 20; i++) history.replaceState(0, '', '/n' + n++) }, 10)</script>";
    let site = Site::serve(&[("/", BUSY), ("/popup", "<p>popup"), ("/next", next), ("/step", "s")]);
    let home = Home::new(&site.setting(&["a.test"]));
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://a.test/");
    let wanted = ["page_dialog", "page_opened_tab", "download_refused", "page_navigated", "events_lost"];
    until("all of it", PATIENCE, || {
        let log = home.audit_log();
        wanted.iter().all(|kind| log.contains(&format!("\"event_type\":\"{kind}\""))).then_some(())
    });
    let events = events(&home, &["--action", "page_navigated"]);
    for url in ["http://a.test/step", "http://a.test/next"] {
        assert!(events.iter().any(|event| event["url"] == url), "{url}: {events:?}");
    }
    // 32 a second at most, whatever the page does.
    assert!(events.len() < 500, "{}", events.len());
    mcp.ok("browser_close_session", json!({"session_id": session}));
}
