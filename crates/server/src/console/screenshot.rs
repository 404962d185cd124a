//! The screenshot of the page, with the element marked. SVG places it by attributes, so that no inline style is needed.

use engine::approvals::{ApprovalId, ApprovalScreenshot};
use maud::{Markup, html};

/// For an image that does not say how large it is.
const DEFAULT_SIZE: (u32, u32) = (1280, 800);
/// How much of the page the close-up shows around the element.
const CLOSE_UP_SIZE: (i32, i32) = (560, 300);

pub fn figure(id: &ApprovalId, picture: &ApprovalScreenshot, mark: Option<[i32; 4]>) -> Markup {
    let (width, height) = size_of(&picture.bytes).unwrap_or(DEFAULT_SIZE);
    let drawing = html! {
        image href={ "/operator/approvals/" (id) "/picture" } width=(width) height=(height) {}
        @if let Some(mark) = mark { (rectangle(mark)) }
    };
    html! {
        figure.picture {
            // A window of its own: the card and its countdown stay where they are.
            a href={ "/operator/approvals/" (id) "/picture" } target="_blank" rel="noopener" title="Open full size" {
                @if let Some(mark) = mark { (close_up(mark, width, height, &drawing)) }
                svg.whole viewBox={ "0 0 " (width) " " (height) } role="img" aria-label="Screenshot of the page" { (drawing) }
            }
            figcaption {
                @if mark.is_some() {
                    "The page at the time of the request. Secret fields are masked; the element is framed in red. "
                } @else {
                    "The page at the time of the request. Secret fields are masked. "
                }
                "Select it to open it full size."
            }
        }
    }
}

fn rectangle([left, top, width, height]: [i32; 4]) -> Markup {
    let (x, y, width, height) = (left - 4, top - 4, width.max(0) + 8, height.max(0) + 8);
    html! {
        rect.halo x=(x) y=(y) width=(width) height=(height) rx="4" {}
        rect x=(x) y=(y) width=(width) height=(height) rx="4" {}
    }
}

/// A close-up for small screens, where the whole page is too small to read.
fn close_up(
    [left, top, width, height]: [i32; 4],
    whole_width: u32,
    whole_height: u32,
    drawing: &Markup,
) -> Markup {
    let bound = |value: i32, most: i32| value.clamp(0, most.max(0));
    let (most_width, most_height) =
        (i32::try_from(whole_width).unwrap_or(i32::MAX), i32::try_from(whole_height).unwrap_or(i32::MAX));
    let (near_width, near_height) = (CLOSE_UP_SIZE.0.min(most_width), CLOSE_UP_SIZE.1.min(most_height));
    let x = bound(left.saturating_add(width / 2) - near_width / 2, most_width - near_width);
    let y = bound(top.saturating_add(height / 2) - near_height / 2, most_height - near_height);
    html! {
        svg.near viewBox=(format_args!("{x} {y} {near_width} {near_height}")) role="img" aria-label="The element, close up" {
            (drawing)
        }
    }
}

/// The width and height in the header of a PNG or WebP.
fn size_of(bytes: &[u8]) -> Option<(u32, u32)> {
    let number = |at: usize, length: usize| -> Option<u32> {
        let part = bytes.get(at..at + length)?;
        Some(part.iter().rev().fold(0, |sum, byte| (sum << 8) | u32::from(*byte)))
    };
    if bytes.starts_with(b"\x89PNG") {
        return Some((number(16, 4)?.swap_bytes(), number(20, 4)?.swap_bytes()));
    }
    match bytes.get(12..16)? {
        b"VP8X" => Some((number(24, 3)? + 1, number(27, 3)? + 1)),
        b"VP8 " => Some((number(26, 2)? & 0x3fff, number(28, 2)? & 0x3fff)),
        b"VP8L" => {
            let bits = number(21, 4)?;
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_read_from_png_and_webp_headers() {
        let png = [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &[0, 0, 5, 0], &[0, 0, 3, 32]].concat();
        assert_eq!(size_of(&png), Some((1280, 800)));
        let lossy = [b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a".as_slice(), &[0, 5, 32, 3]].concat();
        assert_eq!(size_of(&lossy), Some((1280, 800)));
        let extended =
            [b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".as_slice(), &[255, 4, 0], &[31, 3, 0]].concat();
        assert_eq!(size_of(&extended), Some((1280, 800)));
        for other in [b"".as_slice(), b"\x89PNG", b"RIFF\0\0\0\0WEBPVP8L"] {
            assert_eq!(size_of(other), None);
        }
    }

    #[test]
    fn a_close_up_stays_within_the_page() {
        for (mark, expected) in [
            ([0, 0, 10, 10], "0 0 560 300"),
            ([1270, 790, 10, 10], "720 500 560 300"),
            ([600, 380, 80, 40], "360 250 560 300"),
        ] {
            let near = close_up(mark, 1280, 800, &html! {}).into_string();
            assert!(near.contains(&format!("viewBox=\"{expected}\"")), "{near}");
        }
    }
}
