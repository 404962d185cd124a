//! Everything that a person can act on has a ref, and is clicked by it.

use crate::support::{Driver, click, options_with_timeout, outline_of, reference, role, text_of};
use browser::Outcome;
use policy::{Action, Read, Target};
use std::{fs, path::Path, time::Duration};

/// A page of things, each with a marker in its name, its text or its class: a letter and two digits, from 1 on.
struct ThingsPage {
    file: &'static str,
    letter: char,
    kinds: usize,
}

/// With a cursor, an attribute or a role.
const DECLARED: ThingsPage = ThingsPage { file: "clickable.html", letter: 'k', kinds: 67 };
/// Mostly with nothing but a listener, of their own or of what they are in.
const LISTENING: ThingsPage = ThingsPage { file: "listeners.html", letter: 'm', kinds: 76 };

/// With a handler that the document, a container or a framework has for them.
const DELEGATED: ThingsPage = ThingsPage { file: "delegated.html", letter: 'n', kinds: 40 };
/// In shadow trees, without a box, or drawn by something else.
const COMPONENTS: ThingsPage = ThingsPage { file: "components.html", letter: 's', kinds: 37 };

/// The ref on the line with this marker.
fn reference_of(outline: &str, marker: &str) -> Option<Target> {
    let line = outline.lines().find(|line| line.contains(marker) && line.contains("[ref="))?;
    let (_, rest) = line.split_once("[ref=")?;
    rest.split_once(']').map(|(reference, _)| Target::Ref(reference.to_owned()))
}

