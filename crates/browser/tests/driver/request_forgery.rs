//! Request forgery: a hostile site tries to make a signed-in one act, from a frame, a popup, another tab, or while it
//! is left.

use crate::{
    injection::{cookie, header},
    support::{Driver, navigate, role},
};
use browser::{InjectedCookie, Injection};
use policy::{LoadState, TabId, Tabs};
use redact::SameSite;

fn injection(host: &str) -> Injection {
    Injection {
        cookies: vec![
            cookie("unsaid", host),
            InjectedCookie { same_site: Some(SameSite::Strict), ..cookie("strict", host) },
        ],
        headers: vec![header(&format!("http://{host}"), "X-Key")],
        ..Injection::default()
    }
}

/// Every way for a page to request another site, and finally to navigate the whole tab.
const ATTACK: &str = "<h1>evil</h1><iframe name=f></iframe>
    <form action=http://own.test/forged/form method=post target=f></form>
    <img src=http://own.test/forged/image>
    <iframe src=http://own.test/forged/frame></iframe>
    <script>
      document.forms[0].submit();
      const fetched = fetch('http://own.test/forged/fetch', { method: 'POST', mode: 'no-cors', credentials: 'include', body: 'x' });
      fetch('http://own.test/forged/kept', { method: 'POST', mode: 'no-cors', credentials: 'include', keepalive: true, body: 'x' });
      navigator.sendBeacon('http://own.test/forged/beacon', 'x');
      const socket = new WebSocket('ws://own.test/forged/socket');
      const once = (by, what) => new Promise((done) => by.addEventListener(what, done));
      const answered = Promise.allSettled([
        fetched, once(socket, 'close'), once(window, 'load'), once(document.querySelector('iframe'), 'load')]);
    </script>";
const FORGED: [&str; 7] = ["form", "image", "frame", "fetch", "kept", "beacon", "socket"];

async fn assert_nothing_forged(driver: &Driver, scene: &str, names: &[&str]) {
    for name in names {
        let asked = driver.request(&format!("own.test/forged/{name}")).await;
        assert_eq!(asked.header("X-Key"), None, "{scene}: {name}");
        // A link to the site is allowed by Lax, and not by Strict.
        let allowed: &[&str] = if ["link", "stranger"].contains(name) { &["unsaid"] } else { &[] };
        assert!(asked.cookies().iter().all(|sent| allowed.contains(sent)), "{scene}: {name} {asked:?}");
    }
}

async fn assert_signed_in(driver: &Driver, page: &str, scene: &str) {
    let asked = driver.request(page).await;
    assert_eq!((asked.header("X-Key"), asked.cookies().len()), (Some("hunter2"), 2), "{scene}: {asked:?}");
}

#[tokio::test]
async fn requests_of_a_hostile_page_carry_no_credentials() {
    // Waits for all requests: a page that is left drops what it has not sent.
    let leading = |target: &str| {
        let leads = format!("setTimeout(() => {{ {target} = 'http://own.test/forged/link' }}, 500)");
        format!("{ATTACK}<script>answered.then(() => {leads})</script>")
    };
    let opening = "<h1>evil</h1><button onclick=\"window.open('http://own.test/forged/link')\">Open</button>
        <a href=http://own.test/forged/stranger target=_blank>Stranger</a>";
    let (top, opener) = (leading("top.location"), leading("opener.location"));
    let pages = [
        (
            "own.test/",
            "<h1>own</h1><button onclick=\"fetch('/fetched')\">Fetch</button>
           <button onclick=\"window.open('http://evil.test/opener')\">Open</button>",
        ),
        ("own.test/framing", "<h1>own</h1><iframe src=http://evil.test/></iframe>"),
        ("own.test/next", "<h1>next</h1>"),
        ("own.test/fetched", "fetched"),
        ("evil.test/", ATTACK),
        ("evil.test/top", top.as_str()),
        ("evil.test/opener", opener.as_str()),
        ("evil.test/opening", opening),
        (
            "evil.test/posting",
            "<form action=http://own.test/forged/post method=post></form><script>document.forms[0].submit()</script>",
        ),
    ];
    let with_link = [&FORGED[..], &["link"]].concat();
    for scene in ["frame", "popup", "second tab", "opening", "posting", "same tab"] {
        let driver = Driver::injected(&pages, injection("own.test")).await.unwrap();
        driver.goto("http://own.test/").await;
        assert_signed_in(&driver, "own.test/", scene).await;
        match scene {
            "frame" => {
                driver.goto("http://own.test/framing").await;
                assert_nothing_forged(&driver, scene, &FORGED).await;
            }
            "popup" => {
                driver.click(role("button", "Open")).await.unwrap();
                assert_nothing_forged(&driver, scene, &with_link).await;
            }
            "second tab" => {
                driver.tabs(Tabs::New).await;
                driver.goto("http://evil.test/").await;
                assert_nothing_forged(&driver, scene, &FORGED).await;
                // The other tab, which no page of this one can reach, continues as before.
                driver.tabs(Tabs::Switch(TabId(1))).await;
                driver.click(role("button", "Fetch")).await.unwrap();
                assert_signed_in(&driver, "own.test/fetched", scene).await;
            }
            "opening" => {
                driver.goto("http://evil.test/opening").await;
                driver.click(role("button", "Open")).await.unwrap();
                driver.click(role("link", "Stranger")).await.unwrap();
                assert_nothing_forged(&driver, scene, &["link", "stranger"]).await;
            }
            // Chromium sends a new cookie without SameSite for two minutes.
            "posting" => {
                driver.act(navigate("http://evil.test/posting", LoadState::Load)).await.ok();
                assert_nothing_forged(&driver, scene, &["post"]).await;
            }
            _ => {
                // It navigates by itself, perhaps while it is read.
                driver.act(navigate("http://evil.test/top", LoadState::Load)).await.ok();
                assert_nothing_forged(&driver, scene, &with_link).await;
            }
        }
        driver.goto("http://own.test/next").await;
        assert_signed_in(&driver, "own.test/next", scene).await;
    }
}

