//! Screenshot masks: recorded screenshots show nothing that was typed, and no screenshot shows a secret. Pages draw
//! those texts in a colour that occurs nowhere else.

use crate::support::{Driver, FREEZE, click, role};
use browser::{BrowserError, Outcome, RecordableScreenshot, ScreenshotImage, ScreenshotMask, TimeLimit};
use policy::{Action, Chord, ImageFormat, Press, Screenshot, Target};
use redact::Secret;
use std::time::Duration;

pub const TYPED: &str = "Zebra crossing 42";

/// Number of magenta pixels, and of pixels with the colour of a mask.
pub fn count_magenta_and_masked(png: &[u8]) -> (usize, usize) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let depth = reader.next_frame(&mut pixels).unwrap().color_type.samples();
    let count = |is: fn(&[u8]) -> bool| pixels.chunks(depth).filter(|pixel| is(pixel)).count();
    (count(|p| p[0] > 170 && p[1] < 90 && p[2] > 170), count(|p| p[..3] == [0x33; 3]))
}

fn limit() -> TimeLimit {
    TimeLimit::new(Duration::from_secs(60))
}

pub fn screenshot(full_page: bool, target: Option<Target>) -> Screenshot {
    Screenshot { full_page, target, format: ImageFormat::Png }
}

/// An agent's screenshot in the form in which it is recorded.
pub async fn recordable_screenshot(
    driver: &Driver,
    wanted: &Screenshot,
    cover: &ScreenshotMask,
) -> Result<RecordableScreenshot, BrowserError> {
    let target = driver.browser.resolve(&Action::Screenshot(wanted.clone())).await.unwrap().target;
    driver.browser.recordable_screenshot(wanted, target.as_ref(), cover, limit()).await
}

pub async fn recording_screenshot(
    driver: &Driver,
    cover: &ScreenshotMask,
) -> Result<ScreenshotImage, BrowserError> {
    driver
        .browser
        .recording_screenshot(None, ImageFormat::Png, cover, limit())
        .await
        .map(|screenshot| screenshot.image)
}

