//! Key events are real and trusted, and go only to the field that was decided on.

use crate::support::{Driver, click, outline_of, role, typing};
use policy::{Action, Chord, Press, Target};

fn press(target: Target, chord: &str) -> Action {
    Action::Press(Press { target, chord: Chord::parse(chord).unwrap() })
}

const LOG: &str = "<p id=log></p><script>const seen = [];
    const note = (e) => { seen.push(e.type + (e.key ? ' ' + e.key : '') + (e.isTrusted ? '' : ' FAKE')); log.textContent = seen.join(', '); };
    for (const type of ['keydown', 'keypress', 'beforeinput', 'input', 'keyup', 'change', 'submit']) addEventListener(type, note, true);</script>";

#[tokio::test]
async fn typing_sends_the_events_of_a_keyboard() {
    let page = format!("<input aria-label=Name>{LOG}");
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    driver.goto("http://shop.test/").await;
    let after = driver.after(typing(role("textbox", "Name"), "aB", false, false)).await.unwrap();
    let events = "keydown a, keypress a, beforeinput, input, keyup a, keydown B, keypress B, beforeinput, input, keyup B";
    assert!(outline_of(&after).contains(events), "{}", outline_of(&after));
}

#[tokio::test]
async fn any_text_is_typed_into_any_kind_of_field_in_order() {
    let long: String = (0..1000).map(|n| char::from(b'a' + u8::try_from(n % 26).unwrap())).collect();
    let longer = long.repeat(3);
    let page = "<input aria-label=Input value=old><textarea aria-label=Area>old</textarea>
        <div contenteditable aria-label=Editor role=textbox>old</div><input type=email aria-label=Mail value=old>
        <input type=number aria-label=Number value=7><input type=search aria-label=Search value=old>
        <script>window.value = (name) => { const el = document.querySelector(`[aria-label=${name}]`); return el.value ?? el.innerText; };
          setInterval(() => { document.title = document.activeElement.value ?? document.activeElement.innerText; }, 10)</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for (field, what, clear, expected) in [
        ("Input", "new é 漢 🎉 (x) ~`\"|", true, "new é 漢 🎉 (x) ~`\"|"),
        ("Input", "!", false, "new é 漢 🎉 (x) ~`\"|!"),
        ("Input", "one\ntwo", true, "one two"),
        ("Input", "", true, ""),
        ("Input", long.as_str(), true, long.as_str()),
        ("Input", longer.as_str(), true, longer.as_str()),
        ("Area", "one\ntwo\r\nthree\tx", true, "one\ntwo\nthree\tx"),
        ("Area", " more", false, "one\ntwo\nthree\tx more"),
        ("Editor", "Grüße 漢", true, "Grüße 漢"),
        ("Editor", "!", false, "Grüße 漢!"),
        ("Mail", "a@b.test", true, "a@b.test"),
        ("Number", "-12.5", true, "-12.5"),
        ("Search", "find", true, "find"),
    ] {
        let role_name = match field {
            "Number" => "spinbutton",
            "Search" => "searchbox",
            _ => "textbox",
        };
        driver.after(typing(role(role_name, field), what, clear, false)).await.unwrap();
        let value = driver.value(&format!("value('{field}')")).await;
        assert_eq!(
            value,
            expected.replace('\n', if field == "Input" { " " } else { "\n" }),
            "{field} {what}"
        );
    }
}

#[tokio::test]
async fn an_editor_that_ignores_synthetic_events_accepts_real_keys() {
    // Like CodeMirror and Monaco: an invisible field takes the keys, and the page draws the text.
    let page = "<div id=editor role=presentation style='width:300px;height:100px;border:1px solid'>
          <pre id=drawn></pre><textarea id=keys aria-label=Code style='position:absolute;left:-5px;width:1px;height:1px;opacity:0;padding:0;border:0'></textarea></div>
        <script>editor.onmousedown = (e) => { e.preventDefault(); keys.focus(); };
          keys.addEventListener('beforeinput', (e) => { if (!e.isTrusted) return; e.preventDefault(); drawn.textContent += e.data ?? '|'; });
          keys.addEventListener('keydown', (e) => { if (e.key === 'Backspace') drawn.textContent = drawn.textContent.slice(0, -1); });</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    driver.click(Target::Point { x: 100.0, y: 50.0 }).await.unwrap();
    let after = driver.after(typing(Target::Focused, "let x = 1;é", false, false)).await.unwrap();
    assert!(outline_of(&after).contains("let x = 1;é"), "{}", outline_of(&after));
    let after = driver.after(press(Target::Focused, "Backspace")).await.unwrap();
    assert!(!outline_of(&after).contains('é'), "{}", outline_of(&after));
}

