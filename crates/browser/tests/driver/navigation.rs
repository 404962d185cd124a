//! Navigation: load states, final addresses, refusals.

use crate::support::{CUT, Driver, click, navigate, role};
use browser::{Incident, Outcome};
use policy::{Action, LoadState};

#[tokio::test]
async fn navigation_waits_for_each_load_state() {
    let driver =
        Driver::with(&[("shop.test/", "<title>Shop</title><h1>Hello</h1><img src=/late alt=''>")]).await;
    for state in [LoadState::Load, LoadState::DomContentLoaded, LoadState::NetworkIdle] {
        match driver.act(navigate("http://shop.test/", state)).await.unwrap() {
            Outcome::Navigated { final_url, title, status, snapshot, incidents } => {
                assert_eq!(
                    (final_url.as_str(), title.as_str(), status),
                    ("http://shop.test/", "Shop", Some(200))
                );
                assert_eq!(crate::support::text_of(&snapshot), "- heading \"Hello\" [level=1]\n");
                assert_eq!(incidents, []);
            }
            other => panic!("{state:?}: {other:?}"),
        }
        assert_eq!(driver.browser.state().url, "http://shop.test/");
    }
}

#[tokio::test]
async fn domcontentloaded_does_not_wait_for_an_image_that_never_loads() {
    let pages = [("shop.test/", "<h1>Hello</h1><img src=/never>"), ("shop.test/never", "HANG")];
    let driver = Driver::with(&pages).await;
    assert!(driver.act(navigate("http://shop.test/", LoadState::DomContentLoaded)).await.is_ok());
    let code = driver.code_within(4, navigate("http://shop.test/", LoadState::Load)).await;
    assert_eq!(code, "browser_action_timeout:navigate:4s");
}

/// A body that is shorter than its `Content-Length`, and a page that stops itself, never get a load event.
#[tokio::test]
async fn a_page_that_stops_loading_is_given_as_far_as_it_came() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
    let body = "<title>Cut</title><h1>Hello</h1><p>so far<script>new Image().src = '/parsed'</script>";
    let short = format!("{CUT}{head}Content-Length: 100000\r\n\r\n{body}");
    let chunked =
        format!("{CUT}{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n50\r\n<p>", body.len());
    let pages = [
        ("shop.test/short", short.as_str()),
        ("shop.test/chunked", chunked.as_str()),
        ("shop.test/stops", "<h1>Hello</h1>so far<img src=/never><script>window.stop()</script>"),
        ("shop.test/never", "HANG"),
        ("shop.test/", "<h1>whole</h1>"),
    ];
    let driver = Driver::with(&pages).await;
    for path in ["short", "chunked", "stops"] {
        for state in [LoadState::Load, LoadState::DomContentLoaded, LoadState::NetworkIdle] {
            let went = driver.act(navigate(&format!("http://shop.test/{path}"), state)).await;
            let Outcome::Navigated { snapshot, incidents, status, .. } = went.unwrap() else { panic!() };
            let text = crate::support::text_of(&snapshot);
            assert!(text.contains("Hello") && text.contains("so far"), "{path} {state:?}: {text}");
            assert_eq!(status, Some(200), "{path} {state:?}");
            // A page may have reached the earlier state before it stopped.
            if state == LoadState::Load {
                assert!(incidents.contains(&Incident::LoadingStopped), "{path} {state:?}: {incidents:?}");
            }
        }
    }
    match driver.act(navigate("http://shop.test/", LoadState::Load)).await.unwrap() {
        Outcome::Navigated { incidents, .. } => assert_eq!(incidents, []),
        other => panic!("{other:?}"),
    }
}

/// Each of these replaces its document over and over, and so replaces the navigation that is to leave it.
#[tokio::test]
async fn a_page_that_keeps_replacing_itself_can_always_be_left() {
    let pages = [
        ("shop.test/same", "<h1>trap</h1><script>location.replace(location.href)</script>"),
        (
            "shop.test/other",
            "<h1>trap</h1><script>location.replace('/other?' + Math.random())</script>",
        ),
        (
            "shop.test/often",
            "<h1>trap</h1><script>setInterval(() => location.replace('/often?' + Math.random()), 1)</script>",
        ),
        (
            "shop.test/never",
            "<h1>trap</h1><script>setInterval(() => location.replace('/hang?' + Math.random()), 1)</script>",
        ),
        (
            "shop.test/leaving",
            "<h1>trap</h1><script>onbeforeunload = onpagehide = onunload = () => location.replace('/leaving?' + Math.random());
             setInterval(onunload, 1)</script>",
        ),
        ("shop.test/hang", "HANG"),
        ("shop.test/next", "<h1>next</h1>"),
    ];
    let driver = Driver::with(&pages).await;
    for path in ["same", "other", "often", "never", "leaving"] {
        for round in 0..3 {
            // Whether it can be shown is up to the page.
            let trap = navigate(&format!("http://shop.test/{path}"), LoadState::DomContentLoaded);
            driver.act_within(4, trap).await.ok();
            assert_eq!(
                driver.goto("http://shop.test/next").await,
                "- heading \"next\" [level=1]\n",
                "{path}, round {round}"
            );
        }
    }
}

