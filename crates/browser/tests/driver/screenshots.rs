//! Screenshots: format, size and limits.

use crate::support::Driver;
use browser::{Outcome, ScreenshotImage, ScreenshotMask, TimeLimit};
use policy::{Action, ImageFormat, Screenshot};
use std::time::Duration;

/// Height of a page of this width that fits into one message, however it is drawn.
const TALLEST: u32 = 60 * 1024 * 1024 / 4 * 3 / 4 / 1280;

async fn capture(driver: &Driver, full_page: bool, format: ImageFormat) -> ScreenshotImage {
    match driver.act(Action::Screenshot(Screenshot { full_page, format, target: None })).await.unwrap() {
        Outcome::Screenshot(image) => image,
        other => panic!("{other:?}"),
    }
}

/// Width and height in the PNG itself.
fn png_size(bytes: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[tokio::test]
async fn a_screenshot_has_the_requested_area_and_format() {
    let driver =
        Driver::with(&[("shop.test/", "<body style='margin:0'><div style='height:3000px;background:red'>")])
            .await;
    driver.goto("http://shop.test/").await;
    for (format, start) in [
        (ImageFormat::Png, &b"\x89PNG\r\n\x1a\n"[..]),
        (ImageFormat::Jpeg, b"\xff\xd8\xff"),
        (ImageFormat::Webp, b"RIFF"),
    ] {
        for (full_page, height) in [(false, 800), (true, 3000)] {
            let image = capture(&driver, full_page, format).await;
            assert!(image.bytes.starts_with(start), "{format:?}");
            assert_eq!((image.width, image.height, image.omitted), (1280, height, None), "{format:?}");
            if format == ImageFormat::Png {
                assert_eq!(png_size(&image.bytes), (image.width, image.height));
            }
        }
    }
}

#[tokio::test]
async fn an_endless_page_is_captured_up_to_the_limit_and_says_so() {
    let driver =
        Driver::with(&[("shop.test/", "<body style='margin:0'><div style='height:1000000px'>")]).await;
    driver.goto("http://shop.test/").await;
    let image = capture(&driver, true, ImageFormat::Png).await;
    assert_eq!((image.width, image.height), (1280, TALLEST));
    assert_eq!(png_size(&image.bytes), (1280, TALLEST));
    assert_eq!(image.omitted.unwrap().bottom, 1_000_000 - TALLEST);
}

#[tokio::test]
async fn a_page_of_noise_is_captured_in_every_format() {
    let page = "<body style='margin:0'><script>
        const draw = (top) => {
          const canvas = document.createElement('canvas'); canvas.width = 1280; canvas.height = 4000;
          const context = canvas.getContext('2d'); const image = context.createImageData(1280, 4000);
          const pixels = new Uint32Array(image.data.buffer);
          for (let i = 0; i < pixels.length; i++) pixels[i] = (Math.random() * 2 ** 32) | 0xff000000;
          context.putImageData(image, 0, 0); canvas.style.display = 'block'; document.body.append(canvas);
        };
        for (let i = 0; i < 5; i++) draw();</script>";
    let driver = Driver::with(&[("shop.test/", page)]).await;
    driver.goto("http://shop.test/").await;
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Webp] {
        let image = capture(&driver, true, format).await;
        assert_eq!((image.width, image.height), (1280, TALLEST), "{format:?}");
        assert_eq!(image.omitted.unwrap().bottom, 20_000 - TALLEST, "{format:?}");
        assert!(image.bytes.len() > 1 << 20, "{format:?}: {}", image.bytes.len());
    }
    assert_eq!(driver.browser.state().url, "http://shop.test/");
}

/// Two pages that differ only in the content of their fields, also in a frame of another site, look equal in
/// recordings.
#[tokio::test]
async fn a_recorded_screenshot_shows_no_field_content() {
    let page = |text: &str| {
        format!(
            "<style>* {{ transition: all 1s }}</style><p>Name</p><input value='{text}'><textarea>{text}</textarea><div contenteditable>{text} <b>{text}</b></div>
             <input placeholder=empty><button>Go</button><iframe src=http://other.test/{text}></iframe>"
        )
    };
    let field = |text: &str| format!("<input value='{text}'>");
    let (ann, bob) = (page("ann"), page("bob"));
    let pages = [
        ("shop.test/ann", ann.as_str()),
        ("shop.test/bob", bob.as_str()),
        ("other.test/ann", &field("ann")),
        ("other.test/bob", &field("bob")),
    ];
    let driver = Driver::with(&pages).await;
    let limit = || TimeLimit::new(Duration::from_secs(20));
    let mut recorded = Vec::new();
    let mut seen = Vec::new();
    for name in ["ann", "bob"] {
        driver.goto(&format!("http://shop.test/{name}")).await;
        let before = capture(&driver, false, ImageFormat::Png).await.bytes;
        let screenshot = driver
            .browser
            .recording_screenshot(None, ImageFormat::Png, &ScreenshotMask::default(), limit())
            .await
            .unwrap();
        recorded.push(screenshot.image.bytes);
        assert_eq!(capture(&driver, false, ImageFormat::Png).await.bytes, before, "uncovered again");
        seen.push(before);
    }
    assert!(seen[0] != seen[1], "the two differ");
    assert!(recorded[0] == recorded[1], "but not on record");
    assert!(recorded[0] != seen[0]);
}