/// Each draws the text, and nothing else, in magenta.
const WAYS: &[(&str, &str)] = &[
    ("field", "<input value='TEXT'>"),
    ("area", "<textarea>TEXT</textarea>"),
    ("editor", "<div contenteditable>TEXT <b>TEXT</b></div>"),
    ("overflowing editor", "<div contenteditable style='width:50px;white-space:nowrap'>TEXT TEXT TEXT</div>"),
    (
        "field in an open root",
        "<i-open></i-open><script>document.querySelector('i-open').attachShadow({mode:'open'}).innerHTML = STYLE + '<input value=\"TEXT\">'</script>",
    ),
    (
        "field in a closed root",
        "<i-closed></i-closed><script>document.querySelector('i-closed').attachShadow({mode:'closed'}).innerHTML = STYLE + '<input value=\"TEXT\">'</script>",
    ),
    (
        "text in a closed root in an open one",
        "<div id=h></div><script>const o = h.attachShadow({mode:'open'}); o.innerHTML = '<div></div>'; o.firstChild.attachShadow({mode:'closed'}).innerHTML = STYLE + '<p>TEXT</p>'</script>",
    ),
    (
        "slotted",
        "<div id=h>TEXT</div><script>h.attachShadow({mode:'closed'}).innerHTML = STYLE + '<h2><slot></slot></h2>'</script>",
    ),
    ("shown password", "<input type=password value='TEXT' id=p><script>p.type='text'</script>"),
    ("paragraph", "<p>TEXT</p>"),
    ("title that is drawn", "<br><title style=display:block>TEXT</title>"),
    ("heading", "<h1><i style=color:#000>Results for &ldquo;</i>TEXT</h1>"),
    ("bare text", "TEXT"),
    ("split in spans", "<p><span>Zeb</span><b>ra cros</b>\n<i>sing</i> <u>42</u></p>"),
    (
        "a letter each",
        "<p id=p></p><script>for (const c of 'TEXT') p.append(Object.assign(document.createElement('span'), {textContent: c}))</script>",
    ),
    ("capitals by style", "<p style='text-transform:uppercase'>TEXT</p>"),
    ("capitals", "<p>ZEBRA CROSSING 42</p>"),
    ("two lines", "<p style='width:4em'>TEXT</p>"),
    ("soft hyphens", "<p>Ze&shy;bra cros&shy;sing 42</p>"),
    ("display contents", "<p style='display:contents'>TEXT</p>"),
    ("button", "<button>TEXT</button>"),
    ("button by value", "<input type=submit value='TEXT'>"),
    ("placeholder", "<input placeholder='TEXT'><style>::placeholder { color: #f0f; opacity: 1 }</style>"),
    ("list", "<select><option>TEXT</option></select>"),
    ("open list", "<select size=3><option>x</option><option label='TEXT'></option></select>"),
    ("alternative text", "<img alt='TEXT' src=/none.png style='width:300px;height:60px'>"),
    ("SVG", "<svg width=500 height=60><text x=10 y=40 fill=#f0f>TEXT</text></svg>"),
    (
        "SVG in parts, turned",
        "<svg width=500 height=300><text x=10 y=40 fill=#f0f transform='rotate(20)'>Zebra <tspan dy=20>crossing</tspan> 42</text></svg>",
    ),
    (
        "SVG used again",
        "<svg width=500 height=160><defs><text id=t fill=#f0f>TEXT</text></defs><use href=#t x=10 y=40 /><use href=#t x=10 y=120 /></svg>",
    ),
    ("generated", "<p data-x='TEXT' class=g></p><style>.g::before { content: attr(data-x) }</style>"),
    (
        "generated aside",
        "<p data-x='TEXT' class=g></p><style>.g::after { content: attr(data-x); position: absolute; left: 400px; top: 300px }</style>",
    ),
    (
        "canvas",
        "<canvas id=c width=500 height=80></canvas><script>const x = c.getContext('2d'); x.font = 'bold 30px serif'; x.fillStyle = '#f0f'; x.fillText('TEXT', 5, 40)</script>",
    ),
    ("shadow", "<p style='text-shadow: 60px 20px 0 #f0f; color: #f0f; padding: 2em'>TEXT</p>"),
    ("mirrored", "<p style='-webkit-box-reflect: below 100px'>TEXT</p>"),
    ("turned", "<p style='transform: rotate(30deg); width: 12em; margin: 3em'>TEXT</p>"),
    ("vertical", "<p style='writing-mode: vertical-rl'>TEXT</p>"),
    (
        "far down",
        "<div style='height:2000px'></div><p>TEXT</p><script>addEventListener('load', () => scrollTo(0, 9999))</script>",
    ),
    (
        "scrolled box",
        "<div style='height:100px;overflow:auto' id=b><div style='height:300px'></div>TEXT</div><script>b.scrollTop = 999</script>",
    ),
    ("fixed", "<div style='height:3000px'></div><p style='position:fixed;bottom:0;right:0'>TEXT</p>"),
    ("modal dialog", "<dialog id=d style=border:0>TEXT</dialog><script>d.showModal()</script>"),
    (
        "frame of the site",
        "<iframe srcdoc=\"STYLE<p>TEXT</p><input value='TEXT'>\" style='width:600px;height:200px;border:9px solid #000;padding:7px'></iframe>",
    ),
    (
        "frame of another site",
        "<p style=color:#000>above</p><iframe src=http://other.test/frame style='width:600px;height:300px;transform:scale(.8)'></iframe>",
    ),
    (
        "turned frame of another site",
        "<iframe src=http://other.test/frame style='width:600px;height:300px;margin:4em;rotate:20deg'></iframe>",
    ),
    ("frame in a frame", "<iframe src=http://third.test/outer style='width:700px;height:400px'></iframe>"),
    ("cut short", "<p>Zebra crossing 4<i style=color:#000>…</i></p>"),
];
const STYLE: &str = "<style>* { color: #f0f; font: bold 24px serif }</style>";

pub fn page(body: &str) -> String {
    let body = body.replace("STYLE<", &format!("{STYLE}<")).replace("STYLE +", &format!("`{STYLE}` +"));
    format!(
        "<!doctype html>{STYLE}<style>body {{ min-height: 400px }}</style><title>x</title>{}",
        body.replace("TEXT", TYPED)
    )
}

