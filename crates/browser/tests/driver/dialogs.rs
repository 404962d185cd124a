//! JavaScript dialogs wait for the agent, and no page can block a session with them.

use crate::support::{Driver, click, navigate, outline_of, role, run_at_once};
use browser::{Incident, Outcome};
use policy::{Action, AnswerDialog, LoadState, Read, TabId, Tabs};

const NEXT: (&str, &str) = ("shop.test/next", "<h1>next</h1>");

fn answer(accept: bool, text: Option<&str>) -> Action {
    Action::Dialog(AnswerDialog { accept, text: text.map(str::to_owned) })
}

#[tokio::test]
async fn a_dialog_waits_for_its_answer_and_the_page_gets_it() {
    let pages = [
        (
            "shop.test/",
            "<button onclick=\"document.title = String(confirm('sure?'))\">Confirm</button>
        <button onclick=\"document.title = String(prompt('who?', 'me'))\">Prompt</button>",
        ),
        NEXT,
    ];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/").await;
    for (button, kind, accept, text, expected) in [
        ("Confirm", "confirm", true, None, "true"),
        ("Confirm", "confirm", false, None, "false"),
        ("Prompt", "prompt", true, Some("you"), "you"),
        ("Prompt", "prompt", true, None, "me"),
        ("Prompt", "prompt", false, None, "null"),
    ] {
        let after = driver.after(click(role("button", button))).await.unwrap();
        let question = after.dialog.unwrap();
        assert_eq!(question.kind, kind);
        assert!(after.snapshot.is_none());
        // Nothing else works meanwhile, and the error says so.
        assert_eq!(driver.code(Action::Read(Read::default())).await, "dialog_open");
        assert_eq!(driver.code(click(role("button", button))).await, "dialog_open");
        let after = driver.after(answer(accept, text)).await.unwrap();
        assert_eq!(after.title, expected, "{button} {accept}");
        assert!(outline_of(&after).contains(button));
    }
    assert_eq!(driver.code(answer(true, None)).await, "no_dialog");
}

#[tokio::test]
async fn alerts_and_beforeunload_are_answered_at_once_and_reported() {
    let pages = [
        ("shop.test/", "<script>alert('first')</script><h1>after</h1>"),
        (
            "shop.test/leave",
            "<script>onbeforeunload = e => { e.preventDefault(); }</script><button>stay</button>
           <a href=/next>Next</a>",
        ),
        NEXT,
    ];
    let driver = Driver::with(&pages).await;
    match driver.act(navigate("http://shop.test/", LoadState::Load)).await.unwrap() {
        Outcome::Navigated { incidents, .. } => {
            let alert = Incident::Dialog { kind: "alert", message: "first".into(), accepted: true };
            assert_eq!(incidents, [alert]);
        }
        other => panic!("{other:?}"),
    }
    let leaving = Incident::Dialog { kind: "beforeunload", message: "".into(), accepted: true };
    for way in [click(role("link", "Next")), Action::Back, Action::Reload] {
        driver.goto("http://shop.test/leave").await;
        // Only a page with user interaction may ask before it is left.
        driver.click(role("button", "stay")).await.unwrap();
        let after = driver.after(way.clone()).await.unwrap();
        assert!(after.navigated && after.incidents.contains(&leaving), "{way:?}: {after:?}");
    }
    driver.goto("http://shop.test/leave").await;
    driver.click(role("button", "stay")).await.unwrap();
    assert!(driver.goto("http://shop.test/next").await.contains("next"));
    driver.goto("http://shop.test/leave").await;
    driver.click(role("button", "stay")).await.unwrap();
    driver.tabs(Tabs::Close(TabId(1))).await;
    driver.wait_for_page_count(1).await;
}

