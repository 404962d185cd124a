//! Screenshots, limited in pixels whatever size the page claims to have.

use crate::{
    browser::Browser,
    cdp::{MAX_MESSAGE_BYTES, protocol as p},
    deadline::Deadline,
    error::BrowserError,
    targeting::{ActionabilityCheck, ElementBox, Purpose, TargetUse},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use policy::{ElementFacts, ImageFormat, Screenshot};
use redact::picture::PixelRect;

/// Limit of width and height: one less than Chromium's limit for a texture, because WebP ends there.
const MAX_SIDE: u32 = 16_383;
/// Bytes per pixel in the worst case, a PNG of noise.
const PIXEL_BYTES: usize = 4;
/// What a message leaves for the image: 4 MiB are far more than the rest takes.
const MAX_BASE64_BYTES: usize = MAX_MESSAGE_BYTES - (4 << 20);
/// Base64 encodes three bytes as four characters. A message that is too large would end the connection, so no
/// screenshot is taken that could exceed it.
const MAX_PIXELS: u32 = (MAX_BASE64_BYTES / 4 * 3 / PIXEL_BYTES) as u32;
/// Enough to read small text, at about a tenth of a PNG's size.
const QUALITY: u32 = 80;

#[derive(Clone, Debug)]
pub struct ScreenshotImage {
    pub bytes: Bytes,
    pub format: ImageFormat,
    pub width: u32,
    pub height: u32,
    /// What of the page was cut off.
    pub omitted: Option<OmittedPixels>,
}

/// A picture has no text of its own; what it shows is masked when it is taken.
impl redact::RedactedFields for ScreenshotImage {}

/// How much of the page, or of the viewport, was cut off, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OmittedPixels {
    pub right: u32,
    pub bottom: u32,
}

/// The part of the page that a screenshot captures.
pub(crate) struct CaptureArea {
    clip: p::Clip,
    omitted: Option<OmittedPixels>,
    /// Whether it extends beyond the viewport.
    pub beyond_viewport: bool,
    /// Scroll position of the page.
    scroll: (f64, f64),
}

impl CaptureArea {
    /// Converts a rectangle from viewport to image coordinates.
    pub fn to_image_rect(&self, [left, top, right, bottom]: PixelRect) -> PixelRect {
        let (x, y) = (self.scroll.0 - self.clip.x, self.scroll.1 - self.clip.y);
        [left + x, top + y, right + x, bottom + y]
    }
}

impl Browser {
    pub(crate) async fn capture_area(
        &self,
        wanted: &Screenshot,
        target: Option<&ElementFacts>,
        deadline: Deadline,
    ) -> Result<CaptureArea, BrowserError> {
        let max_pixels = self.options.max_pixels.min(MAX_PIXELS);
        let element = match target {
            Some(target) => Some(self.element_box(target, deadline).await?),
            None => None,
        };
        let page = self.call_tab(&p::GetLayoutMetrics {}, deadline).await?;
        let (size, view) = (page.css_content_size, page.css_layout_viewport);
        let (x, y, width, height) = match element {
            Some(element_box) => element_box,
            None if wanted.full_page => (0.0, 0.0, to_pixels(size.width), to_pixels(size.height)),
            None => (view.page_x, view.page_y, to_pixels(view.client_width), to_pixels(view.client_height)),
        };
        let (width, height, omitted) = fit_size(width, height, max_pixels);
        Ok(CaptureArea {
            clip: rectangle(x, y, width, height),
            omitted,
            beyond_viewport: wanted.full_page || target.is_some(),
            scroll: (view.page_x, view.page_y),
        })
    }

    pub(crate) async fn capture(
        &self,
        area: &CaptureArea,
        format: ImageFormat,
        deadline: Deadline,
    ) -> Result<ScreenshotImage, BrowserError> {
        let capture = p::CaptureScreenshot {
            format: match format {
                ImageFormat::Png => "png",
                ImageFormat::Jpeg => "jpeg",
                ImageFormat::Webp => "webp",
            },
            quality: (format != ImageFormat::Png).then_some(QUALITY),
            clip: area.clip.clone(),
            capture_beyond_viewport: area.beyond_viewport,
        };
        let captured = self.call_tab(&capture, deadline).await?;
        let bytes = STANDARD.decode(captured.data).map_err(|source| BrowserError::BadImage { source })?;
        let (width, height) = (to_pixels(area.clip.width), to_pixels(area.clip.height));
        Ok(ScreenshotImage { bytes: bytes.into(), format, width, height, omitted: area.omitted })
    }

    /// The box of an element on the page, in the viewport or not: left, top, width, height.
    async fn element_box(
        &self,
        target: &ElementFacts,
        deadline: Deadline,
    ) -> Result<(f64, f64, u32, u32), BrowserError> {
        let element = self.element(&target.element)?;
        let check = ActionabilityCheck {
            target_use: TargetUse { purpose: Purpose::See, point: None },
            steady: false,
            arm: None,
        };
        let actionable = self.wait_actionable(&element, check, deadline).await?;
        let view = self.call_tab(&p::GetLayoutMetrics {}, deadline).await?.css_layout_viewport;
        let ElementBox { left, top, width, height } = actionable.element_box;
        Ok((
            view.page_x + actionable.x + left,
            view.page_y + actionable.y + top,
            to_pixels(width),
            to_pixels(height),
        ))
    }
}

fn rectangle(x: f64, y: f64, width: u32, height: u32) -> p::Clip {
    p::Clip { x, y, width: f64::from(width), height: f64::from(height), scale: 1.0 }
}

/// Rounds a page's size up to pixels; at least one, also for NaN.
fn to_pixels(size: f64) -> u32 {
    // A cast from float saturates, and turns NaN into zero.
    (size.ceil() as u32).max(1)
}

/// Cuts a size to the limits: the width first, then as much height as the pixels allow.
fn fit_size(width: u32, height: u32, max_pixels: u32) -> (u32, u32, Option<OmittedPixels>) {
    let fit_width = width.min(MAX_SIDE);
    let fit_height = height.min(MAX_SIDE).min((max_pixels / fit_width).max(1));
    let omitted = OmittedPixels { right: width - fit_width, bottom: height - fit_height };
    (fit_width, fit_height, (omitted != OmittedPixels { right: 0, bottom: 0 }).then_some(omitted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_screenshot_exceeds_the_pixel_limits() {
        for ((width, height), (fit_width, fit_height), cut) in [
            ((1280, 800), (1280, 800), false),
            ((1280, 20_000), (1280, 16_383), true),
            ((4000, 16_383), (4000, 10_000), true),
            ((100_000, 10), (16_383, 10), true),
            ((u32::MAX, u32::MAX), (16_383, 2441), true),
        ] {
            let (w, h, omitted) = fit_size(width, height, 40_000_000);
            assert_eq!((w, h, omitted.is_some()), (fit_width, fit_height, cut), "{width} x {height}");
            assert!(w * h <= 40_000_000);
        }
    }

    #[test]
    fn an_invalid_size_becomes_one_pixel() {
        for (size, expected) in [(f64::NAN, 1), (-5.0, 1), (0.0, 1), (1.2, 2), (f64::INFINITY, u32::MAX)] {
            assert_eq!(to_pixels(size), expected, "{size}");
        }
    }
}
