//! Secrets that must never reach an agent, however a page presents them.

use crate::support::{Driver, role, text_of, typing};
use policy::{Action, Click, Drag, MouseButton, ReadFormat, Target};

const FORMATS: [ReadFormat; 3] = [ReadFormat::Outline, ReadFormat::Tree, ReadFormat::Markdown];
const SECRET: &str = "hunter2-hunter2";

async fn assert_in_no_format(driver: &Driver, what: &str) {
    for format in FORMATS {
        let text = text_of(&driver.read(format).await);
        assert!(!text.contains(SECRET) && !text.contains("••"), "{what} {format:?}: {text}");
    }
}

#[tokio::test]
async fn a_password_made_readable_before_the_first_reading_stays_secret() {
    // Long before the page has loaded, and so before it is first read.
    let toggled = |make: &str| {
        format!(
            "<div id=host></div><script>{make}; setTimeout(() => {{ field.type = 'text' }}, 800)</script><img src=/slow>"
        )
    };
    let html = format!("<input type=password aria-label=Field value={SECRET}>");
    let open = toggled(&format!(
        "const root = host.attachShadow({{mode: 'open'}}); root.innerHTML = '{html}'; const field = root.firstChild"
    ));
    let nested = toggled(&format!(
        "const outer = host.attachShadow({{mode: 'open'}}); outer.innerHTML = '<p></p>';
         const root = outer.firstChild.attachShadow({{mode: 'open'}}); root.innerHTML = '{html}';
         const field = root.firstChild"
    ));
    let detached = toggled(&format!(
        "const box = document.createElement('div'); box.innerHTML = '{html}'; const field = box.firstChild;
         host.append(box)"
    ));
    let named = format!(
        "<script>const field = document.createElement('input'); field.type = 'password'; field.name = 'userPassword';
           field.ariaLabel = 'Field'; field.value = '{SECRET}'; field.type = 'text';
           document.body.append(field)</script>"
    )
    .replace("<script>", "<body><script>");
    let pages = [
        ("shop.test/open", open.as_str()),
        ("shop.test/nested", &nested),
        ("shop.test/detached", &detached),
        ("shop.test/named", &named),
        ("shop.test/slow", "SLOW"),
    ];
    let driver = Driver::with(&pages).await;
    for (path, _) in &pages[..4] {
        let outline = driver.goto(&format!("http://{path}")).await;
        assert!(outline.contains("textbox \"Field\" [secret]"), "{path}: {outline}");
        assert_in_no_format(&driver, path).await;
        let facts = driver.facts(&Action::Click(Click::on(role("textbox", "Field")))).await;
        assert!(facts.secret, "{path}");
    }
}

/// Each copies a password field's value into a plain one while the page is parsed, and removes the first.
const COPIES: &[(&str, &str)] = &[
    (
        "replaced",
        "<input id=p type=password value=SECRET><script>const t = document.createElement('input'); t.value = p.value; p.replaceWith(t)</script>",
    ),
    (
        "in a root that the page declares",
        "<div id=h><template shadowrootmode=open><input type=password value=SECRET></template></div><script>const p = h.shadowRoot.querySelector('input'), t = document.createElement('input'); t.value = p.value; p.replaceWith(t)</script>",
    ),
    (
        "in a root that is declared after its host was inspected",
        "<div id=h><script></script><template shadowrootmode=open><input type=password value=SECRET></template></div><script>const p = h.shadowRoot.querySelector('input'), t = document.createElement('input'); t.value = p.value; p.replaceWith(t)</script>",
    ),
    (
        "in a root that was there",
        "<div id=h></div><script>const r = h.attachShadow({mode: 'open'}); setTimeout(() => { r.innerHTML = '<input><input type=password value=SECRET>'; setTimeout(() => { const [t, p] = r.querySelectorAll('input'); t.value = p.value; p.value = '' }) }, 700)</script><script src=/slow></script>",
    ),
    (
        "taken out and put in again",
        "<script></script><input id=i><script>const b = i; b.remove()</script><script>b.type = 'password'; b.value = 'SECRET'; const w = document.createElement('div'); w.append(b); document.body.append(w)</script><script>const t = document.createElement('input'); t.value = b.value; b.value = ''; b.before(t)</script>",
    ),
    (
        "into one that was hidden",
        "<input id=b type=hidden><input id=p type=password><script>p.value = 'SECRET'; b.value = p.value; b.type = 'text'; p.remove()</script>",
    ),
    (
        "put off",
        "<div id=h><template shadowrootmode=open><input type=password value=SECRET></template></div><script type=module>const p = h.shadowRoot.querySelector('input'), t = document.createElement('input'); t.value = p.value; p.replaceWith(t)</script>",
    ),
];

