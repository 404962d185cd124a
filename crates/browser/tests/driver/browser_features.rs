//! Browser features that a page may request: each has a defined outcome, and the next page works.

use crate::support::{Driver, click, navigate, options_with_timeout, outline_of, role, run_at_once};
use browser::{Incident, Outcome};
use policy::{Action, Decision, LoadState, Policy, SessionContext};

const NEXT: (&str, &str) =
    ("good.test/", "<h1>good</h1><button onclick=\"this.textContent = 'works'\">Try</button>");

/// Seconds that a busy machine may take with a thousand frames or a page that uses all memory.
const AFTER_MUCH: u64 = 120;

/// The session's next call, on a page of another site and on one of the same.
async fn assert_session_works(driver: &Driver, after: &str) {
    for _ in 0..2 {
        let came = driver.act(navigate("http://good.test/", LoadState::Load)).await;
        let shown = match &came {
            Ok(Outcome::Navigated { snapshot, .. }) => crate::support::text_of(snapshot),
            _ => String::new(),
        };
        assert!(shown.contains("good"), "{after}: {came:?}");
        assert!(driver.click(role("button", "Try")).await.unwrap().contains("works"), "{after}");
    }
}

#[tokio::test]
async fn permissions_that_a_page_may_not_have_are_denied() {
    let page = "<p id=out></p>
        <button onclick=\"navigator.geolocation.getCurrentPosition(() => say('got'), (e) => say('denied ' + e.code))\">Where</button>
        <button onclick=\"Notification.requestPermission().then(say)\">Notify</button>
        <button onclick=\"navigator.mediaDevices.getUserMedia({ video: true }).then(() => say('got'), (e) => say('denied ' + e.name))\">Camera</button>
        <button onclick=\"navigator.mediaDevices.getDisplayMedia().then(() => say('got'), (e) => say('denied ' + e.name))\">Screen</button>
        <button onclick=\"navigator.clipboard.readText().then(() => say('got'), (e) => say('denied ' + e.name))\">Clipboard</button>
        <button onclick=\"navigator.usb ? navigator.usb.requestDevice({ filters: [] }).then(() => say('got'), (e) => say('denied ' + e.name)) : say('denied')\">Usb</button>
        <button onclick=\"window.showOpenFilePicker ? showOpenFilePicker().then(() => say('got'), (e) => say('denied ' + e.name)) : say('denied')\">Picker</button>
        <script>window.say = (what) => { out.textContent = what; };</script>";
    let driver = Driver::with(&[("localhost/", page), NEXT]).await;
    for name in ["Where", "Notify", "Camera", "Screen", "Clipboard", "Usb", "Picker"] {
        driver.goto("http://localhost/").await;
        let after = driver.after(click(role("button", name))).await.unwrap();
        let shown = outline_of(&after);
        assert!(!shown.contains("got") && !shown.contains("granted"), "{name}: {shown}");
        let waited = driver.after(crate::support::wait_for_text("denied")).await;
        assert!(waited.is_ok(), "{name}: {waited:?} {}", driver.outline().await);
        assert_session_works(&driver, name).await;
    }
}

#[tokio::test]
async fn pointer_lock_and_fullscreen_end() {
    let page = "<div id=d>held</div><p id=out>-</p><button onclick='document.body.requestPointerLock()'>Lock</button>
        <button onclick='d.requestFullscreen()'>Fill</button><button onclick='out.textContent += \"clicked \"'>Other</button>
        <script>document.onpointerlockchange = document.onfullscreenchange = () => { out.textContent += (document.pointerLockElement || document.fullscreenElement ? 'held ' : 'free '); };</script>";
    let driver = Driver::with(&[("shop.test/", page), NEXT]).await;
    for name in ["Lock", "Fill"] {
        driver.goto("http://shop.test/").await;
        driver.click(role("button", name)).await.unwrap();
        let shown = driver.click(role("button", "Other")).await.unwrap();
        assert!(shown.contains("clicked") && shown.contains("free"), "{name}: {shown}");
        assert_session_works(&driver, name).await;
    }
}

