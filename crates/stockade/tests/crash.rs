//! Pages that exhaust memory, threads or disk, and browsers that die: each case ends as documented.

use crate::common;

use common::machine::{self, family};
use common::site::Site;
use common::{Home, Mcp};
use serde_json::json;

const HUNGRY_TAB: &str = "<title>hungry</title><h1>hungry</h1><script>
const kept = [];
function eat() { for (let i = 0; i < 8; i++) { const a = new Uint8Array(8 << 20); for (let j = 0; j < a.length; j += 4096) a[j] = 1; kept.push(a); } setTimeout(eat, 0); }
setTimeout(eat, 50);
</script>";

/// Blobs are kept in the browser process, so filling them takes the whole browser down.
const HUNGRY_BROWSER: &str = "<title>blobs</title><h1>blobs</h1><script>
const kept = [];
async function eat() { for (;;) { const a = new Uint8Array(4 << 20); crypto.getRandomValues(a.subarray(0, 65536)); for (let i = 0; i < a.length; i += 4096) a[i] = i; const b = new Blob([a]); kept.push(b); await new Promise(r => setTimeout(r, 1)); } }
setTimeout(eat, 50);
</script>";

const THREADS: &str = "<title>threads</title><h1>threads</h1><script>
const kept = [];
const code = URL.createObjectURL(new Blob(['setInterval(() => 0, 1000)'], { type: 'text/javascript' }));
function more() { for (let i = 0; i < 50; i++) { try { kept.push(new Worker(code)); } catch (e) {} } if (kept.length < 3000) setTimeout(more, 10); }
setTimeout(more, 50);
</script>";

const FULL_DISK: &str = "<title>disk</title><h1 id=out>filling</h1><script>
(async () => {
  const db = await new Promise((ok, no) => { const r = indexedDB.open('fill', 1); r.onupgradeneeded = () => r.result.createObjectStore('s', { autoIncrement: true }); r.onsuccess = () => ok(r.result); r.onerror = () => no(r.error); });
  try { for (let n = 0; n < 400; n++) await new Promise((ok, no) => { const a = new Uint8Array(1 << 20); for (let i = 0; i < a.length; i += 65536) crypto.getRandomValues(a.subarray(i, i + 65536)); const t = db.transaction('s', 'readwrite'); t.objectStore('s').add(a); t.oncomplete = ok; t.onabort = () => no(t.error); }); out.textContent = 'never full'; }
  catch (e) { out.textContent = 'refused: ' + e.name; }
})();
</script>";

fn home(extra: &str) -> (Home, Site) {
    let site = Site::serve(&[
        ("/", "<title>calm</title><h1>calm</h1>"),
        ("/tab", HUNGRY_TAB),
        ("/browser", HUNGRY_BROWSER),
        ("/threads", THREADS),
        ("/disk", FULL_DISK),
    ]);
    let home = Home::new(&format!("{extra}{}", site.setting(&["site.test"])));
    (home, site)
}

/// Reads the page until it fails. A page that survives a minute does not test anything here.
fn until_failure(mcp: &mut Mcp, session: &str) -> String {
    for _ in 0..600 {
        match mcp.call("browser_read", json!({"session_id": session})) {
            Ok(_) => std::thread::sleep(std::time::Duration::from_millis(100)),
            Err(error) => return error["code"].as_str().unwrap().to_owned(),
        }
    }
    panic!("the page went on living");
}

/// A navigation that may fail because of the failure that it causes.
fn visit(mcp: &mut Mcp, session: &str, path: &str) -> Option<String> {
    let url = format!("http://site.test{path}");
    let went = mcp
        .call("browser_navigate", json!({"session_id": session, "url": url, "wait_for": "domcontentloaded"}));
    went.err().map(|error| error["code"].as_str().unwrap().to_owned())
}

#[test]
fn a_hungry_page_loses_its_tab_and_the_session_goes_on() {
    let (home, _site) = home("    session_timeout: 600\n    max_actions_per_session: 5000\n");
    let mut mcp = home.mcp();
    let (hungry, other) = (mcp.open(), mcp.open());
    let code = visit(&mut mcp, &hungry, "/tab").unwrap_or_else(|| until_failure(&mut mcp, &hungry));
    assert_eq!(code, "tab_out_of_memory");
    assert_eq!(visit(&mut mcp, &hungry, "/"), None, "the session opens a new tab");
    assert_eq!(visit(&mut mcp, &other, "/"), None, "the session beside it is not touched");
}

#[test]
fn a_page_that_takes_the_browser_down_ends_its_session_and_no_other() {
    let (home, _site) = home("    session_timeout: 600\n    max_actions_per_session: 5000\n");
    let mut mcp = home.mcp();
    let (hungry, second, third) = (mcp.open(), mcp.open(), mcp.open());
    let code = visit(&mut mcp, &hungry, "/browser").unwrap_or_else(|| until_failure(&mut mcp, &hungry));
    assert_eq!(code, "session_ended:out_of_memory");
    assert_eq!(mcp.code("browser_read", json!({"session_id": hungry})), "session_ended:out_of_memory");
    for session in [second, third] {
        assert_eq!(visit(&mut mcp, &session, "/"), None);
    }
}

