//! Types into every kind of field while recording: no pixel of a kept screenshot shows the typed text.

use crate::common;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use common::machine::{self, PATIENCE};
use common::site::Site;
use common::{Home, Mcp};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Typed into each field and drawn by the page in magenta, which is used for nothing else.
const TYPED: &str = "Okapi 7 of Ituri";
const STYLE: &str = "<style>* { font: bold 20px serif } .t, input, textarea, select, [contenteditable] { color: #f0f } \
    ::placeholder { color: #000 } p { margin: 2px }</style>";

/// Repeats typed text in every way that a page can.
const PAGE: &str = "<!doctype html><title>Covers</title>STYLE
  <input aria-label=Plain><textarea aria-label=Area rows=1></textarea>
  <div contenteditable role=textbox aria-label=Editor style='min-height:30px;border:1px solid #000'></div>
  <x-open></x-open><x-closed></x-closed>
  <iframe src=http://b.test/frame style='width:500px;height:90px'></iframe>
  <h1>Results for <span class=t></span></h1><p class=t style='text-transform:uppercase'></p>
  <p class=t style='width:90px'></p><p id=split class=t></p><input type=button id=b><svg width=400 height=30><text class=t y=20 fill=#f0f></text></svg>
  <canvas id=c width=400 height=40></canvas><div id=shadow></div>
  <script>
    const make = (tag, mode, name) => {
      const root = document.querySelector(tag).attachShadow({mode});
      root.innerHTML = `STYLE<input aria-label='${name}'>`;
      root.firstElementChild.nextElementSibling.oninput = (e) => repeat(e.target.value);
    };
    make('x-open', 'open', 'Open'); make('x-closed', 'closed', 'Closed');
    const echo = shadow.attachShadow({mode: 'closed'});
    const repeat = (text) => {
      for (const el of document.querySelectorAll('.t')) el.textContent = text;
      split.replaceChildren(...[...text].map((c) => Object.assign(document.createElement('b'), {textContent: c})));
      b.value = text; echo.innerHTML = 'STYLE<p class=t></p>'; echo.lastChild.textContent = text;
      const x = c.getContext('2d'); x.clearRect(0, 0, 400, 40); x.font = 'bold 20px serif'; x.fillStyle = '#f0f'; x.fillText(text, 0, 25);
    };
    addEventListener('input', (e) => repeat(e.target.value ?? e.target.textContent));
    addEventListener('message', (e) => repeat(e.data));
  </script><div style='height:1500px'></div><p class=t></p>";
const FRAME: &str = "<!doctype html>STYLE<input aria-label=Framed><p class=t></p><script>
  addEventListener('input', (e) => { document.querySelector('.t').textContent = e.target.value; parent.postMessage(e.target.value, '*'); })</script>";

const FIELDS: &[&str] = &["Plain", "Area", "Editor", "Open", "Closed", "Framed"];

/// Pixels in rows, three or four bytes each.
fn decoded(bytes: &[u8]) -> (Vec<u8>, usize) {
    if bytes.starts_with(b"RIFF") {
        let mut decoder = image_webp::WebPDecoder::new(std::io::Cursor::new(bytes)).unwrap();
        let mut pixels = vec![0; decoder.output_buffer_size().unwrap()];
        decoder.read_image(&mut pixels).unwrap();
        return (pixels, if decoder.has_alpha() { 4 } else { 3 });
    }
    let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let depth = reader.next_frame(&mut pixels).unwrap().color_type.samples();
    (pixels, depth)
}

/// The number of magenta pixels, and of pixels in the colour of the mask.
fn magenta_and_covered(bytes: &[u8]) -> (usize, usize) {
    let (pixels, depth) = decoded(bytes);
    let count = |is: fn(&[u8]) -> bool| pixels.chunks(depth).filter(|pixel| is(pixel)).count();
    (count(|p| p[0] > 170 && p[1] < 90 && p[2] > 170), count(|p| p[..3] == [0x33; 3]))
}

fn pictures(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("img-")).collect()
}

fn open(mcp: &mut Mcp, record: &str) -> String {
    let opened = mcp.ok("browser_open_session", json!({ "record": record }));
    opened["session_id"].as_str().unwrap().to_owned()
}

/// A screenshot that the agent takes: the reply, and the stored file.
fn shoot(mcp: &mut Mcp, session: &str, more: Value) -> (Vec<u8>, PathBuf) {
    let mut asked = json!({"session_id": session, "include_base64": true, "format": "png"});
    asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    machine::until("a picture is kept", PATIENCE, || {
        let shot = mcp.ok("browser_screenshot", asked.clone());
        let kept = PathBuf::from(shot["persisted_path"].as_str()?);
        Some((STANDARD.decode(shot["image_base64"].as_str().unwrap()).unwrap(), kept))
    })
}

/// Why screenshots are missing.
fn missing(home: &Home) -> Vec<String> {
    let log = home.audit_log();
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let failed = lines.filter(|line| line["event_type"] == "recording_failed");
    failed.map(|line| line["result"].as_str().unwrap().to_owned()).collect()
}