#[tokio::test]
async fn downloads_and_file_choosers_are_refused_and_reported() {
    let file = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\
                Content-Disposition: attachment; filename=a.bin\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc";
    let page = "<a href=/file>File</a><a href='data:text/plain,x' download=x>Data</a><input type=file id=f aria-label=Upload>
        <button onclick='f.click()'>Choose</button><label for=f>Label</label>";
    let driver = Driver::with(&[("shop.test/", page), ("shop.test/file", file), NEXT]).await;
    for name in ["File", "Data"] {
        driver.goto("http://shop.test/").await;
        let after = driver.after(click(role("link", name))).await.unwrap();
        assert!(
            matches!(after.incidents.as_slice(), [Incident::DownloadRefused { .. }]),
            "{name}: {after:?}"
        );
        assert!(!after.navigated);
    }
    assert_eq!(driver.code(navigate("http://shop.test/file", LoadState::Load)).await, "download_refused");
    driver.goto("http://shop.test/").await;
    let after = driver.after(click(role("button", "Choose"))).await.unwrap();
    assert_eq!(after.incidents, [Incident::UploadRefused]);
    for target in [role("button", "Upload"), policy::Target::Text { text: "Label".into(), index: 0 }] {
        let action = click(target.clone());
        let facts = driver.browser.resolve(&action).await.unwrap();
        match Policy::default().decide(action, facts, &SessionContext::default()) {
            Decision::Deny(denial) => assert_eq!(denial.code.to_string(), "upload_refused", "{target:?}"),
            other => panic!("{target:?}: {other:?}"),
        }
    }
    assert_session_works(&driver, "files").await;
}

