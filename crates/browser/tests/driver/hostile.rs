//! Pages that try to stop the session, or to have the agent's click or text land somewhere else.

use crate::support::{Driver, role, text_of};
use browser::{Incident, Outcome};
use policy::{Action, Click};

const NEXT: (&str, &str) = ("shop.test/next", "<h1>next</h1>");

/// Opens `count` popups by one click; the page goes on, none of them loads, and the next page works.
async fn popups_do_no_harm(driver: &Driver, url: &str) {
    driver.goto(url).await;
    match driver.act(Action::Click(Click { target: role("button", "Open") })).await.unwrap() {
        Outcome::Clicked(after) => {
            assert!(text_of(&after.snapshot).contains("went on"), "{url}: {after:?}");
            let popup = Incident::PopupClosed { url: "http://shop.test/pop".into() };
            assert_eq!(after.incidents.last(), Some(&popup), "{url}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(driver.goto("http://shop.test/next").await, "- heading \"next\" [level=1]\n", "{url}");
    assert_eq!(driver.requests_of("shop.test/pop"), 0, "{url}");
}

fn opening(count: usize) -> String {
    format!(
        "<button onclick=\"for (let i = 0; i < {count}; i++) window.open('/pop');
           this.textContent = 'went on'\">Open</button>"
    )
}

#[tokio::test]
async fn a_popup_with_an_opener_is_closed_before_it_loads_and_its_opener_goes_on() {
    let (one, ten) = (opening(1), opening(10));
    let pages = [("shop.test/", one.as_str()), ("shop.test/ten", &ten), ("shop.test/pop", "<p>popped"), NEXT];
    let driver = Driver::with_popups(&pages).await;
    for url in ["http://shop.test/", "http://shop.test/ten"] {
        popups_do_no_harm(&driver, url).await;
    }
}

#[tokio::test]
async fn hundreds_of_popups_do_not_hold_up_the_page() {
    let many = opening(300);
    let pages = [("shop.test/", many.as_str()), ("shop.test/pop", "<p>popped"), NEXT];
    popups_do_no_harm(&Driver::with(&pages).await, "http://shop.test/").await;
}

#[tokio::test]
async fn names_that_lead_to_each_other_end() {
    let nested = |open: &str| format!("{}x{}", open.repeat(2000), "</div>".repeat(2000));
    let fields = nested("<div role=textbox style='display:contents'>");
    let lists = nested(
        "<div role=listbox style='display:contents'><div role=option aria-selected=true style='display:contents'>",
    );
    let page = format!(
        "<div id=a role=textbox aria-labelledby=b>one</div><div id=b><div aria-labelledby=a>two</div></div>
         <label for=d>L1 <input id=c></label><label for=c>L2 <input id=d></label>
         <img id=i aria-labelledby=i src=x alt=Itself><div role=list aria-owns=o2 id=o1></div><div role=list aria-owns=o1 id=o2></div>
         <button>B{fields}</button><label>N<input type=checkbox>{lists}</label><h1>End</h1>"
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(outline.contains("img \"Itself\""), "{outline}");
    let facts = driver.facts(&Action::Click(Click { target: role("heading", "End") })).await;
    assert_eq!(facts.name, "End");
}
