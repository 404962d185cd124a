//! Replies after an action: a delta, or the whole page.

use crate::support::{Driver, navigate, role, text_of, typing};
use browser::{Content, Outcome, Snapshot};
use policy::{Action, Click, LoadState, Part, Read, ReadFormat};

/// Long enough that a delta is shorter than the page.
fn page(script: &str) -> String {
    let filler: String = (0..30).map(|n| format!("<p>Paragraph {n} of what stays as it is.</p>")).collect();
    format!(
        "<main><ul aria-label=Cart><li><a href=#lamp>Lamp</a><li><a href=#pen>Pen</a></ul>
         <button onclick=\"{script}\">Change</button><input aria-label=Note>{filler}</main>"
    )
}

async fn act(driver: &Driver, caller: &str, full: bool, action: Action) -> Snapshot {
    let facts = driver.browser.resolve(&action).await.unwrap();
    match driver.act_for(caller, full, action, facts).await.unwrap() {
        Outcome::Navigated { snapshot, .. } | Outcome::Read(snapshot) => snapshot,
        Outcome::Acted(after) => after.snapshot.unwrap(),
        other => panic!("{other:?}"),
    }
}

fn change() -> Action {
    Action::Click(Click::on(role("button", "Change")))
}

fn is_delta(snapshot: &Snapshot) -> bool {
    matches!(snapshot.content, Content::Changes { .. })
}

#[tokio::test]
async fn a_reply_has_a_delta_and_moved_elements_keep_their_refs() {
    let script = "const list = document.querySelector('ul'); list.append(list.firstElementChild);
      list.insertAdjacentHTML('beforeend', '<li>Chair <button>Remove</button>')";
    let driver = Driver::with(&[("shop.test/", &page(script))]).await;
    let first = act(&driver, "a", false, navigate("http://shop.test/", LoadState::Load)).await;
    assert!(!is_delta(&first), "{first:?}");
    let snapshot = act(&driver, "a", false, change()).await;
    let Content::Changes { since, text } = &snapshot.content else { panic!("{snapshot:?}") };
    assert_eq!((*since, snapshot.serial), (first.serial, first.serial + 1));
    let expected = "Changed since your last snapshot:
@@ main > list \"Cart\"
- - listitem
-   - link \"Lamp\" [ref=e1]
@@ main > list \"Cart\"
  - listitem
+ - listitem
+   - link \"Lamp\" [ref=e1]
+ - listitem
+   - text: \"Chair\"
+   - button \"Remove\" [ref=e5]
@@ main
  - list \"Cart\"
- - button \"Change\" [ref=e3]
+ - button \"Change\" [focused] [ref=e3]
";
    assert_eq!(text, expected);
    let typed = act(&driver, "a", false, typing(role("textbox", "Note"), "hello", false, false)).await;
    assert!(text_of(&typed).contains("+ - textbox \"Note\" [focused] [ref=e4]: \"hello\"\n"), "{typed:?}");
}

#[tokio::test]
async fn a_reply_says_that_nothing_changed_and_other_callers_get_the_whole_page() {
    let driver = Driver::with(&[("shop.test/", &page(""))]).await;
    act(&driver, "a", false, navigate("http://shop.test/", LoadState::Load)).await;
    act(&driver, "a", false, change()).await;
    assert_eq!(text_of(&act(&driver, "a", false, change()).await), "Nothing on the page changed.\n");
    assert!(!is_delta(&act(&driver, "a", true, change()).await), "full was asked for");
    assert!(is_delta(&act(&driver, "a", false, change()).await));
    assert!(!is_delta(&act(&driver, "b", false, change()).await), "another caller has seen nothing yet");
    assert!(!is_delta(&act(&driver, "a", false, change()).await), "and the page was shown to that one last");
    let read = |format, part| Action::Read(Read { format, part, ..Read::default() });
    for (asked, knows) in [
        (read(ReadFormat::Outline, Part::Page), true),
        (read(ReadFormat::Tree, Part::Page), true),
        (read(ReadFormat::Markdown, Part::Page), false),
        (read(ReadFormat::Outline, Part::Root("e1".into())), false),
    ] {
        driver.browser.forget_last_shown();
        act(&driver, "a", false, asked.clone()).await;
        assert_eq!(is_delta(&act(&driver, "a", false, change()).await), knows, "{asked:?}");
    }
    let within = act(&driver, "a", false, navigate("http://shop.test/#lamp", LoadState::Load)).await;
    assert!(is_delta(&within), "a jump within the page: {within:?}");
    let again = act(&driver, "a", false, navigate("http://shop.test/", LoadState::Load)).await;
    assert!(!is_delta(&again), "another document: {again:?}");
}

#[tokio::test]
async fn a_secret_is_in_no_delta() {
    let script = "for (const field of document.querySelectorAll('[data-secret]')) {
        field.type = 'text'; field.value = 'hunter2-hunter2'; field.placeholder += '!' }";
    let fields = "<input data-secret type=password placeholder=a><input data-secret autocomplete=cc-number placeholder=b>";
    let driver = Driver::with(&[("shop.test/", &format!("{fields}{}", page(script)))]).await;
    act(&driver, "a", false, navigate("http://shop.test/", LoadState::Load)).await;
    let snapshot = act(&driver, "a", false, change()).await;
    let text = text_of(&snapshot);
    assert!(is_delta(&snapshot) && text.contains("+ - textbox \"a!\" [secret]"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("••"), "{text}");
}

#[tokio::test]
async fn a_delta_needs_all_earlier_folds_to_open() {
    let rows: String = (0..3_000).map(|n| format!("<p>row {n} <a href=#{n}>open {n}</a></p>")).collect();
    let driver = Driver::with(&[(
        "shop.test/",
        &format!("<button onclick=\"this.title += '.'\">Change</button>{rows}"),
    )])
    .await;
    act(&driver, "a", false, navigate("http://shop.test/", LoadState::Load)).await;
    for _ in 0..6 {
        assert!(
            is_delta(&act(&driver, "a", false, change()).await),
            "a delta without folds costs no snapshot"
        );
    }
    for _ in 0..4 {
        act(&driver, "a", false, Action::Read(Read { format: ReadFormat::Markdown, ..Read::default() }))
            .await;
    }
    assert!(!is_delta(&act(&driver, "a", false, change()).await), "the folds of the first reply are gone");
}

#[tokio::test]
async fn nothing_is_folded_of_what_changed_in_a_short_page() {
    let words = |n: usize, word: &str| format!("Paragraph {n}: {}", format!("{word} ").repeat(18));
    let paragraphs: String = (0..6).map(|n| format!("<p>{}</p>", words(n, "before"))).collect();
    for changed in [1, 3, 6] {
        let script = format!(
            "let n = 0; for (const p of document.querySelectorAll('p')) if (n++ < {changed}) p.textContent = p.textContent.replaceAll('before', 'afterwards')"
        );
        let page = format!("<main><button onclick=\"{script}\">Change</button>{paragraphs}</main>");
        let driver = Driver::with(&[("shop.test/", &page)]).await;
        act(&driver, "a", false, navigate("http://shop.test/", LoadState::Load)).await;
        let text = text_of(&act(&driver, "a", false, change()).await);
        for n in 0..changed {
            assert!(text.contains(words(n, "afterwards").trim_end()), "{changed}, {n}: {text}");
        }
        assert!(!text.contains("[open: cursor="), "{changed}: {text}");
    }
}