#[test]
fn a_thread_storm_is_held_to_the_limit_and_reported_as_such() {
    let (home, _site) = home(
        "    session_timeout: 1800\n    max_actions_per_session: 50000\n    runtime_restart_attempts: 10\n\
         \x20   container:\n      pids: 200\n      memory_limit: 2g\n",
    );
    let mut mcp = home.mcp();
    let (stormy, other) = (mcp.open(), mcp.open());
    // Whichever process is refused a thread first dies, and it is not always the page's. A slow machine may not get
    // that far within one call.
    let reported = (0..8).any(|_| {
        let code = visit(&mut mcp, &stormy, "/threads").unwrap_or_else(|| until_failure(&mut mcp, &stormy));
        let may_be = ["tab_process_limit", "browser_restarted", "browser_action_timeout:"];
        assert!(may_be.iter().any(|start| code.starts_with(start)), "{code}");
        code == "tab_process_limit"
    });
    assert!(reported, "the page never died of it");
    // The browser may fail after the tab.
    match visit(&mut mcp, &stormy, "/").as_deref() {
        None => {}
        Some("browser_restarted") => assert_eq!(visit(&mut mcp, &stormy, "/"), None),
        Some(other) => panic!("{other}"),
    }
    assert_eq!(visit(&mut mcp, &other, "/"), None);
}

#[test]
fn a_full_disk_is_the_pages_problem() {
    let (home, _site) = home(
        "    session_timeout: 600\n    max_actions_per_session: 5000\n    container:\n      tmp_size: 32m\n",
    );
    let mut mcp = home.mcp();
    let session = mcp.open();
    assert_eq!(visit(&mut mcp, &session, "/disk"), None);
    let end = (0..600).find_map(|_| {
        let text = mcp.ok("browser_read", json!({"session_id": session}))["snapshot"].to_string();
        std::thread::sleep(std::time::Duration::from_millis(100));
        text.contains("refused: ").then_some(text)
    });
    assert!(end.is_some(), "the page never learned that its disk is full");
    assert_eq!(visit(&mut mcp, &session, "/"), None);
}

#[test]
fn a_crashed_tab_is_a_crash_and_not_a_lack_of_memory() {
    let (home, _site) = home("");
    let mut mcp = home.mcp();
    let session = mcp.open();
    assert_eq!(visit(&mut mcp, &session, "/"), None);
    for renderer in family(mcp.child.id()).into_iter().filter(machine::Process::is_renderer) {
        machine::signal_if_there(renderer.pid, "KILL");
    }
    assert_eq!(until_failure(&mut mcp, &session), "tab_crashed");
    assert_eq!(visit(&mut mcp, &session, "/"), None);
}

/// The first failure other than the call's own timeout: a slow machine may notice the loss only in the next call.
fn until_noticed(mcp: &mut Mcp, session: &str) -> String {
    let failures = (0..4).map(|_| until_failure(mcp, session));
    let mut noticed = failures.filter(|code| !code.starts_with("browser_action_timeout:"));
    noticed.next().expect("four calls in a row ran into their time limit")
}

/// Without its zygote Chromium keeps running and answering, but cannot start renderers.
#[test]
fn a_browser_that_can_start_no_renderer_is_restarted() {
    let (home, _site) = home("    runtime_restart_attempts: 2\n");
    let mut mcp = home.mcp();
    let session = mcp.open();
    assert_eq!(visit(&mut mcp, &session, "/"), None);
    kill_zygotes(&mcp);
    assert_eq!(until_noticed(&mut mcp, &session), "browser_restarted");
    assert_eq!(visit(&mut mcp, &session, "/"), None, "a new browser in the same session");
    // As often as the limit allows.
    kill_zygotes(&mcp);
    assert_eq!(until_noticed(&mut mcp, &session), "browser_restarted");
    assert_eq!(visit(&mut mcp, &session, "/"), None);
    kill_zygotes(&mcp);
    assert_eq!(until_noticed(&mut mcp, &session), "session_ended:browser_lost");
}

#[test]
fn the_health_check_notices_a_browser_that_can_start_no_renderer() {
    let (home, _site) = home("    health_interval: 1\n");
    let mut mcp = home.mcp();
    let session = mcp.open();
    assert_eq!(visit(&mut mcp, &session, "/"), None);
    let before = browser_process(&mcp);
    kill_zygotes(&mcp);
    machine::until("another browser process", machine::PATIENCE, || {
        let now = find_browser_process(&mcp)?;
        (now != before).then_some(())
    });
    // It was noticed and repaired between calls; the next call reports it.
    machine::until("the session to go on", machine::PATIENCE, || {
        match mcp.call("browser_read", json!({"session_id": session})) {
            Ok(_) => Some(()),
            Err(error) => {
                assert_eq!(error["code"], "browser_restarted", "{error}");
                None
            }
        }
    });
    assert_eq!(visit(&mut mcp, &session, "/"), None);
}