async fn check_each_kind(page: &ThingsPage) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/acting");
    let text = fs::read_to_string(folder.join(page.file)).unwrap();
    let driver = Driver::with(&[("shop.test/", &text)]).await;
    driver.goto("http://shop.test/").await;
    let outline = driver.outline().await;
    let mut missed = Vec::new();
    for kind in 1..=page.kinds {
        let marker = format!("{}{kind:02}", page.letter);
        let Some(target) = reference_of(&outline, &marker) else {
            missed.push(format!("{marker} has no ref"));
            continue;
        };
        if let Err(error) = driver.act(click(target)).await {
            missed.push(format!("{marker}: {error}"));
            continue;
        }
        let log = driver.value("document.getElementById('log').textContent").await;
        if !log.contains(&marker) {
            missed.push(format!("{marker} was clicked and not hit"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}\n{outline}");
}

#[tokio::test]
async fn each_kind_of_clickable_thing_has_a_ref_and_is_clicked_by_it() {
    check_each_kind(&DECLARED).await;
}

#[tokio::test]
async fn what_only_listens_has_a_ref_and_so_have_the_parts_that_something_listens_for() {
    check_each_kind(&LISTENING).await;
}

#[tokio::test]
async fn what_delegated_handlers_look_for_has_a_ref() {
    check_each_kind(&DELEGATED).await;
}

#[tokio::test]
async fn what_handlers_leave_alone_has_no_ref() {
    let page = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pages/acting").join(DELEGATED.file),
    );
    let driver = Driver::with(&[("shop.test/", &page.unwrap())]).await;
    let outline = driver.goto("http://shop.test/").await;
    for text in ["words", "plain", "not", "body text"] {
        let line = outline.lines().find(|line| line.contains(&format!("\"{text}\""))).unwrap_or_default();
        assert!(line.contains("- text:"), "{text}: {outline}");
    }
}

#[tokio::test]
async fn what_opens_when_it_is_hovered_or_right_clicked_has_a_ref() {
    let page = "<div id=head>File<ul id=menu hidden><li>Open</li></ul></div><div id=zone>Zone</div><div id=bin>Bin</div>
        <div id=large style='height: 400px'>Large</div><script>
        head.addEventListener('mouseenter', () => { menu.hidden = false; });
        zone.addEventListener('contextmenu', () => {}); bin.addEventListener('drop', () => {});
        large.addEventListener('pointerover', () => {});
        </script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    for name in ["File", "Zone", "Bin"] {
        assert!(reference_of(&outline, name).is_some(), "{name}: {outline}");
    }
    assert!(outline.contains("- text: \"Large\""), "{outline}");
    let after =
        driver.after(Action::Hover(policy::Hover { target: reference(&outline, "File") })).await.unwrap();
    assert!(outline_of(&after).contains("Open"), "{after:?}");
}

#[tokio::test]
async fn what_is_in_shadow_trees_or_drawn_by_something_else_has_a_ref() {
    check_each_kind(&COMPONENTS).await;
}

/// A page sees nothing of it, and cannot make it run its code to any effect.
#[tokio::test]
async fn handlers_are_read_without_an_effect_on_the_page() {
    let page = "<h1>Page</h1><div class=it>it</div><script>
        document.addEventListener('click', (e) => { const key = `$$${e.type}`; e.target.closest('.it'); });
        const spy = (name) => { document.title = `seen ${name}`; };
        const get = Object.getOwnPropertyDescriptor(Document.prototype, 'all').get;
        Object.defineProperty(Document.prototype, 'all', { get() { spy('all'); return get.call(this); } });
        Object.defineProperty(Element.prototype, '__click', { get() { spy('__click'); } });
        const keys = Object.keys;
        Object.keys = (object) => { spy('keys'); return keys(object); };
        </script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(outline.contains("generic \"it\" [ref="), "{outline}");
    assert_eq!(driver.value("document.title").await, "");
}

async fn count_refs(driver: &Driver) -> usize {
    driver.outline().await.matches("[ref=").count()
}

#[tokio::test]
async fn a_listener_that_is_added_later_brings_a_ref_without_any_other_change() {
    let driver = Driver::with(&[("shop.test/", "<h1>Shop</h1><div id=late>Late</div>")]).await;
    driver.goto("http://shop.test/").await;
    assert_eq!(count_refs(&driver).await, 0);
    driver.run_in_page("late.addEventListener('pointerdown', () => {}), 1").await;
    // On a busy machine a list of listeners takes long, and then there is a pause.
    for _ in 0..100 {
        if count_refs(&driver).await == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{}", driver.outline().await);
}

#[tokio::test]
async fn what_listens_for_a_whole_page_has_no_ref() {
    let buttons: String = (0..12).map(|n| format!("<button>Button {n}</button>")).collect();
    let page = format!(
        "<div id=root><p>Root</p></div><main id=around>{buttons}</main><script>
           for (const type of ['click', ...Array(40).keys()]) root.addEventListener(`${{type}}`, () => {{}});
           for (const node of [window, document, document.body, around]) node.addEventListener('click', () => {{}});
         </script>"
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    driver.goto("http://shop.test/").await;
    assert_eq!(count_refs(&driver).await, 12, "{}", driver.outline().await);
}

/// Chromium's own walk over listeners is recursive, and a listener may be an object whose handler is a getter of the page.
#[tokio::test]
async fn listeners_of_hostile_pages_are_read_without_harm() {
    let deep = "<div id=top style=display:none></div><h1>Deep</h1><script>
        let at = document.getElementById('top');
        for (let n = 0; n < 70000; n += 1) { const inner = document.createElement('i'); at.append(inner); at = inner; }
        at.onclick = () => {};</script>";
    let getters = "<h1>Getters</h1><b id=a>a</b><b id=b>b</b><b id=c>c</b><script>
        a.addEventListener('click', { get handleEvent() { throw new Error('no'); } });
        b.addEventListener('click', { get handleEvent() { b.remove(); return () => {}; } });
        c.addEventListener('click', { get handleEvent() { for (let n = 0; n < 9; n += 1) c.addEventListener('click', () => n); return 3; } });
        </script>";
    let many = "<h1>Many</h1><div id=box></div><script>
        for (let n = 0; n < 30000; n += 1) { const part = document.createElement('i'); part.onclick = () => n; box.append(part); }</script>";
    for (page, expected) in [(many, "Many"), (getters, "Getters"), (deep, "Deep")] {
        // Chromium itself takes seconds for such pages.
        let driver = Driver::with_options(&[("shop.test/", page)], options_with_timeout(120)).await;
        let outline = driver.goto("http://shop.test/").await;
        assert!(outline.contains(&format!("heading \"{expected}\"")), "{outline}");
    }
}

#[tokio::test]
async fn an_icon_and_a_text_are_clicked_by_the_role_that_the_outline_has() {
    let page = "<i class='fa fa-trash' style='display: inline-block; width: 20px; height: 20px; cursor: pointer' onclick=\"document.title = 'icon'\"></i>
        <p onclick=\"document.title = 'text'\">Some words</p>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    assert!(outline.contains("icon \"fa-trash\""), "{outline}");
    for (wanted, name, title) in
        [("icon", "fa-trash", "icon"), ("text", "Some words", "text"), ("paragraph", "", "text")]
    {
        driver.goto("http://shop.test/").await;
        let target =
            Target::Role { role: wanted.into(), name: (!name.is_empty()).then(|| name.into()), index: 0 };
        driver.click(target).await.unwrap_or_else(|error| panic!("{wanted}: {error}"));
        assert_eq!(driver.value("document.title").await, title, "{wanted}");
    }
}

/// The outline shows a text as the name of what holds nothing else.
#[tokio::test]
async fn what_holds_only_a_text_is_named_by_it() {
    let page = "<ul><li>One</li><li>Two <b>words</b></li></ul><dl><dt>Term</dt><dd>Meaning</dd></dl><pre>first\n  second</pre>
        <output>Done</output><article><p>One</p><p>Two words</p></article><script>
        document.addEventListener('click', (event) => { document.title = event.target.localName; });</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for (kind, name, expected) in [
        ("listitem", "One", "li"),
        ("listitem", "Two words", "li"),
        ("definition", "Meaning", "dd"),
        ("code", "first second", "pre"),
        ("status", "Done", "output"),
        ("paragraph", "Two", "p"),
    ] {
        driver.click(role(kind, name)).await.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
        assert_eq!(driver.value("document.title").await, expected, "{kind} {name}");
    }
}

#[tokio::test]
async fn boxes_say_where_elements_are_also_in_frames() {
    let page = "<style>* { margin: 0 } button { position: absolute; left: 30px; top: 40px; width: 100px; height: 20px; border: 0 }
        iframe { position: absolute; left: 200px; top: 100px; border: 5px solid; padding: 2px }</style>
        <button>Save</button><iframe srcdoc=\"<button style='position: absolute; left: 10px; top: 20px; width: 50px; height: 30px'>Inner</button>\"></iframe>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let read = Read { boxes: true, ..Read::default() };
    let Outcome::Read(snapshot) = driver.act(Action::Read(read)).await.unwrap() else { panic!() };
    let outline = text_of(&snapshot);
    assert!(outline.contains("button \"Save\" [ref=e1] [box=30,40,100,20]"), "{outline}");
    assert!(outline.contains("[box=217,127,50,30]"), "{outline}");
    assert!(!driver.outline().await.contains("[box="), "boxes were not requested");
}

#[tokio::test]
async fn a_pointer_over_a_large_part_hides_nothing_of_it() {
    let page = "<style>.card { cursor: pointer } label, label * { cursor: pointer } button span { cursor: pointer }</style>
        <div class=card><h2>Lamp</h2><p>A long description</p><a href=/buy>Buy</a></div>
        <label><input type=checkbox> Agree</label> <button><span>Save</span></button>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    for expected in
        ["heading \"Lamp\"", "A long description", "link \"Buy\"", "checkbox \"Agree\"", "button \"Save\""]
    {
        assert!(outline.contains(expected), "{expected}: {outline}");
    }
    assert_eq!(outline.matches("[ref=").count(), 4, "{outline}");
}

#[tokio::test]
async fn a_text_in_something_large_that_listens_is_clicked_where_it_is() {
    let page = "<main id=app><h1>Shop</h1><p>First</p><p style='margin-top: 200px'>Second</p></main><script>
        app.addEventListener('click', (event) => { document.title = event.target.textContent; });</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    for text in ["First", "Second"] {
        driver.goto("http://shop.test/").await;
        driver.click(Target::Text { text: text.into(), index: 0 }).await.unwrap();
        assert_eq!(driver.value("document.title").await, text);
    }
}
