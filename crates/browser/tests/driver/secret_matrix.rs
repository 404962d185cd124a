//! Every kind of secret field, before and after it is made readable, in every place and every reply.

use crate::secret_fields::{PLACES, Seen, WAYS, page};
use crate::support::{Driver, role, text_of};
use browser::{BrowserOptions, Outcome, SnapshotOptions};
use policy::{Action, Click, Find, Part, Pattern, Read, ReadFormat};

/// Each field's secret begins and ends differently, and their lengths differ between two readings of a page: the
/// replies must be equal to the byte.
const VALUES: [&str; 2] = ["hunter2", "hunter2-correct-horse-battery-staple"];

/// Every reply that reading a page can produce.
async fn replies(driver: &Driver) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for format in [ReadFormat::Outline, ReadFormat::Tree, ReadFormat::Markdown] {
        let snapshot = driver.read(format).await;
        all.push((
            format!("{format:?}"),
            format!("{} {} {}", text_of(&snapshot), snapshot.title, snapshot.left_out),
        ));
    }
    let pattern = |pattern| Find { pattern: Some(pattern), ..Find::default() };
    for find in [
        pattern(Pattern::Text("hunter".into())),
        pattern(Pattern::Regex("hunter.".into())),
        pattern(Pattern::Regex("^.{15,24}$".into())),
        Find { role: Some("textbox".into()), ..Find::default() },
        Find { name: Some("hunter2".into()), ..Find::default() },
        Find { name: Some("by".into()), ..Find::default() },
    ] {
        let query = format!("{find:?}");
        match driver.act(Action::Find(Find { limit: 100, ..find })).await.unwrap() {
            Outcome::Found(found) => all.push((query, format!("{} {:?}", found.text, found.matches))),
            other => panic!("{other:?}"),
        }
    }
    let outline = driver.outline().await;
    let refs = outline.split("[ref=").skip(1).filter_map(|rest| rest.split(']').next());
    for reference in refs.take(8) {
        let part = Part::Root(reference.to_owned());
        match driver.act(Action::Read(Read { part, ..Read::default() })).await.unwrap() {
            Outcome::Read(snapshot) => all.push((format!("root {reference}"), text_of(&snapshot))),
            other => panic!("{other:?}"),
        }
    }
    all
}

/// The reply after an action, for a caller who has read the page.
async fn delta(driver: &Driver, action: Action) -> String {
    let facts = driver.browser.resolve(&action).await.unwrap();
    match driver.act_for("agent", false, action, facts).await.unwrap() {
        Outcome::Read(snapshot) => text_of(&snapshot),
        Outcome::Acted(after) => text_of(after.snapshot.as_ref().unwrap()),
        other => panic!("{other:?}"),
    }
}

/// Refs and cursors count the documents and snapshots of a session; nothing else may differ. Only the first document
/// has no number in its refs, so these tests start with another one.
fn unnumbered(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['f', 'c']) {
        let (before, here) = rest.split_at(at + 1);
        plain.push_str(before);
        let digits = here.bytes().take_while(u8::is_ascii_digit).count();
        let numbered = digits > 0 && matches!(here.as_bytes().get(digits), Some(b'e' | b'.'));
        rest = &here[if numbered { digits } else { 0 }..];
    }
    plain + rest
}

fn assert_no_secret(at: &str, replies: &[Vec<(String, String)>; 2]) {
    for (kind, text) in replies.iter().flatten() {
        assert!(!text.contains("hunter2") && !text.contains('•'), "{at} {kind}: {text}");
    }
    for ((kind, short), (_, long)) in replies[0].iter().zip(&replies[1]) {
        assert_eq!(unnumbered(short), unnumbered(long), "{at} {kind}: the length is a secret too");
    }
    assert_eq!(replies[0].len(), replies[1].len(), "{at}");
}

/// Reads a page with each of the values, before and after its button is pressed.
async fn check(at: &str, urls: [String; 2], driver: &Driver, shown_first: bool) {
    driver.goto("http://shop.test/none").await;
    let mut before = [Vec::new(), Vec::new()];
    let mut after = [Vec::new(), Vec::new()];
    for (place, url) in urls.iter().enumerate() {
        let outline = driver.goto(url).await;
        assert!(outline.contains("[secret]") && outline.contains("Label property"), "{at}: {outline}");
        before[place] = replies(driver).await;
        if !shown_first {
            delta(driver, Action::Read(Read::default())).await;
            let clicked = delta(driver, Action::Click(Click::on(role("button", "Show")))).await;
            assert!(
                clicked.starts_with("Changed since") || clicked.starts_with("Nothing"),
                "{at}: {clicked}"
            );
            after[place].push(("delta".to_owned(), clicked));
            after[place].extend(replies(driver).await);
        }
    }
    assert_no_secret(&format!("{at}, before"), &before);
    assert_no_secret(&format!("{at}, after"), &after);
}

