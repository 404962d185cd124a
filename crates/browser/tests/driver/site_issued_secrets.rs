//! Secrets that a site issues to a signed-in user are known: every cookie value it ever set, and its storage.

use crate::{
    injection::{cookie, everything},
    support::{Driver, ENDLESS, click, navigate, role, wait_for_text},
};
use browser::{Injection, IssuedCookie, SiteIssuedSecrets, TimeLimit};
use policy::{LoadState, Origin, TabId, Tabs};
use redact::{CookiePriority, SameSite};
use std::time::{Duration, Instant};

/// A document or a reply gets a second. A busy machine may take more, but far less than the limit below.
const MAX_WAIT: Duration = Duration::from_secs(9);

async fn collect(driver: &Driver, origins: &[&str]) -> SiteIssuedSecrets {
    let origins: Vec<Origin> = origins.iter().map(|origin| Origin::of(origin)).collect();
    driver
        .browser
        .collect_site_issued_secrets(&origins, TimeLimit::new(Duration::from_secs(30)))
        .await
        .unwrap()
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort_unstable();
    lines
}

fn cookie_lines(issued: &SiteIssuedSecrets) -> Vec<String> {
    let values = issued.header_values.iter();
    sorted(values.map(|cookie| format!("{}={}", cookie.name, cookie.value.expose_secret())).collect())
}

fn storage_lines(issued: &SiteIssuedSecrets) -> Vec<String> {
    let entries = issued.storage_entries.iter().map(|entry| {
        let store = if entry.local { "local" } else { "session" };
        format!("{} {store} {}={}", entry.origin, entry.name, entry.value.expose_secret())
    });
    sorted(entries.collect())
}

