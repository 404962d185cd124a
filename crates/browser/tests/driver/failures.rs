//! Crashes, hangs and lost connections: every call returns, and the next one works.

use crate::support::{Driver, FREEZE, click, navigate, role, run_at_once, soon};
use browser::cdp::{
    CallError, Command,
    protocol::{GetLayoutMetrics, Nothing},
};
use futures_util::future::join_all;
use policy::{Action, LoadState, Read};
use serde::Serialize;
use std::time::Duration;

/// Chromium's command to crash a tab, which no page and no agent can reach.
#[derive(Serialize)]
pub struct Crash {}

impl Command for Crash {
    const METHOD: &'static str = "Page.crash";
    type Response = Nothing;
}

async fn crash(driver: &Driver) {
    let answer = driver.connection.call(Some(&driver.first_tab), &Crash {}, soon()).await;
    assert!(matches!(answer, Err(CallError::Crashed { .. })), "{answer:?}");
}

async fn freeze(driver: &Driver) {
    driver.run_in_page(&format!("setTimeout(() => {{ {FREEZE} }}); 1")).await;
    driver.request("shop.test/frozen").await;
}

const FINE: &[(&str, &str)] = &[("shop.test/", "<h1>fine</h1><button>Go</button>")];

#[tokio::test]
async fn a_crashed_tab_is_reported_once_and_replaced() {
    let driver = Driver::with(FINE).await;
    let before = driver.goto("http://shop.test/").await;
    crash(&driver).await;
    assert!(driver.browser.state().ended);
    let error = driver.act(Action::Read(Read::default())).await.unwrap_err();
    assert_eq!(error.code().to_string(), "tab_crashed");
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
    // The click waits for its button; the crash is requested only after the click was polled once.
    let (clicked, ()) = tokio::join!(driver.click(role("button", "Wait")), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        crash(&driver).await;
    });
    let error = clicked.unwrap_err();
    assert_eq!(error.code().to_string(), "tab_crashed", "{error}");
    assert!(error.to_string().contains("crashed,"), "{error}");
    assert_ne!(driver.goto("http://shop.test/").await, first);
}

#[tokio::test]
async fn a_page_that_does_not_answer_times_out() {
    let pages =
        [("shop.test/", "<button onclick='for (;;) {}'>Freeze</button>"), ("good.test/", "<h1>good</h1>")];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/").await;
    let error = driver.act_within(3, click(role("button", "Freeze"))).await.unwrap_err();
    assert_eq!(error.code().to_string(), "browser_action_timeout:click:3s");
    assert!(error.retryable());
    assert_eq!(driver.goto("http://good.test/").await, "- heading \"good\" [level=1]\n");
}

#[tokio::test]
async fn a_busy_page_can_be_left_repeatedly() {
    let pages = [
        ("shop.test/spin", "<script>for (;;) {}</script>"),
        ("shop.test/late", "<h1>late</h1><script>setTimeout(() => { for (;;) {} })</script>"),
        ("shop.test/", "<h1>same site</h1>"),
        ("good.test/", "<h1>other site</h1>"),
    ];
    let cases = [
        ("http://shop.test/spin", 2, "http://shop.test/", "same site"),
        ("http://shop.test/spin", 1, "http://good.test/", "other site"),
        ("http://shop.test/late", 1, "http://shop.test/", "same site"),
    ];
    run_at_once(cases, async |(spins, times, good, expected)| {
        let driver = Driver::with(&pages).await;
        for _ in 0..times {
            let code = driver.code_within(3, navigate(spins, LoadState::Load)).await;
            assert_eq!(code, "browser_action_timeout:navigate:3s", "{spins}");
        }
        assert_eq!(driver.goto(good).await, format!("- heading \"{expected}\" [level=1]\n"), "{spins}");
        driver.wait_for_page_count(1).await;
    })
    .await;
}

#[tokio::test]
async fn a_frozen_page_fails_reads_and_clicks_and_can_be_left() {
    let pages = [("shop.test/", "<button>Go</button>"), ("shop.test/next", "<h1>next</h1>")];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/").await;
    freeze(&driver).await;
    let code = driver.code_within(4, Action::Read(Read::default())).await;
    assert_eq!(code, "browser_action_timeout:read:4s");
    let code = driver.code_within(4, click(role("button", "Go"))).await;
    assert_eq!(code, "browser_action_timeout:click:4s");
    assert_eq!(driver.goto("http://shop.test/next").await, "- heading \"next\" [level=1]\n");
}

/// The time for giving up a tab that hangs is part of the limit.
#[tokio::test]
async fn a_hung_navigation_ends_within_its_time_limit() {
    let page = format!("<h1>stuck</h1><script>{FREEZE}</script>");
    let driver = Driver::with(&[("shop.test/", "<h1>fine</h1>"), ("shop.test/stuck", &page)]).await;
    driver.goto("http://shop.test/").await;
    let limit = Duration::from_secs(12);
    let began = std::time::Instant::now();
    let code = driver.code_within(12, navigate("http://shop.test/stuck", LoadState::Load)).await;
    let took = began.elapsed();
    assert_eq!(code, "browser_action_timeout:navigate:12s");
    // The rest is for a busy machine.
    assert!(took < limit + Duration::from_secs(1), "{took:?}");
    assert!(driver.goto("http://shop.test/").await.contains("fine"));
}

#[tokio::test]
async fn too_many_concurrent_commands_are_refused_and_the_next_call_works() {
    let driver = Driver::with(FINE).await;
    driver.goto("http://shop.test/").await;
    freeze(&driver).await;
    let ask = || driver.connection.call(Some(&driver.first_tab), &GetLayoutMetrics {}, soon());
    let code = tokio::select! {
        biased;
        answers = join_all((0..5_000).map(|_| ask())) => panic!("{} answers of a frozen page", answers.len()),
        code = driver.code(Action::Read(Read::default())) => code,
    };
    assert_eq!(code, "browser_protocol");
    assert!(driver.goto("http://shop.test/").await.contains("fine"));
}

#[tokio::test]
async fn a_killed_browser_fails_the_call_and_every_later_one() {
    let mut driver = Driver::with(FINE).await;
    driver.goto("http://shop.test/").await;
    let mut closed = driver.connection.closed();
    driver.kill();
    closed.wait_for(Option::is_some).await.unwrap();
    for _ in 0..2 {
        let error = driver.act(Action::Read(Read::default())).await.unwrap_err();
        assert_eq!(error.code().to_string(), "browser_lost");
        assert!(!error.retryable());
    }
}