fn served(pages: &[(String, String)]) -> Vec<(&str, &str)> {
    pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect()
}

#[tokio::test]
async fn replies_reveal_neither_a_secret_nor_its_length() {
    let ways: Vec<_> = WAYS.iter().collect();
    let mut pages = Vec::new();
    for (name, place) in PLACES {
        for (n, value) in VALUES.iter().enumerate() {
            pages.push((format!("shop.test/{name}{n}"), page(value, place, "", &ways)));
        }
    }
    for n in 0..2 {
        let frame =
            |src: &str| format!("<title>Secrets</title><iframe src={src} width=1200 height=700></iframe>");
        pages.push((format!("shop.test/same{n}"), frame(&format!("/closed{n}"))));
        pages.push((format!("other.test/cross{n}"), frame(&format!("http://shop.test/document{n}"))));
    }
    let driver = Driver::with(&served(&pages)).await;
    for at in
        ["shop.test/document", "shop.test/open", "shop.test/closed", "shop.test/same", "other.test/cross"]
    {
        check(at, [0, 1].map(|n| format!("http://{at}{n}")), &driver, false).await;
    }
}

#[tokio::test]
async fn replies_reveal_no_secret_with_hidden_elements_and_password_fields_included() {
    let ways: Vec<_> = WAYS.iter().collect();
    // Once with all of them rendered, and once with none.
    let hide = "place.after(document.createElement('p')); setTimeout(() => { place.hidden = true })";
    let mut pages = Vec::new();
    for (n, value) in VALUES.iter().enumerate() {
        pages.push((format!("shop.test/drawn{n}"), page(value, PLACES[0].1, "", &ways)));
        pages.push((format!("shop.test/hidden{n}"), page(value, PLACES[0].1, hide, &ways)));
    }
    let snapshot = SnapshotOptions {
        exclude_hidden_elements: false,
        exclude_password_fields: false,
        ..SnapshotOptions::default()
    };
    let options = BrowserOptions { snapshot, ..BrowserOptions::default() };
    let driver = Driver::with_options(&served(&pages), options).await;
    for at in ["drawn", "hidden"] {
        driver.goto("http://shop.test/none").await;
        let mut readings = [Vec::new(), Vec::new()];
        for (n, reading) in readings.iter_mut().enumerate() {
            driver.goto(&format!("http://shop.test/{at}{n}")).await;
            *reading = replies(&driver).await;
            reading.push(("click".to_owned(), driver.click(role("button", "Show")).await.unwrap()));
            reading.extend(replies(&driver).await);
        }
        assert_no_secret(at, &readings);
    }
}

#[tokio::test]
async fn a_field_made_readable_before_the_first_reading_stays_secret() {
    let times = [
        ("once", "show()", Seen::AtOnce),
        // The page keeps loading until long after that.
        (
            "soon",
            "setTimeout(show, 900); document.body.append(Object.assign(new Image(), { src: '/slow' }))",
            Seen::Soon,
        ),
    ];
    // A closed root is unknown before it is read, and an open one before the task ends that made it; only Chromium
    // itself remembers their fields.
    let remembered = ["property", "attribute", "removed", "twice", "readonly"];
    let mut pages = vec![("shop.test/slow".to_owned(), "SLOW".to_owned())];
    for (name, place) in PLACES {
        for (time, when, earliest) in times {
            let known = |way: &&(&str, _, _, Seen)| {
                let unseen = name == "closed" || (name == "open" && earliest == Seen::AtOnce);
                if unseen { remembered.contains(&way.0) } else { way.3 <= earliest }
            };
            let ways: Vec<_> = WAYS.iter().filter(known).collect();
            for (n, value) in VALUES.iter().enumerate() {
                pages.push((format!("shop.test/{name}-{time}{n}"), page(value, place, when, &ways)));
            }
        }
    }
    let driver = Driver::with(&served(&pages)).await;
    for (name, _) in PLACES {
        for (time, ..) in times {
            let at = format!("{name}-{time}");
            check(&at, [0, 1].map(|n| format!("http://shop.test/{at}{n}")), &driver, true).await;
        }
    }
}