#[tokio::test]
async fn a_loop_of_dialogs_ends_in_an_open_one_and_can_be_left() {
    let cases = [("alert('a')", "alert"), ("confirm('a')", "confirm"), ("prompt('a')", "prompt")];
    run_at_once(cases, async |(what, kind)| {
        let page = format!("<button onclick=\"for (;;) {what}\">Loop</button>");
        let driver = Driver::with(&[("shop.test/", &page), NEXT]).await;
        driver.goto("http://shop.test/").await;
        let after = driver.after(click(role("button", "Loop"))).await.unwrap();
        assert_eq!(after.dialog.map(|dialog| dialog.kind), Some(kind));
        for _ in 0..2 {
            let after = driver.after(answer(false, None)).await.unwrap();
            assert_eq!(after.dialog.map(|dialog| dialog.kind), Some(kind), "{what}");
        }
        assert!(driver.goto("http://shop.test/next").await.contains("next"), "{what}");
        assert_eq!(driver.code(answer(true, None)).await, "no_dialog");
    })
    .await;
}

#[tokio::test]
async fn a_dialog_opened_while_the_page_loads_can_be_answered() {
    let page = "<script>document.title = String(confirm('enter?'))</script><h1>in</h1>";
    let driver = Driver::with(&[("shop.test/", page), NEXT]).await;
    let asked = driver.act(navigate("http://shop.test/", LoadState::Load)).await.unwrap();
    assert!(matches!(&asked, Outcome::Acted(after) if after.dialog.is_some()), "{asked:?}");
    let after = driver.after(answer(true, None)).await.unwrap();
    assert_eq!(after.title, "true");
    assert!(outline_of(&after).contains("\"in\""));
}

#[tokio::test]
async fn dialogs_of_background_tabs_are_dismissed_and_reported() {
    // It asks again only once the other page is loaded and this one is in the background.
    let page = "<button onclick=\"document.title = String(confirm('sure?'))\">Ask</button>
        <button onclick=\"new BroadcastChannel('go').onmessage = function () { this.close(); document.title = 'late ' + confirm('late?') }\">Late</button>";
    let next = "<h1>next</h1><script>new BroadcastChannel('go').postMessage(1)</script>";
    let driver = Driver::with(&[("shop.test/", page), ("shop.test/next", next)]).await;
    let no = |message: &str| Incident::Dialog { kind: "confirm", message: message.into(), accepted: false };
    driver.goto("http://shop.test/").await;
    driver.after(click(role("button", "Ask"))).await.unwrap();
    driver.tabs(Tabs::New).await;
    match driver.act(navigate("http://shop.test/next", LoadState::Load)).await.unwrap() {
        Outcome::Navigated { incidents, .. } => assert_eq!(incidents, [no("sure?")]),
        other => panic!("{other:?}"),
    }
    driver.tabs(Tabs::Switch(TabId(1))).await;
    driver.outline().await;
    assert_eq!(driver.browser.state().title, "false");
    driver.click(role("button", "Late")).await.unwrap();
    driver.tabs(Tabs::Switch(TabId(2))).await;
    let mut incidents = Vec::new();
    while incidents.is_empty() {
        incidents = driver.after(Action::Reload).await.unwrap().incidents;
    }
    assert_eq!(incidents, [no("late?")]);
}

#[tokio::test]
async fn keys_delayed_by_a_dialog_go_nowhere_else_when_it_is_answered() {
    let page = "<input aria-label=Name oninput=\"if (this.value.length === 3) { confirm('go on?'); other.focus(); }\">
        <input id=other aria-label=Other><p id=out></p>
        <script>other.oninput = () => { out.textContent = 'stolen'; };</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let typed = crate::support::typing(role("textbox", "Name"), "some longer text, and é too", true, false);
    let after = driver.after(typed).await.unwrap();
    assert!(after.dialog.is_some(), "{after:?}");
    let after = driver.after(answer(true, None)).await.unwrap();
    let outline = outline_of(&after);
    assert!(outline.contains("som") && !outline.contains("stolen"), "{outline}");
    // Typing works again.
    let typed = crate::support::typing(role("textbox", "Other"), "on purpose", true, false);
    assert!(outline_of(&driver.after(typed).await.unwrap()).contains("on purpose"));
}
