//! What must never reach an agent, however a page makes it.

use crate::support::{Driver, role, text_of, typing};
use policy::{Action, Click, ReadFormat};

const FORMATS: [ReadFormat; 3] = [ReadFormat::Outline, ReadFormat::Tree, ReadFormat::Markdown];
const SECRET: &str = "hunter2-hunter2";

async fn in_no_format(driver: &Driver, what: &str) {
    for format in FORMATS {
        let text = text_of(&driver.read(format).await);
        assert!(!text.contains(SECRET) && !text.contains("••"), "{what} {format:?}: {text}");
    }
}

#[tokio::test]
async fn a_password_that_was_made_readable_before_anybody_looked_stays_secret() {
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
        in_no_format(&driver, path).await;
        let facts = driver.facts(&Action::Click(Click::on(role("textbox", "Field")))).await;
        assert!(facts.secret, "{path}");
    }
}

#[tokio::test]
async fn fields_that_only_sound_like_secrets_are_not() {
    let page = "<input name=passenger aria-label=a value=Ann><input id=compass aria-label=b value=Bob>
        <input type=email name=password_reset aria-label=c value=Cid><input name=shipping aria-label=d value=Dan>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(!outline.contains("[secret]"), "{outline}");
}

#[tokio::test]
async fn masked_text_is_shown_in_no_format_wherever_it_stands() {
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
    in_no_format(&driver, "masked").await;
    let facts = driver.facts(&Action::Click(Click::on(role("heading", "")))).await;
    assert!(!format!("{facts:?}").contains(SECRET));
}

#[tokio::test]
async fn text_for_an_editor_never_goes_into_a_password_in_its_closed_shadow_root() {
    let page = "<div contenteditable role=textbox aria-label=Notes id=host>light</div><script>
        const root = host.attachShadow({mode: 'closed', delegatesFocus: true});
        root.innerHTML = '<form action=/submitted><input type=password oninput=\"fetch(`/typed`)\"></form><slot></slot>';
        root.querySelector('input').addEventListener('keydown', () => fetch('/key'));</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let error = driver.act(typing(role("textbox", "Notes"), "words", true, true)).await.unwrap_err();
    assert_eq!(error.code(), "element_not_editable", "{error}");
    driver.outline().await;
    for place in ["shop.test/typed", "shop.test/key", "shop.test/submitted"] {
        assert_eq!(driver.requests_of(place), 0, "{place}");
    }
}