#[tokio::test]
async fn errors_reveal_no_secret() {
    let page = |value: &str| {
        format!(
            "<style>#veil {{ position: fixed; inset: 0; width: 100%; height: 100% }}</style><button>Under</button>
             <input id=veil autocomplete=cc-number aria-label=Card value='{value}'>"
        )
    };
    let pages = VALUES.map(page);
    let urls = [("shop.test/0", pages[0].as_str()), ("shop.test/1", pages[1].as_str())];
    let read = async |n: usize| {
        let driver = Driver::with(&urls).await;
        driver.goto("http://shop.test/none").await;
        driver.goto(&format!("http://shop.test/{n}")).await;
        let mut reading = Vec::new();
        for (wanted, code) in
            [(role("button", "Under"), "element_covered"), (role("textbox", "hunter"), "element_not_found")]
        {
            let error = driver.click(wanted).await.unwrap_err();
            assert_eq!(error.code().to_string(), code, "{error}");
            reading.push((code.to_owned(), format!("{error} {} {error:?}", error.hint())));
        }
        let facts = driver.facts(&Action::Click(Click::on(role("textbox", "Card")))).await;
        reading.push(("facts".to_owned(), format!("{facts:?}")));
        reading
    };
    assert_no_secret("errors", &tokio::join!(read(0), read(1)).into());
}

#[tokio::test]
async fn a_secret_field_has_a_ref_only_by_setting_and_never_a_value() {
    let page = "<input type=password aria-label=Pin value=hunter2><input aria-label=Name value=Ann>";
    for (exclude_password_fields, expected) in [
        (true, "- textbox \"Pin\" [secret]\n- textbox \"Name\" [ref=e1]: \"Ann\"\n"),
        (false, "- textbox \"Pin\" [secret] [ref=e1]\n- textbox \"Name\" [ref=e2]: \"Ann\"\n"),
    ] {
        let snapshot = SnapshotOptions { exclude_password_fields, ..SnapshotOptions::default() };
        let options = BrowserOptions { snapshot, ..BrowserOptions::default() };
        let driver = Driver::with_options(&[("shop.test/", page)], options).await;
        assert_eq!(driver.goto("http://shop.test/").await, expected, "{exclude_password_fields}");
        let facts = driver.facts(&Action::Click(Click::on(role("textbox", "Pin")))).await;
        assert!(facts.secret, "{facts:?}");
    }
}

#[tokio::test]
async fn field_values_can_be_turned_off() {
    let page = "<input aria-label=a value=seen1><textarea aria-label=b>seen2</textarea>
        <select aria-label=c><option>other<option selected>chosen</select><input type=range aria-label=d value=71 max=99>
        <div contenteditable aria-label=e>seen4</div><meter aria-label=f value=72 max=99></meter>
        <label>Flash <input type=checkbox> <input value=seen5> times</label>
        <div role=textbox aria-label=g>seen6</div><button id=v>by <input value=seen7></button>
        <span role=heading aria-labelledby=i>x</span><input id=i value=seen8>
        <div role=listbox id=l><div role=option aria-selected=true>o</div></div><input type=submit value=Send>";
    let off = SnapshotOptions { values: false, ..SnapshotOptions::default() };
    for (snapshot, has_values) in [(SnapshotOptions::default(), true), (off, false)] {
        let options = BrowserOptions { snapshot, ..BrowserOptions::default() };
        let driver = Driver::with_options(&[("shop.test/", page)], options).await;
        driver.goto("http://shop.test/").await;
        for format in [ReadFormat::Outline, ReadFormat::Tree, ReadFormat::Markdown] {
            let text = text_of(&driver.read(format).await);
            assert!(text.contains("Send"), "{format:?}: {text}");
            if !has_values {
                for value in [
                    "seen1",
                    "seen2",
                    "seen4",
                    "seen5",
                    "seen6",
                    "seen7",
                    "seen8",
                    "71",
                    "72",
                    "[selected]",
                    "selected: true",
                    "\"c\" [ref=e3]: ",
                ] {
                    assert!(!text.contains(value), "{value} in {format:?}: {text}");
                }
            } else if format == ReadFormat::Outline {
                for value in
                    ["seen1", "seen2", "[selected]", "seen4", "seen5", "seen6", "seen7", "seen8", "71", "72"]
                {
                    assert!(text.contains(value), "{value} in {text}");
                }
            }
        }
        let error = driver.click(role("button", "seen7 no")).await.unwrap_err().to_string();
        assert_eq!(error.contains("by seen7"), has_values, "{error}");
    }
}
