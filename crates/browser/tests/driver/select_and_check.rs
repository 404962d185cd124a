//! Selecting options and setting checkboxes.

use crate::support::{Driver, click, outline_of, role, typing};
use browser::BrowserError;
use policy::{Action, Check, Chord, Press, Select, SelectOption, Target};

fn select(target: Target, options: &[&str]) -> Action {
    let options = options.iter().map(|label| SelectOption::Label((*label).to_owned())).collect();
    Action::Select(Select { target, options })
}

fn check(target: Target, checked: bool) -> Action {
    Action::Check(Check { target, checked })
}

const LOG: &str = "<p id=log></p><script>const seen = []; let keyed = false;
    addEventListener('keydown', (e) => { keyed = e.isTrusted; }, true);
    for (const type of ['input', 'change']) addEventListener(type, (e) => { seen.push(type + (e.isTrusted && keyed ? '' : ' FAKE')); log.textContent = seen.join(', '); }, true);</script>";

#[tokio::test]
async fn an_option_is_selected_with_one_change_event_by_a_real_key() {
    let page = format!(
        "<select aria-label=Colour><option>Red<option>Green<option disabled>Grey<option>Blue<optgroup label=More><option>Light blue</optgroup></select>{LOG}"
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    for (wanted, expected) in
        [("Green", "Green"), ("blue", "Blue"), ("Light", "Light blue"), ("Blue", "Blue")]
    {
        driver.goto("http://shop.test/").await;
        let after = driver.after(select(role("combobox", "Colour"), &[wanted])).await.unwrap();
        assert!(outline_of(&after).contains("\"input, change\""), "{wanted}: {}", outline_of(&after));
        assert_eq!(driver.value("document.querySelector('select').value").await, expected);
    }
    // From any option to the first, and again to the one that is selected.
    let after = driver.after(select(role("combobox", "Colour"), &["Red"])).await.unwrap();
    assert!(outline_of(&after).contains("\"input, change, input, change\""), "{}", outline_of(&after));
    let after = driver.after(select(role("combobox", "Colour"), &["Red"])).await.unwrap();
    assert!(outline_of(&after).contains("\"input, change, input, change\""), "{}", outline_of(&after));
    let by_index = Select { target: role("combobox", "Colour"), options: vec![SelectOption::Index(3)] };
    driver.after(Action::Select(by_index)).await.unwrap();
    assert_eq!(driver.value("document.querySelector('select').value").await, "Blue");
}

#[tokio::test]
async fn a_custom_list_is_opened_and_clicked() {
    const DRAWN: &str = "<style>select, ::picker(select) { appearance: base-select }</style>";
    let names: String = (0..60).map(|n| format!("<option><b>Colour</b> {n}")).collect();
    let page = |state: &str| {
        format!(
            "{DRAWN}<select aria-label=Colour><button><selectedcontent></selectedcontent></button>{names}</select>{state}
             <p id=log></p><script>let changes = 0;
             addEventListener('change', (e) => {{ changes += 1; log.textContent = changes + (e.isTrusted ? ' real' : ' made up'); }})</script>"
        )
    };
    let open = "<script>addEventListener('load', () => document.querySelector('select').focus())</script>";
    let pages = [("shop.test/drawn", page("")), ("shop.test/focused", page(open))];
    let pages = pages.each_ref().map(|(url, page)| (*url, page.as_str()));
    let driver = Driver::with(&pages).await;
    for (url, _) in pages {
        driver.goto(&format!("http://{url}")).await;
        for (wanted, changes) in [("Colour 7", 1), ("Colour 58", 2), ("Colour 58", 2), ("Colour 0", 3)] {
            let after = driver.after(select(role("combobox", "Colour"), &[wanted])).await.unwrap();
            let log = format!("\"{changes} real\"");
            assert!(outline_of(&after).contains(&log), "{url}: {}", outline_of(&after));
            assert_eq!(driver.value("document.querySelector('select').value").await, wanted, "{url}");
            assert_eq!(driver.value("`${document.querySelectorAll(':open').length}`").await, "0", "{url}");
        }
    }
    // The options are checked again once the list is open, and no link in an option is followed.
    let tricks = [
        (
            "shop.test/pressed",
            "s.addEventListener('pointerdown', () => { s.options[1].value = 'other' })",
            "target_changed",
        ),
        ("shop.test/link", "s.options[1].innerHTML = '<a href=/gone>Green</a>'", "element_covered"),
        (
            "shop.test/link-in-a-root",
            "const d = document.createElement('div'); d.attachShadow({mode: 'open'}).innerHTML = '<a href=/gone style=\"position:absolute;inset:0\">x</a>'; s.options[1].style.position = 'relative'; s.options[1].append(d)",
            "element_covered",
        ),
    ];
    let pages = tricks.map(|(url, script, _)| {
        let list = "<select id=s aria-label=Colour><option>Red<option>Green<option>Blue</select>";
        (url, format!("{DRAWN}{list}<script>{script}</script>"))
    });
    let hostile = Driver::with(&pages.each_ref().map(|(url, page)| (*url, page.as_str()))).await;
    for (url, _, code) in tricks {
        hostile.goto(&format!("http://{url}")).await;
        let error = hostile.after(select(role("combobox", "Colour"), &["Green"])).await.unwrap_err();
        assert_eq!(error.code().to_string(), code, "{url}: {error}");
        assert_eq!(hostile.value("s.value").await, "Red", "{url}");
    }
    assert_eq!(hostile.request_count("shop.test/gone"), 0);
    // An open list is not closed again.
    driver.goto("http://shop.test/drawn").await;
    driver.after(click(role("combobox", "Colour"))).await.unwrap();
    assert_eq!(driver.value("`${document.querySelectorAll(':open').length}`").await, "1");
    driver.after(select(role("combobox", "Colour"), &["Colour 3"])).await.unwrap();
    assert_eq!(driver.value("document.querySelector('select').value").await, "Colour 3");
}

#[tokio::test]
async fn facts_name_the_options_and_only_those_are_selected() {
    let page =
        "<select aria-label=Role><option>Reader<option value=9>Administrator<option label=Owner>x</select>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let by_index = |index| {
        let options = vec![SelectOption::Index(index)];
        Action::Select(Select { target: role("combobox", "Role"), options })
    };
    let by_label = |label: &str| select(role("combobox", "Role"), &[label]);
    for (action, label, value) in [
        (by_index(1), "Administrator", "9"),
        (by_label("dministrato"), "Administrator", "9"),
        (by_index(2), "Owner", "x"),
    ] {
        driver.goto("http://shop.test/").await;
        let facts = driver.browser.resolve(&action).await.unwrap();
        let options: Vec<_> = facts.options.iter().map(|it| (it.label.as_str(), it.value.as_str())).collect();
        assert_eq!(options, [(label, value)], "{action:?}");
        for change in
            ["s.append(s.options[0], s.options[0])", "s.options[1].value = s.options[2].value = '10'"]
        {
            driver.goto("http://shop.test/").await;
            let facts = driver.browser.resolve(&by_index(1)).await.unwrap();
            driver.run_in_page(&format!("const s = document.querySelector('select'); {change}")).await;
            let error = driver.act_on(by_index(1), facts).await.unwrap_err();
            assert_eq!(error.code().to_string(), "target_changed", "{change}: {error}");
            assert_eq!(
                driver.value("document.querySelector('select').selectedOptions[0].label").await,
                "Reader"
            );
        }
    }
    assert_eq!(driver.browser.resolve(&by_index(7)).await.unwrap_err().code().to_string(), "no_such_option");
    // Keys select as well, and what they select is not known beforehand.
    let target = role("combobox", "Role");
    let key = Action::Press(Press { target, chord: Chord::parse("End").unwrap() });
    assert_eq!(driver.facts(&key).await.text, "Reader · Administrator · Owner");
}

