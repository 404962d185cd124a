//! Ways of naming an element: whichever is used, the facts are those of the element that is hit.

use crate::support::{Driver, click, outline_of, reference, role, run_at_once};
use browser::BrowserError;
use policy::{Action, Chord, ElementFacts, Hover, Press, Selector, Target};

fn selector(text: &str) -> Target {
    Target::Selector { selector: Selector::parse(text).unwrap(), index: 0 }
}

fn text(text: &str) -> Target {
    Target::Text { text: text.into(), index: 0 }
}

fn point(x: f64, y: f64) -> Target {
    Target::Point { x, y }
}

/// Nested frames of other sites, with a button at (130, 115) of the tab in the innermost.
const NEST: [(&str, &str); 2] = [
    ("middle.test/", "<body style='margin:0'><iframe src=http://inner.test/ style='position:absolute;left:20px;top:20px;border:0;padding:5px;width:300px;height:150px'></iframe>"),
    ("inner.test/", "<body style='margin:0'><form method=post action=/go><button class='b deep' id=go style='position:absolute;left:5px;top:10px;width:150px;height:60px'
        onclick=\"event.preventDefault(); this.textContent = 'Pressed'\">Press</button></form>"),
];

#[tokio::test]
async fn every_way_of_naming_leads_to_the_same_facts() {
    let main = "<body style='margin:0'>
        <form action=/send method=post><button id=s class='big one' style='position:absolute;left:10px;top:10px;width:100px;height:40px'>Send <b>it</b></button></form>
        <a id=l href=/there style='position:absolute;left:10px;top:60px;width:100px;height:20px'>There</a>
        <label style='position:absolute;left:150px;top:10px'><input type=checkbox id=c> Agree</label>
        <div role=button tabindex=0 id=d style='position:absolute;left:150px;top:40px'>Div</div>
        <iframe src=http://middle.test/ style='position:absolute;left:50px;top:100px;border:0;width:600px;height:300px'></iframe>";
    let mut pages = vec![("shop.test/", main)];
    pages.extend(NEST);
    let driver = Driver::with(&pages).await;
    let outline = driver.goto("http://shop.test/").await;
    for (role_name, name, css, words, at) in [
        ("button", "Send it", "form > button.big#s", "Send it", (60.0, 30.0)),
        ("link", "There", "#l", "There", (60.0, 70.0)),
        ("checkbox", "Agree", "label input", "Agree", (190.0, 22.0)),
        ("button", "Div", "div#d", "Div", (160.0, 50.0)),
        ("button", "Press", "button.deep", "Press", (150.0, 155.0)),
    ] {
        let ways = [
            role(role_name, name),
            selector(css),
            text(words),
            point(at.0, at.1),
            reference(&outline, &format!("\"{name}\"")),
        ];
        let mut found = Vec::new();
        for way in ways {
            found.push((driver.facts(&click(way.clone())).await, format!("{way:?}")));
        }
        for (facts, way) in &found {
            assert_eq!(facts, &found[0].0, "{way}");
        }
        let ElementFacts { role: found_role, name: found_name, .. } = &found[0].0;
        assert_eq!((found_role.as_str(), found_name.as_str()), (role_name, name));
    }
    let facts = driver.facts(&click(role("button", "Press"))).await;
    assert_eq!(facts.origin.to_string(), "http://inner.test");
    assert_eq!(facts.form.unwrap().action, "http://inner.test/go");
    for way in [point(150.0, 155.0), text("Press")] {
        driver.goto("http://shop.test/").await;
        assert!(driver.click(way).await.unwrap().contains("Pressed"));
    }
}

#[tokio::test]
async fn the_covering_element_is_named_and_a_point_resolves_to_it() {
    let page = "<body style='margin:0'><button style='position:absolute;left:0;top:0;width:200px;height:50px'>Buy</button>
        <a href=/evil aria-label='Free money' style='position:absolute;left:0;top:0;width:200px;height:50px;opacity:0'></a>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let error = driver.act(click(role("button", "Buy"))).await.unwrap_err();
    assert_eq!(error.code().to_string(), "element_covered");
    assert!(error.to_string().contains("Free money"), "{error}");
    let facts = driver.facts(&click(point(100.0, 25.0))).await;
    assert_eq!((facts.role.as_str(), facts.href.as_deref()), ("link", Some("http://shop.test/evil")));
}