#[test]
fn a_browser_killed_from_outside_comes_back_as_often_as_allowed() {
    let (home, _site) = home("    runtime_restart_attempts: 1\n");
    let mut mcp = home.mcp();
    let session = mcp.open();
    assert_eq!(visit(&mut mcp, &session, "/"), None);
    kill_browser(&mcp);
    let first = mcp.code("browser_read", json!({"session_id": session}));
    assert_eq!(first, "browser_restarted");
    assert_eq!(visit(&mut mcp, &session, "/"), None, "a new browser in the same session");
    kill_browser(&mcp);
    assert_eq!(until_failure(&mut mcp, &session), "session_ended:browser_lost");
}

#[test]
fn a_connection_that_breaks_while_the_browser_lives_is_made_again_with_its_page_and_refs() {
    let site = Site::serve(&[(
        "/",
        "<title>shop</title><button onclick=\"this.textContent = 'Paid'\">Pay</button>",
    )]);
    let home = Home::new(&format!("    runtime_restart_attempts: 5\n{}", site.setting(&["site.test"])));
    let mut mcp = home.mcp();
    let session = mcp.open();
    let page = mcp.goto(&session, "http://site.test/");
    assert!(page["snapshot"].as_str().unwrap().contains("button \"Pay\" [ref=e1]"), "{page}");
    let wait = json!({"session_id": session, "text": "never", "timeout_seconds": 100});
    mcp.begin("tools/call", json!({"name": "browser_wait_for", "arguments": wait}));
    machine::until("the wait to begin", machine::PATIENCE, || {
        home.audit_log().contains("wait_for").then_some(())
    });
    // This also cuts the connection that the bridge keeps ready, so the first reconnect fails.
    machine::cut_connections(mcp.child.id(), "cdp.sock");
    let answer = mcp.next_message();
    let error = common::known(answer["result"]["structuredContent"]["error"].clone());
    assert_eq!(error["code"], "connection_restored", "{answer}");
    let clicked = mcp.ok("browser_click", json!({"session_id": session, "ref": "e1", "full": true}));
    assert!(clicked["snapshot"].as_str().unwrap().contains("button \"Paid\""), "{clicked}");
    assert!(clicked["snapshot"].as_str().unwrap().contains("[ref=e1]"), "{clicked}");
}

#[test]
fn refs_and_cursors_of_a_browser_that_died_are_not_given_again() {
    let items: String = (0..3000).map(|n| format!("<li>item {n}</li>")).collect();
    let page = format!("<title>long</title><button>Pay</button><ul>{items}</ul>");
    let site = Site::serve(&[("/", &page)]);
    let home = Home::new(&site.setting(&["site.test"]));
    let mut mcp = home.mcp();
    let session = mcp.open();
    let before = mcp.goto(&session, "http://site.test/")["snapshot"].as_str().unwrap().to_owned();
    let cursor_of =
        |snapshot: &str| snapshot.split_once("cursor=").unwrap().1.split(']').next().unwrap().to_owned();
    kill_browser(&mcp);
    assert_eq!(mcp.code("browser_read", json!({"session_id": session})), "browser_restarted");
    let error = mcp.call("browser_click", json!({"session_id": session, "ref": "e1"})).unwrap_err();
    assert_eq!(error["code"], "stale_ref", "{error}");
    assert!(error["message"].as_str().unwrap().contains("in a tab that is gone"), "{error}");
    // Parts that a first reply folds are read on demand, and are lost with the browser.
    let folded = json!({"session_id": session, "cursor": cursor_of(&before)});
    assert_eq!(mcp.code("browser_read", folded), "stale_cursor");
    let after = mcp.goto(&session, "http://site.test/")["snapshot"].as_str().unwrap().to_owned();
    assert!(!after.contains("[ref=e1]"), "{after}");
    assert_ne!(cursor_of(&after).split('.').next(), cursor_of(&before).split('.').next());
}

fn kill_browser(mcp: &Mcp) {
    machine::signal(browser_process(mcp), "KILL");
}

fn browser_process(mcp: &Mcp) -> u32 {
    find_browser_process(mcp).expect("a browser process")
}

fn find_browser_process(mcp: &Mcp) -> Option<u32> {
    let browser = family(mcp.child.id()).into_iter().find(|process| {
        process.arguments.iter().any(|a| a == "--remote-debugging-pipe")
            && process.arguments.first().is_some_and(|a| a.contains("chromium"))
            && !process.arguments.iter().any(|a| a.starts_with("--type="))
    });
    Some(browser?.pid)
}

/// The processes that fork Chromium's renderers.
fn kill_zygotes(mcp: &Mcp) {
    let zygotes: Vec<_> = family(mcp.child.id())
        .into_iter()
        .filter(|process| process.arguments.iter().any(|argument| argument == "--type=zygote"))
        .collect();
    assert!(!zygotes.is_empty());
    for zygote in zygotes {
        machine::signal_if_there(zygote.pid, "KILL");
    }
}