#[tokio::test]
async fn typed_text_is_masked_however_a_page_draws_it() {
    let pages: Vec<(String, String)> =
        WAYS.iter().enumerate().map(|(at, (_, body))| (format!("shop.test/{at}"), page(body))).collect();
    let frame = page(
        "<p>TEXT</p><input value='TEXT'><i-c></i-c><script>document.querySelector('i-c').attachShadow({mode:'closed'}).innerHTML = STYLE + '<input value=\"TEXT\">'</script>",
    );
    let mut served: Vec<(&str, &str)> = pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    served.push(("other.test/frame", &frame));
    served.push((
        "third.test/outer",
        "<p>outer</p><iframe src=http://other.test/frame style='width:600px;height:300px'></iframe>",
    ));
    let driver = Driver::with(&served).await;
    let cover = ScreenshotMask::typed_text([TYPED]);
    let body = Target::Selector { selector: policy::Selector::parse("body").unwrap(), index: 0 };
    let mut wrong = Vec::new();
    for (at, (way, _)) in WAYS.iter().enumerate() {
        driver.goto(&format!("http://shop.test/{at}")).await;
        if count_magenta_and_masked(&agent_screenshot(&driver).await.bytes).0 < 50 {
            wrong.push(format!("{way}: the agent does not see it"));
        }
        let mut shots = vec![(
            "recording",
            recording_screenshot(&driver, &cover).await.map(RecordableScreenshot::Covered),
        )];
        for (kind, wanted) in
            [("full page", screenshot(true, None)), ("element", screenshot(false, Some(body.clone())))]
        {
            // Only the dialog can be reached then.
            if kind == "element" && *way == "modal dialog" {
                continue;
            }
            shots.push((kind, recordable_screenshot(&driver, &wanted, &cover).await));
        }
        for (kind, recorded) in shots {
            match recorded {
                Ok(RecordableScreenshot::Covered(image)) => {
                    let (magenta, covered) = count_magenta_and_masked(&image.bytes);
                    if magenta > 0 || covered == 0 {
                        wrong.push(format!("{way}: {kind}: {magenta} magenta, {covered} covered"));
                    }
                }
                other => wrong.push(format!("{way}: {kind}: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Pages that show the text between measuring and capturing: they move it, swap it or flash it for ever.
const RESTLESS: &[(&str, &str)] = &[
    (
        "moved by a frame's script",
        "<p id=p style='position:absolute'>TEXT</p><script>let n = 0; (function move() { n += 1; p.style.left = 40 * (n % 9) + 'px'; p.style.top = 60 * (n % 7) + 'px'; requestAnimationFrame(move) })()</script>",
    ),
    (
        "moved by a transform",
        "<p id=p>TEXT</p><script>let n = 0; (function move() { n += 1; p.style.transform = `translate(${200 * (n % 3)}px, ${100 * (n % 5)}px)`; requestAnimationFrame(move) })()</script>",
    ),
    (
        "to and fro by a sheet's switch",
        "<p id=p>TEXT</p><style id=s>p { transform: translateX(500px) }</style><script>(function move() { s.sheet.disabled = Math.random() < .5; requestAnimationFrame(move) })()</script>",
    ),
    (
        "by the space before it",
        "<i id=i style='display:inline-block'></i>TEXT<style id=s>i { width: 600px }</style><script>(function move() { s.sheet.disabled = Math.random() < .5; requestAnimationFrame(move) })()</script>",
    ),
    (
        "by CSS on the compositor",
        "<p id=p style='animation: a .2s linear infinite alternate'>TEXT</p><style>@keyframes a { to { transform: translateX(700px) } }</style>",
    ),
    (
        "by an ancestor's animation",
        "<div style='animation: a .3s linear infinite alternate'><input value='TEXT'></div><style>@keyframes a { to { margin-left: 700px } }</style>",
    ),
    (
        "by scrolling",
        "<div style='height:3000px;padding-top:300px'>TEXT</div><script>(function move() { scrollTo(0, 200 * Math.random()); requestAnimationFrame(move) })()</script>",
    ),
    (
        "in a drawing",
        "<svg width=900 height=100><text y=50 fill=#f0f>TEXT<animate attributeName=x values='0;500;0' dur=.3s repeatCount=indefinite /></text></svg>",
    ),
    (
        "in a drawing, by a transform",
        "<svg width=900 height=100><text y=50 fill=#f0f>TEXT<animateTransform attributeName=transform type=translate values='0;500;0' dur=.3s repeatCount=indefinite /></text></svg>",
    ),
    (
        "swapped",
        "<p id=p></p><script>(function swap() { p.textContent = Math.random() < .5 ? '' : 'TEXT'; requestAnimationFrame(swap) })()</script>",
    ),
    (
        "put in and taken out",
        "<p id=p></p><script>(function swap() { if (Math.random() < .3); else if (p.firstChild) p.firstChild.remove(); else p.append(Object.assign(document.createElement('b'), {textContent: 'TEXT'})); requestAnimationFrame(swap) })()</script>",
    ),
    ("marquee", "<marquee scrollamount=40 scrolldelay=1 truespeed>TEXT</marquee>"),
    (
        "in a field that comes and goes",
        "<input id=p><script>let n = 0; (function swap() { n += 1; p.value = Math.random() < .6 ? '' : 'TEXT'; p.style.marginLeft = 50 * (n % 9) + 'px'; requestAnimationFrame(swap) })()</script>",
    ),
    (
        "in a field that is empty but while it is drawn",
        "<input id=p><script>const { port1, port2 } = new MessageChannel(); port1.onmessage = () => { p.value = '' }; (function swap() { p.value = 'TEXT'; port2.postMessage(null); requestAnimationFrame(swap) })()</script>",
    ),
];

#[tokio::test]
async fn a_page_that_keeps_moving_is_masked_or_not_recorded() {
    let pages: Vec<(String, String)> =
        RESTLESS.iter().enumerate().map(|(at, (_, body))| (format!("shop.test/{at}"), page(body))).collect();
    let served: Vec<(&str, &str)> = pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    let driver = Driver::with(&served).await;
    let cover = ScreenshotMask::typed_text([TYPED]);
    let mut wrong = Vec::new();
    for (at, (way, _)) in RESTLESS.iter().enumerate() {
        driver.goto(&format!("http://shop.test/{at}")).await;
        // Some show it only at times.
        let mut seen = 0;
        for _ in 0..40 {
            seen += count_magenta_and_masked(&agent_screenshot(&driver).await.bytes).0;
            if seen > 0 {
                break;
            }
        }
        for full_page in [false, true, false, true] {
            let recorded = if full_page {
                recordable_screenshot(&driver, &screenshot(true, None), &cover).await
            } else {
                recording_screenshot(&driver, &cover).await.map(RecordableScreenshot::Covered)
            };
            match recorded {
                Ok(RecordableScreenshot::Covered(image)) => {
                    let magenta = count_magenta_and_masked(&image.bytes).0;
                    if magenta > 0 {
                        wrong.push(format!("{way}: full page: {full_page}: {magenta} magenta"));
                    }
                }
                Ok(RecordableScreenshot::AsTaken) => wrong.push(format!("{way}: kept as the agent took it")),
                Err(error) => assert_eq!(error.code().to_string(), "cannot_cover", "{way}: {error}"),
            }
        }
        if seen == 0 {
            wrong.push(format!("{way}: nothing is to be seen at all"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

pub async fn agent_screenshot(driver: &Driver) -> ScreenshotImage {
    match driver.act(Action::Screenshot(screenshot(false, None))).await.unwrap() {
        Outcome::Screenshot(image) => image,
        other => panic!("{other:?}"),
    }
}

/// Other movement does no harm, and pages without the text are not masked.
#[tokio::test]
async fn other_movement_does_not_prevent_masks_and_pages_without_the_text_have_none() {
    let spinner = "<style>@keyframes a { to { rotate: 360deg } } i { display: block; width: 40px; height: 40px; background: #0f0; animation: a 1s linear infinite }</style><i></i>";
    let shimmer = "<style>@keyframes b { to { background-position: 100px } } i { display: block; width: 40px; height: 40px; background: linear-gradient(#0f0, #00f); animation: b 1s linear infinite }</style><i></i>";
    let carousel = "<p id=c style='position:absolute;top:300px;color:#000'>offer</p><script>let n = 0; (function move() { n += 1; c.style.transform = `translateX(${n % 99}px)`; requestAnimationFrame(move) })()</script>";
    let cases = [
        ("spinner", page(&format!("{spinner}<p>TEXT</p><input value='TEXT'>")), true),
        ("shimmer", page(&format!("{shimmer}<p>TEXT</p><input value='TEXT'>")), true),
        ("carousel", page(&format!("{carousel}<p>TEXT</p><input value='TEXT'>")), true),
        ("other text", page("<p>Nothing of the kind, but Zebra and crossing</p>"), false),
        (
            "ticking clock",
            page(
                "<p id=p></p><script>(function tick() { p.textContent = performance.now(); requestAnimationFrame(tick) })()</script>",
            ),
            false,
        ),
        ("empty field", page("<p>Words</p><input placeholder='Search'>"), false),
    ];
    let pages: Vec<(String, &str)> = cases
        .iter()
        .enumerate()
        .map(|(at, (_, page, _))| (format!("shop.test/{at}"), page.as_str()))
        .collect();
    let served: Vec<(&str, &str)> = pages.iter().map(|(at, page)| (at.as_str(), *page)).collect();
    let driver = Driver::with(&served).await;
    let cover = ScreenshotMask::typed_text([TYPED]);
    for (at, (case, _, is_covered)) in cases.iter().enumerate() {
        driver.goto(&format!("http://shop.test/{at}")).await;
        for _ in 0..4 {
            let image =
                recording_screenshot(&driver, &cover).await.unwrap_or_else(|error| panic!("{case}: {error}"));
            let (magenta, covered) = count_magenta_and_masked(&image.bytes);
            assert_eq!(
                (covered > 0, magenta == 0),
                (*is_covered, *is_covered),
                "{case}: {magenta} {covered}"
            );
            // Most of the page is unmasked.
            assert!(covered < 1280 * 800 / 20, "{case}: {covered}");
        }
    }
    // Where nothing was typed, the agent's screenshot is recorded as it is.
    driver.goto("http://shop.test/3").await;
    agent_screenshot(&driver).await;
    let recorded = recordable_screenshot(&driver, &screenshot(true, None), &ScreenshotMask::default()).await;
    assert!(matches!(recorded, Ok(RecordableScreenshot::AsTaken)), "{recorded:?}");
}

/// Records everything that a script of the page could notice while screenshots are taken.
#[tokio::test]
async fn the_page_cannot_observe_masking() {
    let body = "<input value='TEXT'><p>TEXT</p><iframe srcdoc='<input value=x>'></iframe><script>
        window.noticed = [];
        let isReady = false;
        const note = (what) => noticed.push(what);
        const state = () => JSON.stringify([...document.querySelectorAll('*')].map((el) => {
          const style = getComputedStyle(el);
          return [el.tagName, el.getAttributeNames().join(), style.color, style.backgroundColor, style.transform,
            style.webkitTextFillColor, style.transition, style.animationName, el.getBoundingClientRect().toJSON()];
        })) + document.styleSheets.length + document.adoptedStyleSheets.length + CSS.highlights.size + innerHeight + scrollY
          + document.getAnimations().length + getSelection().rangeCount + document.activeElement.tagName;
        const ready = new Promise((done) => addEventListener('load', () => setTimeout(() => {
          const first = state();
          new MutationObserver(() => note('mutation')).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
          const resized = new ResizeObserver(() => { if (isReady) note('resized'); });
          for (const el of document.querySelectorAll('*')) resized.observe(el);
          for (const type of ['resize', 'scroll', 'focus', 'blur', 'visibilitychange', 'freeze', 'selectionchange', 'transitionrun', 'animationstart', 'beforeprint'])
            for (const to of [window, document]) to.addEventListener(type, () => note(type), true);
          // Initial sizes are reported in the first frame.
          requestAnimationFrame(() => requestAnimationFrame(() => { isReady = true; done(); }));
          (function look() { if (state() !== first) note('state'); requestAnimationFrame(look); })();
          setInterval(() => { if (state() !== first) note('state'); }, 3);
        }, 50)));
        </script>";
    let driver = Driver::with(&[("shop.test/", &page(body))]).await;
    driver.goto("http://shop.test/").await;
    driver.run_in_page("ready").await;
    for _ in 0..10 {
        let image = recording_screenshot(&driver, &ScreenshotMask::typed_text([TYPED])).await.unwrap();
        assert_eq!(count_magenta_and_masked(&image.bytes).0, 0);
    }
    assert_eq!(driver.run_in_page("noticed").await, serde_json::json!([]));
    // The page does notice a change.
    driver
        .run_in_page("document.querySelector('p').style.color = 'red'; new Promise(r => setTimeout(r, 100))")
        .await;
    let noticed = driver.run_in_page("noticed").await;
    assert!(noticed.as_array().unwrap().iter().any(|what| what == "state"), "{noticed}");
}

#[tokio::test]
async fn an_unmaskable_page_is_not_recorded_and_too_many_boxes_mask_the_frame() {
    let many = page(&"<p>TEXT</p>".repeat(1200));
    let frames = page(&format!("<p>TEXT</p>{}", "<iframe srcdoc=x></iframe>".repeat(60)));
    let text = page("<p>TEXT</p><script>document.body.append('x'.repeat(2100000))</script>");
    let pages = [("shop.test/many", many.as_str()), ("shop.test/frames", &frames), ("shop.test/text", &text)];
    let driver = Driver::with(&pages).await;
    driver.goto("http://shop.test/many").await;
    let image = recording_screenshot(&driver, &ScreenshotMask::typed_text([TYPED])).await.unwrap();
    assert_eq!(count_magenta_and_masked(&image.bytes), (0, 1280 * 800));
    for (at, cover, why) in [
        ("frames", ScreenshotMask::typed_text([TYPED]), "too many frames"),
        ("frames", ScreenshotMask::default(), "too many frames"),
        ("text", ScreenshotMask::typed_text([TYPED]), "too large"),
        ("many", ScreenshotMask::incomplete(), "the session typed more text than Stockade keeps"),
    ] {
        driver.goto(&format!("http://shop.test/{at}")).await;
        let error = recording_screenshot(&driver, &cover).await.unwrap_err();
        assert_eq!(error.code().to_string(), "cannot_cover");
        assert!(error.to_string().contains(why), "{error}");
    }
}

/// Once the second animation frame begins, the first is presented without help of the page.
pub fn page_hanging_once_drawn() -> String {
    let twice = "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(hang, 300)))";
    format!("<p>TEXT</p><script>const hang = () => {{ {FREEZE} }}; {twice}</script>")
}

#[tokio::test]
async fn a_cross_site_frame_that_hangs_or_moves_is_masked_as_a_whole() {
    let outer = |at: &str| {
        page(&format!(
            "<p style=color:#000>outside</p><iframe src=http://other.test/{at} style='width:500px;height:200px;border:0'></iframe>"
        ))
    };
    let (hanging, moving) = (outer("hangs"), outer("moves"));
    let hangs = page(&page_hanging_once_drawn());
    let moves = page(RESTLESS[0].1);
    let pages = [
        ("shop.test/moves", moving.as_str()),
        ("shop.test/hangs", &hanging),
        ("other.test/moves", &moves),
        ("other.test/hangs", &hangs),
    ];
    let driver = Driver::with(&pages).await;
    // On a busy machine a frame may have no turn to move during a capture; then masking its text is enough.
    for (at, tries) in [("moves", 20), ("hangs", 1)] {
        driver.goto(&format!("http://shop.test/{at}")).await;
        if at == "hangs" {
            driver.request("other.test/frozen").await;
        }
        let mut is_whole = false;
        for _ in 0..tries {
            let image = recording_screenshot(&driver, &ScreenshotMask::typed_text([TYPED])).await.unwrap();
            let (magenta, covered) = count_magenta_and_masked(&image.bytes);
            assert_eq!(magenta, 0, "{at}: {covered}");
            is_whole = (500 * 200..500 * 201).contains(&covered);
            if is_whole {
                break;
            }
        }
        assert!(is_whole, "{at}");
    }
}

const SECRET: &str = r#"tok_9/Q+x=Z"7&Lm<4>kW2vB8 nR5cJ0"#;

/// Page variants of the secret `S`. `draw` renders a text in magenta, except for the given number of characters at
/// its ends that do not belong to the secret.
const WRITINGS: &[(&str, &str)] = &[
    ("as it is", "draw(S)"),
    ("capitals", "draw(S.toUpperCase())"),
    ("in an address", "draw('/?token=' + encodeURIComponent(S) + '&b', 8, 2)"),
    ("lower hex digits", "draw(encodeURIComponent(S).replace(/%../g, (c) => c.toLowerCase()))"),
    ("in a form's query", "draw(new URLSearchParams({ t: S }).toString(), 2)"),
    ("escaped twice", "draw(encodeURIComponent(encodeURIComponent(S)))"),
    ("every byte", "draw([...S].map((c) => '%' + c.charCodeAt(0).toString(16)).join(''))"),
    ("base64", "draw(btoa(S))"),
    ("base64 after one byte", "draw(btoa('u' + S), 2)"),
    ("base64 after two bytes", "draw(btoa('me' + S), 3)"),
    ("basic auth", "draw('Basic ' + btoa('user:' + S), 13)"),
    ("base64 within more", "draw(btoa('{\"t\":\"' + S + '\"}'), 8, 4)"),
    (
        "base64 for addresses",
        "draw(btoa('me?' + S).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''), 4)",
    ),
    ("hex", "draw([...S].map((c) => c.charCodeAt(0).toString(16)).join(''))"),
    ("hex in capitals", "draw([...S].map((c) => c.charCodeAt(0).toString(16)).join(' ').toUpperCase())"),
    ("JSON", "draw(JSON.stringify({ t: S }), 6, 2)"),
    ("JSON of JSON", "draw(JSON.stringify(JSON.stringify(S)), 4, 4)"),
    (
        "JSON for scripts",
        "draw(JSON.stringify(S).replaceAll('<', '\\\\u003c').replaceAll('/', '\\\\/'), 1, 1)",
    ),
    ("HTML", "draw(S.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('\"', '&quot;'))"),
    ("character references", "draw([...S].map((c) => '&#x' + c.charCodeAt(0).toString(16) + ';').join(''))"),
    ("two lines", "draw(S.slice(0, 15)); draw(S.slice(15))"),
    (
        "cut by a style",
        "draw(S); p.style = 'width: 200px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap'",
    ),
    (
        "a letter each",
        "for (const c of S) p.append(Object.assign(document.createElement('b'), { textContent: c }))",
    ),
    (
        "cells",
        "p.outerHTML = '<table><tr>' + S.match(/.{1,5}/g).map((c) => '<td>' + c.replace('<', '&lt;')).join('') + '</table>'",
    ),
    ("field", "p.outerHTML = '<input id=i>'; i.value = S"),
    ("field, escaped", "p.outerHTML = '<input id=i style=width:900px>'; i.value = encodeURIComponent(S)"),
    ("area", "p.outerHTML = '<textarea id=i cols=60></textarea>'; i.value = S"),
    ("editor", "p.contentEditable = 'true'; draw(S)"),
    ("button", "p.outerHTML = '<input type=submit id=i>'; i.value = S"),
    ("list", "p.outerHTML = '<select id=i><option></select>'; i.options[0].text = S"),
    (
        "placeholder",
        "p.outerHTML = '<style>::placeholder { color: #f0f; opacity: 1 }</style><input id=i>'; i.placeholder = S",
    ),
    (
        "alternative text",
        "p.outerHTML = '<img id=i src=/none.png style=\"width:600px;height:60px\">'; i.alt = S",
    ),
    (
        "canvas",
        "p.outerHTML = '<canvas id=i width=700></canvas>'; const x = i.getContext('2d'); x.font = '30px serif'; x.fillStyle = '#f0f'; x.fillText(S, 5, 40)",
    ),
    (
        "closed root",
        "const root = p.attachShadow({ mode: 'closed' }); root.innerHTML = `STYLE<p></p>`; root.querySelector('p').textContent = S",
    ),
    (
        "frame of another site",
        "p.outerHTML = '<iframe src=http://other.test/frame style=\"width:900px;height:200px\"></iframe>'",
    ),
    (
        "SVG",
        "p.outerHTML = '<svg width=900 height=60><text x=10 y=40 fill=#f0f id=i></text></svg>'; i.textContent = S",
    ),
    (
        "generated",
        "p.outerHTML = '<style>#i::before { content: attr(data-x) }</style><p id=i></p>'; i.dataset.x = S",
    ),
];

fn secrets(texts: &[&str]) -> Vec<Secret> {
    texts.iter().map(|text| Secret::new((*text).to_owned())).collect()
}

fn page_writing(writing: &str) -> String {
    let draw = "const draw = (text, head = 0, tail = 0) => {
        const line = document.createElement('div');
        const part = (text, colour) => { const el = document.createElement('span'); el.textContent = text; el.style.color = colour; line.append(el); };
        part(text.slice(0, head), '#000'); part(text.slice(head, text.length - tail), '#f0f'); part(text.slice(text.length - tail), '#000');
        p.append(line);
      };";
    let secret = serde_json::to_string(SECRET).unwrap().replace('<', "\\u003c");
    page(&format!("<p id=p></p><script>const S = {secret}; {draw} {writing}</script>"))
        .replace("`STYLE<", &format!("`{STYLE}<"))
}

#[tokio::test]
async fn secrets_are_masked_however_a_page_writes_them() {
    let pages: Vec<(String, String)> = WRITINGS
        .iter()
        .enumerate()
        .map(|(at, (_, writing))| (format!("shop.test/{at}"), page_writing(writing)))
        .collect();
    let frame = page_writing("draw(S); draw(btoa(S))");
    let mut served: Vec<(&str, &str)> = pages.iter().map(|(at, page)| (at.as_str(), page.as_str())).collect();
    served.push(("other.test/frame", &frame));
    let driver = Driver::with(&served).await;
    let recorded =
        ScreenshotMask::typed_text(["something typed"]).with_secrets(&secrets(&[SECRET, "another secret"]));
    // As shown to the person who approves, and to an agent who sees the content of its fields.
    let shown = ScreenshotMask::only_secrets().with_secrets_of(&recorded);
    let mut wrong = Vec::new();
    for (at, (way, _)) in WRITINGS.iter().enumerate() {
        driver.goto(&format!("http://shop.test/{at}")).await;
        let plain = count_magenta_and_masked(&agent_screenshot(&driver).await.bytes);
        if plain.0 < 50 {
            wrong.push(format!("{way}: nothing is to be seen at all"));
        }
        for (whose, cover) in [("recorded", &recorded), ("shown", &shown)] {
            match recording_screenshot(&driver, cover).await {
                Ok(image) => {
                    let (magenta, covered) = count_magenta_and_masked(&image.bytes);
                    if magenta > 0 || covered == 0 {
                        wrong.push(format!(
                            "{way}: {whose}: {magenta} of {} magenta, {covered} covered",
                            plain.0
                        ));
                    }
                }
                Err(error) => wrong.push(format!("{way}: {whose}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn fields_are_visible_to_a_person_unless_they_hold_a_secret() {
    let fields =
        page("<input value='ordinary words'><textarea>and more</textarea><div contenteditable>of them</div>");
    let comes_and_goes = "p.outerHTML = '<input id=i>'; (function swap() { i.value = Math.random() < 0.6 ? '' : S; requestAnimationFrame(swap) })()";
    let comes_and_goes = page_writing(comes_and_goes);
    let pages = [("shop.test/fields", fields.as_str()), ("shop.test/swap", &comes_and_goes)];
    let driver = Driver::with(&pages).await;
    let shown = ScreenshotMask::only_secrets().with_secrets(&secrets(&[SECRET]));
    driver.goto("http://shop.test/fields").await;
    let plain = count_magenta_and_masked(&agent_screenshot(&driver).await.bytes).0;
    let image = recording_screenshot(&driver, &shown).await.unwrap();
    assert_eq!(count_magenta_and_masked(&image.bytes), (plain, 0));
    driver.goto("http://shop.test/swap").await;
    let (mut seen, mut refused) = (0, 0);
    for _ in 0..40 {
        seen += count_magenta_and_masked(&agent_screenshot(&driver).await.bytes).0;
    }
    for _ in 0..8 {
        match recording_screenshot(&driver, &shown).await {
            Ok(image) => assert_eq!(count_magenta_and_masked(&image.bytes).0, 0),
            Err(error) => {
                assert_eq!(error.code().to_string(), "cannot_cover", "{error}");
                refused += 1;
            }
        }
    }
    assert!(seen > 0, "it is to be seen now and then; {refused} refused");
    // More texts than the limit are refused, not masked in part.
    let large: String = (0..250_000).map(|n| format!("{n:x}.")).collect();
    let error =
        recording_screenshot(&driver, &ScreenshotMask::typed_text([large.as_str()])).await.unwrap_err();
    assert_eq!(error.code().to_string(), "cannot_cover", "{error}");
}

#[tokio::test]
async fn in_a_session_that_typed_nothing_a_moving_field_stays_masked() {
    let moves = page(
        "<input id=p value='TEXT' style='position:absolute'><script>let n = 0; (function move() { n += 1; p.style.left = 90 * (n % 9) + 'px'; p.style.top = 60 * (n % 7) + 'px'; requestAnimationFrame(move) })()</script>",
    );
    let ticks = page(
        "<input><p id=p style=color:#fff></p><script>(function tick() { p.textContent = performance.now(); requestAnimationFrame(tick) })()</script>",
    );
    let driver = Driver::with(&[("shop.test/moves", &moves), ("shop.test/ticks", &ticks)]).await;
    driver.goto("http://shop.test/moves").await;
    assert!(count_magenta_and_masked(&agent_screenshot(&driver).await.bytes).0 > 50);
    for _ in 0..4 {
        match recording_screenshot(&driver, &ScreenshotMask::default()).await {
            Ok(image) => assert_eq!(count_magenta_and_masked(&image.bytes).0, 0),
            Err(error) => assert_eq!(error.code().to_string(), "cannot_cover", "{error}"),
        }
    }
    // An empty field needs no mask, whatever else moves.
    driver.goto("http://shop.test/ticks").await;
    let image = recording_screenshot(&driver, &ScreenshotMask::default()).await.unwrap();
    assert_eq!(count_magenta_and_masked(&image.bytes), (0, 0));
}

/// An invalid number or date has no value, but is drawn.
#[tokio::test]
async fn text_in_a_field_that_is_not_its_value_is_masked() {
    let (number, date) = (page("<input type=number id=p>"), page("<input type=date id=p>"));
    let driver = Driver::with(&[("shop.test/number", &number), ("shop.test/date", &date)]).await;
    let cover = ScreenshotMask::typed_text(["12-34-56", "0231"]);
    for (at, keys) in [("number", "12-34-56"), ("date", "0231")] {
        driver.goto(&format!("http://shop.test/{at}")).await;
        driver.run_in_page("p.focus()").await;
        for key in keys.chars() {
            let chord = Chord::parse(&key.to_string()).unwrap();
            driver.act(Action::Press(Press { target: Target::Focused, chord })).await.unwrap();
        }
        assert!(count_magenta_and_masked(&agent_screenshot(&driver).await.bytes).0 > 50, "{at}");
        for recorded in [
            recording_screenshot(&driver, &cover).await.map(RecordableScreenshot::Covered),
            recordable_screenshot(&driver, &screenshot(true, None), &cover).await,
            recordable_screenshot(&driver, &screenshot(false, None), &ScreenshotMask::default()).await,
        ] {
            let Ok(RecordableScreenshot::Covered(image)) = recorded else { panic!("{at}: {recorded:?}") };
            let (magenta, covered) = count_magenta_and_masked(&image.bytes);
            assert!(magenta == 0 && covered > 0, "{at}: {magenta} {covered}");
        }
    }
}

#[tokio::test]
async fn a_screenshot_of_a_page_that_was_left_is_not_recorded_unmasked() {
    let filled = page("<input value='TEXT'>");
    let driver = Driver::with(&[("shop.test/filled", &filled), ("shop.test/empty", "<p>nothing")]).await;
    driver.goto("http://shop.test/filled").await;
    agent_screenshot(&driver).await;
    driver.goto("http://shop.test/empty").await;
    let recorded = recordable_screenshot(&driver, &screenshot(false, None), &ScreenshotMask::default()).await;
    assert!(matches!(recorded, Ok(RecordableScreenshot::Covered(_))), "{recorded:?}");
    agent_screenshot(&driver).await;
    let recorded = recordable_screenshot(&driver, &screenshot(false, None), &ScreenshotMask::default()).await;
    assert!(matches!(recorded, Ok(RecordableScreenshot::AsTaken)), "{recorded:?}");
}

#[tokio::test]
async fn a_custom_list_is_masked_where_it_is_open_and_on_its_button() {
    let list = page(
        "<style>select, ::picker(select) { appearance: base-select }</style><select aria-label=List><option>TEXT</select>",
    );
    let driver = Driver::with(&[("shop.test/", &list)]).await;
    driver.goto("http://shop.test/").await;
    driver.after(click(role("combobox", "List"))).await.unwrap();
    assert_eq!(driver.value("`${document.querySelectorAll(':open').length}`").await, "1");
    let plain = count_magenta_and_masked(&agent_screenshot(&driver).await.bytes).0;
    let (magenta, covered) = count_magenta_and_masked(
        &recording_screenshot(&driver, &ScreenshotMask::typed_text([TYPED])).await.unwrap().bytes,
    );
    // The mark beside the option stays visible.
    assert!(plain > 1000 && magenta < 100 && covered > 0, "{plain} {magenta} {covered}");
}
