//! A page cannot pad a text so that a cut leaves the beginning of a secret: secrets are masked before anything is cut.

use crate::support::{Driver, click, role};
use browser::{BrowserError, Outcome, TextRedactor};
use policy::{
    Action, AnswerDialog, Facts, Find, Pattern, ReadDom, ReadFormat, Select, SelectOption, Tabs, Target,
};
use std::{fmt::Debug, sync::Arc};

const SECRET: &str = "sk-live-4f9c2a7e81d35b60";
/// As much of the secret as nothing may show.
const BEGINNING: &str = "sk-l";

/// `build(left)` pads each text so that `left` characters of the secret are before the limit.
const PAGE: &str = "<!doctype html><style>
  #generated::before { content: var(--words) } #cover { position: fixed; inset: 0 0 auto 0; height: 30px; z-index: 1 }
</style><div id=cover role=note></div><button id=covered style='position: absolute; top: 0'>Covered</button>
<main style='margin-top: 60px'></main><script>
const SECRET = 'sk-live-4f9c2a7e81d35b60';
const main = document.querySelector('main');
function add(tag, of, parent = main) { const el = document.createElement(tag); Object.assign(el, of); parent.append(el); return el; }
function build(left) {
  const pad = (limit, fill = 'x') => fill.repeat(limit - left) + SECRET + 'y'.repeat(50);
  main.textContent = '';
  document.title = pad(left % 2 ? 300 : 512);
  add('button', { id: 'labelled', ariaLabel: pad(300) });
  add('button', { id: 'titled', title: pad(300) });
  add('button', { id: 'tooltip', title: pad(200), textContent: 'Go' });
  add('button', { id: 'content', innerHTML: `<i>${pad(300)}</i>` });
  add('button', { id: 'differs', ariaLabel: 'Other', textContent: pad(80) });
  add('button', { id: 'text', ariaLabel: 'Other', textContent: pad(200) });
  add('button', { id: 'spaces', textContent: ' '.repeat(600 - left) + SECRET });
  add('button', { id: 'many', innerHTML: '<i></i>'.repeat(398 - left) + [...SECRET].map((c) => `<i>${c}</i>`).join('') });
  add('input', { ariaLabel: 'Value', value: pad(300) });
  add('textarea', { ariaLabel: 'Area', value: pad(300) });
  const list = add('select', { id: 'list', ariaLabel: 'List' });
  add('option', { textContent: 'None', value: 'none' }, list);
  add('option', { textContent: pad(300), value: pad(300) }, list);
  const link = (id, limit) => add('a', { id, textContent: id, href: `/${'x'.repeat(limit - 17 - left)}${SECRET}/more` });
  link('near', 500);
  link('far', 2000);
  const form = add('form', { action: `/${'x'.repeat(2000 - 17 - left)}${SECRET}/more`, method: 'post' });
  add('button', { id: 'submit', textContent: 'Send' }, form);
  add('input', { id: 'field', ariaLabel: 'Field' }, form);
  add('button', { id: 'generated' }).style.setProperty('--words', JSON.stringify(pad(left % 2 ? 300 : 1199)));
  add('button', { id: 'asks', textContent: 'Ask', onclick: () => confirm(pad(512)) });
  add('button', { id: 'long', textContent: 'z'.repeat(400) });
  add('p', { textContent: `${SECRET}, `.repeat(60) });
  cover.ariaLabel = pad(114);
  history.replaceState(null, '', '/#');
}
</script>";

/// Finds the secret as a whole, as that of the product does.
fn redactor() -> TextRedactor {
    Arc::new(|text: &str| text.contains(SECRET).then(|| text.replace(SECRET, "[redacted]")))
}

fn check(left: usize, what: &str, shown: &impl Debug) {
    let shown = format!("{shown:?}");
    let at = shown.find(BEGINNING).map(|at| &shown[at.saturating_sub(40)..(at + 30).min(shown.len())]);
    assert_eq!(at, None, "{what}, with {left} characters before the limit");
}

fn selector(id: &str) -> Target {
    Target::Selector { selector: policy::Selector::parse(&format!("#{id}")).unwrap(), index: 0 }
}

async fn signed_in() -> Driver {
    let driver = Driver::with(&[("shop.test/", PAGE)]).await;
    driver.browser.set_text_redactor(redactor());
    driver.goto("http://shop.test/").await;
    driver
}

const OFFSETS: [usize; 5] = [4, 5, 8, 11, 16];

