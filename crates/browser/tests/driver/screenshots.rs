//! Pictures: their format, their size, and their bounds.

use crate::support::Driver;
use browser::{Image, Outcome};
use policy::{Action, ImageFormat, Screenshot};

async fn shoot(driver: &Driver, full_page: bool, format: ImageFormat) -> Image {
    match driver.act(Action::Screenshot(Screenshot { full_page, format })).await.unwrap() {
        Outcome::Screenshot(image) => image,
        other => panic!("{other:?}"),
    }
}

/// Width and height as the PNG itself tells them.
fn png_size(bytes: &[u8]) -> (u32, u32) {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[tokio::test]
async fn a_screenshot_is_of_the_viewport_or_the_page_in_the_format_asked_for() {
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
            let image = shoot(&driver, full_page, format).await;
            assert!(image.bytes.starts_with(start), "{format:?}");
            assert_eq!((image.width, image.height, image.omitted), (1280, height, None), "{format:?}");
            if format == ImageFormat::Png {
                assert_eq!(png_size(&image.bytes), (image.width, image.height));
            }
        }
    }
}

#[tokio::test]
async fn a_page_without_end_is_pictured_to_the_bound_and_says_so() {
    let driver =
        Driver::with(&[("shop.test/", "<body style='margin:0'><div style='height:1000000px'>")]).await;
    driver.goto("http://shop.test/").await;
    let image = shoot(&driver, true, ImageFormat::Png).await;
    assert_eq!((image.width, image.height), (1280, 16_384));
    assert_eq!(png_size(&image.bytes), (1280, 16_384));
    assert_eq!(image.omitted.unwrap().bottom, 1_000_000 - 16_384);
}
