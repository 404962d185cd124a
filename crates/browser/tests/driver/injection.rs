//! Injected credentials are present before the first page, and a browser that lacks one is never used.

use crate::support::{Driver, click, navigate, role};
use browser::{
    InjectedCookie, InjectedEntry, InjectedHeaders, InjectedStorage, Injection, PageEventKind, Resumed,
};
use policy::{Action, LoadState, Origin, TabId, Tabs};
use redact::{SameSite, Secret};

pub fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

pub fn cookie(name: &str, host: &str) -> InjectedCookie {
    InjectedCookie {
        name: name.to_owned(),
        value: secret("hunter2"),
        host: host.to_owned(),
        domain: None,
        path: "/".to_owned(),
        expires: None,
        http_only: true,
        secure: false,
        same_site: None,
        priority: None,
        partition_key: None,
    }
}

pub fn header(origin: &str, name: &str) -> InjectedHeaders {
    let lines = vec![InjectedEntry::new(name, secret("hunter2"))];
    InjectedHeaders { origin: Origin::of(origin), lines, allow_plain_http: true }
}

fn storage(origin: &str) -> InjectedStorage {
    InjectedStorage {
        origin: Origin::of(origin),
        local: vec![InjectedEntry::new("theme", secret("dark"))],
        session: vec![InjectedEntry::new("token", secret("hunter2"))],
    }
}

/// Reports what its first script finds.
const STORES: &str =
    "<title></title><script>document.title = `${localStorage.theme} ${sessionStorage.token}`</script>
     <a href=/ target=_blank rel=opener>Opener</a><a href=/ target=_blank>Stranger</a>";

#[tokio::test]
async fn cookies_are_host_only_unless_a_domain_is_given() {
    let injection = Injection {
        cookies: vec![
            cookie("alone", "own.test"),
            InjectedCookie { domain: Some("own.test".into()), ..cookie("site", "own.test") },
            InjectedCookie { path: "/deep".into(), ..cookie("deep", "own.test") },
            InjectedCookie { secure: true, ..cookie("secure", "own.test") },
            InjectedCookie { expires: Some(4_000_000_000), ..cookie("lasting", "own.test") },
            InjectedCookie {
                same_site: Some(SameSite::None),
                secure: true,
                partition_key: Some("https://top.test".into()),
                ..cookie("apart", "own.test")
            },
            InjectedCookie { secure: true, ..cookie("__Host-h", "own.test") },
        ],
        ..Injection::default()
    };
    let pages = [
        ("own.test/", "<h1>own</h1>"),
        ("own.test/deep", "<h1>deep</h1>"),
        ("sub.own.test/", "<h1>sub</h1>"),
        ("other.test/", "<h1>other</h1>"),
    ];
    let driver = Driver::injected(&pages, injection).await.unwrap();
    assert!(driver.requests().is_empty(), "nothing was asked of the network");
    for (at, sent) in [
        ("own.test/", &["alone", "lasting", "site"] as &[&str]),
        ("own.test/deep", &["alone", "deep", "lasting", "site"]),
        ("sub.own.test/", &["site"]),
        ("other.test/", &[]),
    ] {
        driver.goto(&format!("http://{at}")).await;
        let asked = driver.request(at).await;
        let mut cookies = asked.cookies();
        cookies.sort_unstable();
        assert_eq!(cookies, sent, "{at}");
    }
}

#[tokio::test]
async fn injected_storage_is_present_at_the_first_script_without_a_request() {
    let pages = [("own.test/", STORES), ("other.test/", STORES), ("third.test/", STORES)];
    let storage = vec![storage("http://own.test"), storage("http://other.test")];
    let driver = Driver::injected(&pages, Injection { storage, ..Injection::default() }).await.unwrap();
    assert!(driver.requests().is_empty(), "{:?}", driver.requests());
    assert_eq!(driver.browser.state().url, "about:blank");
    assert_eq!(driver.browser.page_events().now(), (Vec::new(), 0), "no page has done anything");
    assert_eq!(driver.code(Action::Back).await, "no_history");
    for (host, found) in
        [("own.test", "dark hunter2"), ("other.test", "dark hunter2"), ("third.test", "undefined undefined")]
    {
        driver.goto(&format!("http://{host}/")).await;
        assert_eq!(driver.browser.state().title, found, "{host}");
    }
    // A tab of the agent gets the same; a popup gets what Chromium gives it.
    driver.tabs(Tabs::New).await;
    driver.browser.page_events().now();
    assert_eq!(driver.code(Action::Back).await, "no_history");
    driver.goto("http://own.test/").await;
    assert_eq!(driver.browser.state().title, "dark hunter2");
    let (events, _) = driver.browser.page_events().now();
    let navigated: Vec<_> = events.iter().filter(|event| event.kind == PageEventKind::Navigated).collect();
    assert!(matches!(navigated.as_slice(), [one] if one.url == "http://own.test/"), "{events:?}");
    for (name, tab, found) in [("Opener", 3, "dark hunter2"), ("Stranger", 4, "dark undefined")] {
        driver.tabs(Tabs::Switch(TabId(2))).await;
        driver.act(click(role("link", name))).await.unwrap();
        driver.tabs(Tabs::Switch(TabId(tab))).await;
        driver.outline().await;
        assert_eq!(driver.browser.state().title, found, "{name}");
    }
}

