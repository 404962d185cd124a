//! Login probes: a page of the site is loaded before a session starts, and leaves nothing but what the site set.

use crate::{
    injection::{cookie, everything, header},
    support::{Driver, navigate, run_at_once},
};
use browser::{BrowserError, BrowserOptions, Injection, ProbePage, ProbeResult, Resumed, TimeLimit, cdp};
use policy::{Action, LoadState, Tabs, WebUrl};
use std::time::{Duration, Instant};

fn pages_at(urls: &[&str]) -> Vec<ProbePage> {
    urls.iter().map(|url| ProbePage { url: WebUrl::parse(url).unwrap() }).collect()
}

fn time_limit(seconds: u64) -> TimeLimit {
    TimeLimit::new(Duration::from_secs(seconds))
}

async fn probe(
    pages: &[(&str, &str)],
    injection: Injection,
    urls: &[&str],
    seconds: u64,
) -> Result<(Driver, Vec<ProbeResult>), BrowserError> {
    let mut seen = Vec::new();
    let driver = Driver::start(pages, BrowserOptions::default(), async |blank, _| {
        let begun = Instant::now();
        let probed = blank.inject_and_probe(injection, pages_at(urls), time_limit(seconds)).await;
        // It ends within its time limit; a busy machine gets as much again.
        assert!(begun.elapsed() < Duration::from_secs(2 * seconds), "{urls:?}: {:?}", begun.elapsed());
        let (browser, pages) = probed?;
        seen = pages;
        Ok(browser)
    });
    let driver = driver.await?;
    Ok((driver, seen))
}

/// Shows much, hides more, stores traces in every way, and opens two further tabs.
const HOME: &str = "<title>no text</title><style>.gone { display: none } .void { visibility: hidden }</style>
    <h1>Welcome <b>back</b></h1><p>Sign
      out</p><a href=/>One</a><a href=/>Two</a><div class=gone>hidden one</div>
    <div class=void>hidden two <i style='visibility: visible'>shown</i></div>
    <script>const said = 'in a script'</script><textarea>in an area</textarea><input value='in a field'><input type=submit value=Leave>
    <input type=password value=hunter2><div id=host></div><iframe srcdoc='in a frame'></iframe>
    <script>
      host.attachShadow({ mode: 'open' }).innerHTML = '<p>in a root</p>';
      localStorage.seen = 'yes'; sessionStorage.token += '-seen'; document.cookie = 'seen=yes';
      history.pushState({}, '', '/home?step'); open('/popup'); open('/stranger', '_blank', 'noopener');
      fetch('/late').then((answer) => answer.text()).then((text) => document.body.append(text));
    </script>";

fn site() -> Vec<(&'static str, &'static str)> {
    let stores = "<title></title><script>document.title = [localStorage.theme, localStorage.seen, sessionStorage.token]</script>";
    vec![
        (
            "own.test/",
            "HTTP/1.1 302 Found\r\nLocation: /home\r\nSet-Cookie: sid=rotated; HttpOnly\r\nContent-Length: 0\r\n\r\n",
        ),
        ("own.test/home", HOME),
        ("own.test/late", "late words"),
        ("own.test/popup", "popup"),
        ("own.test/stranger", "stranger"),
        ("own.test/away", "HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\nContent-Length: 0\r\n\r\n"),
        ("own.test/stores", stores),
        ("other.test/", "<p>elsewhere</p>"),
    ]
}

#[tokio::test]
async fn a_probe_returns_the_page_text_and_leaves_no_history() {
    let urls = ["http://own.test/", "http://own.test/away"];
    let (driver, probed) = probe(&site(), everything(), &urls, 30).await.unwrap();
    let pages: Vec<_> = probed.iter().map(|page| (&*page.final_url, page.status, &*page.text)).collect();
    assert_eq!(
        pages,
        [
            (
                "http://own.test/home?step",
                Some(200),
                "Welcome back\nSign out\nOneTwo\nshown\nLeave\nin a root\nlate words"
            ),
            ("http://other.test/", Some(200), "elsewhere"),
        ]
    );
    // Signed in, on each redirect.
    for (at, cookies) in [("own.test/", "sid=hunter2"), ("own.test/home", "sid=rotated")] {
        let asked = driver.request(at).await;
        assert_eq!((asked.header("X-Key"), asked.header("Cookie")), (Some("hunter2"), Some(cookies)), "{at}");
    }
    assert_eq!(driver.browser.state().url, "about:blank");
    assert_eq!(driver.browser.page_events().now(), (Vec::new(), 0));
    assert_eq!(driver.tabs(Tabs::List).await.len(), 1);
    driver.wait_for_page_count(1).await;
    assert_eq!(driver.code(Action::Back).await, "no_history");
    // Another site was loaded meanwhile, but not in this tab. What the site set is there, and the tab's session
    // storage is as injected.
    driver.goto("http://own.test/stores").await;
    assert_eq!(driver.browser.state().title, "dark,yes,hunter2");
    let asked = driver.request("own.test/stores").await;
    let mut cookies: Vec<_> = asked.header("Cookie").unwrap().split("; ").collect();
    cookies.sort_unstable();
    assert_eq!((asked.header("X-Key"), cookies), (Some("hunter2"), vec!["seen=yes", "sid=rotated"]));
}