/// On a busy machine a screenshot may miss its time limit. No other reason is accepted.
fn none_is_missing(home: &Home) {
    let missing = missing(home);
    assert!(missing.iter().all(|why| why.starts_with("browser_action_timeout:picture:")), "{missing:?}");
}

fn site() -> Site {
    let (page, frame) = (PAGE.replace("STYLE", STYLE), FRAME.replace("STYLE", STYLE));
    Site::serve(&[("/", &page), ("/frame", &frame)])
}

#[test]
fn a_run_that_types_into_everything_leaves_no_pixel_of_it_on_record() {
    let site = site();
    for format in ["png", "webp"] {
        let settings = format!("    session_timeout: 900\n    audit:\n      image_format: {format}\n");
        let home = Home::new(&format!("{settings}{}", site.setting(&["a.test", "b.test"])));
        let mut mcp = home.mcp();
        let session = open(&mut mcp, "audit");
        mcp.goto(&session, "http://a.test/");
        shoot(&mut mcp, &session, json!({}));
        let folder = home.state().join("recordings").join(&session);
        for untouched in pictures(&folder) {
            let bytes = std::fs::read(untouched).unwrap();
            // The edges of letters have every shade of grey.
            assert!(magenta_and_covered(&bytes).1 < 50, "nothing was typed, and nothing is covered");
        }
        for field in FIELDS {
            let typing = json!({"session_id": session, "role": "textbox", "name": field, "text": TYPED});
            mcp.ok("browser_type", typing);
            for more in [
                json!({}),
                json!({"full_page": true}),
                json!({"format": "jpeg"}),
                json!({"role": "textbox", "name": field}),
            ] {
                // Colours in a JPEG are not exact, and a busy machine draws a frame some time after the text was typed.
                let jpeg = more["format"] == "jpeg";
                machine::until(&format!("{field}: {more}: the agent sees it"), PATIENCE, || {
                    let (seen, _) = shoot(&mut mcp, &session, more.clone());
                    (jpeg || magenta_and_covered(&seen).0 > 20).then_some(())
                });
            }
        }
        mcp.ok("browser_hover", json!({"session_id": session, "role": "textbox", "name": "Plain"}));
        mcp.ok("browser_scroll", json!({"session_id": session, "direction": "down"}));
        mcp.ok("browser_press_key", json!({"session_id": session, "key": "End"}));
        mcp.ok("browser_close_session", json!({"session_id": session}));
        let kept = pictures(&folder);
        assert!(kept.len() > 20, "{}", kept.len());
        let mut covered_somewhere = 0;
        for path in &kept {
            let (magenta, covered) = magenta_and_covered(&std::fs::read(path).unwrap());
            assert_eq!(magenta, 0, "{}", path.display());
            covered_somewhere += usize::from(covered > 200);
        }
        assert!(covered_somewhere > 20, "{covered_somewhere} of {}", kept.len());
        none_is_missing(&home);
        let log = home.audit_log();
        assert!(!log.contains("Okapi"), "{log}");
    }
}

#[test]
fn the_transient_ring_keeps_covered_pictures_too() {
    let home = Home::new(&site().setting(&["a.test", "b.test"]));
    let mut mcp = home.mcp();
    let session = open(&mut mcp, "transient");
    mcp.goto(&session, "http://a.test/");
    let (seen, path) = shoot(&mut mcp, &session, json!({}));
    assert_eq!(std::fs::read(path).unwrap(), seen, "with nothing typed, it is the agent's own");
    mcp.ok("browser_type", json!({"session_id": session, "role": "textbox", "name": "Plain", "text": TYPED}));
    let (seen, path) = shoot(&mut mcp, &session, json!({}));
    assert!(magenta_and_covered(&seen).0 > 50);
    assert_eq!(magenta_and_covered(&std::fs::read(path).unwrap()).0, 0);
    none_is_missing(&home);
}

#[test]
fn a_picture_that_cannot_be_covered_is_not_kept_and_the_log_says_so() {
    let restless = "<input aria-label=Plain><p id=p></p><script>let n = 0; (function move() { n += 1; \
        p.textContent = document.querySelector('input').value; p.style.marginLeft = `${n % 99}px`; requestAnimationFrame(move) })()</script>";
    let site = Site::serve(&[("/", restless)]);
    let home = Home::new(&site.setting(&["a.test"]));
    let mut mcp = home.mcp();
    let session = open(&mut mcp, "audit");
    mcp.goto(&session, "http://a.test/");
    let typing = json!({"session_id": session, "role": "textbox", "text": TYPED, "after_screenshot": true});
    let typed = mcp.ok("browser_type", typing);
    assert!(typed["after_screenshot"].is_null(), "{typed}");
    let notes = typed["notes"].to_string();
    assert!(notes.contains("could not be masked"), "{typed}");
    let shot = mcp.ok("browser_screenshot", json!({"session_id": session}));
    assert!(shot["screenshot_id"].is_null() && shot["persisted_path"].is_null(), "{shot}");
    mcp.ok("browser_close_session", json!({"session_id": session}));
    let missing = missing(&home);
    assert!(!missing.is_empty() && missing.iter().all(|why| why == "cannot_cover"), "{missing:?}");
    common::seen::seen("cannot_cover");
    assert!(!home.audit_log().contains("Okapi"));
}
