//! Waiting for a text, an element, an address, a load state or a time.

use crate::support::{Driver, outline_of, role};
use policy::{Action, Condition, LoadState, Selector, Target, WaitFor};
use std::time::Duration;

fn wait(condition: Condition) -> Action {
    Action::WaitFor(WaitFor { condition })
}

#[tokio::test]
async fn the_condition_holds_when_a_wait_ends() {
    let page = "<p id=old>Loading…</p><button id=b hidden>Go</button><div id=spin class=spinner>*</div>
        <script>setTimeout(() => { old.textContent = 'All done'; b.hidden = false; spin.remove(); history.pushState(1, '', '/ready?x=1'); }, 400)</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let spinner = Target::Selector { selector: Selector::parse(".spinner").unwrap(), index: 0 };
    for condition in [
        Condition::Text("all done".into()),
        Condition::TextGone("Loading".into()),
        Condition::Element(role("button", "Go")),
        Condition::ElementGone(spinner),
        Condition::Url("/ready".into()),
        Condition::Url("http://shop.test/ready*".into()),
        Condition::Time(Duration::from_millis(600)),
    ] {
        driver.goto("http://shop.test/").await;
        let after = driver.after(wait(condition.clone())).await.unwrap();
        assert!(outline_of(&after).contains("All done"), "{condition:?}: {}", outline_of(&after));
    }
    driver.after(wait(Condition::Load(LoadState::NetworkIdle))).await.unwrap();
}

#[tokio::test]
async fn a_wait_that_is_not_fulfilled_times_out() {
    let driver = Driver::with(&[("shop.test/", "<p>here</p>")]).await;
    driver.goto("http://shop.test/").await;
    for condition in [
        Condition::Text("never".into()),
        Condition::TextGone("here".into()),
        Condition::Element(role("button", "Never")),
        Condition::Url("/never".into()),
        Condition::Time(Duration::from_secs(100)),
    ] {
        assert_eq!(
            driver.code_within(1, wait(condition.clone())).await,
            "browser_action_timeout:wait_for:1s",
            "{condition:?}"
        );
    }
    assert!(driver.outline().await.contains("here"));
}
