//! Navigation: load states, final addresses, refusals.

use crate::support::{Driver, navigate};
use browser::Outcome;
use policy::LoadState;

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
