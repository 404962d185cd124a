//! Scrolling: the page, a part of it, or to an element.

use crate::support::{Driver, role};
use policy::{Action, Direction, Distance, Scroll, Selector, Target};

fn scroll_by(over: Option<Target>, direction: Direction, distance: Distance) -> Action {
    Action::Scroll(Scroll::By { over, direction, distance })
}

fn css(text: &str) -> Target {
    Target::Selector { selector: Selector::parse(text).unwrap(), index: 0 }
}

#[tokio::test]
async fn the_page_and_its_parts_scroll_by_the_requested_distance() {
    let page = "<style>body { margin: 0; height: 4000px; width: 3000px } #p { position: absolute; left: 200px; top: 200px; width: 800px; height: 400px; overflow: auto } #q { height: 2000px; width: 2000px }
          #n { height: 100px; overflow: auto } #n div { height: 1000px }</style>
        <div id=p tabindex=0><div id=n><div>inner</div></div><div id=q>long</div></div>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let at = "[scrollX, scrollY, p.scrollLeft, p.scrollTop, n.scrollTop].map(Math.round).join()";
    for (action, expected, note) in [
        (
            scroll_by(None, Direction::Down, Distance::Pixels(300)),
            "0,300,0,0,0",
            "scrolled 300 pixels; 2900 more",
        ),
        (scroll_by(None, Direction::Up, Distance::Pixels(100)), "0,200,0,0,0", "scrolled 100"),
        (scroll_by(None, Direction::Right, Distance::Pixels(50)), "50,200,0,0,0", "scrolled 50"),
        (scroll_by(None, Direction::Left, Distance::End), "0,200,0,0,0", "to the end"),
        (scroll_by(None, Direction::Up, Distance::End), "0,0,0,0,0", "to the end"),
        (scroll_by(None, Direction::Up, Distance::Page), "0,0,0,0,0", "at its end already"),
        (scroll_by(None, Direction::Down, Distance::Page), "0,720,0,0,0", "scrolled 720"),
        (scroll_by(None, Direction::Up, Distance::End), "0,0,0,0,0", "to the end"),
        (scroll_by(Some(css("#q")), Direction::Down, Distance::Pixels(250)), "0,0,0,250,0", "scrolled 250"),
        (scroll_by(Some(css("#p")), Direction::Right, Distance::End), "0,0,1200,250,0", "to the end"),
        (scroll_by(Some(css("#p")), Direction::Up, Distance::End), "0,0,1200,0,0", "to the end"),
        (scroll_by(Some(css("#n")), Direction::Down, Distance::Pixels(60)), "0,0,0,0,60", "scrolled 60"),
    ] {
        let after = driver.after(action.clone()).await.unwrap();
        let expected = if expected.ends_with(",60") { "60" } else { expected };
        let place = driver.value(if expected == "60" { "String(Math.round(n.scrollTop))" } else { at }).await;
        assert_eq!(place, expected, "{action:?}");
        assert!(after.note.as_deref().unwrap_or_default().contains(note), "{action:?}: {:?}", after.note);
    }
}

#[tokio::test]
async fn reversed_scroll_containers_report_the_remaining_distance() {
    let rtl = "<html dir=rtl><body style='margin:0;width:3000px;height:100px'>";
    let body = "<!doctype html><body dir=rtl style='margin:0;width:3000px;height:100px'>";
    let part = "<body style='margin:0'><div style='width:500px;height:400px;overflow:auto' dir=rtl id=p><div style='width:2220px;height:100px'>long</div></div>";
    let chat = "<body style='margin:0'><div style='display:flex;flex-direction:column-reverse;width:500px;height:400px;overflow:auto' id=p><div style='height:2120px;flex:none'>long</div></div>";
    let pages = [
        ("shop.test/rtl", rtl),
        ("shop.test/body", body),
        ("shop.test/part", part),
        ("shop.test/chat", chat),
    ];
    let driver = Driver::with(&pages).await;
    let p = || Some(css("#p"));
    for (path, over, back, forth) in [
        ("rtl", None, Direction::Left, Direction::Right),
        ("body", None, Direction::Left, Direction::Right),
        ("part", p(), Direction::Left, Direction::Right),
        ("chat", p(), Direction::Up, Direction::Down),
    ] {
        driver.goto(&format!("http://shop.test/{path}")).await;
        for (direction, distance, note) in [
            (forth, Distance::Pixels(100), "nothing scrolled: it is at its end already"),
            (back, Distance::Pixels(300), "scrolled 300 pixels; 1420 more are left that way"),
            (back, Distance::Pixels(200), "scrolled 200 pixels; 1220 more are left that way"),
            (forth, Distance::Pixels(100), "scrolled 100 pixels; 400 more are left that way"),
            (back, Distance::End, "scrolled 1320 pixels, to the end"),
            (back, Distance::Pixels(100), "nothing scrolled: it is at its end already"),
            (forth, Distance::End, "scrolled 1720 pixels, to the end"),
        ] {
            let after = driver.after(scroll_by(over.clone(), direction, distance)).await.unwrap();
            assert_eq!(after.note.as_deref(), Some(note), "{path}: {direction:?} {distance:?}");
        }
    }
}

#[tokio::test]
async fn a_page_that_does_not_scroll_scrolls_its_main_container() {
    let page = "<style>html, body { margin: 0; height: 100%; overflow: hidden } main { height: 100%; overflow-y: auto } main div { height: 3000px }</style>
        <main><div>long</div></main>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    let after = driver.after(scroll_by(None, Direction::Down, Distance::Pixels(400))).await.unwrap();
    assert_eq!(
        driver.value("String(document.querySelector('main').scrollTop)").await,
        "400",
        "{:?}",
        after.note
    );
    assert!(after.note.unwrap().contains("scrolled 400"));
}

#[tokio::test]
async fn an_element_is_scrolled_into_view_in_nested_containers() {
    let pages = [
        ("shop.test/", "<style>body { height: 6000px } #box { position: absolute; top: 3000px; height: 200px; width: 500px; overflow: auto } #in { height: 2000px; position: relative }</style>
          <div id=box><div id=in><iframe src=http://other.test/ style='position:absolute;top:1500px;width:300px;height:150px'></iframe></div></div>"),
        ("other.test/", "<body style='height:3000px'><button style='position:absolute;top:2500px' onclick=\"this.textContent = 'Pressed'\">Deep</button>"),
    ];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/").await;
    driver.after(Action::Scroll(Scroll::To(role("button", "Deep")))).await.unwrap();
    assert_eq!(driver.value("String(scrollY > 2000 && box.scrollTop > 1000)").await, "true");
    assert!(driver.click(role("button", "Deep")).await.unwrap().contains("Pressed"));
    // Directly as well, from the top.
    driver.goto("http://shop.test/").await;
    assert!(driver.click(role("button", "Deep")).await.unwrap().contains("Pressed"));
}
