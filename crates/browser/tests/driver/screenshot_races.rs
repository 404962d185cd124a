//! Pages that show typed text for a moment while a screenshot is taken, or move a frame that shows it.

use crate::screenshot_masks::{
    TYPED, agent_screenshot, count_magenta_and_masked, page, page_hanging_once_drawn, recordable_screenshot,
    recording_screenshot, screenshot,
};
use crate::support::Driver;
use browser::{RecordableScreenshot, ScreenshotMask};

/// Content that `on` adds and `off` removes at intervals. The pages have no field and no other text.
const FLASHES: &[(&str, &str, &str)] = &[
    ("field", "", "on = () => show('<input value=\"TEXT\">')"),
    ("frame", "", "on = () => show(`<iframe srcdoc='STYLE<p>TEXT</p>'></iframe>`)"),
    (
        "drawing",
        "",
        "on = () => { show('<canvas width=500 height=80></canvas>'); const x = at.firstChild.getContext('2d'); x.font = 'bold 30px serif'; x.fillStyle = '#f0f'; x.fillText('TEXT', 5, 40) }",
    ),
    ("button", "<input type=button id=b>", "on = () => { b.value = 'TEXT' }; off = () => { b.value = 'x' }"),
    (
        "alternative text",
        "<img id=b alt=x src=/none.png style='width:300px;height:60px'>",
        "on = () => { b.alt = 'TEXT' }; off = () => { b.alt = 'x' }",
    ),
    (
        "option",
        "<select size=3><option id=b label=x></option></select>",
        "on = () => { b.label = 'TEXT' }; off = () => { b.label = 'x' }",
    ),
    (
        "kind of field",
        "<input type=hidden id=b value='TEXT'>",
        "on = () => { b.type = 'submit' }; off = () => { b.type = 'hidden' }",
    ),
    (
        "new element with a closed root",
        "",
        "on = () => { show('<div></div>'); at.firstChild.attachShadow({mode: 'closed'}).innerHTML = STYLE + '<p>TEXT</p>' }",
    ),
    ("words over two elements", "", "on = () => show('<b>Zebra </b><i>crossing 42</i>')"),
    (
        "words in two elements that were there",
        "<b id=b></b><i id=i></i>",
        "on = () => { b.textContent = 'Zebra '; i.textContent = 'crossing 42' }; off = () => { b.textContent = ''; i.textContent = '' }",
    ),
    (
        "text that is emptied when it is gone",
        "",
        "const t = new Text(); on = () => { t.data = 'TEXT'; at.append(t) }; off = () => { t.remove(); setTimeout(() => { t.data = '' }) }",
    ),
    (
        "open root on what was there",
        "",
        "MANY on = () => { r = all[n++].attachShadow({mode: 'open'}); r.innerHTML = STYLE + '<b>TEXT</b>' }; off = () => { r.innerHTML = '' }",
    ),
    (
        "closed root on what was there, emptied again",
        "",
        "MANY on = () => { r = all[n++].attachShadow({mode: 'closed'}); r.innerHTML = STYLE + '<b>TEXT</b>' }; off = () => { r.innerHTML = '' }",
    ),
    (
        "new element that stays, with a closed root that is emptied",
        "",
        "let r; on = () => { const h = document.createElement('div'); at.append(h); r = h.attachShadow({mode: 'closed'}); r.innerHTML = STYLE + '<b>TEXT</b>' }; off = () => { r.innerHTML = '' }",
    ),
];

/// Elements that shadow roots can be attached to, one after the other, in one place.
const MANY: &str = "for (let i = 0; i < 2000; i += 1) document.body.append(Object.assign(document.createElement('p'), {style: 'position:absolute;top:50px;left:0'})); const all = document.querySelectorAll('p'); let n = 0, r; ";