#[tokio::test]
async fn the_first_of_several_matches_is_used_and_their_number_reported() {
    let page =
        "<button onclick='document.title = 0'>Save</button><button onclick='document.title = 1'>Save</button>
        <button onclick='document.title = 2'>Save all</button>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let save = |index| Target::Role { role: "Button".into(), name: Some("Save".into()), index };
    for (target, matches, title) in [
        (save(0), 2, "0"),
        (save(1), 2, "1"),
        (Target::Text { text: "save".into(), index: 1 }, 2, "1"),
        (Target::Role { role: "button".into(), name: None, index: 2 }, 3, "2"),
        (Target::Selector { selector: Selector::parse("button").unwrap(), index: 2 }, 3, "2"),
    ] {
        assert_eq!(driver.facts(&click(target.clone())).await.matches, matches, "{target:?}");
        driver.click(target.clone()).await.unwrap();
        assert_eq!(driver.browser.state().title, title, "{target:?}");
    }
    let error = driver.act(click(role("button", "Sav all"))).await.unwrap_err();
    assert!(
        matches!(&error, BrowserError::ElementNotFound { candidates, .. } if !candidates.is_empty()),
        "{error}"
    );
    assert_eq!(driver.code(click(save(2))).await, "element_not_found");
    assert_eq!(driver.code(click(point(5000.0, 5000.0))).await, "nothing_there");
}

