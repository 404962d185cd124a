//! Locating, clicking and typing, and the facts that are resolved beforehand.

use crate::support::{Driver, click, reference, role, run_at_once, typing};
use policy::{Action, Click, Target};

const COUNTERS: &str = "<title>Counters</title>
  <button onclick=\"count(this)\">Add</button>
  <button onclick=\"count(this)\">Add more</button>
  <button onclick=\"count(this)\">Add</button>
  <script>function count(button) { button.textContent += '!'; }</script>";

#[tokio::test]
async fn an_element_is_clicked_by_role_name_and_index_or_by_ref() {
    let driver = Driver::with(&[("shop.test/", COUNTERS)]).await;
    for (target, matches, expected) in [
        (role("button", "Add"), 2, ["Add!", "Add more", "Add"]),
        (
            Target::Role { role: "button".into(), name: Some("Add".into()), index: 1 },
            2,
            ["Add", "Add more", "Add!"],
        ),
        (role("button", "add MORE"), 1, ["Add", "Add more!", "Add"]),
        (role("BUTTON", "more"), 1, ["Add", "Add more!", "Add"]),
        (Target::Role { role: "button".into(), name: None, index: 1 }, 3, ["Add", "Add more!", "Add"]),
    ] {
        driver.goto("http://shop.test/").await;
        let facts = driver.facts(&Action::Click(Click::on(target.clone()))).await;
        assert_eq!(facts.matches, matches, "{target:?}");
        let outline = driver.click(target.clone()).await.unwrap();
        let seen: Vec<_> = outline.lines().filter_map(|line| line.split('"').nth(1)).collect();
        assert_eq!(seen, expected, "{target:?}");
    }
    let outline = driver.goto("http://shop.test/").await;
    let after = driver.click(reference(&outline, "\"Add more\"")).await.unwrap();
    assert!(after.contains("\"Add more!\""), "{after}");
    assert_eq!(reference(&after, "\"Add more!\""), reference(&outline, "\"Add more\""), "refs stay");
}

#[tokio::test]
async fn an_error_for_a_missing_element_suggests_similar_ones() {
    let driver = Driver::with(&[("shop.test/", COUNTERS)]).await;
    driver.goto("http://shop.test/").await;
    let error = driver.click(role("button", "Remove")).await.unwrap_err();
    assert_eq!(error.code().to_string(), "element_not_found");
    assert!(error.to_string().contains("button \"Add more\""), "{error}");
}

#[tokio::test]
async fn an_element_that_appears_later_is_waited_for() {
    let page =
        "<script>setTimeout(() => { document.body.innerHTML = '<button>Late</button>' }, 300)</script><p>x";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    assert!(driver.click(role("button", "Late")).await.is_ok());
}

#[tokio::test]
async fn a_link_is_followed_and_the_reply_shows_the_next_page() {
    let pages = [
        ("shop.test/", "<div style='height:5000px'></div><a href=/next>Next page</a>"),
        ("shop.test/next", "<title>Next</title><h1>Here</h1>"),
    ];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/").await;
    let facts = driver.facts(&Action::Click(Click::on(role("link", "Next page")))).await;
    assert_eq!(facts.href.as_deref(), Some("http://shop.test/next"));
    assert_eq!(driver.click(role("link", "Next page")).await.unwrap(), "- heading \"Here\" [level=1]\n");
    assert_eq!(driver.browser.state().url, "http://shop.test/next");
}

#[tokio::test]
async fn text_is_typed_replaced_and_submitted() {
    let pages = [
        (
            "shop.test/",
            "<form action=/found><label>Search <input name=q value=old></label></form>
             <textarea aria-label=Notes></textarea><div contenteditable role=textbox aria-label=Rich>was</div>
             <input type=email aria-label=Mail value=a@b>",
        ),
        ("shop.test/found", "<h1>Found</h1>"),
    ];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/").await;
    for (name, text, clear, expected) in [
        ("Search", "new", true, "textbox \"Search\" [focused] [ref=e1]: \"new\"\n"),
        ("Search", "+more", false, ": \"new+more\"\n"),
        ("Notes", "line\nbreak ü 漢", false, ": \"line\\nbreak ü 漢\"\n"),
        ("Rich", " now", false, ": \"was now\"\n"),
        ("Rich", "only", true, ": \"only\"\n"),
        ("Mail", "c@d", true, ": \"c@d\"\n"),
        ("Mail", "", true, "\"Mail\" [focused] [ref=e4]\n"),
    ] {
        driver.act(typing(role("textbox", name), text, clear, false)).await.unwrap();
        let outline = driver.outline().await;
        assert!(outline.contains(expected), "{name} {text:?}: {outline}");
    }
    driver.act(typing(role("textbox", "Search"), "pens", true, true)).await.unwrap();
    assert_eq!(driver.browser.state().url, "http://shop.test/found?q=pens");
}