#[tokio::test]
async fn content_that_appears_during_a_capture_is_not_recorded() {
    let script = "const show = (html) => { at.innerHTML = html }; let off = () => { at.innerHTML = '' }, on; SCRIPT; let is = false; (function flash() { is = !is; if (is) on(); else off(); setTimeout(flash, 40 + 120 * Math.random()) })()";
    let pages: Vec<(String, String)> = FLASHES
        .iter()
        .enumerate()
        .map(|(n, (_, html, way))| {
            let script = script.replace("SCRIPT", way).replace("MANY ", MANY);
            (format!("shop.test/{n}"), page(&format!("{html}<div id=at></div><script>{script}</script>")))
        })
        .collect();
    let served: Vec<(&str, &str)> = pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::with(&served).await;
    let mut wrong = Vec::new();
    for (n, (way, ..)) in FLASHES.iter().enumerate() {
        driver.goto(&format!("http://shop.test/{n}")).await;
        let mut seen = 0;
        for _ in 0..40 {
            seen += count_magenta_and_masked(&agent_screenshot(&driver).await.bytes).0;
            if seen > 50 {
                break;
            }
        }
        if seen < 50 {
            wrong.push(format!("{way}: nothing is to be seen at all"));
        }
        // No script can see a closed root, so missed content would be missed here first.
        let times = if way.contains("closed") { 6 } else { 1 };
        for full_page in [false, true, false].repeat(times) {
            let recorded = if full_page {
                recordable_screenshot(&driver, &screenshot(true, None), &ScreenshotMask::typed_text([TYPED]))
                    .await
            } else {
                recording_screenshot(&driver, &ScreenshotMask::typed_text([TYPED]))
                    .await
                    .map(RecordableScreenshot::Covered)
            };
            match recorded {
                Ok(RecordableScreenshot::Covered(image)) => {
                    let magenta = count_magenta_and_masked(&image.bytes).0;
                    // Antialiasing of the button's own letter.
                    if magenta > 200 {
                        wrong.push(format!("{way}: full page: {full_page}: {magenta} magenta"));
                    }
                }
                Ok(RecordableScreenshot::AsTaken) => wrong.push(format!("{way}: kept as the agent took it")),
                Err(error) => assert_eq!(error.code().to_string(), "cannot_cover", "{way}: {error}"),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Ways in which a page moves a frame of another site, while it has nothing to mask itself.
const CARRIERS: &[(&str, &str)] = &[
    (
        "moved",
        "<iframe id=f src=FRAME></iframe><script>let n = 0; (function move() { n += 1; f.style.left = 90 * (n % 9) + 'px'; f.style.top = 70 * (n % 7) + 'px'; requestAnimationFrame(move) })()</script>",
    ),
    (
        "by a transform",
        "<iframe id=f src=FRAME></iframe><script>let n = 0; (function move() { n += 1; f.style.transform = `translate(${99 * (n % 9)}px, ${60 * (n % 7)}px)`; requestAnimationFrame(move) })()</script>",
    ),
    (
        "by scrolling",
        "<div style=height:3000px></div><iframe id=f src=FRAME style=top:400px></iframe><script>(function move() { scrollTo(0, 300 * Math.random()); requestAnimationFrame(move) })()</script>",
    ),
    (
        "in a frame",
        "<iframe src=http://third.test/carries?FRAME style='width:1200px;height:700px;left:0;top:0'></iframe>",
    ),
];

#[tokio::test]
async fn a_moving_cross_site_frame_is_masked() {
    let style = "<style>iframe { position: absolute; width: 350px; height: 90px; border: 0 }</style>";
    let frames = [
        ("says", page("<p>TEXT</p>")),
        ("fills", page("<input value='TEXT'>")),
        ("hangs", page(&page_hanging_once_drawn())),
    ];
    let mut served = Vec::new();
    for (frame, html) in &frames {
        served.push((format!("other.test/{frame}"), html.clone()));
        for (at, (_, html)) in CARRIERS.iter().enumerate() {
            let html = html.replace("third.test/carries?FRAME", &format!("third.test/{frame}"));
            let html = html.replace("FRAME", &format!("http://other.test/{frame}"));
            served.push((format!("shop.test/{frame}{at}"), format!("<!doctype html>{style}{html}")));
        }
        let carrier = CARRIERS[0].1.replace("FRAME", &format!("http://other.test/{frame}"));
        served.push((format!("third.test/{frame}"), format!("<!doctype html>{style}{carrier}")));
    }
    let served: Vec<(&str, &str)> = served.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::with(&served).await;
    let mut wrong = Vec::new();
    // Each check of a hung frame takes a second.
    for (frame, ways, times) in [("says", 4, 3), ("fills", 1, 3), ("hangs", 2, 1)] {
        for (at, (way, _)) in CARRIERS.iter().enumerate().take(ways) {
            driver.goto(&format!("http://shop.test/{frame}{at}")).await;
            if frame == "hangs" {
                driver.wait_for_requests("other.test/frozen", at + 1).await;
            }
            let mut seen = 0;
            for _ in 0..40 {
                seen = count_magenta_and_masked(&agent_screenshot(&driver).await.bytes).0;
                if seen > 50 {
                    break;
                }
            }
            assert!(seen > 50, "{frame} {way}: {seen}");
            for _ in 0..times {
                match recording_screenshot(&driver, &ScreenshotMask::typed_text([TYPED])).await {
                    Ok(image) => {
                        let magenta = count_magenta_and_masked(&image.bytes).0;
                        if magenta > 0 {
                            wrong.push(format!("{frame} {way}: {magenta} magenta"));
                        }
                    }
                    Err(error) => {
                        assert_eq!(error.code().to_string(), "cannot_cover", "{frame} {way}: {error}")
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
