//! Enter in a field: the facts name the button that Chromium presses, and where that one submits the form.

use crate::support::{Driver, role};
use policy::{Action, Chord, FormButton, Press};

fn enter(kind: &str, name: &str) -> Action {
    Action::Press(Press { target: role(kind, name), chord: Chord::parse("Enter").unwrap() })
}

/// A form with an address of its own, and the role and name of the field that gets Enter.
const FORMS: [(&str, &str, &str, Option<&str>, &str); 9] = [
    ("<input aria-label=A><button>Delete account</button>", "textbox", "A", Some("Delete account"), "/own"),
    ("<input aria-label=A><button formaction=/other>Go</button>", "textbox", "A", Some("Go"), "/other"),
    (
        "<input aria-label=A><button type=button>No</button><input type=submit value=Yes>",
        "textbox",
        "A",
        Some("Yes"),
        "/own",
    ),
    (
        "<input aria-label=A><input type=image alt=Picture formaction=/other><button>Late</button>",
        "textbox",
        "A",
        Some("Picture"),
        "/other",
    ),
    ("<input aria-label=A>", "textbox", "A", None, "/own"),
    (
        "<input type=checkbox aria-label=A><button disabled>Off</button><button formaction=/other>On</button>",
        "checkbox",
        "A",
        Some("On"),
        "/other",
    ),
    ("<input type=radio aria-label=A><button>Pay</button>", "radio", "A", Some("Pay"), "/own"),
    ("<input type=range aria-label=A><button>Pay</button>", "slider", "A", Some("Pay"), "/own"),
    (
        "<input aria-label=A><input name=form><input name=elements><button name=querySelectorAll>Fake</button>",
        "textbox",
        "A",
        Some("Fake"),
        "/own",
    ),
];

#[tokio::test]
async fn facts_of_a_field_name_the_button_that_enter_presses() {
    let pages: Vec<(String, String)> = FORMS
        .iter()
        .enumerate()
        .map(|(n, (inner, ..))| {
            (format!("shop.test/{n}"), format!("<form method=post action=/own>{inner}</form>"))
        })
        .collect();
    let mut served: Vec<(&str, &str)> = pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    served.extend([("shop.test/own", "<h1>own"), ("shop.test/other", "<h1>other")]);
    let driver = Driver::with(&served).await;
    for (n, (inner, kind, name, button, address)) in FORMS.iter().enumerate() {
        driver.goto(&format!("http://shop.test/{n}")).await;
        let form = driver.facts(&enter(kind, name)).await.form.unwrap();
        assert_eq!(form.button.map(|button| button.label()).as_deref(), *button, "{inner}");
        assert_eq!(form.action, format!("http://shop.test{address}"), "{inner}");
        driver.act(enter(kind, name)).await.unwrap();
        assert_eq!(driver.browser.state().url, format!("http://shop.test{address}"), "{inner}");
    }
}

#[tokio::test]
async fn a_button_associated_from_outside_the_form_is_pressed() {
    let page = "<button form=f formaction=http://evil.test/ aria-label=Delete>Next</button>
        <form id=f action=/own method=post><input aria-label=A><button>Save</button></form>";
    let driver = Driver::with(&[("shop.test/", page), ("evil.test/", "<h1>evil")]).await;
    driver.goto("http://shop.test/").await;
    let form = driver.facts(&enter("textbox", "A")).await.form.unwrap();
    let expected = FormButton { name: "Delete".into(), text: "Next".into() };
    assert_eq!((form.button, form.action.as_str()), (Some(expected), "http://evil.test/"));
    driver.act(enter("textbox", "A")).await.unwrap();
    assert_eq!(driver.browser.state().url, "http://evil.test/");
}

#[tokio::test]
async fn a_button_that_is_swapped_after_the_decision_is_not_pressed() {
    let page = "<form method=post action=/own><input aria-label=A><button id=b>Save</button></form>";
    let driver = Driver::with(&[("shop.test/", page), ("shop.test/own", "<h1>own")]).await;
    driver.goto("http://shop.test/").await;
    let action = enter("textbox", "A");
    let facts = driver.browser.resolve(&action).await.unwrap();
    driver.run_in_page("b.textContent = 'Delete account'").await;
    let error = driver.act_on(action, facts).await.unwrap_err();
    assert_eq!(error.code().to_string(), "target_changed");
    assert!(error.to_string().contains("the button that sends its form"), "{error}");
    assert_eq!(driver.request_count("shop.test/own"), 0);
}

#[tokio::test]
async fn an_approved_key_is_refused_when_the_form_content_changed() {
    let page = "<form method=post action=/own><input type=hidden name=amount value=1>
        <input aria-label=A><button id=b>Save</button></form>";
    let driver = Driver::with(&[("shop.test/", page), ("shop.test/own", "<h1>own")]).await;
    for (is_bound, code) in [(true, Some("target_changed")), (false, None)] {
        driver.goto("http://shop.test/").await;
        let action = enter("textbox", "A");
        let mut facts = driver.browser.resolve(&action).await.unwrap();
        facts.target.as_mut().unwrap().appearance.pinned = is_bound;
        // Like a focus handler, which the key triggers.
        let rewrite = "document.querySelector('[aria-label=A]').onfocus = () => { document.forms[0].amount.value = '9'; }";
        driver.run_in_page(rewrite).await;
        let done = driver.act_on(action, facts).await;
        assert_eq!(done.as_ref().err().map(|error| error.code().to_string()).as_deref(), code);
        assert_eq!(driver.request_count("shop.test/own"), usize::from(!is_bound));
    }
}