#[tokio::test]
async fn an_invalid_form_marks_the_field_at_fault() {
    let page = "<form action=/sent><label>Mail <input type=email required></label>
        <label>City <input required></label><label>Note <input></label><button>Send</button></form>";
    let driver = Driver::with(&[("shop.test/", page), ("shop.test/sent", "<h1>Sent</h1>")]).await;
    let invalid = |outline: &str| -> Vec<String> {
        let marked = outline.lines().filter(|line| line.contains("[invalid]"));
        marked.filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
    };
    let fresh = driver.goto("http://shop.test/").await;
    assert!(invalid(&fresh).is_empty(), "{fresh}");
    driver.after(typing(role("textbox", "Mail"), "notmail", true, false)).await.unwrap();
    let refused = driver.click(role("button", "Send")).await.unwrap();
    assert_eq!(invalid(&refused), ["Mail", "City"], "{refused}");
    for (name, text) in [("Mail", "ann@shop.test"), ("City", "Bonn")] {
        driver.after(typing(role("textbox", name), text, true, false)).await.unwrap();
    }
    let mended = driver.outline().await;
    assert!(invalid(&mended).is_empty(), "{mended}");
    assert!(driver.click(role("button", "Send")).await.unwrap().contains("Sent"));
}

#[tokio::test]
async fn an_element_in_a_frame_of_another_site_is_clicked_and_typed_into() {
    let pages = [
        (
            "shop.test/",
            "<h1>Shop</h1><div style='height:2000px'></div><iframe src=http://pay.test/ title=Pay style='border:7px solid;padding:11px;margin:31px'></iframe>",
        ),
        ("pay.test/", "<iframe src=http://bank.test/ width=250 height=120></iframe>"),
        (
            "bank.test/",
            "<button onclick=\"this.textContent='Paid'\">Pay now</button><input aria-label=Amount>",
        ),
    ];
    let driver = Driver::with(&pages).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(
        outline.contains("iframe \"Pay\"\n") && outline.contains("    - button \"Pay now\""),
        "{outline}"
    );
    let facts = driver.facts(&Action::Click(Click::on(role("button", "Pay now")))).await;
    assert_eq!(facts.origin.as_str(), "http://bank.test");
    let after = driver.click(reference(&outline, "\"Pay now\"")).await.unwrap();
    assert!(after.contains("button \"Paid\""), "{after}");
    driver.act(typing(role("textbox", "Amount"), "12", false, false)).await.unwrap();
    assert!(
        driver.outline().await.contains("textbox \"Amount\" [focused] [ref=f3e2]: \"12\""),
        "{}",
        driver.outline().await
    );
}

#[tokio::test]
async fn an_element_in_an_open_shadow_root_is_clicked() {
    let page = "<x-card>slotted <b>text</b></x-card><script>
      customElements.define('x-card', class extends HTMLElement { connectedCallback() {
        this.attachShadow({mode: 'open'}).innerHTML = '<h2><slot></slot></h2><button>Inside</button>';
        this.shadowRoot.querySelector('button').onclick = (e) => { e.target.textContent = 'Done'; };
      } })</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(outline.contains("heading \"slotted text\""), "{outline}");
    assert!(driver.click(role("button", "Inside")).await.unwrap().contains("\"Done\""));
}

#[tokio::test]
async fn a_form_cannot_fake_its_action_or_its_fields() {
    let page = "<form action=http://evil.test/steal method=post id=f>
        <input name=action value=http://shop.test/><input name=method value=get><input name=childNodes>
        <input name=getAttribute><input name=parentNode><input name=tagName><input name=firstChild>
        <button formaction=/other>Other</button><button>Send</button></form>
        <img name=body><img name=baseURI><img name=defaultView><img name=activeElement><i id=stockade></i>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for (name, action) in [("Send", "http://evil.test/steal"), ("Other", "http://shop.test/other")] {
        let facts = driver.facts(&Action::Click(Click::on(role("button", name)))).await;
        let form = facts.form.unwrap();
        assert_eq!((form.method.as_str(), form.action.as_str()), ("post", action));
    }
}

