//! Reconnecting to a living Chromium: the page, its refs and the last snapshots are still there.

use crate::support::{Driver, FREEZE, plain, reference, role, text_of};
use browser::Outcome;
use policy::{Action, Part, Read, Target, TokenBudget};

const PAGES: &[(&str, &str)] = &[
    (
        "shop.test/",
        "<title>Shop</title><button onclick=\"this.textContent += '!'\">Add</button>
         <iframe src=http://shop.test/inner></iframe><iframe src=http://other.test/></iframe>",
    ),
    ("shop.test/inner", "<button onclick=\"this.textContent += '!'\">Inner</button>"),
    (
        "other.test/",
        "<button onclick=\"this.textContent += '!'\">Other</button><iframe src=/deep height=60></iframe>
         <script>onmessage = () => { document.querySelector('iframe').remove();
           document.body.append(Object.assign(document.createElement('iframe'), { src: '/deep', onload: () => fetch('/loaded') })); }</script>",
    ),
    ("other.test/deep", "<button onclick=\"this.textContent += '!'\">Deep</button>"),
    ("shop.test/next", "<h1>next</h1><button>Add</button><script>onload = () => fetch('/loaded')</script>"),
];

#[tokio::test]
async fn refs_in_every_frame_outlive_the_connection() {
    let mut driver = Driver::with(PAGES).await;
    let before = driver.goto("http://shop.test/").await;
    for round in 1..=2 {
        driver.cut().await;
        assert!(driver.resume().await, "the tab is found");
        assert_eq!(driver.browser.state().url, "http://shop.test/");
        for name in ["Add", "Inner", "Other", "Deep"] {
            let after = driver.click(reference(&before, &format!("\"{name}"))).await.unwrap();
            let clicked = format!("\"{name}{}\"", "!".repeat(round));
            assert_eq!(reference(&after, &clicked), reference(&before, &format!("\"{name}")), "{after}");
        }
    }
    assert_eq!(driver.pages().await, 1, "no tab was opened beside it");
    let next = driver.goto("http://shop.test/next").await;
    assert_ne!(reference(&next, "Add"), reference(&before, "Add"));
    let error = driver.click(reference(&before, "Add")).await.unwrap_err();
    assert_eq!(
        browser::mark_page_text(&error.to_string(), "", ""),
        "e1 (http://shop.test/) was on a page that the tab has left"
    );
}

#[tokio::test]
async fn cursors_outlive_the_connection_and_their_numbers_are_not_reused() {
    let items: String = (0..2000).map(|n| format!("<li>item {n}</li>")).collect();
    let page = format!("<ul>{items}</ul>");
    let mut driver = Driver::with(&[("shop.test/", &page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    let cursor = |outline: &str| {
        let (_, rest) = outline.split_once("cursor=").unwrap_or_else(|| panic!("{outline}"));
        rest.split_once(']').unwrap().0.to_owned()
    };
    driver.cut().await;
    assert!(driver.resume().await);
    let read = Read { part: Part::Cursor(cursor(&outline)), ..Read::default() };
    assert!(matches!(driver.act(Action::Read(read)).await, Ok(Outcome::Read(_))));
    let serial =
        |cursor: &str| cursor.trim_start_matches('c').split_once('.').unwrap().0.parse::<u64>().unwrap();
    let again = driver.outline().await;
    assert!(serial(&cursor(&again)) > serial(&cursor(&outline)), "{again}");
}

#[tokio::test]
async fn changes_while_disconnected_are_noticed() {
    let mut driver = Driver::with(PAGES).await;
    let before = driver.goto("http://shop.test/").await;
    driver
        .run_in_page(
            "setTimeout(() => {
               const [inner, other] = document.querySelectorAll('iframe');
               inner.remove();
               other.contentWindow.postMessage('change', '*');
               const added = { src: '/inner', onload: () => fetch('/loaded') };
               document.body.append(Object.assign(document.createElement('iframe'), added));
             }, 300); 1",
        )
        .await;
    driver.cut().await;
    driver.request("shop.test/loaded").await;
    driver.request("other.test/loaded").await;
    assert!(driver.resume().await);
    let after = driver.outline().await;
    assert_eq!(reference(&after, "Add"), reference(&before, "Add"));
    assert_ne!(reference(&after, "Inner"), reference(&before, "Inner"));
    assert_eq!(reference(&after, "Other"), reference(&before, "Other"));
    for name in ["Inner", "Deep"] {
        let clicked = driver.click(reference(&after, name)).await.unwrap();
        assert!(clicked.contains(&format!("\"{name}!\"")), "{clicked}");
    }
    for gone in ["Inner", "Deep"] {
        let error = driver.click(reference(&before, gone)).await.unwrap_err();
        assert_eq!(error.code().to_string(), "stale_ref", "{error}");
        assert!(plain(&error).contains("in a frame that is gone"), "{error}");
    }
}

#[tokio::test]
async fn refs_of_a_page_left_while_disconnected_are_stale() {
    let mut driver = Driver::with(PAGES).await;
    let before = driver.goto("http://shop.test/").await;
    driver.run_in_page("setTimeout(() => { location = '/next' }, 300); 1").await;
    driver.cut().await;
    driver.request("shop.test/loaded").await;
    assert!(driver.resume().await);
    let after = driver.outline().await;
    assert!(after.contains("heading \"next\""), "{after}");
    assert_ne!(reference(&after, "Add"), reference(&before, "Add"));
    let error = driver.click(reference(&before, "Add")).await.unwrap_err();
    assert!(plain(&error).contains("was on a page that the tab has left"), "{error}");
    assert!(driver.click(role("button", "Add")).await.is_ok());
}

#[tokio::test]
async fn without_its_tab_a_browser_resumes_in_a_new_one_and_reuses_no_number() {
    let mut driver = Driver::with(PAGES).await;
    let before = driver.goto("http://shop.test/").await;
    driver.cut().await;
    driver.close_pages().await;
    assert!(!driver.resume().await);
    let error = driver.click(reference(&before, "Add")).await.unwrap_err();
    assert!(plain(&error).contains("was in a tab that is gone"), "{error}");
    let after = driver.goto("http://shop.test/").await;
    assert_ne!(reference(&after, "Add"), reference(&before, "Add"));
}

#[tokio::test]
async fn a_hung_page_is_replaced_by_a_new_tab_on_resume() {
    let mut driver = Driver::with(PAGES).await;
    let before = driver.goto("http://shop.test/").await;
    driver.run_in_page(&format!("setTimeout(() => {{ {FREEZE} }}, 200); 1")).await;
    driver.cut().await;
    driver.request("shop.test/frozen").await;
    assert!(!driver.resume().await);
    let error = driver.click(reference(&before, "Add")).await.unwrap_err();
    assert_eq!(
        browser::mark_page_text(&error.to_string(), "", ""),
        "e1 (http://shop.test/) was in a tab that is gone"
    );
    let all = Read { tokens: TokenBudget::new(TokenBudget::MAX).unwrap(), ..Read::default() };
    match driver.act(Action::Read(all)).await.unwrap() {
        Outcome::Read(snapshot) => assert_eq!(text_of(&snapshot), ""),
        other => panic!("{other:?}"),
    }
    let after = driver.goto("http://shop.test/").await;
    assert!(!matches!(reference(&after, "Add"), Target::Ref(text) if text == "e1"));
}