/// On pages that insert few elements at a time, and many.
#[tokio::test]
async fn a_password_copied_during_parsing_stays_secret() {
    let mut pages = vec![("shop.test/slow".to_owned(), "SLOW".to_owned())];
    for (at, (_, page)) in COPIES.iter().enumerate() {
        for (size, around) in [("few", 0), ("many", 400)] {
            let words = "<p>words <b>and</b> words</p>".repeat(around);
            let page = page.replace("SECRET", SECRET);
            pages.push((
                format!("shop.test/{at}{size}"),
                format!("<!doctype html><body>{words}{page}<p>the end</p>{words}"),
            ));
        }
    }
    let pages: Vec<(&str, &str)> = pages.iter().map(|(url, page)| (url.as_str(), page.as_str())).collect();
    let driver = Driver::with(&pages).await;
    for (at, (way, _)) in COPIES.iter().enumerate() {
        for size in ["few", "many"] {
            driver.goto(&format!("http://shop.test/{at}{size}")).await;
            let copied = format!(
                "'' + [document, window.h?.shadowRoot].flatMap((root) => [...root?.querySelectorAll('input') ?? []])
                    .some(({{ type, value }}) => type === 'text' && value === '{SECRET}')"
            );
            assert_eq!(driver.value(&copied).await, "true", "{way}, {size}: a person sees it");
            assert_in_no_format(&driver, &format!("{way}, {size}")).await;
        }
    }
}

#[tokio::test]
async fn fields_with_secret_sounding_names_are_not_secret() {
    let page = "<input name=passenger aria-label=a value=Ann><input id=compass aria-label=b value=Bob>
        <input type=email name=password_reset aria-label=c value=Cid><input name=shipping aria-label=d value=Dan>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(!outline.contains("[secret]"), "{outline}");
}

#[tokio::test]
async fn masked_text_is_in_no_format() {
    let page = format!(
        "<style>.m {{ -webkit-text-security: disc }}</style><h1 class=m>{SECRET}</h1>
         <p class=m>{SECRET}</p><div class=m><span>{SECRET}</span></div><button class=m>{SECRET}</button>
         <a href=/ class=m>{SECRET}</a><input type=submit class=m value={SECRET}>
         <select class=m aria-label=s><option selected>{SECRET}</select>
         <p id=l class=m>{SECRET}</p><button aria-labelledby=l>x</button>
         <table class=m><tr><td>{SECRET}<th>{SECRET}</table><p>plain"
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    assert!(driver.goto("http://shop.test/").await.contains("plain"));
    assert_in_no_format(&driver, "masked").await;
    let facts = driver.facts(&Action::Click(Click::on(role("heading", "")))).await;
    assert!(!format!("{facts:?}").contains(SECRET));
}

#[tokio::test]
async fn text_for_an_editor_never_reaches_a_password_in_its_closed_root() {
    let page = "<div contenteditable role=textbox aria-label=Notes id=host>light</div><script>
        const root = host.attachShadow({mode: 'closed', delegatesFocus: true});
        root.innerHTML = '<form action=/submitted><input type=password oninput=\"fetch(`/typed`)\"></form><slot></slot>';
        root.querySelector('input').addEventListener('keydown', () => fetch('/key'));</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let error = driver.act(typing(role("textbox", "Notes"), "words", true, true)).await.unwrap_err();
    assert_eq!(error.code().to_string(), "element_not_editable", "{error}");
    driver.outline().await;
    for place in ["shop.test/typed", "shop.test/key", "shop.test/submitted"] {
        assert_eq!(driver.request_count(place), 0, "{place}");
    }
}

/// A page shows a text that is masked. Selected by a triple click, it must not get into a field.
#[tokio::test]
async fn a_middle_click_pastes_nothing() {
    let page = format!(
        "<p id=shown>{SECRET}</p><label>Field <input id=field></label><textarea aria-label=Area></textarea>"
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    driver.goto("http://shop.test/").await;
    let shown = Target::Text { text: SECRET.to_owned(), index: 0 };
    driver.act(Action::Click(Click { count: 3, ..Click::on(shown) })).await.unwrap();
    assert!(driver.value("getSelection().toString()").await.contains(SECRET));
    for field in ["Field", "Area"] {
        let middle = Click { button: MouseButton::Middle, ..Click::on(role("textbox", field)) };
        driver.act(Action::Click(middle)).await.unwrap();
    }
    // What would be pasted has been by the time the next key is handled.
    driver.act(typing(role("textbox", "Field"), "typed", false, false)).await.unwrap();
    assert_eq!(driver.value("field.value + document.querySelector('textarea').value").await, "typed");
}

#[tokio::test]
async fn a_field_that_text_was_dropped_into_is_secret_from_then_on() {
    let page = format!("<p id=shown>{SECRET}</p><input id=field aria-label=Field><input aria-label=Other>");
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    driver.goto("http://shop.test/").await;
    let shown = || Target::Text { text: SECRET.to_owned(), index: 0 };
    driver.act(Action::Click(Click { count: 3, ..Click::on(shown()) })).await.unwrap();
    driver.act(Action::Drag(Drag { from: shown(), to: role("textbox", "Field") })).await.unwrap();
    assert_eq!(driver.value("field.value").await.trim(), SECRET);
    let line = async |name: &str| {
        let outline = driver.outline().await;
        let lines =
            outline.lines().find(|line| line.contains(&format!("textbox {name:?}"))).map(str::to_owned);
        lines.unwrap_or_else(|| panic!("{outline}"))
    };
    let is_withheld =
        |line: &str| line.contains("[secret]") && !line.contains(&SECRET[..3]) && !line.contains("h u n");
    let field = line("Field").await;
    assert!(is_withheld(&field), "{field}");
    driver.run_in_page("field.value = [...field.value].join(' ')").await;
    let field = line("Field").await;
    assert!(is_withheld(&field), "{field}");
    assert!(!line("Other").await.contains("[secret]"));
}