#[tokio::test]
async fn a_credential_that_chromium_rejects_is_named_and_no_browser_is_returned() {
    let with_cookie = |cookie| Injection {
        cookies: vec![self::cookie("good", "own.test"), cookie],
        ..Injection::default()
    };
    let with_header = |headers| Injection { headers: vec![headers], ..Injection::default() };
    for (injection, named) in [
        (with_cookie(InjectedCookie { expires: Some(1000), ..cookie("old", "own.test") }), "\"old\""),
        (with_cookie(cookie("__Host-plain", "own.test")), "\"__Host-plain\""),
        (
            with_cookie(InjectedCookie {
                value: secret(&"hunter2".repeat(1000)),
                ..cookie("large", "own.test")
            }),
            "\"large\"",
        ),
        (with_cookie(cookie("lost", "own.test/elsewhere")), "\"lost\""),
        (
            with_header(InjectedHeaders { allow_plain_http: false, ..header("http://own.test", "X-Key") }),
            "over https: only",
        ),
        (with_header(header("http://own.test", "Cookie")), "browser alone"),
    ] {
        let error = Driver::injected(&[], injection).await.map(|_| ()).unwrap_err();
        assert_eq!(error.code().to_string(), "injection_failed", "{error}");
        let text = format!("{error} {error:?} {}", error.hint());
        assert!(text.contains(named) && !text.contains("hunter2"), "{text}");
    }
}

pub fn everything() -> Injection {
    Injection {
        cookies: vec![cookie("sid", "own.test")],
        storage: vec![storage("http://own.test")],
        headers: vec![header("http://own.test", "X-Key")],
        effects: None,
    }
}

#[tokio::test]
async fn a_replacement_tab_has_all_injected_credentials() {
    let mut driver = Driver::injected(&[("own.test/", STORES)], everything()).await.unwrap();
    for how in ["first", "closed", "found again", "new connection"] {
        match how {
            "first" => {}
            "closed" => {
                driver.tabs(Tabs::Close(TabId(1))).await;
            }
            "found again" => {
                driver.cut().await;
                assert!(driver.resume().await);
            }
            _ => {
                driver.cut().await;
                driver.close_pages().await;
                assert!(!driver.resume().await);
            }
        }
        let before = driver.request_count("own.test/");
        driver.act(navigate("http://own.test/", LoadState::Load)).await.unwrap();
        assert_eq!(driver.request_count("own.test/"), before + 1, "{how}");
        assert_eq!(driver.browser.state().title, "dark hunter2", "{how}");
        let asked = driver.request("own.test/").await;
        assert_eq!((asked.header("X-Key"), asked.cookies()), (Some("hunter2"), vec!["sid"]), "{how}");
    }
}

#[tokio::test]
async fn a_restarted_chromium_is_reported_as_uninitialized() {
    let pages = [("own.test/", STORES)];
    let driver = Driver::injected(&pages, everything()).await.unwrap();
    driver.goto("http://own.test/").await;
    let mut next = Driver::with(&pages).await;
    let Resumed::NewChromium(blank) = driver.resume_on(&next).await else { panic!("it is another Chromium") };
    next.browser = blank.without_credentials();
    next.goto("http://own.test/").await;
    let asked = next.request("own.test/").await;
    assert_eq!((asked.header("X-Key"), asked.cookies()), (None, vec![]));
    assert_eq!(next.browser.state().title, "undefined undefined");
}