#[tokio::test]
async fn the_error_for_an_unclickable_element_says_why() {
    let page = "<style>#veil { position: fixed; inset: 0; }</style><button disabled>Off</button>
        <button style='visibility:hidden' id=h>Hidden</button><fieldset disabled><button>Inner</button></fieldset>
        <button>Under</button><div id=veil role=dialog aria-label=Cookies></div><input aria-label=Fixed readonly>";
    let cases = [
        (click(role("button", "Off")), "element_disabled", "Off"),
        (click(role("button", "Inner")), "element_disabled", "Inner"),
        (click(role("button", "Under")), "element_covered", "dialog \"Cookies\""),
        (click(role("button", "Hidden")), "element_not_found", "Hidden"),
        (typing(role("textbox", "Fixed"), "x", false, false), "element_not_editable", ""),
    ];
    run_at_once(cases, async |(action, code, said)| {
        let driver = Driver::with(&[("shop.test/", page)]).await;
        driver.goto("http://shop.test/").await;
        let error = driver.act(action.clone()).await.unwrap_err();
        assert_eq!(error.code().to_string(), code, "{action:?}: {error}");
        assert!(code != "element_covered" || error.to_string().contains(said), "{error}");
    })
    .await;
}

#[tokio::test]
async fn an_element_that_is_disabled_covered_or_moving_for_a_while_is_waited_for() {
    let page = "<style>@keyframes move { from { margin-left: 0 } to { margin-left: 400px } }
        #m { animation: move 400ms linear forwards }</style>
        <button id=d disabled onclick=\"this.textContent='on'\">Soon</button>
        <button id=m onclick=\"this.textContent='caught'\">Moving</button>
        <script>setTimeout(() => { d.disabled = false }, 300)</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    assert!(driver.click(role("button", "Moving")).await.unwrap().contains("caught"));
    assert!(driver.click(role("button", "Soon")).await.unwrap().contains("\"on\""));
}

#[tokio::test]
async fn a_ref_dies_with_its_element_and_is_never_reused() {
    let page = "<button onclick=\"this.remove(); document.body.append(document.createElement('button'))\">Once</button>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    let first = reference(&outline, "\"Once\"");
    let after = driver.click(first.clone()).await.unwrap();
    assert_ne!(reference(&after, "- button"), first);
    assert_eq!(driver.click(first.clone()).await.unwrap_err().code().to_string(), "stale_ref");
    let outline = driver.goto("http://shop.test/").await;
    assert_ne!(reference(&outline, "\"Once\""), first, "another document, other refs");
    assert_eq!(driver.click(first).await.unwrap_err().code().to_string(), "stale_ref");
    for nonsense in ["e999", "f9e1", "button", ""] {
        assert_eq!(
            driver.click(Target::Ref(nonsense.into())).await.unwrap_err().code().to_string(),
            "stale_ref",
            "{nonsense}"
        );
    }
}

#[tokio::test]
async fn an_element_that_changed_since_the_decision_is_not_clicked() {
    let page = "<button onclick=\"document.title='clicked'\">Next</button>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let action = Action::Click(Click::on(role("button", "Next")));
    let mut facts = driver.browser.resolve(&action).await.unwrap();
    facts.target.as_mut().unwrap().name = "Back".into();
    let error = driver.act_on(action, facts).await.unwrap_err();
    assert_eq!(error.code().to_string(), "target_changed");
    driver.outline().await;
    assert_eq!(driver.browser.state().title, "");
}

#[tokio::test]
async fn only_real_fields_are_typed_into() {
    let page = "<input aria-label=A><input aria-label=B readonly><div role=textbox contenteditable aria-label=C>x</div>
        <div role=textbox aria-label=D tabindex=0>x</div><a role=textbox href=/x aria-label=E>x</a><a href=/y><input aria-label=F></a>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for (name, editable, href) in [
        ("A", true, None),
        ("B", false, None),
        ("C", true, None),
        ("D", false, None),
        ("E", false, Some("http://shop.test/x")),
        ("F", true, Some("http://shop.test/y")),
    ] {
        let facts = driver.facts(&Action::Click(Click::on(role("textbox", name)))).await;
        assert_eq!((facts.editable, facts.href.as_deref()), (editable, href), "{name}");
    }
}

#[tokio::test]
async fn facts_describe_the_element_that_would_be_hit() {
    let page = "<div role=button tabindex=0 style='width:200px;height:40px' aria-label=Outer>
        <a href=/inner style='display:block;width:200px;height:40px'>Inner</a></div>
        <label for=c style='display:block;width:200px'>Agree</label><input type=checkbox id=c style='position:absolute;left:-99px'>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let facts = driver.facts(&Action::Click(Click::on(role("button", "Outer")))).await;
    assert_eq!((facts.role.as_str(), facts.name.as_str()), ("link", "Inner"));
    assert_eq!(facts.href.as_deref(), Some("http://shop.test/inner"));
}
