//! Back, forward and reload.

use crate::support::{Driver, click, outline_of, role};
use policy::Action;

#[tokio::test]
async fn back_and_forward_step_through_pages_and_fragments() {
    let pages = [
        ("shop.test/one", "<h1>one</h1><a href=/two>Two</a>"),
        ("shop.test/two", "<h1 id=h>two</h1><button onclick=\"history.pushState(1, '', '/two/step'); h.textContent = 'step'\">Step</button>
           <a href=#part>Part</a><script>onpopstate = () => { h.textContent = 'popped ' + location.pathname + location.hash; };</script>"),
    ];
    let driver = Driver::with(&pages).await;
    assert_eq!(driver.code(Action::Forward).await, "no_history");
    driver.goto("http://shop.test/one").await;
    driver.click(role("link", "Two")).await.unwrap();
    driver.click(role("button", "Step")).await.unwrap();
    driver.click(role("link", "Part")).await.unwrap();
    for (action, url, shows, navigated) in [
        (Action::Back, "http://shop.test/two/step", "popped /two/step", false),
        (Action::Back, "http://shop.test/two", "popped /two", false),
        (Action::Back, "http://shop.test/one", "\"one\"", true),
        (Action::Forward, "http://shop.test/two", "\"two\"", true),
        (Action::Forward, "http://shop.test/two/step", "popped /two/step", false),
        (Action::Forward, "http://shop.test/two/step#part", "popped /two/step#part", false),
    ] {
        let after = driver.after(action.clone()).await.unwrap();
        assert_eq!((after.url.as_str(), after.navigated), (url, navigated), "{action:?}");
        assert!(outline_of(&after).contains(shows), "{action:?}: {}", outline_of(&after));
    }
    assert_eq!(driver.code(Action::Forward).await, "no_history");
}

#[tokio::test]
async fn a_page_reloads_even_if_it_came_from_a_form() {
    let pages = [
        ("shop.test/", "<form method=post action=/sent><button>Send</button></form>"),
        ("shop.test/sent", "<h1>sent</h1>"),
    ];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/").await;
    assert!(driver.after(Action::Reload).await.unwrap().navigated);
    assert_eq!(driver.request_count("shop.test/"), 2);
    driver.after(click(role("button", "Send"))).await.unwrap();
    driver.act_within(15, Action::Reload).await.ok();
    driver.after(Action::Back).await.unwrap();
    assert!(driver.outline().await.contains("Send"));
}

#[tokio::test]
async fn a_page_that_manipulates_history_can_be_left() {
    let pages = [
        ("shop.test/one", "<h1>one</h1>"),
        (
            "shop.test/trap",
            "<h1>trap</h1><script>onpopstate = () => history.pushState(1, '', '/trap'); history.pushState(1, '', '/trap');</script>",
        ),
        ("shop.test/hang", "HANG"),
    ];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/one").await;
    driver.goto("http://shop.test/trap").await;
    for _ in 0..3 {
        driver.after(Action::Back).await.unwrap();
    }
    assert!(driver.goto("http://shop.test/one").await.contains("one"));
}