#[tokio::test]
async fn no_reading_shows_the_beginning_of_a_secret() {
    let driver = signed_in().await;
    for left in OFFSETS {
        driver.run_in_page(&format!("build({left})")).await;
        for format in [ReadFormat::Outline, ReadFormat::Tree, ReadFormat::Markdown] {
            let read = driver.read(format).await;
            check(left, &format!("{format:?}"), &read);
            assert!(format!("{read:?}").contains("redacted"), "{read:?}");
        }
        check(left, "tabs", &driver.tabs(Tabs::List).await);
        check(left, "state", &driver.browser.state());
        for pattern in [Pattern::Text("x".into()), Pattern::Text(BEGINNING.into())] {
            let find = Find { pattern: Some(pattern), ..Find::default() };
            let Outcome::Found(found) = driver.act(Action::Find(find)).await.unwrap() else { panic!() };
            check(left, "find", &found);
        }
        let found = role("button", &format!("{}{}", "x".repeat(300 - left), &SECRET[..left]));
        assert_eq!(driver.code(click(found)).await, "element_not_found", "{left}");
    }
    // A long name without a secret is found as it is shown.
    let shown = format!("{}…", "z".repeat(300));
    assert!(driver.outline().await.contains(&format!("\"{shown}\"")));
    assert_eq!(driver.facts(&click(role("button", &shown))).await.name, shown);
}

#[tokio::test]
async fn cleaned_html_shows_the_beginning_of_no_secret() {
    let driver = signed_in().await;
    for left in OFFSETS {
        driver.run_in_page(&format!("build({left})")).await;
        for bytes in (400..12_000).step_by(397).chain([1 << 20]) {
            let outcome = driver.act(Action::ReadDom(ReadDom { bytes })).await.unwrap();
            let Outcome::Dom(dom) = outcome else { panic!("{outcome:?}") };
            check(left, &format!("{bytes} bytes of HTML"), &dom);
            assert!(dom.html.as_str().len() <= bytes);
            assert_eq!(dom.truncated, dom.html.as_str().ends_with('…'), "{bytes}");
            assert!(dom.truncated == (bytes < 1 << 20) || bytes > 5_000, "{bytes}");
        }
    }
}

#[tokio::test]
async fn no_fact_shows_the_beginning_of_a_secret() {
    let driver = signed_in().await;
    for left in OFFSETS {
        driver.run_in_page(&format!("build({left})")).await;
        for id in [
            "labelled",
            "titled",
            "tooltip",
            "content",
            "differs",
            "text",
            "spaces",
            "many",
            "list",
            "near",
            "far",
            "submit",
            "field",
            "generated",
        ] {
            let facts: Facts = driver.browser.resolve(&click(selector(id))).await.unwrap();
            check(left, id, &facts);
        }
        let far = driver.facts(&click(selector("far"))).await.href.unwrap();
        assert!(far.starts_with("http://shop.test/xxx") && far.len() <= 2000, "{far}");
        let chosen =
            Action::Select(Select { target: selector("list"), options: vec![SelectOption::Index(1)] });
        check(left, "options", &driver.browser.resolve(&chosen).await.unwrap());
        let wrong = vec![SelectOption::Label("no such option".to_owned())];
        let failed = driver.after(Action::Select(Select { target: selector("list"), options: wrong })).await;
        check(left, "no such option", &failed.unwrap_err().to_string());
        // From then on the list shows a masked value, and is a secret field.
        driver.after(chosen).await.unwrap();
        assert_eq!(driver.value("String(list.selectedIndex)").await, "1");
        let covered = driver.act_within(2, click(selector("covered"))).await.unwrap_err();
        assert!(matches!(covered, BrowserError::ElementCovered { .. }), "{covered:?}");
        check(left, "covered", &covered);
    }
}

#[tokio::test]
async fn no_dialog_url_or_event_shows_the_beginning_of_a_secret() {
    let driver = signed_in().await;
    for left in OFFSETS {
        driver.run_in_page(&format!("build({left})")).await;
        let asked = driver.after(click(selector("asks"))).await.unwrap();
        check(left, "dialog", &asked);
        assert!(asked.dialog.unwrap().message.as_str().starts_with("xxx"));
        let answer = Action::Dialog(AnswerDialog { accept: true, text: None });
        check(left, "facts of a dialog", &driver.browser.resolve(&answer).await.unwrap());
        driver.after(answer).await.unwrap();
        for limit in [2048, 8192] {
            let script = format!(
                "history.pushState(null, '', '/#' + 'x'.repeat({limit} - 18 - {left}) + SECRET + 'y'.repeat(50))"
            );
            driver.run_in_page(&script).await;
            check(left, "state", &driver.browser.state());
            check(left, "tabs", &driver.tabs(Tabs::List).await);
        }
        check(left, "facts of the page", &driver.browser.resolve(&Action::Back).await.unwrap());
        driver.run_in_page(&format!("alert('x'.repeat(512 - {left}) + SECRET)")).await;
        check(left, "incidents", &driver.after(click(selector("long"))).await.unwrap().incidents);
        check(left, "events", &driver.browser.page_events().now());
    }
}
