//! Pages that try to block a session: over MCP, each call ends as documented, and the next page works.

use crate::common;

use common::machine::{self, PATIENCE, family};
use common::site::Site;
use common::{Home, Mcp, known};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The timeout of a call, in seconds.
const BOUND: u64 = 20;
/// The timeout of a call that is expected to use all of it.
const SHORT_BOUND: u64 = 2;

/// The expected end of a call.
enum ExpectedResult {
    /// It fails with this code.
    Code(&'static str),
    /// It succeeds, and its reply contains all of these.
    Tells(&'static [&'static str]),
    /// It succeeds and its reply contains this, or it fails with one of these codes: a page that reloads itself all the
    /// time is there at one moment and not at the next.
    Either(&'static str, &'static [&'static str]),
}

use ExpectedResult::{Code, Either, Tells};

type Step = (&'static str, Value, ExpectedResult);

fn visit(path: &str, end: ExpectedResult) -> Step {
    ("browser_navigate", json!({"url": format!("http://hostile.test/{path}")}), end)
}

/// With the name of a secure context.
fn visit_safe(path: &str, end: ExpectedResult) -> Step {
    ("browser_navigate", json!({"url": format!("http://safe.localhost/{path}")}), end)
}

fn click(name: &str, end: ExpectedResult) -> Step {
    ("browser_click", json!({"visible_text": name}), end)
}

fn on(path: &str, step: Step) -> Vec<Step> {
    vec![visit(path, Tells(&[])), step]
}

fn wait_for(text: &str) -> Step {
    ("browser_wait_for", json!({"text": text}), Tells(&[]))
}

/// A step that does not end by itself.
fn hurried((tool, mut arguments, end): Step) -> Step {
    arguments["timeout_seconds"] = json!(SHORT_BOUND);
    (tool, arguments, end)
}

const LATE: &str = "browser_action_timeout:navigate:2s";
const LOOPS: &[&str] = &[LATE, "page_script_failed"];

const DIALOGS: &str = "<title>dialogs</title><p id=out></p><button onclick='alert(1)'>Alert</button>
<button onclick='out.textContent = `said ${confirm(1)}`'>Confirm</button>
<button onclick='out.textContent = `said ${prompt(1)}`'>Prompt</button>
<button onclick='for (;;) alert(1)'>Alerts</button><button onclick='for (;;) confirm(1)'>Confirms</button>
<button onclick='onbeforeunload = e => e.preventDefault()'>Stay</button><a href=/paper>Leave</a>";

const FILES: &str =
    "<input type=file id=file aria-label=Upload><button onclick='file.click()'>Choose</button>
<a href=/file>Fetch</a><a href='data:text/plain,x' download=x>Keep</a>";
const FILE: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\
                    Content-Disposition: attachment; filename=a.bin\r\nContent-Length: 3\r\n\r\nabc";

const PERMISSIONS: &str = "<p id=out></p><script>
const say = (what) => { out.textContent += what + '; '; };
const asked = (promise) => promise.then(() => say('got it'), (error) => say('denied ' + error.name));
</script>
<button onclick=\"navigator.geolocation.getCurrentPosition(() => say('got it'), () => say('denied place'))\">Where</button>
<button onclick='Notification.requestPermission().then(say)'>Notify</button>
<button onclick='asked(navigator.mediaDevices.getUserMedia({ video: true }))'>Camera</button>
<button onclick='asked(navigator.clipboard.readText())'>Clipboard</button>";

const HOLDS: &str = "<div id=d>held</div><p id=out>-</p><button onclick='document.body.requestPointerLock()'>Lock</button>
<button onclick='d.requestFullscreen()'>Fill</button><button onclick='out.textContent += \"clicked \"'>Other</button>
<script>document.onpointerlockchange = document.onfullscreenchange = () => {
  out.textContent += (document.pointerLockElement || document.fullscreenElement ? 'held ' : 'free '); };</script>";

const AUTH: &str = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Type: text/html\r\n\
                    Content-Length: 14\r\n\r\n<h1>sorry</h1>";
const PDF: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 9\r\n\r\n%PDF-1.4\n";
const THERE: &str = "HTTP/1.1 302 Found\r\nLocation: /back\r\nContent-Length: 0\r\n\r\n";
const BACK: &str = "HTTP/1.1 302 Found\r\nLocation: /redirect\r\nContent-Length: 0\r\n\r\n";

const STORM: &str = "<p id=out></p><button onclick='for (let i = 0; i < 20; i++) window.open(\"/\"); out.textContent = \"went on\"'>Open</button>";

/// Opens many windows before it has loaded.
const WINDOWS: &str =
    "<title>windows</title><h1>windows</h1><script>for (let i = 0; i < 500; i++) window.open('/')</script>";

const WORKER: &str = "onfetch = (e) => { if (e.request.url.endsWith('/made')) e.respondWith(new Response('<h1>made up</h1>', { headers: { 'Content-Type': 'text/html' } })); };";
const WORKS: &str = "<p id=out></p><script>navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready)
.then(() => { out.textContent = 'ready'; })</script>";

/// When pressed, the button is replaced by one that pays.
const SWAP: &str = "<p id=out>nothing bought</p><div id=d><button id=b>Next</button></div><script>
b.onmousedown = () => { d.innerHTML = '<button>Pay</button>'; d.firstChild.onclick = () => { out.textContent = 'paid'; }; };
d.onclick = () => { out.textContent = 'paid'; };</script>";

const HOP: &str = "<input aria-label=One oninput='two.focus()'><input id=two aria-label=Two>";

const FREEZES: &str = "<button onclick='for (;;) {}'>Now</button><button onclick='setTimeout(() => { for (;;) {} }, 5000)'>Soon</button>";

const DRAG: &str = "<p id=out>-</p><div id=a role=button style='width:90px;height:40px'>Knob</div><div role=group aria-label=ExpectedResult style='width:90px;height:90px'>end</div>
<script>let once = true; a.onmousedown = () => { onmousemove = () => { if (once) { once = false; out.textContent = `said ${confirm(1)}`; } }; };
onmouseup = () => { out.textContent += ' let go'; };</script>";

const POPUP: &str = "<button onclick='setTimeout(() => window.close(), 5000)'>Bye</button>";

/// Its renderer uses the most memory of all.
const HEAVY: &str = "<title>heavy</title><script>const kept = new Uint8Array(100 << 20).fill(1)</script>";

const PAGES: &[(&str, &str)] = &[
    ("/", "<title>good</title><h1>good</h1>"),
    ("/dialogs", DIALOGS),
    ("/asks", "<script>document.title = String(confirm('enter?'))</script><h1>in</h1>"),
    ("/files", FILES),
    ("/file", FILE),
    ("/permissions", PERMISSIONS),
    ("/holds", HOLDS),
    ("/auth", AUTH),
    ("/pdf", PDF),
    ("/redirect", THERE),
    ("/back", BACK),
    ("/paper", "<h1>paper</h1><script>print()</script>"),
    ("/storm", STORM),
    ("/windows", WINDOWS),
    ("/reload", "<h1>again</h1><script>location.reload()</script>"),
    ("/refresh", "<meta http-equiv=refresh content=0><h1>again</h1>"),
    ("/worker.js", WORKER),
    ("/works", WORKS),
    ("/endless", "<h1>waiting</h1><img src=/hang><script src=/hang></script>"),
    ("/hang", "HANG"),
    ("/swap", SWAP),
    ("/hop", HOP),
    ("/freezes", FREEZES),
    ("/spin", "<script>for (;;) {}</script>"),
    ("/drag", DRAG),
    ("/opens", "<button onclick='window.open(`/popup`)'>Open</button>"),
    ("/popup", POPUP),
    ("/heavy", HEAVY),
];

/// Pages that request permissions, files, dialogs or a person's input.
fn asking() -> Vec<(&'static str, Vec<Step>)> {
    let read = |end| ("browser_read", json!({}), end);
    let asked = |name: &str, end| vec![visit_safe("permissions", Tells(&[])), click(name, Tells(&[])), end];
    vec![
        ("an alert", on("dialogs", click("Alert", Tells(&["dialog_answered"])))),
        (
            "a confirm",
            vec![
                visit("dialogs", Tells(&[])),
                click("Confirm", Tells(&["\"type\":\"confirm\""])),
                read(Code("dialog_open")),
                ("browser_dialog", json!({"accept": true}), Tells(&["said true"])),
                click("Confirm", Tells(&["\"type\":\"confirm\""])),
            ],
        ),
        ("a prompt", on("dialogs", click("Prompt", Tells(&["\"type\":\"prompt\""])))),
        (
            "a confirm while it loads",
            vec![visit("asks", Tells(&["\"type\":\"confirm\""])), read(Code("dialog_open"))],
        ),
        (
            "a question before it is left",
            vec![
                visit("dialogs", Tells(&[])),
                click("Stay", Tells(&[])),
                click("Leave", Tells(&["dialog_answered", "\"navigated\":true"])),
            ],
        ),
        ("an alert loop", on("dialogs", click("Alerts", Tells(&["\"type\":\"alert\""])))),
        ("a confirm loop", on("dialogs", click("Confirms", Tells(&["\"type\":\"confirm\""])))),
        ("a file chooser", on("files", click("Choose", Tells(&["upload_refused"])))),
        (
            "a field for files",
            on("files", ("browser_click", json!({"selector": "#file"}), Code("upload_refused"))),
        ),
        (
            "a link to a download",
            on("files", click("Fetch", Tells(&["download_refused", "\"navigated\":false"]))),
        ),
        ("a download of the page's own", on("files", click("Keep", Tells(&["download_refused"])))),
        ("a download", vec![visit("file", Code("download_refused"))]),
        ("asking for the place", asked("Where", wait_for("denied place"))),
        ("asking for notifications", asked("Notify", wait_for("denied"))),
        ("asking for the camera", asked("Camera", wait_for("denied Not"))),
        ("asking for the clipboard", asked("Clipboard", wait_for("denied Not"))),
        ("a basic-auth challenge", vec![visit("auth", Tells(&["sorry", "\"status\":401"]))]),
        ("a PDF", vec![visit("pdf", Code("download_refused"))]),
        ("a page that prints", vec![visit("paper", Tells(&["paper"]))]),
        (
            "a page that fills the screen",
            vec![
                visit("holds", Tells(&[])),
                click("Fill", Tells(&[])),
                click("Other", Tells(&["clicked", "free"])),
            ],
        ),
        (
            "a page that locks the pointer",
            vec![
                visit("holds", Tells(&[])),
                click("Lock", Tells(&[])),
                click("Other", Tells(&["clicked", "free"])),
            ],
        ),
    ]
}

/// Pages that never finish loading, or change during an action.
fn restless() -> Vec<(&'static str, Vec<Step>)> {
    let drag = json!({"role": "button", "name": "Knob", "to": {"role": "group", "name": "ExpectedResult"}});
    let one = json!({"role": "textbox", "name": "One", "text": "123456"});
    let read = |end| ("browser_read", json!({}), end);
    vec![
        ("a popup storm", on("storm", click("Open", Tells(&["went on", "tab_opened", "popup_closed"])))),
        (
            "500 windows while it loads",
            vec![
                // Neither call may time out: the windows are closed, or the tab that opens them.
                visit("windows", Either("windows", &["tab_closed"])),
                read(Either("url", &["tab_closed"])),
            ],
        ),
        ("a reload loop", vec![hurried(visit("reload", Either("again", LOOPS)))]),
        ("a refresh loop", vec![hurried(visit("refresh", Either("again", LOOPS)))]),
        ("a redirect loop", vec![visit("redirect", Code("navigation_failed"))]),
        (
            "a service worker",
            vec![visit_safe("works", Tells(&[])), wait_for("ready"), visit_safe("made", Tells(&["made up"]))],
        ),
        ("endless loading", vec![hurried(visit("endless", Code(LATE)))]),
        ("an answer that never comes", vec![hurried(visit("hang", Code(LATE)))]),
        ("a swap at the press", on("swap", click("Next", Tells(&["nothing bought", "Pay"])))),
        ("a focus that hops away", on("hop", ("browser_type", one, Code("focus_lost")))),
        (
            "a page that freezes",
            on("freezes", hurried(click("Now", Code("browser_action_timeout:click:2s")))),
        ),
        (
            "a frozen page",
            vec![
                visit("freezes", Tells(&[])),
                // It freezes after five seconds: after the click, and long before this wait ends.
                click("Soon", Tells(&[])),
                (
                    "browser_wait_for",
                    json!({"text": "x", "timeout_seconds": 10}),
                    Code("browser_action_timeout:wait_for:10s"),
                ),
                hurried(read(Code("browser_action_timeout:read:2s"))),
            ],
        ),
        ("a page that never lets go", vec![hurried(visit("spin", Code(LATE)))]),
        (
            "a popup that closes itself",
            vec![
                visit("opens", Tells(&[])),
                click("Open", Tells(&["tab_opened"])),
                ("browser_tabs", json!({"action": "switch", "tab": "t2"}), Tells(&[])),
                click("Bye", Tells(&[])),
                ("browser_wait_for", json!({"text": "never"}), Code("tab_closed")),
            ],
        ),
        (
            "a drag that a question breaks off",
            vec![
                visit("drag", Tells(&[])),
                ("browser_drag", drag, Tells(&["\"type\":\"confirm\""])),
                ("browser_dialog", json!({"accept": false}), Tells(&["said false"])),
            ],
        ),
    ]
}

/// A session that makes the calls one by one, then opens an ordinary page.
struct HostileSession {
    mcp: Mcp,
    session: String,
}

impl HostileSession {
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Value> {
        let mut arguments = arguments.clone();
        arguments["session_id"] = json!(self.session);
        let bound = arguments["timeout_seconds"].as_u64().unwrap_or(BOUND);
        arguments["timeout_seconds"] = json!(bound);
        let begun = Instant::now();
        let came = self.mcp.call(tool, arguments);
        let taken = begun.elapsed();
        // Past this bound the cause is not a slow machine but a missing timeout.
        assert!(taken < Duration::from_secs(bound) + PATIENCE, "{tool}: {taken:?}");
        came
    }

    fn step(&mut self, (tool, arguments, end): &Step) -> Result<(), String> {
        let came = self.call(tool, arguments);
        let fits = match (&came, end) {
            (Err(error), Code(code)) => error["code"] == *code,
            (Ok(reply), Tells(words)) => words.iter().all(|word| reply.to_string().contains(word)),
            (Ok(reply), Either(word, _)) => reply.to_string().contains(word),
            (Err(error), Either(_, codes)) => codes.iter().any(|code| error["code"] == *code),
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("{tool} {arguments}: {came:?}")) }
    }

    /// The steps of one case, then the ordinary page.
    fn visit(&mut self, steps: &[Step]) -> Result<(), String> {
        steps.iter().try_for_each(|step| self.step(step))?;
        self.goes_on()
    }

    fn goes_on(&mut self) -> Result<(), String> {
        self.step(&visit("", Tells(&["good"])))?;
        self.step(&("browser_read", json!({}), Tells(&["heading \\\"good\\\""])))
    }
}

fn home() -> (Home, Site) {
    let site = Site::serve(PAGES);
    let hosts = site.setting(&["hostile.test", "other.test", "safe.localhost"]);
    let home = Home::new(&format!("    max_actions_per_session: 1000\n    session_timeout: 1800\n{hosts}"));
    (home, site)
}

#[test]
fn a_call_on_a_page_that_asks_for_something_comes_to_its_end_and_the_next_page_works() {
    let (home, _site) = home();
    let mut mcp = home.mcp();
    let session = mcp.open();
    // All in one session, which none of them may end.
    let mut visitor = HostileSession { mcp, session };
    let mut failures = Vec::new();
    for (name, steps) in asking() {
        failures.extend(visitor.visit(&steps).err().map(|why| format!("{name}: {why}")));
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_call_on_a_page_without_rest_comes_to_its_end_and_the_next_page_works() {
    let (home, _site) = home();
    let mut mcp = home.mcp();
    let mut failures = Vec::new();
    // Each in a session of its own, because some leave tabs behind.
    for (name, steps) in restless() {
        let session = mcp.open();
        let mut visitor = HostileSession { mcp, session };
        failures.extend(visitor.visit(&steps).err().map(|why| format!("{name}: {why}")));
        mcp = visitor.mcp;
        mcp.ok("browser_close_session", json!({"session_id": visitor.session}));
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
}

fn renderers(mcp: &Mcp) -> Vec<u32> {
    family(mcp.child.id()).into_iter().filter(machine::Process::is_renderer).map(|it| it.pid).collect()
}

#[test]
fn a_renderer_that_crashes_fails_the_call_on_its_tab_and_none_on_another() {
    let (home, _site) = home();
    let mut mcp = home.mcp();
    let session = mcp.open();
    mcp.goto(&session, "http://hostile.test/");
    let wait = json!({"session_id": session, "text": "never"});
    let waiting = mcp.begin("tools/call", json!({"name": "browser_wait_for", "arguments": wait}));
    machine::until("the wait begins", PATIENCE, || home.audit_log().contains("wait_for").then_some(()));
    renderers(&mcp).into_iter().for_each(|pid| machine::signal_if_there(pid, "KILL"));
    let answer = mcp.next_message();
    assert_eq!(answer["id"], waiting);
    let error = known(answer["result"]["structuredContent"]["error"].clone());
    assert_eq!(error["code"], "tab_crashed", "{answer}");
    let mut visitor = HostileSession { mcp, session };
    visitor.goes_on().unwrap();

    visitor.step(&visit("heavy", Tells(&["heavy"]))).unwrap();
    visitor.step(&("browser_tabs", json!({"action": "new"}), Tells(&[]))).unwrap();
    visitor.step(&("browser_navigate", json!({"url": "http://other.test/"}), Tells(&["good"]))).unwrap();
    let sizes = renderers(&visitor.mcp).into_iter();
    let sizes = sizes.filter_map(|pid| Some((machine::peak_megabytes(pid)? as u64, pid)));
    let (_, behind) = sizes.max().unwrap();
    machine::signal(behind, "KILL");
    // The first reply after it reports it.
    machine::until("word of the lost tab", PATIENCE, || {
        let reply = visitor.call("browser_reload", &json!({})).unwrap_or_else(|error| panic!("{error}"));
        reply["incidents"].as_array().is_some_and(|all| all.contains(&json!("tab_gone"))).then_some(())
    });
    let tabs = visitor.call("browser_tabs", &json!({"action": "list"})).unwrap();
    assert_eq!(tabs["tabs"].as_array().unwrap().len(), 1, "{tabs}");
    visitor.goes_on().unwrap();
}
