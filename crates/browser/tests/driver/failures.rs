//! Crashes, hangs and lost connections: every call returns, and the next one works.

use crate::support::{Driver, role};
use browser::{
    BrowserOptions,
    cdp::{CallError, Command, protocol::Nothing},
};
use policy::{Action, Read};
use serde::Serialize;
use std::time::Duration;

/// Chromium's own way to crash a tab, which no page and no agent can reach.
#[derive(Serialize)]
struct Crash {}

impl Command for Crash {
    const METHOD: &'static str = "Page.crash";
    type Response = Nothing;
}

async fn crash(driver: &Driver) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(10);
    let answer = driver.connection.call(Some(&driver.first_tab), &Crash {}, deadline).await;
    assert!(matches!(answer, Err(CallError::Crashed { .. })), "{answer:?}");
}

const FINE: &[(&str, &str)] = &[("shop.test/", "<h1>fine</h1><button>Go</button>")];

#[tokio::test]
async fn a_crashed_tab_is_told_once_and_replaced() {
    let driver = Driver::with(FINE).await;
    let before = driver.goto("http://shop.test/").await;
    crash(&driver).await;
    assert!(driver.browser.state().ended);
    let error = driver.act(Action::Read(Read::default())).await.unwrap_err();
    assert_eq!(error.code(), "tab_crashed");
    assert_eq!(driver.outline().await, "", "a new tab is empty");
    assert!(!driver.browser.state().ended);
    let after = driver.goto("http://shop.test/").await;
    assert_ne!(before, after, "refs are not given twice, in another tab neither");
    assert!(driver.click(role("button", "Go")).await.is_ok());
}

#[tokio::test]
async fn a_call_in_flight_fails_when_its_tab_crashes() {
    let driver = Driver::with(&[("shop.test/", "<button disabled>Wait</button>")]).await;
    let first = driver.goto("http://shop.test/").await;
    // The click waits in the page for its button; the crash is asked for only after it was polled once.
    let (clicked, ()) = tokio::join!(driver.click(role("button", "Wait")), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        crash(&driver).await;
    });
    let error = clicked.unwrap_err();
    assert_eq!(error.code(), "tab_crashed", "{error}");
    assert!(error.to_string().contains("crashed,"), "{error}");
    assert_ne!(driver.goto("http://shop.test/").await, first);
}

#[tokio::test]
async fn a_page_that_does_not_answer_runs_into_the_time_limit() {
    let pages =
        [("shop.test/", "<button onclick='for (;;) {}'>Freeze</button>"), ("good.test/", "<h1>good</h1>")];
    let options = BrowserOptions { action_timeout: Duration::from_secs(3), ..BrowserOptions::default() };
    let driver = Driver::with_options(&pages, options).await;
    driver.goto("http://shop.test/").await;
    let error = driver.click(role("button", "Freeze")).await.unwrap_err();
    assert_eq!(error.code(), "browser_action_timeout:click:3s");
    assert!(error.retryable());
    assert_eq!(driver.goto("http://good.test/").await, "- heading \"good\" [level=1]\n");
}

#[tokio::test]
async fn a_browser_that_dies_fails_the_call_and_every_call_after() {
    let mut driver = Driver::with(FINE).await;
    driver.goto("http://shop.test/").await;
    let mut closed = driver.connection.closed();
    driver.kill();
    closed.wait_for(Option::is_some).await.unwrap();
    for _ in 0..2 {
        let error = driver.act(Action::Read(Read::default())).await.unwrap_err();
        assert_eq!(error.code(), "browser_lost");
        assert!(!error.retryable());
    }
}