/// A response with these header lines.
fn response(lines: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{lines}Access-Control-Allow-Origin: *\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn redirect(lines: &str, to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\n{lines}Location: {to}\r\nContent-Length: 0\r\n\r\n")
}

#[tokio::test]
async fn every_value_of_a_cookie_is_listed_wherever_it_was_set() {
    let home = "<link rel=icon href=data:,><h1>home</h1><img src=/image><iframe src=http://other.test/frame></iframe><script>
        const worker = new Worker('/worker.js'); const worked = new Promise((done) => { worker.onmessage = done; });
        addEventListener('load', async () => {
          await worked;
          await fetch('/fetched'); await fetch('/fetched'); await fetch('/again');
          document.cookie = 'script=s1'; document.body.append('all done');
        });</script>";
    let worker = "fetch('/work').then((answer) => answer.text()).then(postMessage)";
    let worker = response("", worker).replace("text/html", "text/javascript");
    let pages = [
        ("own.test/", redirect("Set-Cookie: sid=one; HttpOnly\r\nSet-Cookie: a=1\r\n", "/b")),
        ("own.test/b", redirect("set-cookie: sid=two; HttpOnly\r\n", "/home")),
        ("own.test/home", response("Set-Cookie: sid=three; HttpOnly\r\n", home)),
        ("own.test/image", response("Set-Cookie: image=i1\r\n", "x")),
        ("own.test/worker.js", worker),
        ("own.test/work", response("Set-Cookie: worker=w1\r\n", "worked")),
        ("own.test/fetched", response("Set-Cookie: sid=four; HttpOnly\r\nX-Auth-Token: t1\r\n", "x")),
        (
            "own.test/again",
            response(
                "Set-Cookie: sid=five; HttpOnly; Path=/; SameSite=Strict; Max-Age=1000; Priority=High\r\nSet-Cookie: a=; Max-Age=0\r\n",
                "x",
            ),
        ),
        ("other.test/frame", response("Set-Cookie: framed=f1; SameSite=None\r\n", "frame")),
    ];
    let pages: Vec<_> = pages.iter().map(|(at, page)| (*at, page.as_str())).collect();
    let injection = Injection { cookies: vec![cookie("sid", "own.test")], ..Injection::default() };
    let driver = Driver::injected(&pages, injection).await.unwrap();
    driver.goto("http://own.test/").await;
    driver.act(wait_for_text("all done")).await.unwrap();
    let issued = collect(&driver, &[]).await;
    assert_eq!(
        cookie_lines(&issued),
        [
            "X-Auth-Token=t1",
            "a=1",
            "framed=f1",
            "image=i1",
            "sid=five",
            "sid=four",
            "sid=one",
            "sid=three",
            "sid=two",
            "worker=w1"
        ]
    );
    assert!(!issued.missed && !issued.truncated && issued.storage_entries.is_empty());
    let names = sorted(issued.cookies.iter().map(|cookie| cookie.name.clone()).collect());
    assert_eq!(names, ["image", "script", "sid", "worker"]);
    let sid = issued.cookies.iter().find(|cookie| cookie.name == "sid").unwrap();
    let IssuedCookie {
        value, domain, host_only, path, expires, http_only, secure, same_site, priority, ..
    } = sid;
    assert_eq!((value.expose_secret(), &**domain, *host_only, &**path), ("five", "own.test", true, "/"));
    assert_eq!((*http_only, *secure, *same_site), (true, false, Some(SameSite::Strict)));
    assert_eq!(*priority, Some(CookiePriority::High));
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() as i64;
    assert!(expires.is_some_and(|at| (900..1100).contains(&(at - now))), "{expires:?} {now}");
    assert_eq!(cookie_lines(&collect(&driver, &[]).await), [""; 0], "each is listed once");
}

#[tokio::test]
async fn a_cookie_is_listed_with_all_its_attributes() {
    let injection = Injection {
        cookies: vec![
            browser::InjectedCookie { domain: Some("own.test".into()), ..cookie("site", "own.test") },
            browser::InjectedCookie {
                same_site: Some(SameSite::None),
                secure: true,
                partition_key: Some("https://top.test".into()),
                expires: Some(4_000_000_000),
                path: "/deep".into(),
                ..cookie("apart", "own.test")
            },
        ],
        ..Injection::default()
    };
    let driver = Driver::injected(&[], injection).await.unwrap();
    let mut issued = collect(&driver, &[]).await;
    issued.cookies.sort_by(|a, b| a.name.cmp(&b.name));
    let [apart, site] = &issued.cookies[..] else { panic!("{}", issued.cookies.len()) };
    assert_eq!((&*site.domain, site.host_only, site.expires), ("own.test", false, None));
    assert_eq!((site.same_site, site.partition_key.as_deref()), (Some(SameSite::Lax), None));
    assert_eq!((&*apart.domain, apart.host_only, &*apart.path), ("own.test", true, "/deep"));
    assert_eq!((apart.secure, apart.http_only, apart.same_site), (true, true, Some(SameSite::None)));
    assert_eq!(apart.partition_key.as_deref(), Some("https://top.test"));
    // Chromium limits the lifetime of a cookie to 400 days.
    assert!(apart.expires.is_some_and(|at| at > 1_700_000_000), "{:?}", apart.expires);
}

#[tokio::test]
async fn cookies_beyond_the_limit_are_reported_as_lost() {
    let many: String = (0..600).map(|n| format!("Set-Cookie: c={n}\r\n")).collect();
    let (many, few) = (response(&many, "many"), response("Set-Cookie: c=last\r\n", "few"));
    let pages = [("own.test/many", many.as_str()), ("own.test/few", &few)];
    let mut driver = Driver::injected(&pages, Injection::default()).await.unwrap();
    driver.goto("http://own.test/many").await;
    let issued = collect(&driver, &[]).await;
    assert_eq!((issued.header_values.len(), issued.missed), (512, true));
    driver.goto("http://own.test/few").await;
    let issued = collect(&driver, &[]).await;
    assert_eq!((cookie_lines(&issued), issued.missed), (vec!["c=last".to_owned()], false));
    // Without a connection nothing is observed; afterwards observation continues.
    driver.cut().await;
    assert!(driver.resume().await);
    assert!(collect(&driver, &[]).await.missed);
    driver.act(navigate("http://own.test/few", LoadState::Load)).await.unwrap();
    let issued = collect(&driver, &[]).await;
    assert_eq!((cookie_lines(&issued), issued.missed), (vec!["c=last".to_owned()], false));
    // A browser without a login records nothing; current cookies are still listed.
    let driver = Driver::with(&pages).await;
    driver.goto("http://own.test/many").await;
    let issued = collect(&driver, &[]).await;
    assert_eq!((issued.header_values.len(), issued.missed, issued.cookies.len()), (0, false, 1));
}

/// Tries to have its storage misread.
const FAKED: &str = "<iframe name=localStorage srcdoc=x></iframe><img name=sessionStorage><script>
    localStorage.setItem('fresh', 'l1'); sessionStorage.setItem('fresh', 's1'); localStorage.setItem('empty', '');
    for (const key of ['length', 'key', 'getItem', '__proto__']) localStorage.setItem(key, 'faked');
    for (const key of ['getItem', 'key']) Storage.prototype[key] = () => 'a lie';
    Object.defineProperty(Storage.prototype, 'length', { get: () => 0 });
    Object.defineProperty(window, 'localStorage', { get: () => ({ length: 0 }) });
    Array.prototype.push = () => 0; Array.prototype.sort = () => [];
  </script>";

#[tokio::test]
async fn storage_of_the_given_origins_is_listed_from_any_tab() {
    let other = "<script>localStorage.setItem('theirs', 't1')</script><a href=http://own.test/tab target=_blank>Open</a>
        <iframe src=http://own.test/framed></iframe>";
    let sandboxed = "<iframe sandbox=allow-scripts src=/inner></iframe>";
    let pages = [
        ("own.test/", FAKED),
        ("own.test/tab", "<h1>tab</h1><script>sessionStorage.setItem('tab', 't2')</script>"),
        ("own.test/framed", "<script>localStorage.setItem('framed', 'f1')</script>"),
        ("own.test/sandboxed", sandboxed),
        ("own.test/inner", "<h1>inner</h1>"),
        ("other.test/", other),
    ];
    let driver = Driver::injected(&pages, everything()).await.unwrap();
    driver.goto("http://own.test/").await;
    let own = "http://own.test";
    let here = |entries: &[&str]| sorted(entries.iter().map(|entry| format!("{own} {entry}")).collect());
    let first = here(&[
        "local theme=dark",
        "local fresh=l1",
        "local length=faked",
        "local key=faked",
        "local getItem=faked",
        "local __proto__=faked",
        "session token=hunter2",
        "session fresh=s1",
    ]);
    let issued = collect(&driver, &[own]).await;
    assert_eq!((storage_lines(&issued), issued.truncated), (first.clone(), false));
    assert_eq!(storage_lines(&collect(&driver, &["http://other.test", "https://own.test"]).await), [""; 0]);
    // Beside a tab of another site, with a frame that has storage of its own there, and a tab that it opened.
    driver.tabs(Tabs::New).await;
    driver.goto("http://other.test/").await;
    driver.act(click(role("link", "Open"))).await.unwrap();
    driver.tabs(Tabs::Switch(TabId(3))).await;
    driver.act(wait_for_text("tab")).await.unwrap();
    let issued = collect(&driver, &[own]).await;
    let mut expected = first.clone();
    expected.extend(here(&["local framed=f1", "session tab=t2"]));
    assert_eq!((storage_lines(&issued), issued.truncated), (sorted(expected), false));
    // An opaque origin has no storage.
    driver.tabs(Tabs::Close(TabId(1))).await;
    driver.goto("http://own.test/sandboxed").await;
    let issued = collect(&driver, &[own]).await;
    assert!(!issued.truncated && storage_lines(&issued).contains(&format!("{own} local fresh=l1")));
}

#[tokio::test]
async fn unreadable_storage_is_reported_without_a_long_wait() {
    let many = "<script>for (let n = 0; n < 1200; n += 1) localStorage.setItem('n' + n, 'long value ' + n); localStorage.setItem('key', 'short')</script>";
    let large = "<script>localStorage.setItem('cached', 'ä'.repeat(2000000)); localStorage.setItem('key', 'short')</script>";
    let hangs = "<h1>hangs</h1><script>localStorage.setItem('key', 'short'); setTimeout(() => { for (;;); }, 3000)</script>";
    let asks = "<h1>asks</h1><script>setTimeout(() => confirm('Sure?'), 1000)</script>";
    let pages = [
        ("many.test/", many),
        ("large.test/", large),
        ("hangs.test/", hangs),
        ("asks.test/", asks),
        ("own.test/", "<h1>own</h1>"),
    ];
    let driver = Driver::injected(&pages, everything()).await.unwrap();
    for (host, most, has_key) in [("many.test", 1000, true), ("large.test", 1, true)] {
        driver.goto(&format!("http://{host}/")).await;
        let issued = collect(&driver, &[&format!("http://{host}")]).await;
        assert_eq!((issued.storage_entries.len(), issued.truncated), (most, true), "{host}");
        let key = issued.storage_entries.iter().find(|entry| entry.name == "key");
        assert_eq!(key.is_some_and(|key| key.value.expose_secret() == "short"), has_key, "{host}");
    }
    // In the background, where nothing waits for it.
    for (tab, host) in [(2, "hangs.test"), (3, "asks.test")] {
        driver.tabs(Tabs::New).await;
        // It may open a dialog or hang before it has been read.
        if let Err(error) = driver.act(navigate(&format!("http://{host}/"), LoadState::Load)).await {
            assert!(error.code().to_string().starts_with("browser_action_timeout"), "{host}: {error}");
        }
        let (issued, took) = loop {
            let begun = Instant::now();
            let issued = collect(&driver, &[&format!("http://{host}")]).await;
            if issued.truncated {
                break (issued, begun.elapsed());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        assert!(issued.storage_entries.is_empty(), "{host}");
        assert!(took < MAX_WAIT, "{host}: {took:?}");
        assert!(driver.tabs(Tabs::List).await.iter().any(|known| known.id == TabId(tab)), "{host}");
    }
    // They do not affect a tab that answers.
    driver.tabs(Tabs::New).await;
    driver.goto("http://own.test/").await;
    let issued = collect(&driver, &["http://own.test", "http://hangs.test"]).await;
    assert!(
        issued.truncated && storage_lines(&issued).contains(&"http://own.test local theme=dark".to_owned())
    );
}

fn reply_lines(issued: &SiteIssuedSecrets) -> Vec<String> {
    let replies =
        issued.responses.iter().map(|reply| format!("{:?} {}", reply.kind, reply.body.expose_secret()));
    sorted(replies.filter(|reply| !reply.contains('<')).collect())
}

fn json(body: &str) -> String {
    response("", body).replace("text/html", "application/json")
}

#[tokio::test]
async fn responses_of_the_given_origins_are_listed_once() {
    let home = "<link rel=icon href=data:,><h1>home</h1><script src=/script.js></script><iframe src=/framed></iframe>
        <iframe src=http://other.test/framed></iframe><script>
        const worker = new Worker('/worker.js'); const worked = new Promise((done) => { worker.onmessage = done; });
        const stream = new EventSource('/stream'); const streamed = new Promise((done) => { stream.onmessage = done; });
        const xhr = new XMLHttpRequest(); xhr.open('GET', '/xhr'); const loaded = new Promise((done) => { xhr.onload = done; }); xhr.send();
        addEventListener('load', async () => {
          await worked; await streamed; await loaded;
          stream.close();
          await (await fetch('/fetched')).text(); await (await fetch('/posted', { method: 'POST' })).text();
          await (await fetch('/none')).text(); await (await fetch('http://other.test/fetched')).text();
          document.body.append('all done');
        });</script>";
    let script = |body: &str| response("", body).replace("text/html", "text/javascript");
    let pages = [
        ("own.test/", response("", home)),
        ("own.test/script.js", script("'in a script'")),
        ("own.test/worker.js", script("fetch('/work').then((answer) => answer.text()).then(postMessage)")),
        ("own.test/work", json("\"in a worker\"")),
        ("own.test/framed", response("", "<p>framed")),
        ("own.test/stream", response("", "data: in a stream\n\n").replace("text/html", "text/event-stream")),
        ("own.test/xhr", json("\"by xhr\"")),
        ("own.test/fetched", json("\"by fetch ä\"")),
        ("own.test/posted", response("", "by post").replace("text/html", "text/plain")),
        ("own.test/none", "HTTP/1.1 204 No Content\r\n\r\n".to_owned()),
        ("other.test/framed", response("", "<p>other")),
        ("other.test/fetched", json("\"theirs\"")),
        (
            "own.test/leaves",
            response(
                "",
                "<script>fetch('/fetched').then((r) => r.json()).then((t) => { location = '/left#' + t; })</script>",
            ),
        ),
        ("own.test/left", response("", "<h1>left</h1>")),
    ];
    let pages: Vec<_> = pages.iter().map(|(at, page)| (*at, page.as_str())).collect();
    let injection = Injection { cookies: vec![cookie("sid", "own.test")], ..Injection::default() };
    let driver = Driver::injected(&pages, injection).await.unwrap();
    driver.goto("http://own.test/").await;
    driver.act(wait_for_text("all done")).await.unwrap();
    let own = ["http://own.test"];
    let issued = collect(&driver, &own).await;
    assert_eq!(
        reply_lines(&issued),
        [
            "Data \"by fetch ä\"",
            "Data \"by xhr\"",
            "Data \"in a worker\"",
            "Data by post",
            "Data in a stream",
            "Document 'in a script'",
            "Document fetch('/work').then((answer) => answer.text()).then(postMessage)",
        ]
    );
    let pages = issued.responses.iter().filter(|reply| reply.body.expose_secret().contains('<'));
    let pages: Vec<&str> = pages.map(|page| page.body.expose_secret()).collect();
    assert!(pages.len() == 2 && pages.contains(&home) && pages.contains(&"<p>framed"), "{pages:?}");
    assert_eq!(reply_lines(&collect(&driver, &own).await), [""; 0], "each is listed once");
    // The requesting page is left at once.
    driver.goto("http://own.test/leaves").await;
    driver.act(wait_for_text("left")).await.unwrap();
    assert_eq!(reply_lines(&collect(&driver, &own).await), ["Data \"by fetch ä\""]);
}

#[tokio::test]
async fn responses_beyond_the_limits_are_omitted_and_endless_ones_not_awaited() {
    let ask = "<h1>asks</h1><script>(async () => {
        for (let n = 0; n < 300; n += 1) await (await fetch('/small')).text();
        await (await fetch('/large')).text();
        await (await fetch('/endless')).body.getReader().read(); document.body.append('all done');
      })()</script>";
    let large = json(&format!("\"{}\"", "x".repeat(9 << 20)));
    let (small, ask) = (json("\"small\""), response("", ask));
    let endless = format!(
        "{ENDLESS}HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n\"begun"
    );
    let pages = [
        ("own.test/", ask.as_str()),
        ("own.test/small", &small),
        ("own.test/large", &large),
        ("own.test/endless", &endless),
    ];
    let driver = Driver::injected(&pages, Injection::default()).await.unwrap();
    driver.goto("http://own.test/").await;
    driver.act(wait_for_text("all done")).await.unwrap();
    let begun = Instant::now();
    let issued = collect(&driver, &["http://own.test"]).await;
    assert!(begun.elapsed() < MAX_WAIT, "{:?}", begun.elapsed());
    assert_eq!((issued.missed, issued.truncated), (true, true));
    let (small, others): (Vec<_>, Vec<_>) =
        reply_lines(&issued).into_iter().partition(|reply| reply == "Data \"small\"");
    assert_eq!((small.len(), others), (254, Vec::new()));
}
