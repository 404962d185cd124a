//! Injected headers are sent to their own origin and to no other, whatever way a page uses for a request.

use crate::{
    injection::{cookie, header, secret},
    support::{Driver, click, role},
};
use browser::{InjectedEntry, InjectedHeaders, Injection};
use policy::{Action, Origin, TabId, Tabs};

fn injection() -> Injection {
    let lines = vec![
        InjectedEntry::new("X-Key", secret("hunter2")),
        InjectedEntry::basic_auth("Aladdin", &secret("open sesame")),
    ];
    let headers = InjectedHeaders { origin: Origin::of("http://own.test"), lines, allow_plain_http: true };
    Injection { cookies: vec![cookie("sid", "own.test")], headers: vec![headers], ..Injection::default() }
}

/// Both headers, one of which is basic auth, or neither.
fn has_headers(request: &crate::support::RecordedRequest) -> bool {
    let key = request.header("X-Key");
    let basic = request.header("Authorization");
    match (key, basic) {
        (Some("hunter2"), Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==")) => true,
        (None, None) => false,
        other => panic!("{other:?}"),
    }
}

/// How a page requests `HERE`, and whether its own origin receives the header.
const WAYS: &[(&str, bool, &str)] = &[
    ("fetch", true, "<script>fetch('HERE', { mode: 'no-cors' })</script>"),
    ("cors", true, "<script>fetch('HERE', { credentials: 'include' }).catch(() => {})</script>"),
    ("post", true, "<script>fetch('HERE', { method: 'POST', mode: 'no-cors', body: 'x' })</script>"),
    (
        "keepalive",
        true,
        "<script>fetch('HERE', { method: 'POST', mode: 'no-cors', body: 'x', keepalive: true })</script>",
    ),
    ("xhr", true, "<script>const x = new XMLHttpRequest(); x.open('GET', 'HERE'); x.send()</script>"),
    ("beacon", true, "<script>navigator.sendBeacon('HERE', 'x')</script>"),
    ("events", true, "<script>new EventSource('HERE')</script>"),
    ("image", true, "<img src=HERE>"),
    ("script", true, "<script src=HERE></script>"),
    ("style", true, "<link rel=stylesheet href=HERE>"),
    ("video", true, "<video src=HERE preload=auto></video>"),
    ("preload", true, "<link rel=preload as=image href=HERE>"),
    ("prefetch", true, "<link rel=prefetch href=HERE>"),
    ("frame", true, "<iframe src=HERE></iframe>"),
    ("object", true, "<object data=HERE type=text/html></object>"),
    ("embed", true, "<embed src=HERE type=text/html>"),
    ("refresh", true, "<meta http-equiv=refresh content='0;url=HERE'>"),
    ("location", true, "<script>location = 'HERE'</script>"),
    ("get form", true, "<form action=HERE></form><script>document.forms[0].submit()</script>"),
    ("post form", true, "<form action=HERE method=post></form><script>document.forms[0].submit()</script>"),
    (
        "framed form",
        true,
        "<iframe name=f></iframe><form action=HERE method=post target=f></form><script>document.forms[0].submit()</script>",
    ),
    ("written frame", true, "<iframe srcdoc='<img src=HERE>'></iframe>"),
    ("sandbox", false, "<iframe sandbox=allow-scripts srcdoc='<img src=HERE>'></iframe>"),
    (
        "worker",
        true,
        "<script>new Worker(window.URL.createObjectURL(new Blob(['fetch(\"HERE\", { mode: \"no-cors\" })'])))</script>",
    ),
    // Requests of shared workers and WebSockets are not intercepted, so no header is added.
    (
        "shared worker",
        false,
        "<script>new SharedWorker(window.URL.createObjectURL(new Blob(['fetch(\"HERE\", { mode: \"no-cors\" })'])))</script>",
    ),
    ("socket", false, "<script>new WebSocket('HERE'.replace('http', 'ws'))</script>"),
];

#[tokio::test]
async fn an_injected_header_reaches_only_its_origin_by_every_kind_of_request() {
    let place =
        |at: usize, host: &str| (format!("own.test/way{at}-{host}"), format!("{host}/hit{at}-{host}"));
    let mut pages = Vec::new();
    for (at, (_, _, html)) in WAYS.iter().enumerate() {
        for host in ["own.test", "other.test"] {
            let (page, hit) = place(at, host);
            pages.push((page, html.replace("HERE", &format!("http://{hit}"))));
        }
    }
    let pages: Vec<_> = pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::injected(&pages, injection()).await.unwrap();
    for (at, (way, own_sees, _)) in WAYS.iter().enumerate() {
        for (host, sees) in [("own.test", *own_sees), ("other.test", false)] {
            let (page, hit) = place(at, host);
            driver.goto(&format!("http://{page}")).await;
            assert!(has_headers(&driver.request(&page).await), "{way}: the page itself");
            assert_eq!(has_headers(&driver.request(&hit).await), sees, "{way} to {host}");
        }
    }
    let strays: Vec<_> =
        driver.requests().into_iter().filter(|asked| !asked.at.starts_with("own.test/")).collect();
    assert!(strays.len() >= WAYS.len(), "{strays:?}");
    assert!(strays.iter().all(|asked| !has_headers(asked) && asked.cookies().is_empty()), "{strays:?}");
}

fn redirect_to(url: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {url}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

#[tokio::test]
async fn a_redirect_keeps_the_header_until_it_leaves_the_origin() {
    // Each redirect, and whether the request has the header.
    let chains: &[&[(&str, bool)]] = &[
        &[("own.test/a1", true), ("own.test/a2", true), ("own.test/a3", true)],
        &[("own.test/b1", true), ("other.test/b2", false)],
        &[("own.test/c1", true), ("other.test/c2", false), ("own.test/c3", false)],
        &[("own.test/d1", true), ("other.test/d2", false), ("own.test/d3", false), ("own.test/d4", false)],
        &[("other.test/e1", false), ("own.test/e2", false)],
        &[("own.test:81/f1", false), ("own.test/f2", false)],
    ];
    let mut pages: Vec<(String, String)> = Vec::new();
    for chain in chains {
        for hop in chain.windows(2) {
            pages.push((hop[0].0.to_owned(), redirect_to(&format!("http://{}", hop[1].0))));
        }
        pages.push((chain[chain.len() - 1].0.to_owned(), "<h1>end</h1>".to_owned()));
        let image = format!("<img src=http://{}>", chain[0].0);
        pages.push((format!("own.test/image-{}", chain[0].0.replace(['/', ':'], "-")), image));
    }
    let pages: Vec<_> = pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::injected(&pages, injection()).await.unwrap();
    for way in ["page", "image"] {
        for chain in chains {
            let first = chain[0].0;
            let (last, before) = (chain[chain.len() - 1].0, driver.requests().len());
            let came = driver.request_count(last);
            match way {
                "page" => driver.goto(&format!("http://{first}")).await,
                _ => driver.goto(&format!("http://own.test/image-{}", first.replace(['/', ':'], "-"))).await,
            };
            driver.wait_for_requests(last, came + 1).await;
            for (at, sees) in *chain {
                let asked = driver.requests()[before..].iter().find(|asked| asked.at == *at).cloned();
                let asked = asked.unwrap_or_else(|| panic!("{way}: {at}"));
                assert_eq!(has_headers(&asked), *sees, "{way}: {at} of {first}");
            }
        }
    }
}

#[tokio::test]
async fn a_page_of_another_site_ends_header_injection_for_its_tab() {
    let pages = [
        ("own.test/", "<h1>own</h1><a href=/next>Next</a><a href=http://other.test/>Other</a>"),
        ("own.test/next", "<h1>next</h1><button onclick='history.back()'>Back</button>"),
        ("other.test/", "<h1>other</h1><button onclick='history.back()'>Back</button>"),
    ];
    let driver = Driver::injected(&pages, injection()).await.unwrap();
    driver.goto("http://own.test/").await;
    for (link, page, sees) in [("Next", "own.test/next", true), ("Other", "other.test/", false)] {
        for back in ["the page", "the agent"] {
            driver.click(role("link", link)).await.unwrap();
            assert_eq!(has_headers(&driver.request(page).await), sees, "{link}");
            let before = driver.request_count("own.test/");
            match back {
                "the page" => driver.act(click(role("button", "Back"))).await.map(|_| ()).unwrap(),
                _ => driver.act(Action::Back).await.map(|_| ()).unwrap(),
            }
            // From the cache, or again.
            if driver.request_count("own.test/") > before {
                assert_eq!(has_headers(&driver.request("own.test/").await), sees, "{link}, back by {back}");
            }
        }
    }
    let before = driver.request_count("own.test/");
    driver.act(Action::Reload).await.unwrap();
    assert_eq!(driver.request_count("own.test/"), before + 1);
    assert!(!has_headers(&driver.request("own.test/").await), "another site has been in this tab");
    driver.goto("http://own.test/").await;
    assert!(has_headers(&driver.request("own.test/").await), "a new tab");
    assert_eq!(driver.tabs(Tabs::List).await.iter().map(|tab| tab.id).collect::<Vec<_>>(), [TabId(2)]);
}

#[tokio::test]
async fn auth_challenges_and_network_errors_are_unaffected_by_injected_headers() {
    let auth = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Type: text/html\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<h1>sorry</h1> ";
    let pages = [
        ("own.test/auth", auth),
        ("other.test/auth", auth),
        (
            "own.test/down",
            "<h1>framed</h1><iframe src=http://refused.test/></iframe><iframe src=http://nowhere.test/></iframe>",
        ),
        ("own.test/next", "<h1>next</h1>"),
    ];
    let driver = Driver::injected(&pages, injection()).await.unwrap();
    for page in ["own.test/auth", "other.test/auth"] {
        assert!(driver.goto(&format!("http://{page}")).await.contains("sorry"), "{page}");
    }
    // A frame that never loaded does not count as another site.
    driver.goto("http://own.test/down").await;
    let tabs = driver.tabs(Tabs::List).await;
    driver.goto("http://own.test/next").await;
    assert!(has_headers(&driver.request("own.test/next").await));
    assert_eq!(driver.tabs(Tabs::List).await[0].id, tabs[0].id, "in the same tab");
}

#[tokio::test]
async fn two_origins_with_headers_each_get_only_their_own() {
    let mut injection = injection();
    injection.headers.push(header("http://second.test", "X-Second"));
    let pages = [
        ("own.test/", "<img src=http://second.test/asked-by-own>"),
        ("second.test/", "<img src=http://own.test/asked-by-second>"),
        ("own.test/leads", &redirect_to("http://second.test/led-by-own")),
        ("own.test/posts", &redirect_to("http://second.test/there")),
        ("second.test/there", &redirect_to("http://own.test/and-back")),
    ];
    let driver = Driver::injected(&pages, injection).await.unwrap();
    for (page, asked, name, other) in [
        ("own.test/", "second.test/asked-by-own", "X-Key", "X-Second"),
        ("second.test/", "own.test/asked-by-second", "X-Second", "X-Key"),
    ] {
        driver.goto(&format!("http://{page}")).await;
        let own = driver.request(page).await;
        assert_eq!((own.header(name), own.header(other)), (Some("hunter2"), None), "{page}");
        let asked = driver.request(asked).await;
        assert_eq!((asked.header(name), asked.header(other)), (None, None), "{page}");
    }
    // Also on the first request of a tab, before any site has been in it.
    for chain in [
        &["own.test/leads", "second.test/led-by-own"][..],
        &["own.test/posts", "second.test/there", "own.test/and-back"],
    ] {
        driver.act(Action::Tabs(Tabs::New)).await.unwrap();
        driver.goto(&format!("http://{}", chain[0])).await;
        for (at, page) in chain.iter().enumerate() {
            let asked = driver.request(page).await;
            let injected = (asked.header("X-Key").is_some(), asked.header("X-Second").is_some());
            assert_eq!(injected, (at == 0, false), "{page}");
        }
    }
}

/// Addresses with a user name and password that look like another host if the rest is cut off.
fn posing(as_host: &str, bytes: usize, host_and_path: &str) -> String {
    let name = format!("http://{as_host}:");
    format!("{name}{}80@{host_and_path}", "0".repeat(bytes - name.len() - 2))
}

#[tokio::test]
async fn a_truncated_address_does_not_pass_for_another_site() {
    let evil = "<h1>evil</h1><a href=LINK>Link</a><form action=LINK><button>Send</button></form><script>fetch('http://own.test/hit', { method: 'POST', mode: 'no-cors', body: 'x' })</script>";
    let lengths = [500, 2000, 8191, 8192, 8193, 100_000];
    let mut pages = Vec::new();
    for length in lengths {
        let link = posing("own.test", length, "third.test/");
        let there = posing("own.test", length, &format!("evil.test/{length}"));
        pages.push((format!("own.test/go{length}"), redirect_to(&there)));
        pages.push((format!("evil.test/{length}"), evil.replace("LINK", &link)));
    }
    let pages: Vec<_> = pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::injected(&pages, injection()).await.unwrap();
    for length in lengths {
        let before = driver.request_count("own.test/hit");
        driver.goto(&format!("http://own.test/go{length}")).await;
        driver.wait_for_requests("own.test/hit", before + 1).await;
        assert!(!has_headers(&driver.request("own.test/hit").await), "{length}");
        let page = format!("http://evil.test/{length}");
        assert_eq!(driver.tabs(Tabs::List).await[0].url.as_str(), page, "{length}");
        for (target, is_link) in [(role("link", "Link"), true), (role("button", "Send"), false)] {
            let facts = driver.browser.resolve(&click(target)).await.unwrap();
            let target = facts.target.unwrap();
            assert_eq!((facts.page_url, target.origin.as_str()), (page.clone(), "http://evil.test"));
            let leads = if is_link { target.href } else { target.form.map(|form| form.action) };
            assert_eq!(leads.as_deref(), Some("http://third.test/"), "{length}");
        }
    }
}

fn under(policy: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Security-Policy: {policy}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Sites often serve their users' uploads like this, at their own address.
#[tokio::test]
async fn a_sandboxed_document_does_not_count_as_the_site() {
    let asking = |n: usize| format!("<h1>{n}</h1><script>fetch('/hit{n}', {{ mode: 'no-cors' }})</script>");
    let policies = [
        ("sandbox allow-scripts", false),
        ("default-src *; script-src 'unsafe-inline', Sandbox allow-scripts allow-forms", false),
        ("sandbox allow-scripts allow-same-origin", true),
        ("img-src 'none'", true),
    ];
    let pages: Vec<(String, String)> = policies
        .iter()
        .enumerate()
        .map(|(n, (policy, _))| (format!("own.test/{n}"), under(policy, &asking(n))))
        .collect();
    let framing = ("own.test/frames".to_owned(), "<iframe src=/0></iframe>".to_owned());
    let pages: Vec<(&str, &str)> =
        pages.iter().chain([&framing]).map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::injected(&pages, injection()).await.unwrap();
    for (n, (policy, carried)) in policies.into_iter().enumerate() {
        driver.goto(&format!("http://own.test/{n}")).await;
        assert!(has_headers(&driver.request(&format!("own.test/{n}")).await), "{policy}");
        assert_eq!(has_headers(&driver.request(&format!("own.test/hit{n}")).await), carried, "{policy}");
    }
    driver.goto("http://own.test/frames").await;
    driver.wait_for_requests("own.test/hit0", 2).await;
    assert!(!has_headers(&driver.request("own.test/hit0").await));
}