#[tokio::test]
async fn a_popup_of_another_site_ends_header_injection_for_its_opener() {
    // What the signed-in page opens, whether the header is sent there, and whether the page still has it afterwards.
    let cases = [
        ("window.open('/popup')", "own.test/popup", true, true),
        ("window.open('/popup', '_blank', 'noopener')", "own.test/popup", true, true),
        ("window.open('http://evil.test/', '_blank', 'noopener')", "evil.test/", false, true),
        ("window.open('http://evil.test/')", "evil.test/", false, false),
        ("window.open('about:blank').location = 'http://evil.test/'", "evil.test/", false, false),
    ];
    for (script, popup, carried, still) in cases {
        let page = format!(
            "<button onclick=\"{script}\">Open</button><button onclick=\"fetch('/fetched')\">Fetch</button>"
        );
        let pages = [
            ("own.test/", page.as_str()),
            ("own.test/popup", "<h1>popup</h1>"),
            ("evil.test/", "<h1>evil</h1>"),
        ];
        let driver = Driver::injected(&pages, injection("own.test")).await.unwrap();
        driver.goto("http://own.test/").await;
        driver.click(role("button", "Open")).await.unwrap();
        let asked = driver.request(popup).await;
        assert_eq!(asked.header("X-Key").is_some(), carried, "{script}");
        // Requests after it come from the popup.
        driver.tabs(Tabs::Switch(TabId(2))).await;
        driver.outline().await;
        driver.tabs(Tabs::Switch(TabId(1))).await;
        driver.click(role("button", "Fetch")).await.unwrap();
        assert_eq!(driver.request("own.test/fetched").await.header("X-Key").is_some(), still, "{script}");
    }
}

#[tokio::test]
async fn requests_of_a_hostile_page_that_is_left_carry_no_credentials() {
    let leaving = "<h1>evil</h1><script>
        const last = () => {
          navigator.sendBeacon('http://own.test/forged/beacon', 'x');
          fetch('http://own.test/forged/kept', { method: 'POST', mode: 'no-cors', keepalive: true, body: 'x' });
          fetch('http://evil.test/slow', { method: 'POST', mode: 'no-cors', keepalive: true, body: 'x' });
        };
        addEventListener('pagehide', last);</script>";
    let slow = "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://own.test/forged/fetch\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let pages = [("own.test/", "<h1>own</h1>"), ("evil.test/", leaving), ("evil.test/slow", slow)];
    let driver = Driver::injected(&pages, injection("own.test")).await.unwrap();
    driver.goto("http://evil.test/").await;
    driver.goto("http://own.test/").await;
    assert_signed_in(&driver, "own.test/", "after it").await;
    assert_nothing_forged(&driver, "leaving", &["beacon", "kept"]).await;
    let sent: Vec<_> = driver.requests().into_iter().filter(|asked| asked.at.contains("forged")).collect();
    assert!(
        sent.iter().all(|asked| asked.header("X-Key").is_none() && asked.cookies().is_empty()),
        "{sent:?}"
    );
}

#[tokio::test]
async fn a_page_made_by_a_service_worker_counts_as_its_site() {
    let script = |body: &str| {
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let worker = script(
        "onfetch = (e) => { if (e.request.url.endsWith('/made')) e.respondWith(new Response(
           '<h1>made up</h1><img src=http://own.localhost/forged>', { headers: { 'Content-Type': 'text/html' } })); };",
    );
    let page = "<p id=out>starting</p><script>navigator.serviceWorker.register('/worker.js')
        .then(() => navigator.serviceWorker.ready).then(() => { out.textContent = 'ready'; })</script>";
    let pages = [
        ("evil.localhost/", page),
        ("evil.localhost/worker.js", worker.as_str()),
        ("evil.localhost/made", "<h1>from the site</h1><img src=http://own.localhost/forged>"),
        ("own.localhost/", "<h1>own</h1><a href=http://evil.localhost/made>Made</a>"),
    ];
    let driver = Driver::injected(&pages, injection("own.localhost")).await.unwrap();
    driver.goto("http://evil.localhost/").await;
    driver.after(crate::support::wait_for_text("ready")).await.unwrap();
    driver.goto("http://own.localhost/").await;
    assert_signed_in(&driver, "own.localhost/", "a service worker").await;
    driver.click(role("link", "Made")).await.unwrap();
    let forged = driver.request("own.localhost/forged").await;
    assert_eq!((forged.header("X-Key"), forged.cookies()), (None, vec![]), "{forged:?}");
}