#[tokio::test]
async fn a_multiple_list_is_selected_with_the_mouse() {
    let options: String = (0..40).map(|n| format!("<option>Item {n:02}")).collect();
    let page = format!(
        "<select multiple aria-label=Many size=4>{options}</select><select size=5 aria-label=One>{options}</select>"
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    driver.goto("http://shop.test/").await;
    let chosen = "[...document.querySelectorAll('select')].map((el) => [...el.selectedOptions].map((o) => o.value).join()).join('/')";
    driver.after(select(role("listbox", "Many"), &["Item 01", "Item 30", "Item 12"])).await.unwrap();
    assert_eq!(driver.value(chosen).await, "Item 01,Item 12,Item 30/");
    driver.after(select(role("listbox", "One"), &["Item 25"])).await.unwrap();
    assert_eq!(driver.value(chosen).await, "Item 01,Item 12,Item 30/Item 25");
    assert_eq!(driver.code(select(role("listbox", "One"), &["Item 01", "Item 02"])).await, "one_option_only");
}

#[tokio::test]
async fn a_failed_selection_leaves_the_list_unchanged() {
    let stubborn = "<select aria-label=A onkeydown='event.preventDefault()'><option>One<option>Two<option selected>Three<option>Four</select>";
    let hopping = "<select aria-label=A onkeydown='document.querySelector(\"input\").focus()'><option>One<option>Two<option selected>Three<option>Four</select><input>";
    let stolen = "<select aria-label=A onfocus='document.querySelector(\"input\").focus()'><option>One<option>Two<option selected>Three<option>Four</select><input>";
    let pages =
        [("shop.test/stubborn", stubborn), ("shop.test/hopping", hopping), ("shop.test/stolen", stolen)];
    let driver = Driver::with(&pages).await;
    for (path, code) in [("stubborn", "element_unchanged"), ("hopping", ""), ("stolen", "focus_lost")] {
        driver.goto(&format!("http://shop.test/{path}")).await;
        let chosen = driver.act(select(role("combobox", "A"), &["One"])).await;
        let value = driver.value("document.querySelector('select').value").await;
        match chosen {
            Ok(_) => assert_eq!(value, "One", "{path}"),
            Err(error) => {
                assert!(code.is_empty() || error.code().to_string() == code, "{path}: {error}");
                assert_eq!(value, "Three", "{path}: {error}");
            }
        }
    }
    driver.goto("http://shop.test/stubborn").await;
    let error = driver.act(select(role("combobox", "A"), &["Five"])).await.unwrap_err();
    assert!(matches!(&error, BrowserError::NoSuchOption { options, .. } if options.len() == 4), "{error}");
    assert_eq!(error.code().to_string(), "no_such_option");
}

#[tokio::test]
async fn a_list_that_navigates_is_followed() {
    let page = "<select aria-label=Go onchange='location = this.value'><option value=/>Here<option value=/there>There</select>";
    let driver = Driver::with(&[("shop.test/", page), ("shop.test/there", "<h1>there</h1>")]).await;
    driver.goto("http://shop.test/").await;
    let after = driver.after(select(role("combobox", "Go"), &["There"])).await.unwrap();
    assert!(after.navigated && outline_of(&after).contains("there"), "{after:?}");
}

#[tokio::test]
async fn a_list_that_is_rebuilt_on_selection_counts_as_selected() {
    let list = |attributes: &str| {
        format!(
            "<p id=r></p><script>function R() {{ r.innerHTML = `<select {attributes} aria-label=S onchange='v = this.value; R()'><option>a<option ${{window.v == 'b' ? 'selected' : ''}}>b</select>` }} R()</script>"
        )
    };
    let pages = [("shop.test/dropping", list("")), ("shop.test/open", list("size=2"))];
    let pages = pages.each_ref().map(|(url, page)| (*url, page.as_str()));
    let driver = Driver::with(&pages).await;
    for (url, kind) in [("dropping", "combobox"), ("open", "listbox")] {
        driver.goto(&format!("http://shop.test/{url}")).await;
        for wanted in ["b", "a", "b"] {
            driver
                .after(select(role(kind, "S"), &[wanted]))
                .await
                .unwrap_or_else(|error| panic!("{url} {wanted}: {error}"));
            assert_eq!(driver.value("v").await, wanted, "{url}");
        }
    }
}

#[tokio::test]
async fn checkboxes_are_set_and_cleared_however_they_are_drawn() {
    let page = "<input type=checkbox aria-label=Plain>
        <label><input type=checkbox style='position:absolute;opacity:0;width:0;height:0'> Drawn</label>
        <label for=h>Hidden</label><input type=checkbox id=h style='display:none'>
        <div role=switch aria-checked=false tabindex=0 aria-label=Switch onclick=\"this.ariaChecked = this.ariaChecked !== 'true'\">[ ]</div>
        <input type=radio name=r aria-label=Left><input type=radio name=r aria-label=Right>
        <input type=checkbox aria-label=Stubborn onclick='event.preventDefault()'>
        <button>No box</button>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let drawn = Target::Selector { selector: policy::Selector::parse("label > input").unwrap(), index: 0 };
    for (target, checked, script, expected) in [
        (role("checkbox", "Plain"), true, "document.querySelector('input').checked", "true"),
        (role("checkbox", "Plain"), true, "document.querySelector('input').checked", "true"),
        (role("checkbox", "Plain"), false, "document.querySelector('input').checked", "false"),
        (drawn, true, "document.querySelector('label input').checked", "true"),
        (Target::Text { text: "Hidden".into(), index: 0 }, true, "h.checked", "true"),
        (role("switch", "Switch"), true, "document.querySelector('[role=switch]').ariaChecked", "true"),
        (role("switch", "Switch"), false, "document.querySelector('[role=switch]').ariaChecked", "false"),
        (role("radio", "Right"), true, "document.querySelectorAll('[type=radio]')[1].checked", "true"),
    ] {
        driver
            .after(check(target.clone(), checked))
            .await
            .unwrap_or_else(|error| panic!("{target:?}: {error}"));
        assert_eq!(driver.value(&format!("String({script})")).await, expected, "{target:?} {checked}");
    }
    for (action, code) in [
        (check(role("checkbox", "Stubborn"), true), "element_unchanged"),
        (check(role("radio", "Right"), false), "element_unchanged"),
        (check(role("button", "No box"), true), "element_not_checkable"),
        (select(role("button", "No box"), &["x"]), "element_not_a_list"),
        (typing(role("checkbox", "Plain"), "x", false, false), "element_not_editable"),
    ] {
        assert_eq!(driver.code(action.clone()).await, code, "{action:?}");
    }
}

#[tokio::test]
async fn an_option_with_a_secret_label_is_selected_only_by_index() {
    let page = "<select aria-label=Key><option>None<option>Key s3cret-77<option disabled>Old s3cret-77<option>Key of nobody</select>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let mask = |text: &str| text.contains("s3cret-77").then(|| text.replace("s3cret-77", "[redacted]"));
    driver.browser.set_text_redactor(std::sync::Arc::new(mask));
    driver.goto("http://shop.test/").await;
    let list = || role("combobox", "Key");
    for wanted in ["s3c", "Key s3cret-77", "Old", "[redacted]", "there is none"] {
        let error = driver.after(select(list(), &[wanted])).await.unwrap_err();
        let BrowserError::NoSuchOption { disabled, .. } = error else { panic!("{wanted}: {error}") };
        assert!(!disabled, "{wanted}");
    }
    // A label part that is shared with another option finds the other.
    driver.after(select(list(), &["Key"])).await.unwrap();
    assert_eq!(driver.value("document.querySelector('select').value").await, "Key of nobody");
    let options = vec![SelectOption::Index(1)];
    driver.after(Action::Select(Select { target: list(), options })).await.unwrap();
    assert_eq!(driver.value("document.querySelector('select').value").await, "Key s3cret-77");
}
