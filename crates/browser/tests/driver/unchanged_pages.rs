//! A page that has not changed is not read again, and every change of it is noticed, however it is made.

use crate::support::Driver;
use policy::{Action, Hover, Target};

const PAGE: &str = "<!doctype html><title>First</title>
    <style id=s>.gone p { opacity: 0 } i:hover + b { display: none } input:checked ~ u { display: none } #box { container-type: inline-size; width: 400px }
      @container (max-width: 200px) { #box em { display: none } } @keyframes out { to { visibility: hidden } } .leaving { animation: out 300ms forwards }
      .later { transition: opacity 300ms } q { quotes: none } #cover { position: absolute; inset: 0; background: white; display: none }</style>
    <div id=around><p id=p>paragraph</p></div> <i id=i tabindex=0>hover</i><b>bold</b>
    <input type=checkbox id=c aria-label=box><u>underlined</u>
    <div id=box><em>emphasis</em></div>
    <details id=d><summary>Summary</summary>details</details>
    <input id=t aria-label=field> <textarea id=a aria-label=area></textarea>
    <select id=o aria-label=list><option>one</option><option>two</option></select>
    <div id=host>light</div> <span id=x>moving</span> <a href=/a id=l>link</a>
    <div style='position: relative; width: 300px; height: 40px'><span>covered</span><div id=cover></div></div>
    <div id=e contenteditable aria-label=editor>edited</div> <button id=f>Focus</button>
    <dialog id=m>modal <button>OK</button></dialog> <div id=pop popover>popover</div>";

/// What changes a page, what is in the outline before, and what is afterwards.
const CHANGES: [(&str, &str, &str); 32] = [
    ("around.className = 'gone'", "- paragraph: \"paragraph\"", "[unseen]"),
    ("document.styleSheets[0].insertRule('p { display: none }')", "\"paragraph\"", "!\"paragraph\""),
    ("document.styleSheets[0].cssRules[0].selectorText = 'p'", "- paragraph: \"paragraph\"", "[unseen]"),
    (
        "document.styleSheets[0].cssRules[0].style.opacity = 1; around.className = 'gone'",
        "paragraph",
        "![unseen]",
    ),
    (
        "const n = new CSSStyleSheet(); n.replaceSync('p { opacity: 0 }'); document.adoptedStyleSheets = [n]",
        "![unseen]",
        "[unseen]",
    ),
    ("s.disabled = true; cover.hidden = false", "\"covered\"", "\"covered\""),
    ("s.textContent += 'p { font-size: 0 }'", "![unseen]", "[unseen]"),
    ("document.documentElement.style.setProperty('opacity', '0')", "![unseen]", "[unseen]"),
    ("c.checked = true", "underlined", "!underlined"),
    ("c.indeterminate = true", "checkbox \"box\"", "[checked=mixed]"),
    ("box.style.width = '100px'", "emphasis", "!emphasis"),
    ("d.open = true", "!\"details\"", "\"details\""),
    ("t.value = 'typed'", "!typed", "\"typed\""),
    ("a.value = 'written'", "!written", "written"),
    ("o.selectedIndex = 1", "\"one\"", "\"two\""),
    ("p.firstChild.data = 'replaced'", "!replaced", "replaced"),
    ("p.setAttribute('aria-label', 'named'); p.setAttribute('role', 'note')", "!named", "named"),
    ("l.firstChild.remove(); l.title = 'titled'", "!titled", "link \"titled\""),
    ("p.hidden = true", "\"paragraph\"", "!\"paragraph\""),
    ("p.inert = true", "\"paragraph\"", "!\"paragraph\""),
    ("host.attachShadow({ mode: 'open' }).innerHTML = '<b>in the shadow</b>'", "light", "in the shadow"),
    ("x.style.cssText = 'position: absolute; left: -9000px'", "![unseen]", "[unseen]"),
    ("x.style.color = 'white'", "![unseen]", "[unseen]"),
    ("cover.style.display = 'block'", "![unseen]", "[unseen]"),
    ("e.textContent = 'again'", "!again", "again"),
    ("f.focus()", "![focused]", "[focused]"),
    ("m.showModal()", "\"paragraph\"", "!\"paragraph\""),
    ("m.show()", "!\"OK\"", "\"OK\""),
    ("pop.showPopover()", "!\"popover\"", "\"popover\""),
    ("document.title = 'Second'; p.textContent = 'second'", "!second", "second"),
    ("document.body.append('appended')", "!appended", "appended"),
    ("document.body.innerHTML = '<h1>all new</h1>'", "!all new", "all new"),
];

/// Whether the outline contains the text, or does not contain a text that begins with an exclamation mark.
fn is_as(outline: &str, expected: &str) -> bool {
    match expected.strip_prefix('!') {
        Some(absent) => !outline.contains(absent),
        None => outline.contains(expected),
    }
}

#[tokio::test]
async fn every_change_is_in_the_next_reading() {
    let driver = Driver::with(&[("shop.test/", PAGE)]).await;
    for (change, before, after) in CHANGES {
        driver.goto("http://shop.test/").await;
        let first = driver.outline().await;
        let again = driver.outline().await;
        assert_eq!(first, again, "{change}");
        assert!(is_as(&again, before), "before {change}: {before}\n{again}");
        driver.run_in_page(&format!("{{ {change} }}")).await;
        let changed = driver.outline().await;
        assert!(is_as(&changed, after), "after {change}: {after}\n{changed}");
    }
}

#[tokio::test]
async fn every_change_in_a_frame_is_in_the_next_reading() {
    let framed = "<!doctype html><title>Around</title><p>around</p><iframe src=/framed title=inner width=900 height=1200></iframe>";
    let driver = Driver::with(&[("shop.test/", framed), ("shop.test/framed", PAGE)]).await;
    // White text is visible: nothing is known of what is behind a frame.
    for (change, before, after) in CHANGES.into_iter().filter(|(change, ..)| !change.contains("'white'")) {
        driver.goto("http://shop.test/").await;
        let first = driver.outline().await;
        let again = driver.outline().await;
        assert_eq!(first, again, "{change}");
        assert!(is_as(&again, before), "before {change}: {before}\n{again}");
        driver
            .run_in_page(&format!("frames[0].eval({})", serde_json::json!(format!("{{ {change} }}"))))
            .await;
        let changed = driver.outline().await;
        assert!(is_as(&changed, after), "after {change}: {after}\n{changed}");
    }
}

#[tokio::test]
async fn states_of_the_pointer_are_in_the_next_reading() {
    let driver = Driver::with(&[("shop.test/", PAGE)]).await;
    driver.goto("http://shop.test/").await;
    assert!(driver.outline().await.contains("bold") && driver.outline().await.contains("bold"));
    let outline = driver.outline().await;
    let reference =
        outline.split("generic \"hover\" [ref=").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    driver.act(Action::Hover(Hover { target: Target::Ref(reference.into()) })).await.unwrap();
    let outline = driver.outline().await;
    assert!(!outline.contains("bold"), "{outline}");
}

#[tokio::test]
async fn the_end_of_an_animation_is_in_the_next_reading() {
    let driver = Driver::with(&[("shop.test/", PAGE)]).await;
    for change in ["p.className = 'leaving'", "p.className = 'later'; p.offsetWidth; p.style.opacity = 0"] {
        driver.goto("http://shop.test/").await;
        driver.outline().await;
        driver.run_in_page(&format!("{{ {change} }}")).await;
        driver.outline().await;
        tokio::time::sleep(std::time::Duration::from_millis(800)).await;
        let outline = driver.outline().await;
        assert!(!outline.contains("- paragraph: \"paragraph\""), "{change}: {outline}");
    }
}
