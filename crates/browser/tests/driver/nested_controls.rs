//! Parts of controls, nested controls, and labels: the facts describe what a click triggers, and the click hits the
//! named element.

use crate::support::{Driver, click, outline_of, role};
use browser::Incident;
use policy::{Action, Check, Hover, Selector, Target};

fn selector(text: &str) -> Target {
    Target::Selector { selector: Selector::parse(text).unwrap(), index: 0 }
}

#[tokio::test]
async fn a_part_of_a_control_has_the_facts_of_its_control() {
    let page = "<form action=/checkout method=post><input name=n value=x>
        <button id=b1><b>Pay</b> <i>now</i></button>
        <button id=b2 aria-label='Delete repository'><svg role=img width=20 height=20><rect width=20 height=20 /></svg></button>
        <button id=b3><span role=button tabindex=0>Next</span></button>
        <input type=submit id=b4 value='Delete all'></form>
        <label for=b4 id=l4>Label of <span>it</span></label>
        <a href=/items/3/delete id=a5><div role=button tabindex=0>Open</div></a>
        <div role=button aria-label='Delete account' id=d6 tabindex=0><em>x</em></div>
        <div id=d7><p>Plain</p></div><button id=b8 type=button title='Empty the bin'>x</button>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let checkout = Some("http://shop.test/checkout");
    for (part, expected_role, name, form, href) in [
        ("#b1", "button", "Pay now", checkout, None),
        ("#b1 i", "button", "Pay now", checkout, None),
        ("#b2 svg", "button", "Delete repository", checkout, None),
        ("#b3 span", "button", "Next", checkout, None),
        ("#l4", "button", "Label of it", checkout, None),
        ("#l4 span", "button", "Label of it", checkout, None),
        ("#a5 div", "link", "Open", None, Some("http://shop.test/items/3/delete")),
        ("#d6 em", "button", "Delete account", None, None),
        ("#d7 p", "paragraph", "", None, None),
    ] {
        for action in [click(selector(part)), Action::Hover(Hover { target: selector(part) })] {
            let facts = driver.facts(&action).await;
            let action_of_form = facts.form.as_ref().map(|form| form.action.as_str());
            let found = (facts.role.as_str(), facts.name.as_str(), action_of_form, facts.href.as_deref());
            assert_eq!(found, (expected_role, name, form, href), "{part}");
            assert_eq!(facts.appearance.form_digest.is_empty(), form.is_none(), "{part}");
            assert_eq!(facts.text.contains("Delete all"), part.starts_with("#l4"), "{part}: {}", facts.text);
        }
    }
    assert_eq!(driver.facts(&click(selector("#b8"))).await.text, "x Empty the bin");
    // The named element is clicked, and its effect follows.
    let pressed = "<label>Accept <input type=checkbox id=box> the <span role=button tabindex=0 id=terms>terms</span></label>
        <a href=#gone><span id=inner style='float:right'>in</span> text that is long enough for another middle</a>
        <p id=log></p><script>const all = []; addEventListener('click', (e) => { log.textContent = e.target.id || e.target.tagName; all.push(log.textContent) })</script>";
    let driver = Driver::with(&[("shop.test/", pressed)]).await;
    driver.goto("http://shop.test/").await;
    assert!(driver.click(selector("#inner")).await.unwrap().contains("\"inner\""));
    assert_eq!(driver.value("location.hash").await, "#gone");
    let terms = click(role("button", "terms"));
    assert_eq!(driver.facts(&terms).await.role, "checkbox", "the label around it ticks its box");
    driver.after(terms).await.unwrap();
    assert_eq!(driver.value("`${all.slice(-2)} ${box.checked}`").await, "terms,box true");
}

#[tokio::test]
async fn a_form_changed_after_approval_voids_a_click_on_its_button() {
    let page = "<form id=f action=/checkout method=post><input name=amount id=amount value=5><button><b>Pay</b> now</button></form>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    for change in ["f.action = '/attacker'", "amount.value = '9999'"] {
        driver.goto("http://shop.test/").await;
        let action = click(selector("button b"));
        let mut facts = driver.browser.resolve(&action).await.unwrap();
        // As a person approved it.
        facts.target.as_mut().unwrap().appearance.pinned = true;
        driver.run_in_page(change).await;
        let error = driver.act_on(action, facts).await.unwrap_err();
        assert_eq!(error.code().to_string(), "target_changed", "{change}: {error}");
    }
    assert_eq!(driver.request_count("shop.test/checkout") + driver.request_count("shop.test/attacker"), 0);
}