#[tokio::test]
async fn a_page_that_cannot_be_probed_fails_within_the_time_limit() {
    let file = "HTTP/1.1 200 OK\r\nContent-Disposition: attachment\r\nContent-Length: 1\r\n\r\nx";
    let (busy, broken) = ("429 Too Many Requests", "503 Service Unavailable");
    let answer = |status| format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\nConnection: close\r\n\r\nsorry");
    let (busy, broken) = (answer(busy), answer(broken));
    let pages = [
        ("own.test/hangs", "HANG"),
        ("own.test/loops", "<p>words</p><script>for (;;);</script>"),
        ("own.test/closes", "CLOSE"),
        ("own.test/file", file),
        ("own.test/asks", "<script>confirm('Sure?')</script>"),
        (
            "own.test/closing",
            "<p>words</p><script>setTimeout(() => confirm('Sure?')); fetch('/hangs')</script>",
        ),
        ("own.test/busy", &busy),
        ("own.test/broken", &broken),
    ];
    let cases = [
        ("http://own.test/hangs", "browser_action_timeout:probe:10s"),
        ("http://own.test/loops", "browser_action_timeout:probe:10s"),
        ("http://own.test/closes", "navigation_failed"),
        ("http://refused.test/", "navigation_failed"),
        ("http://nowhere.test/", "navigation_failed"),
        ("http://own.test/file", "download_refused"),
        ("http://own.test/asks", "dialog_open"),
        ("http://own.test/closing", "dialog_open"),
        ("http://own.test/busy", "navigation_failed"),
        ("http://own.test/broken", "navigation_failed"),
    ];
    // The first two take all their time.
    run_at_once([&cases[..1], &cases[1..2], &cases[2..]], async |cases| {
        for (url, code) in cases {
            let injection = Injection { cookies: vec![cookie("sid", "own.test")], ..Injection::default() };
            let error = probe(&pages, injection, &[url], 10).await.map(|_| ()).unwrap_err();
            assert_eq!(error.code().to_string(), *code, "{url}: {error}");
        }
    })
    .await;
    let many = vec!["http://own.test/"; 17];
    let error = probe(&pages, Injection::default(), &many, 10).await.map(|_| ()).unwrap_err();
    assert_eq!(error.code().to_string(), "injection_failed", "{error}");
}

#[tokio::test]
async fn a_signed_out_page_is_not_a_probe_error() {
    let out =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 12\r\n\r\nPlease login";
    let gone = "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nGone";
    let pages = [("own.test/out", out), ("own.test/gone", gone)];
    let injection = Injection { headers: vec![header("http://own.test", "X-Key")], ..Injection::default() };
    let urls = ["http://own.test/out", "http://own.test/gone"];
    let (_driver, probed) = probe(&pages, injection, &urls, 20).await.unwrap();
    let pages: Vec<_> = probed.iter().map(|page| (page.status, &*page.text)).collect();
    assert_eq!(pages, [(Some(401), "Please login"), (Some(404), "Gone")]);
}

#[tokio::test]
async fn a_tab_that_crashes_during_a_probe_is_reported() {
    let crashed = Driver::start(
        // It loads until it crashes.
        &[("own.test/", "<p>words</p><img src=/hangs>"), ("own.test/hangs", "HANG")],
        BrowserOptions::default(),
        async |blank, connection| {
            let mut events = connection.subscribe();
            let probing =
                blank.inject_and_probe(Injection::default(), pages_at(&["http://own.test/"]), time_limit(60));
            let crash = async {
                // A tab that crashes earlier is not the probed one.
                loop {
                    if let cdp::EventKind::FrameNavigated(navigated) = &events.recv().await.unwrap().kind
                        && navigated.frame.url == "http://own.test/"
                    {
                        break;
                    }
                }
                crash_all(&connection).await;
            };
            tokio::join!(probing, crash).0.map(|(browser, _)| browser)
        },
    );
    let error = crashed.await.map(|_| ()).unwrap_err();
    assert_eq!(error.code().to_string(), "tab_crashed", "{error}");
}

/// Makes Chromium crash every page, over sessions of its own.
async fn crash_all(connection: &cdp::Connection) {
    #[derive(serde::Serialize)]
    #[serde(rename_all = "camelCase")]
    struct AttachToTarget<'a> {
        target_id: &'a str,
        flatten: bool,
    }
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct AttachedTo {
        session_id: cdp::SessionId,
    }
    impl cdp::Command for AttachToTarget<'_> {
        const METHOD: &'static str = "Target.attachToTarget";
        type Response = AttachedTo;
    }
    for page in crate::support::page_targets(connection).await {
        let attach = AttachToTarget { target_id: &page.target_id, flatten: true };
        let session = connection.call(None, &attach, crate::support::soon()).await.unwrap().session_id;
        let soon = tokio::time::Instant::now() + Duration::from_millis(500);
        // A crashed tab does not answer.
        connection.call(Some(&session), &crate::failures::Crash {}, soon).await.unwrap_err();
    }
}

#[tokio::test]
async fn a_restarted_chromium_is_probed_again() {
    let pages = site();
    let (driver, _) = probe(&pages, everything(), &["http://own.test/"], 30).await.unwrap();
    driver.goto("http://own.test/stores").await;
    let mut next = Driver::with(&pages).await;
    let Resumed::NewChromium(blank) = driver.resume_on(&next).await else { panic!("it is another Chromium") };
    let (browser, probed) = blank
        .inject_and_probe(everything(), pages_at(&["http://own.test/home"]), time_limit(30))
        .await
        .unwrap();
    assert!(probed[0].text.contains("Sign out"));
    next.browser = browser;
    assert_eq!(next.request("own.test/home").await.header("X-Key"), Some("hunter2"));
    next.act(navigate("http://own.test/stores", LoadState::Load)).await.unwrap();
    assert_eq!(next.browser.state().title, "dark,yes,hunter2");
    assert_eq!(next.request("own.test/stores").await.header("X-Key"), Some("hunter2"));
}
