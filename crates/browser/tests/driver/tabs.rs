//! Tabs and popups: every page that opens belongs to the session, and none of them blocks it.

use crate::support::{
    Driver, click, navigate, options_with_timeout, outline_of, reference, role, wait_for_text,
};
use browser::{Incident, TabInfo};
use policy::{Action, LoadState, Read, TabId, Tabs};

const NEXT: (&str, &str) = ("shop.test/next", "<h1>next</h1>");

fn summarize(tabs: &[TabInfo]) -> Vec<(u32, &str, bool)> {
    tabs.iter().map(|tab| (tab.id.0, tab.url.as_str(), tab.current)).collect()
}

fn page_opening(count: usize) -> String {
    format!(
        "<button onclick=\"for (let i = 0; i < {count}; i++) window.open('/pop');
           this.textContent = 'went on'\">Open</button>"
    )
}

#[tokio::test]
async fn a_popup_becomes_a_tab_that_can_be_listed_switched_to_and_closed() {
    let pages = [
        ("shop.test/", "<a href=/pop target=_blank>Link</a><a href=/pop target=_blank rel=opener>Opener</a>
           <button onclick=\"window.open('/pop')\">Script</button>
           <button onclick=\"window.open('about:blank').document.write('<title>w</title><h1>written</h1>')\">Blank</button>"),
        ("shop.test/pop", "<title>Popup</title><button onclick='document.title = \"hit\"'>Hit</button>"),
    ];
    let driver = Driver::with(&pages).await;
    let main = driver.goto("http://shop.test/").await;
    for (place, (name, url, title)) in [
        ("Link", "http://shop.test/pop", "Popup"),
        ("Opener", "http://shop.test/pop", "Popup"),
        ("Script", "http://shop.test/pop", "Popup"),
        ("Blank", "about:blank", "w"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = u32::try_from(place).unwrap() + 2;
        let after = driver.after(click(reference(&main, name))).await.unwrap();
        assert!(
            matches!(after.incidents.as_slice(), [Incident::TabOpened { tab: TabId(opened), .. }] if *opened == id),
            "{name}: {after:?}"
        );
        driver.tabs(Tabs::Switch(TabId(id))).await;
        let outline = driver.outline().await;
        let tabs = driver.tabs(Tabs::List).await;
        assert_eq!(summarize(&tabs), [(1, "http://shop.test/", false), (id, url, true)], "{name}");
        assert_eq!(tabs[1].title.as_str(), title, "{name}: {outline}");
        if title == "Popup" {
            driver.click(role("button", "Hit")).await.unwrap();
            assert_eq!(driver.browser.state().title, "hit", "{name}");
        }
        // A ref of a background tab says where it belongs.
        let error = driver.act(click(reference(&main, name))).await.unwrap_err();
        assert_eq!(error.code().to_string(), "stale_ref");
        assert!(error.to_string().contains("t1") && error.hint().contains("browser_tabs"), "{error}");
        let tabs = driver.tabs(Tabs::Close(TabId(id))).await;
        assert_eq!(summarize(&tabs), [(1, "http://shop.test/", true)], "{name}");
        driver.wait_for_page_count(1).await;
    }
}

#[tokio::test]
async fn the_number_of_tabs_is_limited_and_never_zero() {
    let driver = Driver::with(&[NEXT]).await;
    driver.goto("http://shop.test/next").await;
    for count in 2..=8 {
        assert_eq!(driver.tabs(Tabs::New).await.len(), count);
    }
    assert_eq!(driver.code(Action::Tabs(Tabs::New)).await, "too_many_tabs");
    for missing in [Tabs::Switch(TabId(99)), Tabs::Close(TabId(99))] {
        assert_eq!(driver.code(Action::Tabs(missing)).await, "no_such_tab");
    }
    driver.tabs(Tabs::Switch(TabId(1))).await;
    assert!(driver.outline().await.contains("next"));
    for tab in driver.tabs(Tabs::List).await {
        driver.tabs(Tabs::Close(tab.id)).await;
    }
    assert_eq!(summarize(&driver.tabs(Tabs::List).await), [(9, "about:blank", true)]);
    assert!(driver.goto("http://shop.test/next").await.contains("next"));
}

#[tokio::test]
async fn popups_are_limited_and_their_page_goes_on() {
    for (count, opened) in [(3, 3), (20, 7)] {
        let page = page_opening(count);
        let pages = [("shop.test/", page.as_str()), ("shop.test/pop", "<h1>popped</h1>"), NEXT];
        let driver = Driver::with_options(&pages, options_with_timeout(120)).await;
        driver.goto("http://shop.test/").await;
        let after = driver.after(click(role("button", "Open"))).await.unwrap();
        assert!(outline_of(&after).contains("went on"), "{count}: {after:?}");
        assert_eq!(driver.tabs(Tabs::List).await.len(), 1 + opened, "{count}");
        let closed = after.incidents.iter().any(|incident| matches!(incident, Incident::PopupClosed { .. }));
        assert_eq!(closed, count > opened, "{count}: {:?}", after.incidents);
        driver.tabs(Tabs::Switch(TabId(2))).await;
        assert!(driver.goto("http://shop.test/next").await.contains("next"), "{count}");
        driver.tabs(Tabs::Switch(TabId(1))).await;
        assert!(driver.goto("http://shop.test/next").await.contains("next"), "{count}");
    }
}

#[tokio::test]
async fn a_popup_that_closes_itself_returns_to_the_previous_tab() {
    let pages = [
        ("shop.test/", "<button onclick=\"popup = window.open('/pop')\">Sign in</button><h1>shop</h1>"),
        (
            "shop.test/pop",
            "<button onclick='window.close()'>Done</button><button onclick='setTimeout(() => window.close(), 50)'>Later</button>",
        ),
    ];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/").await;
    driver.click(role("button", "Sign in")).await.unwrap();
    driver.tabs(Tabs::Switch(TabId(2))).await;
    let after = driver.after(click(role("button", "Done"))).await.unwrap();
    assert!(outline_of(&after).contains("\"shop\""), "{after:?}");
    assert_eq!(after.incidents, [Incident::TabChanged { tab: TabId(1) }]);
    // The condition was not fulfilled in it.
    driver.click(role("button", "Sign in")).await.unwrap();
    let tab = driver.tabs(Tabs::List).await[1].id;
    driver.tabs(Tabs::Switch(tab)).await;
    // It closes itself once the wait has begun, which is polled first.
    let closes = driver.run_in_page("popup.setTimeout('window.close()'); 1");
    let (code, _) = tokio::join!(driver.code(wait_for_text("never")), closes);
    assert_eq!(code, "tab_closed");
    assert!(driver.outline().await.contains("\"shop\""));
    // A tab that closes between two calls is reported once, so that nothing meant for it happens in another.
    driver.click(role("button", "Sign in")).await.unwrap();
    driver.tabs(Tabs::Switch(TabId(4))).await;
    driver.after(click(role("button", "Later"))).await.ok();
    driver.wait_for_page_count(1).await;
    driver.act(Action::Read(Read::default())).await.ok();
    assert!(driver.outline().await.contains("\"shop\""));
    assert_eq!(summarize(&driver.tabs(Tabs::List).await), [(1, "http://shop.test/", true)]);
}

#[tokio::test]
async fn a_tab_works_after_its_opener_closes_or_hangs() {
    let pages = [
        (
            "shop.test/",
            "<a href=http://other.test/ target=_blank>Open</a>
           <button onclick='for (;;) {}'>Freeze</button>",
        ),
        ("other.test/", "<h1>other</h1>"),
    ];
    let driver = Driver::with(&pages).await;
    for how in ["close", "freeze"] {
        driver.goto("http://shop.test/").await;
        driver.click(role("link", "Open")).await.unwrap();
        let tabs = driver.tabs(Tabs::List).await;
        let (first, second) = (tabs[0].id, tabs[1].id);
        if how == "freeze" {
            let code = driver.code_within(3, click(role("button", "Freeze"))).await;
            assert_eq!(code, "browser_action_timeout:click:3s");
        }
        driver.tabs(Tabs::Switch(second)).await;
        assert!(driver.outline().await.contains("other"), "{how}");
        driver.tabs(Tabs::Close(first)).await;
        assert!(driver.outline().await.contains("other"), "{how}");
    }
}

#[tokio::test]
async fn a_popup_to_a_forbidden_scheme_is_closed() {
    let pages = [
        (
            "shop.test/",
            "<button onclick=\"window.open(window.URL.createObjectURL(new Blob(['<h1>blob</h1>'], {type: 'text/html'})))\">Blob</button>",
        ),
        NEXT,
    ];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/").await;
    driver.click(role("button", "Blob")).await.unwrap();
    driver.tabs(Tabs::Switch(TabId(2))).await;
    assert!(!driver.outline().await.contains("blob"));
    assert!(driver.goto("http://shop.test/next").await.contains("next"));
}

/// Chromium takes tens of milliseconds for each window, and the page can do nothing else meanwhile.
#[tokio::test]
async fn a_page_that_opens_windows_without_end_is_closed_and_does_not_hold_up_the_call() {
    let loading = "<h1>storm</h1><script>for (let i = 0; i < 5000; i++) window.open('/pop')</script>";
    let pressed = page_opening(5000);
    let pages = [
        ("shop.test/loading", loading),
        ("shop.test/pressed", pressed.as_str()),
        (
            "shop.test/later",
            "<h1>storm</h1><script>onload = () => setInterval(() => window.open('/pop', '_blank', 'noopener'), 1)</script>",
        ),
        ("shop.test/pop", "<h1>popped</h1>"),
        NEXT,
    ];
    let storm = |path: &str| navigate(&format!("http://shop.test/{path}"), LoadState::Load);
    for path in ["loading", "pressed", "later"] {
        // Five thousand windows would take minutes.
        let driver = Driver::with_options(&pages, options_with_timeout(60)).await;
        let came = match path {
            "pressed" => {
                driver.act(storm(path)).await.unwrap();
                driver.act(click(role("button", "Open"))).await
            }
            _ => driver.act(storm(path)).await,
        };
        // What opens windows one by one leaves time to read the page first.
        let error = match came {
            Ok(_) if path == "later" => loop {
                if let Err(error) = driver.act(Action::Read(Read::default())).await {
                    break error;
                }
            },
            came => came.unwrap_err(),
        };
        assert_eq!(error.code().to_string(), "tab_closed", "{path}: {error}");
        assert!(error.to_string().contains("windows without end"), "{path}: {error}");
        assert!(driver.goto("http://shop.test/next").await.contains("next"), "{path}");
        let tabs = driver.tabs(Tabs::List).await;
        assert!(
            tabs.len() <= 8 && !tabs.iter().any(|tab| tab.url.as_str().ends_with(path)),
            "{path}: {tabs:?}"
        );
    }
}