#[tokio::test]
async fn a_control_around_others_is_clicked_itself_where_possible() {
    let said = |text: &str| format!("onclick=\"event.stopPropagation(); out.textContent = '{text}'\"");
    let (outer, inner) = (said("outer"), said("inner"));
    let big = "style='display:block;position:relative;width:300px;height:60px'";
    let middle = "style='position:absolute;left:110px;top:15px;width:80px;height:30px'";
    let pages = [
        (
            "menuitem",
            format!(
                "<ul role=menubar><li role=menuitem aria-label=It {outer}>File<ul role=menu><li role=menuitem {inner}>Delete all</li><li role=menuitem {inner}>Quit</li></ul></li></ul>"
            ),
        ),
        (
            "treeitem",
            format!(
                "<ul role=tree><li role=treeitem aria-label=It aria-expanded=true {outer}>Root<ul role=group><li role=treeitem {inner}>a</li><li role=treeitem {inner}>b</li><li role=treeitem {inner}>c</li></ul></li></ul>"
            ),
        ),
        (
            "button",
            format!(
                "<div role=button aria-label=It tabindex=0 {big} {outer}>card<button {middle} {inner}>x</button></div>"
            ),
        ),
        (
            "button",
            format!(
                "<button {big} {outer} aria-label=It>wide</button><div style='position:fixed;left:100px;top:0;width:100px;height:100px;background:#ccc' {inner}>chat</div>"
            ),
        ),
    ];
    let served: Vec<(String, String)> = pages
        .iter()
        .enumerate()
        .map(|(at, (_, html))| {
            (
                format!("shop.test/{at}"),
                format!("<body style='margin:0'>{html}<p id=out style='margin-top:200px'>none</p>"),
            )
        })
        .collect();
    let served: Vec<(&str, &str)> = served.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::with(&served).await;
    for (at, (kind, _)) in pages.iter().enumerate() {
        driver.goto(&format!("http://shop.test/{at}")).await;
        let shown =
            driver.click(role(kind, "It")).await.unwrap_or_else(|error| panic!("{at} {kind}: {error}"));
        assert!(shown.contains("\"outer\""), "{at} {kind}: {shown}");
    }
}

#[tokio::test]
async fn a_checkbox_drawn_by_its_label_is_set_wherever_it_is_hidden() {
    let hidden =
        "position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0);clip-path:inset(50%)";
    let boxes = [
        ("off the page", "<input type=checkbox id=a style='position:absolute;left:-9999px'><label for=a>Tick</label>".to_owned()),
        ("clipped", format!("<div>above</div><input type=checkbox id=a style='{hidden}'><label for=a>Tick</label>")),
        ("clipped in its label", format!("<label style='position:relative;display:block'><input type=checkbox style='{hidden}'><span>Tick</span></label>")),
        ("with a link in the middle", "<label><input type=checkbox aria-label=Tick style='width:0;height:0;margin:0;opacity:0'>I agree to the <a href=/terms>terms of service here</a> ok</label>".to_owned()),
    ];
    for (what, html) in boxes {
        let driver = Driver::with(&[("shop.test/", &html)]).await;
        driver.goto("http://shop.test/").await;
        let check = Action::Check(Check { target: role("checkbox", "Tick"), checked: true });
        driver.after(check).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(driver.value("`${document.querySelector('input').checked}`").await, "true", "{what}");
        assert_eq!(driver.request_count("shop.test/terms"), 0, "{what}");
    }
}

#[tokio::test]
async fn a_list_that_is_rebuilt_on_scroll_is_clicked_at_once() {
    let page = "<div id=vp style='height:200px;overflow:auto'><div id=b></div></div><p id=out></p><script>
        function draw() { b.innerHTML = Array.from({length: 40}, (_, i) => `<div style='height:30px'><button onclick=\"out.textContent = 'hit ${i}'\">Row ${i}</button></div>`).join('') }
        vp.onscroll = draw; draw()</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    for row in [30, 12, 39] {
        driver.goto("http://shop.test/").await;
        let shown = driver.click(role("button", &format!("Row {row}"))).await.unwrap();
        assert!(shown.contains(&format!("hit {row}")), "{shown}");
    }
}

#[tokio::test]
async fn a_response_that_the_page_does_not_read_is_not_awaited() {
    let body = "x".repeat(2_000_000);
    let page = "<button onclick=\"out.textContent = 'sent'; fetch('/data')\">Send</button><p id=out></p>";
    let driver = Driver::with(&[("shop.test/", page), ("shop.test/data", &body)]).await;
    driver.goto("http://shop.test/").await;
    let after = driver.after(click(role("button", "Send"))).await.unwrap();
    assert!(outline_of(&after).contains("sent"));
    assert_eq!(driver.request_count("shop.test/data"), 1);
    let still = after.incidents.iter().any(|incident| matches!(incident, Incident::StillLoading));
    assert!(!still, "{:?}", after.incidents);
}