#[tokio::test]
async fn an_element_is_waited_for_until_it_can_be_acted_on() {
    let page = "<style>body { margin: 0; height: 5000px } header { position: fixed; inset: 0 0 auto 0; height: 300px; background: gray }
           footer { position: fixed; inset: auto 0 0 0; height: 300px; background: gray }</style>
        <header>head</header><footer>foot</footer>
        <button id=under style='position:absolute;top:120px' onclick='document.title += \"under,\"'>Under</button>
        <button id=top style='position:absolute;top:700px' onclick='document.title += \"top,\"'>Below</button>
        <button id=far style='position:absolute;top:4000px' onclick='document.title += \"far,\"'>Far</button>
        <button id=late style='display:none;position:absolute;top:400px' onclick='document.title += \"late,\"'>Late</button>
        <button id=off disabled style='position:absolute;top:420px' onclick='document.title += \"off,\"'>Off</button>
        <button id=slow style='position:absolute;top:440px;transition: left .4s;left:0' onclick='document.title += \"slow,\"'>Slow</button>
        <div id=veil style='position:fixed;inset:0'></div>
        <script>document.title = ''; setTimeout(() => { veil.remove(); late.style.display = ''; off.disabled = false; slow.style.left = '300px'; }, 300)</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for name in ["Late", "Off", "Slow", "Far", "Below"] {
        driver.click(role("button", name)).await.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    assert_eq!(driver.browser.state().title, "late,off,slow,far,top,");
}

#[tokio::test]
async fn every_problem_with_an_element_has_its_code() {
    let page = "<style>@keyframes m { to { opacity: 0.9 } } #m { position: absolute; animation: m 1s infinite alternate }</style>
        <button disabled>Off</button><p>text</p><button id=m>Moving</button>
        <script>let n = 0; const hop = () => { n = (n + 137) % 500; m.style.left = `${100 + n}px`; requestAnimationFrame(hop); }; hop();</script>
        <button id=g onmouseover='this.remove()'>Gone</button>
        <div style='height:20px;overflow:hidden'><div style='height:0;overflow:hidden'><button>Clipped</button></div></div>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    let outline = driver.goto("http://shop.test/").await;
    let gone = reference(&outline, "\"Gone\"");
    driver.act(Action::Hover(Hover { target: gone.clone() })).await.ok();
    for (target, code) in [(gone, "stale_ref"), (role("button", "Nowhere"), "element_not_found")] {
        assert_eq!(driver.code(click(target.clone())).await, code, "{target:?}");
    }
    run_at_once([("Off", "element_disabled"), ("Moving", "element_moving")], async |(name, code)| {
        let driver = Driver::with(&[("shop.test/", page)]).await;
        driver.goto("http://shop.test/").await;
        assert_eq!(driver.code(click(role("button", name))).await, code, "{name}");
    })
    .await;
    assert_eq!(
        driver.code(crate::support::typing(text("text"), "x", false, false)).await,
        "element_not_editable"
    );
}

#[tokio::test]
async fn an_element_that_moves_on_hover_is_followed_or_reported() {
    let page = "<style>#b { position: absolute; left: 0; top: 100px } #b.moved { left: 200px }</style>
        <button id=b onmouseover='this.className = \"moved\"' onclick='document.title = \"clicked\"'>Shy</button>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let after = driver.after(click(role("button", "Shy"))).await.unwrap();
    assert_eq!(after.title, "clicked", "{}", outline_of(&after));
}

const MOVING: &str = "<style>@keyframes go { from { left: 0 } to { left: 600px } } @keyframes slide { to { transform: translateX(600px) } }
          @keyframes glow { to { opacity: 0.5 } }
          button, div { position: absolute } .go { animation: go 3s linear infinite } .slide { animation: slide 3s linear infinite }
          .glow { animation: glow 1s infinite alternate }</style>
        <button class=go>Go</button><button class=slide style='top:50px'>Slide</button>
        <div class=go style='top:100px'><button>Carried</button></div>
        <button id=script style='top:150px'>Script</button>
        <button class=glow style='top:200px' onclick='document.title = \"glowed\"'>Glow</button>
        <script>script.animate([{ left: 0 }, { left: '600px' }], { duration: 3000, iterations: Infinity })</script>";

#[tokio::test]
async fn a_moving_element_is_not_clicked_but_a_glowing_one_is() {
    run_at_once(["Go", "Slide", "Carried", "Script"], async |name| {
        let driver = Driver::with(&[("shop.test/", MOVING)]).await;
        // At once, while an animation waits in its initial position for the first frame.
        driver.goto("http://shop.test/").await;
        assert_eq!(driver.code(click(role("button", name))).await, "element_moving", "{name}");
    })
    .await;
    let driver = Driver::with(&[("shop.test/", MOVING)]).await;
    driver.goto("http://shop.test/").await;
    let after = driver.after(click(role("button", "Glow"))).await.unwrap();
    assert_eq!(after.title, "glowed");
}

#[tokio::test]
async fn a_page_that_renders_rarely_does_not_count_as_still() {
    let busy = "<script>const busy = () => { const end = performance.now() + 150; while (performance.now() < end); setTimeout(busy); }; busy();</script>";
    let driver = Driver::with(&[("shop.test/", &format!("{MOVING}{busy}"))]).await;
    for _ in 0..3 {
        driver.goto("http://shop.test/").await;
        assert_eq!(driver.code(click(role("button", "Carried"))).await, "element_moving");
    }
}

#[tokio::test]
async fn links_in_image_maps_and_svg_have_an_href() {
    let page = "<body style='margin:0'><img usemap=#m width=100 height=100 src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='100' height='100'/>\">
        <map name=m><area shape=rect coords=0,0,100,100 href=http://area.test/delete alt=Part></map>
        <svg width=100 height=100 style='position:absolute;left:200px;top:0'>
          <a href=http://svg.test/delete><rect width=100 height=100 fill=red /></a></svg>
        <svg width=100 height=100 style='position:absolute;left:400px;top:0'>
          <a xlink:href=/delete><text y=50>Drawn</text><rect width=100 height=100 /></a></svg>
        <svg width=100 height=100 style='position:absolute;left:600px;top:0'>
          <a href=/kind><set attributeName=href to=http://set.test/delete /><rect width=100 height=100 /></a></svg>
        <form style='position:absolute;top:200px'><svg width=100 height=100><a href=/kind><title>href</title>
          <rect width=100 height=100 /></a></svg><input name=href></form>";
    let pages = [
        ("shop.test/", page),
        ("area.test/delete", "<h1>area"),
        ("svg.test/delete", "<h1>svg"),
        ("shop.test/delete", "<h1>own"),
        ("set.test/delete", "<h1>set"),
        ("shop.test/kind", "<h1>kind"),
    ];
    let driver = Driver::with(&pages).await;
    let key = |chord| Action::Press(Press { target: Target::Focused, chord: Chord::parse(chord).unwrap() });
    // An area of an image map has no box of its own, and is reached by its focus.
    driver.goto("http://shop.test/").await;
    driver.act(key("Tab")).await.unwrap();
    assert_eq!(driver.facts(&key("Enter")).await.href.as_deref(), Some("http://area.test/delete"));
    driver.act(key("Enter")).await.unwrap();
    assert_eq!(driver.browser.state().url, "http://area.test/delete");
    for (at, expected) in [
        ((250.0, 50.0), "http://svg.test/delete"),
        ((450.0, 50.0), "http://shop.test/delete"),
        ((650.0, 50.0), "http://set.test/delete"),
        ((50.0, 250.0), "http://shop.test/kind"),
    ] {
        driver.goto("http://shop.test/").await;
        let there = || click(point(at.0, at.1));
        assert_eq!(driver.facts(&there()).await.href.as_deref(), Some(expected), "{at:?}");
        driver.after(there()).await.unwrap();
        assert_eq!(driver.browser.state().url, expected, "{at:?}");
    }
}
