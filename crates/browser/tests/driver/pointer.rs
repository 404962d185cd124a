//! Clicks of every kind, hovering and dragging, with real and trusted events.

use crate::support::{Driver, click, outline_of, role};
use policy::{Action, Click, Drag, Hover, Modifiers, MouseButton, Target};

fn drag(from: Target, to: Target) -> Action {
    Action::Drag(Drag { from, to })
}

const LOG: &str = "<p id=log></p><script>const seen = [];
    const note = (e) => { seen.push(e.type + (e.isTrusted ? '' : ' FAKE') + (e.ctrlKey ? ' ctrl' : '') + (e.shiftKey ? ' shift' : '')); log.textContent = seen.join(', '); };
    for (const type of TYPES) addEventListener(type, note, true);</script>";

fn logging(types: &str) -> String {
    LOG.replace("TYPES", types)
}

#[tokio::test]
async fn clicks_send_the_events_of_a_mouse() {
    let page = format!(
        "<button style='width:100px;height:50px'>Here</button>{}",
        logging("['pointerdown', 'mousedown', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu']")
    );
    let driver = Driver::with(&[("shop.test/", &page)]).await;
    let with =
        |button, count, modifiers| Click { button, count, modifiers, ..Click::on(role("button", "Here")) };
    let plain = Modifiers::default();
    for (click, expected) in [
        (with(MouseButton::Left, 1, plain), "pointerdown, mousedown, mouseup, click"),
        (
            with(MouseButton::Left, 2, plain),
            "pointerdown, mousedown, mouseup, click, pointerdown, mousedown, mouseup, click, dblclick",
        ),
        (with(MouseButton::Middle, 1, plain), "pointerdown, mousedown, mouseup, auxclick"),
        (with(MouseButton::Right, 1, plain), "pointerdown, mousedown, contextmenu, mouseup, auxclick"),
        (
            with(MouseButton::Left, 1, Modifiers { control: true, shift: true, ..plain }),
            "pointerdown ctrl shift, mousedown ctrl shift, mouseup ctrl shift, click ctrl shift",
        ),
    ] {
        driver.goto("http://shop.test/").await;
        let after = driver.after(Action::Click(click.clone())).await.unwrap();
        assert!(outline_of(&after).contains(&format!("\"{expected}\"")), "{click:?}: {}", outline_of(&after));
    }
}

#[tokio::test]
async fn hovering_opens_hover_menus() {
    let page = "<style>ul { display: none } li:hover ul, nav:hover ul { display: block }</style>
        <nav><a href=#>Menu</a><ul><li><a href=/item>Item</a></li></ul></nav>";
    let driver = Driver::with(&[("shop.test/", page), ("shop.test/item", "<h1>item</h1>")]).await;
    driver.goto("http://shop.test/").await;
    let after = driver.after(Action::Hover(Hover { target: role("link", "Menu") })).await.unwrap();
    assert!(outline_of(&after).contains("Item"), "{}", outline_of(&after));
    assert!(driver.click(role("link", "Item")).await.unwrap().contains("item"));
}

const HTML5: &str = "<div id=a draggable=true role=button aria-label=Card style='width:100px;height:40px;background:tan'>Card</div>
    <div id=b role=button aria-label=Bin style='margin-top:60px;width:200px;height:80px;background:silver'>Bin</div><p id=out></p>
    <script>a.ondragstart = (e) => { e.dataTransfer.setData('text/plain', 'card'); out.textContent += 'start '; };
      b.ondragover = (e) => e.preventDefault();
      b.ondrop = (e) => { e.preventDefault(); out.textContent += 'drop ' + e.dataTransfer.getData('text/plain') + ' ' + e.isTrusted; };
      a.ondragend = () => { out.textContent += ' end'; };</script>";

#[tokio::test]
async fn dragging_works_by_html_by_script_and_in_frames() {
    let pointer = "<div id=a role=button aria-label=Card style='position:absolute;left:10px;top:10px;width:60px;height:40px;background:tan'>Card</div>
        <div id=b role=button aria-label=Bin style='position:absolute;left:300px;top:200px;width:100px;height:80px;background:silver'>Bin</div><p id=out style='position:absolute;top:400px'></p>
        <script>let held = false, moves = 0;
          a.onpointerdown = (e) => { held = true; a.setPointerCapture(e.pointerId); };
          a.onpointermove = (e) => { if (held) { moves += 1; a.style.left = e.clientX - 30 + 'px'; a.style.top = e.clientY - 20 + 'px'; } };
          a.onpointerup = (e) => { held = false; const box = b.getBoundingClientRect();
            out.textContent = moves > 2 && e.clientX > box.left && e.clientY > box.top ? 'drop card true' : 'missed ' + moves; };</script>";
    let pages = [
        ("shop.test/html", HTML5),
        ("shop.test/own", pointer),
        (
            "shop.test/frame",
            "<iframe src=http://other.test/ style='margin:30px;width:500px;height:500px'></iframe>",
        ),
        ("other.test/", HTML5),
    ];
    let driver = Driver::with(&pages).await;
    for path in ["html", "own", "frame", "html"] {
        driver.goto(&format!("http://shop.test/{path}")).await;
        let after = driver.after(drag(role("button", "Card"), role("button", "Bin"))).await.unwrap();
        assert!(outline_of(&after).contains("drop card true"), "{path}: {}", outline_of(&after));
        // The mouse button is released.
        driver.after(click(role("button", "Bin"))).await.unwrap();
    }
}

#[tokio::test]
async fn nothing_is_dropped_on_an_element_that_moves_under_a_drag() {
    let page = "<style>iframe { position: fixed; left: 0; top: 500px; width: 300px; height: 120px; border: 0 }</style>
        <div id=a draggable=true role=button aria-label=Card style='width:100px;height:40px'>Card</div>
        <div id=b role=button aria-label=Bin style='position:absolute;left:0;top:100px;width:200px;height:80px'>Bin</div>
        <iframe src=http://victim.test/></iframe>
        <script>a.ondragstart = (e) => { e.dataTransfer.setData('text/plain', 'secret'); document.querySelector('iframe').style.top = '90px'; };
          b.ondragover = (e) => e.preventDefault();</script>";
    let victim = "<body style='margin:0'><textarea style='width:300px;height:100px' ondrop=\"fetch('/dropped')\" oninput=\"fetch('/typed')\"></textarea>";
    let driver = Driver::with(&[("shop.test/", page), ("victim.test/", victim)]).await;
    driver.goto("http://shop.test/").await;
    assert_eq!(driver.code(drag(role("button", "Card"), role("button", "Bin"))).await, "element_covered");
    driver.outline().await;
    assert_eq!(
        (driver.request_count("victim.test/dropped"), driver.request_count("victim.test/typed")),
        (0, 0)
    );
}

#[tokio::test]
async fn a_button_that_is_swapped_during_the_press_is_not_clicked() {
    let page = "<style>button { position: absolute; left: 0; top: 0; width: 200px; height: 60px }</style>
        <button id=a onmousedown='this.remove(); b.hidden = false'>Next</button>
        <button id=b hidden onclick=\"fetch('/deleted')\">Delete everything</button>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let after = driver.after(click(role("button", "Next"))).await;
    assert!(driver.outline().await.contains("Delete everything"), "{after:?}");
    assert_eq!(driver.request_count("shop.test/deleted"), 0);
}