#[tokio::test]
async fn a_failed_navigation_reports_the_network_error() {
    let driver = Driver::with(&[("shop.test/empty", "CLOSE"), ("shop.test/", "<h1>fine</h1>")]).await;
    for (url, expected) in [
        ("http://nowhere.test/", "ERR_NAME_NOT_RESOLVED"),
        ("http://refused.test/", "ERR_CONNECTION_REFUSED"),
        ("http://shop.test/empty", "ERR_EMPTY_RESPONSE"),
    ] {
        let error = driver.act(navigate(url, LoadState::Load)).await.unwrap_err();
        assert_eq!(error.code().to_string(), "navigation_failed", "{url}");
        assert!(error.to_string().contains(expected) && error.to_string().contains(url), "{error}");
    }
    assert_eq!(driver.goto("http://shop.test/").await, "- heading \"fine\" [level=1]\n");
}

#[tokio::test]
async fn redirects_and_missing_pages_report_final_url_and_status() {
    let pages = [
        (
            "shop.test/old",
            "HTTP/1.1 302 Found\r\nLocation: http://other.test/new\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        ),
        ("shop.test/script", "<script>location.replace('http://other.test/new')</script>"),
        ("other.test/new", "<title>New</title>"),
    ];
    let driver = Driver::with(&pages).await;
    for (from, to, expected) in [
        ("http://shop.test/old", "http://other.test/new", 200),
        ("http://shop.test/script", "http://other.test/new", 200),
        ("http://shop.test/missing", "http://shop.test/missing", 404),
    ] {
        match driver.act(navigate(from, LoadState::Load)).await.unwrap() {
            Outcome::Navigated { final_url, status, .. } => {
                assert_eq!((final_url.as_str(), status), (to, Some(expected)), "{from}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn no_page_can_navigate_to_a_non_web_scheme() {
    let redirect = |to: &str| {
        format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    };
    let (data, script, file) =
        (redirect("data:text/html,x"), redirect("javascript:1"), redirect("file:///etc/passwd"));
    let blob =
        "<script>location = URL.createObjectURL(new Blob(['<h1>inside</h1>'], {type: 'text/html'}))</script>";
    let pages = [
        ("shop.test/data", data.as_str()),
        ("shop.test/script", script.as_str()),
        ("shop.test/file", file.as_str()),
        ("shop.test/blob", blob),
        ("shop.test/", "<h1>fine</h1>"),
    ];
    let driver = Driver::with(&pages).await;
    for (path, code) in [
        ("data", "blocked_scheme"),
        ("script", "navigation_failed"),
        ("file", "blocked_scheme"),
        ("blob", "blocked_scheme"),
    ] {
        let error =
            driver.act(navigate(&format!("http://shop.test/{path}"), LoadState::Load)).await.unwrap_err();
        assert_eq!(error.code().to_string(), code, "{path}: {error}");
        let seen = driver.outline().await;
        assert!(!seen.contains("inside") && !seen.contains("root:"), "{path}: {seen}");
    }
    assert_eq!(driver.goto("http://shop.test/").await, "- heading \"fine\" [level=1]\n");
}

#[tokio::test]
async fn a_download_is_refused() {
    let file = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\
                Content-Disposition: attachment; filename=a.bin\r\nContent-Length: 3\r\n\
                Connection: close\r\n\r\nabc";
    let driver = Driver::with(&[("shop.test/file", file)]).await;
    let error = driver.act(navigate("http://shop.test/file", LoadState::Load)).await.unwrap_err();
    assert_eq!(error.code().to_string(), "download_refused", "{error}");
}

/// Chromium shows a page of its own for an error without a body, which knows no status.
#[tokio::test]
async fn every_reply_that_leads_to_a_page_has_its_http_status() {
    let empty = |status: &str, more: &str| {
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n"
        )
    };
    let auth = empty("401 Unauthorized", "WWW-Authenticate: Basic realm=x\r\n");
    let worded = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=x\r\nContent-Type: text/html\r\n\
                  Content-Length: 14\r\nConnection: close\r\n\r\n<h1>sorry</h1>";
    let (broken, teapot) = (empty("500 Oops", ""), empty("418 Teapot", ""));
    let links =
        "<a href=/auth>auth</a><a href=/worded>worded</a><a href=/broken>broken</a><a href=/fine>fine</a>";
    let pages = [
        ("shop.test/", links),
        ("shop.test/auth", auth.as_str()),
        ("shop.test/worded", worded),
        ("shop.test/broken", broken.as_str()),
        ("shop.test/teapot", teapot.as_str()),
        ("shop.test/fine", "<h1>fine</h1>"),
    ];
    let driver = Driver::with(&pages).await;
    for (path, expected) in [("auth", 401), ("worded", 401), ("broken", 500), ("teapot", 418), ("fine", 200)]
    {
        let went = driver.act(navigate(&format!("http://shop.test/{path}"), LoadState::Load)).await;
        let Outcome::Navigated { status, final_url, .. } = went.unwrap_or_else(|e| panic!("{path}: {e}"))
        else {
            panic!()
        };
        assert_eq!((status, final_url), (Some(expected), format!("http://shop.test/{path}")));
        let after = driver.after(Action::Reload).await.unwrap();
        assert_eq!((after.navigated, after.snapshot.unwrap().status), (true, Some(expected)), "{path}");
    }
    for (path, expected) in [("auth", 401), ("worded", 401), ("broken", 500), ("fine", 200)] {
        driver.goto("http://shop.test/").await;
        let after = driver.after(click(role("link", path))).await.unwrap();
        assert_eq!((after.navigated, after.snapshot.unwrap().status), (true, Some(expected)), "{path}");
    }
}