#[tokio::test]
async fn keys_and_chords_have_their_default_actions() {
    let page = format!("<form action=/sent><input aria-label=Name value=text><input aria-label=Other><button>Send</button></form>
        <button onclick=\"this.textContent = 'Pressed'\">Button</button><input type=checkbox aria-label=Box>
        <div style='height:3000px'></div>{LOG}");
    let driver = Driver::with(&[("shop.test/", &page), ("shop.test/sent", "<h1>sent</h1>")]).await;
    driver.goto("http://shop.test/").await;
    for (target, chord, script, expected) in [
        (role("textbox", "Name"), "Control+a", "getSelection().toString()", "text"),
        (Target::Focused, "Delete", "document.querySelector('input').value", ""),
        (Target::Focused, "x", "document.querySelector('input').value", "x"),
        (Target::Focused, "Shift+y", "document.querySelector('input').value", "xY"),
        (Target::Focused, "Backspace", "document.querySelector('input').value", "x"),
        (Target::Focused, "Tab", "document.activeElement.ariaLabel", "Other"),
        (Target::Focused, "Shift+Tab", "document.activeElement.ariaLabel", "Name"),
        (role("button", "Button"), "Enter", "document.querySelector('form + button').textContent", "Pressed"),
        (
            role("checkbox", "Box"),
            "Space",
            "String(document.querySelector('[type=checkbox]').checked)",
            "true",
        ),
        (Target::Focused, "End", "String(scrollY > 0)", "true"),
    ] {
        driver.after(press(target.clone(), chord)).await.unwrap_or_else(|error| panic!("{chord}: {error}"));
        assert_eq!(driver.value(script).await, expected, "{chord} on {target:?}");
    }
    let after = driver.after(press(role("textbox", "Name"), "Enter")).await.unwrap();
    assert!(after.navigated && outline_of(&after).contains("sent"), "{after:?}");
    driver.goto("http://shop.test/").await;
    let after = driver.after(typing(role("textbox", "Other"), "x", false, true)).await.unwrap();
    assert!(after.navigated && outline_of(&after).contains("sent"), "{after:?}");
}

#[tokio::test]
async fn without_focus_keys_go_to_the_page_and_text_goes_nowhere() {
    let page =
        "<p id=out></p><script>onkeydown = (e) => { out.textContent = e.target.tagName + e.key; };</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let after = driver.after(press(Target::Focused, "j")).await.unwrap();
    assert!(outline_of(&after).contains("BODYj"), "{}", outline_of(&after));
    assert_eq!(driver.code(typing(Target::Focused, "x", false, false)).await, "nothing_there");
}

#[tokio::test]
async fn the_tab_key_moves_the_focus_into_and_out_of_a_frame() {
    let pages = [
        (
            "shop.test/",
            "<input aria-label=Before><iframe src=http://other.test/></iframe><input aria-label=After>",
        ),
        ("other.test/", "<input aria-label=Inside>"),
    ];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/").await;
    driver.after(press(role("textbox", "Before"), "Tab")).await.unwrap();
    let after = driver.after(typing(Target::Focused, "in the frame", false, false)).await.unwrap();
    assert!(
        outline_of(&after).contains("Inside\" [focused] [ref") || outline_of(&after).contains("in the frame"),
        "{}",
        outline_of(&after)
    );
    driver.after(press(Target::Focused, "Tab")).await.unwrap();
    let facts = driver.facts(&typing(Target::Focused, "x", false, false)).await;
    assert_eq!(facts.name, "After");
}

#[tokio::test]
async fn a_lost_focus_stops_the_keys_and_is_reported() {
    let hop =
        "<input aria-label=One maxlength=1 oninput='this.nextElementSibling.focus()'><input aria-label=Two>";
    let away = "<input aria-label=One onkeydown='document.activeElement.blur()'><input aria-label=Two>";
    let steal = "<input aria-label=One onfocus='two.focus()'><input id=two aria-label=Two>";
    let secret = "<input aria-label=One oninput='if (this.value.length > 2) this.type = \"password\"'><input aria-label=Two>";
    let pages = [
        ("shop.test/hop", hop),
        ("shop.test/away", away),
        ("shop.test/steal", steal),
        ("shop.test/secret", secret),
    ];
    let driver = Driver::with(&pages).await;
    for (path, one, two) in [("hop", "1", ""), ("away", "", ""), ("steal", "", ""), ("secret", "123", "")] {
        driver.goto(&format!("http://shop.test/{path}")).await;
        let error = driver.act(typing(role("textbox", "One"), "123456", false, false)).await.unwrap_err();
        assert_eq!(error.code().to_string(), "focus_lost", "{path}: {error}");
        if path == "hop" {
            assert!(error.to_string().contains("Two"), "{error}");
        }
        let values =
            driver.value("[...document.querySelectorAll('input')].map((el) => el.value).join('/')").await;
        assert_eq!(values, format!("{one}/{two}"), "{path}");
    }
    driver.goto("http://shop.test/hop").await;
    driver.click(role("textbox", "Two")).await.unwrap();
    driver.after(click(role("textbox", "Two"))).await.unwrap();
    driver.after(typing(Target::Focused, "fine", false, false)).await.unwrap();
}

#[tokio::test]
async fn a_field_that_formats_what_is_typed_is_not_reported_and_one_that_drops_some_of_it_is() {
    let page = "<input aria-label=Phone oninput='const d = this.value.replace(/\\D/g, ``); this.value = d.length > 3 ? `(${d.slice(0, 3)}) ${d.slice(3)}` : d'>
        <input aria-label=Money oninput='const n = this.value.replace(/\\D/g, ``); this.value = n ? `$` + (n / 100).toLocaleString(`en-US`, { minimumFractionDigits: 2 }) : ``'>
        <input aria-label=Percent oninput='this.value = this.value.replace(/%/g, ``) + `%`'>
        <input aria-label=Accents oninput='this.value = this.value.normalize(`NFD`)'>
        <input aria-label=Short maxlength=3><input aria-label=Digits oninput='this.value = this.value.replace(/\\D/g, ``)'>
        <input aria-label=Tags onkeydown='if (event.key === `,`) { event.preventDefault(); tags.textContent += this.value; this.value = `` }'><i id=tags></i>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for (name, text, expected) in [
        ("Phone", "5551234567", ""),
        ("Money", "1234.56", ""),
        ("Percent", "12", ""),
        ("Accents", "café", ""),
        ("Short", "abcdef", "does not hold all of the text"),
        ("Digits", "12ab", "does not hold all of the text"),
        ("Tags", "one,two,", "the page has changed"),
    ] {
        let after = driver.after(typing(role("textbox", name), text, true, false)).await.unwrap();
        let note = after.note.unwrap_or_default();
        assert!(
            if expected.is_empty() { note.is_empty() } else { note.contains(expected) },
            "{name}: {note:?}"
        );
    }
}

#[tokio::test]
async fn a_field_that_ignores_what_is_typed_is_reported() {
    let page = "<input aria-label=Deaf onbeforeinput='event.preventDefault()'>
        <input aria-label=Keys onkeydown='event.preventDefault()'>
        <input aria-label=Reset value=kept oninput='this.value = `kept`'>
        <input aria-label=Number type=number>
        <textarea aria-label=Area onbeforeinput='event.preventDefault()'>old</textarea>
        <div role=textbox aria-label=Editor contenteditable onbeforeinput='event.preventDefault()'>old</div>
        <input aria-label=Fine><textarea aria-label=Notes></textarea>
        <div role=textbox aria-label=Rich contenteditable></div>
        <input aria-label=Same value=words><input aria-label=Upper oninput='this.value = this.value.toUpperCase()'>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for (kind, name, is_taken) in [
        ("textbox", "Deaf", false),
        ("textbox", "Keys", false),
        ("textbox", "Reset", false),
        ("spinbutton", "Number", false),
        ("textbox", "Area", false),
        ("textbox", "Editor", false),
        ("textbox", "Fine", true),
        ("textbox", "Notes", true),
        ("textbox", "Rich", true),
        ("textbox", "Same", true),
        ("textbox", "Upper", true),
    ] {
        let after = driver.after(typing(role(kind, name), "words", true, false)).await.unwrap();
        let note = after.note.unwrap_or_default();
        assert_eq!(!note.contains("did not take the text"), is_taken, "{name}: {note:?}");
    }
    let after = driver.after(typing(role("textbox", "Fine"), "", true, false)).await.unwrap();
    assert_eq!(after.note, None, "emptied");
}