#[tokio::test]
async fn every_call_on_a_malicious_page_returns() {
    const LATE: &str = "browser_action_timeout:navigate:6s";
    let auth = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Type: text/html\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<h1>sorry</h1> ";
    let pdf = "HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\nContent-Length: 9\r\nConnection: close\r\n\r\n%PDF-1.4\n";
    let round = |to: &str| {
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    };
    let (there, back) = (round("http://odd.test/back"), round("http://odd.test/redirect"));
    let nothing = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    let pages = [
        ("odd.test/auth", auth),
        ("odd.test/pdf", pdf),
        ("odd.test/redirect", there.as_str()),
        ("odd.test/back", back.as_str()),
        ("odd.test/nothing", nothing),
        ("odd.test/reload", "<h1>again</h1><script>location.reload()</script>"),
        ("odd.test/refresh", "<meta http-equiv=refresh content=0><h1>again</h1>"),
        ("odd.test/late-reload", "<h1>again</h1><script>setTimeout(() => location.reload(), 30)</script>"),
        ("odd.test/print", "<h1>paper</h1><script>print()</script>"),
        ("odd.test/endless", "<h1>waiting</h1><img src=/hang><script src=/hang></script>"),
        ("odd.test/hang", "HANG"),
        ("odd.test/close", "CLOSE"),
        (
            "odd.test/stream",
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<h1>part</h1>",
        ),
        (
            "odd.test/frames",
            "<script>for (let i = 0; i < 1200; i++) document.documentElement.append(document.createElement('iframe'))</script>",
        ),
        NEXT,
    ];
    // Each lane has a Chromium of its own, because most of these take all their time.
    let lanes: [&[(&str, &[&str])]; 4] = [
        &[
            ("auth", &["sorry", "navigation_failed"]),
            ("pdf", &["download_refused"]),
            ("redirect", &["navigation_failed"]),
            ("nothing", &["navigation_failed"]),
            ("print", &["paper"]),
            ("close", &["navigation_failed"]),
            ("frames", &["", LATE]),
        ],
        &[
            ("reload", &["again", "page_script_failed", LATE]),
            ("refresh", &["again", "page_script_failed", LATE]),
            ("late-reload", &["again", "page_script_failed", LATE]),
        ],
        &[("endless", &[LATE]), ("stream", &["part", "navigation_failed", LATE])],
        &[("hang", &[LATE])],
    ];
    run_at_once(lanes, async |lane| {
        let driver = Driver::with_options(&pages, options_with_timeout(AFTER_MUCH)).await;
        for (path, expected) in lane {
            let going = navigate(&format!("http://odd.test/{path}"), LoadState::Load);
            let seconds = if expected.contains(&LATE) { 6 } else { AFTER_MUCH };
            let came = match driver.act_within(seconds, going).await {
                Ok(Outcome::Navigated { snapshot, .. }) => crate::support::text_of(&snapshot),
                Ok(other) => panic!("{path}: {other:?}"),
                Err(error) => error.code().to_string(),
            };
            assert!(expected.iter().any(|end| came.contains(end)), "{path}: {came}");
            assert_session_works(&driver, path).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_page_with_too_many_frames_is_not_acted_on() {
    let page = "<button>Hit</button><script>for (let i = 0; i < 1010; i++) document.documentElement.append(document.createElement('iframe'))</script>";
    let driver = Driver::with_options(&[("odd.test/", page), NEXT], options_with_timeout(AFTER_MUCH)).await;
    driver.goto("http://odd.test/").await;
    assert_eq!(driver.code(click(role("button", "Hit"))).await, "page_script_failed");
    assert_session_works(&driver, "many frames").await;
}

#[tokio::test]
async fn a_click_with_any_side_effect_returns_and_the_next_page_works() {
    const LATE: &str = "browser_action_timeout:click:6s";
    let page = "<h1>odd</h1>
        <button onclick='print()'>Print</button>
        <button onclick='document.documentElement.requestFullscreen()'>Fullscreen</button>
        <button onclick='document.body.requestPointerLock()'>Lock</button>
        <button onclick='setInterval(() => location.reload(), 20)'>Reload</button>
        <button onclick='for (;;) history.pushState(Math.random(), \"\", \"?\" + Math.random())'>History</button>
        <button onclick='for (let i = 0; i < 50; i++) location.hash = i'>Hashes</button>
        <button onclick='location = \"mailto:a@b.test\"'>Mail</button>
        <button onclick='location = \"javascript:document.title=1\"'>Script</button>
        <button onclick='location = \"data:text/html,x\"'>Data</button>
        <button onclick='window.open(\"/\", \"_self\")'>Self</button>
        <button onclick='document.write(\"<h1>written</h1>\")'>Write</button>
        <button onclick='document.open(); document.write(\"<h1>written</h1>\"); document.close()'>Rewrite</button>
        <button onclick='document.documentElement.remove()'>Remove</button>
        <button onclick='for (;;) {}'>Freeze</button>
        <button onclick='const a = []; for (;;) a.push(new Array(1e6).fill(1))'>Eat</button>
        <button onclick='window.close()'>Close</button>
        <button onclick='window.stop()'>Stop</button>";
    // Each lane has a Chromium of its own, because the last three take all their time.
    let lanes: [&[&str]; 4] = [
        &[
            "Print",
            "Fullscreen",
            "Lock",
            "Reload",
            "Hashes",
            "Mail",
            "Script",
            "Data",
            "Self",
            "Write",
            "Rewrite",
            "Remove",
            "Close",
            "Stop",
        ],
        &["History"],
        &["Freeze"],
        &["Eat"],
    ];
    run_at_once(lanes, async |names| {
        let pages = [("odd.test/", page), NEXT];
        let driver = Driver::with_options(&pages, options_with_timeout(AFTER_MUCH)).await;
        for name in names {
            driver.goto("http://odd.test/").await;
            let expected: &[&str] = match *name {
                "Reload" => &["", "page_script_failed", LATE],
                "History" | "Freeze" => &[LATE],
                "Eat" => &["tab_crashed", LATE],
                "Data" => &["", "blocked_scheme"],
                _ => &[""],
            };
            let seconds = if expected.contains(&LATE) { 6 } else { AFTER_MUCH };
            let came = match driver.act_within(seconds, click(role("button", name))).await {
                Ok(Outcome::Acted(_)) => String::new(),
                Ok(other) => panic!("{name}: {other:?}"),
                Err(error) => error.code().to_string(),
            };
            assert!(expected.contains(&came.as_str()), "{name}: {came}");
            assert_session_works(&driver, name).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_service_worker_serves_only_its_own_site() {
    let worker = "HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nContent-Length: 122\r\nConnection: close\r\n\r\n\
        onfetch = (e) => { if (e.request.url.endsWith('/made')) e.respondWith(new Response('<h1>made up</h1>', { headers: { 'Content-Type': 'text/html' } })); };";
    let body = worker.split_once("\r\n\r\n").unwrap().1;
    let worker = worker.replace("122", &body.len().to_string());
    let page = "<p id=out>starting</p><script>navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => { out.textContent = 'ready'; })</script>";
    let driver = Driver::with(&[("localhost/", page), ("localhost/worker.js", &worker), NEXT]).await;
    driver.goto("http://localhost/").await;
    driver.after(crate::support::wait_for_text("ready")).await.unwrap();
    assert!(driver.goto("http://localhost/made").await.contains("made up"));
    assert_session_works(&driver, "a service worker").await;
    let after = driver.after(Action::Back).await.unwrap();
    assert!(after.navigated);
}
