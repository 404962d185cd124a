//! Settling: a reply is sent when what the action started has finished, and says what happened.

use crate::support::{Driver, click, outline_of, role, run_at_once};
use browser::Incident;

#[tokio::test]
async fn a_reply_shows_what_the_action_led_to() {
    let slow = |kind: &str, body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let text = slow("text/plain", "fetched");
    let page = "<h1 id=h>before</h1>
        <button onclick=\"h.textContent = 'now'\">Now</button>
        <button onclick=\"Promise.resolve().then(() => requestAnimationFrame(() => { h.textContent = 'frame'; }))\">Frame</button>
        <button onclick=\"fetch('/data').then((r) => r.text()).then((t) => { h.textContent = t; })\">Fetch</button>
        <button onclick=\"fetch('/data').then(() => fetch('/data')).then((r) => r.text()).then((t) => requestAnimationFrame(() => { h.textContent = 'twice ' + t; }))\">Twice</button>
        <button onclick=\"const x = new XMLHttpRequest(); x.open('GET', '/data'); x.onload = () => { h.textContent = 'xhr ' + x.responseText; }; x.send()\">Xhr</button>
        <button onclick=\"const s = document.createElement('script'); s.src = '/script'; document.head.append(s)\">Script</button>
        <button onclick=\"h.animate([{ opacity: 0 }, { opacity: 1 }], 300).onfinish = () => { h.textContent = 'animated'; }\">Animate</button>
        <button onclick=\"location = '/next'\">Location</button>
        <a href=/next>Link</a><form action=/next><button>Submit</button></form>
        <a href=/hop>Hop</a>";
    let script = slow("text/javascript", "h.textContent = 'scripted';");
    let pages = [
        ("shop.test/", page),
        ("shop.test/data", &text),
        ("shop.test/script", &script),
        ("shop.test/next", "<h1>next</h1>"),
        ("shop.test/hop", "<script>location.replace('/next')</script>"),
    ];
    let driver = Driver::with(&pages).await;
    for (kind, name, expected, navigated) in [
        ("button", "Now", "now", false),
        ("button", "Frame", "frame", false),
        ("button", "Fetch", "fetched", false),
        ("button", "Twice", "twice fetched", false),
        ("button", "Xhr", "xhr fetched", false),
        ("button", "Script", "scripted", false),
        ("button", "Animate", "animated", false),
        ("button", "Location", "next", true),
        ("link", "Link", "next", true),
        ("button", "Submit", "next", true),
        ("link", "Hop", "next", true),
    ] {
        // A busy machine may delay a page's task for as long as it is waited for, but not always.
        let mut after = None;
        for _ in 0..3 {
            driver.goto("http://shop.test/").await;
            let now = after.insert(driver.after(click(role(kind, name))).await.unwrap());
            if outline_of(now).contains(&format!("heading \"{expected}\"")) {
                break;
            }
        }
        let after = after.unwrap();
        let shown = outline_of(&after);
        assert!(shown.contains(&format!("heading \"{expected}\"")), "{name}: {shown}");
        assert_eq!((after.navigated, after.incidents.as_slice()), (navigated, [].as_slice()), "{name}");
    }
}

#[tokio::test]
async fn a_page_that_never_settles_is_reported_as_still_loading() {
    let page = "<h1 id=h>0</h1><button onclick=\"h.textContent = 'clicked'; fetch('/hang')\">Hang</button>
        <a href=/hang>Away</a><button onclick=\"setInterval(() => { h.textContent = Number(h.textContent) + 1 || 1; })\">Count</button>
        <button onclick=\"h.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 300, iterations: Infinity }); h.animate([{ opacity: 0 }, { opacity: 1 }], 1e9)\">Spin</button>";
    let pages = [("shop.test/", page), ("shop.test/hang", "HANG"), ("shop.test/next", "<h1>next</h1>")];
    let cases = [
        ("button", "Hang", true),
        ("link", "Away", true),
        ("button", "Count", false),
        ("button", "Spin", false),
    ];
    run_at_once(cases, async |(kind, name, still_loading)| {
        let driver = Driver::with(&pages).await;
        driver.goto("http://shop.test/").await;
        let after =
            driver.after(click(role(kind, name))).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(after.incidents.contains(&Incident::StillLoading), still_loading, "{name}: {after:?}");
        assert!(!after.navigated, "{name}");
        assert!(driver.goto("http://shop.test/next").await.contains("next"), "{name}");
    })
    .await;
}
