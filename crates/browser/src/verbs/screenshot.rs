//! Screenshots, limited in pixels whatever size the page claims to have.

use crate::{
    aim::{Around, How, Looking, Purpose},
    browser::Browser,
    cdp::{LARGEST_MESSAGE, protocol as p},
    cover::Cover,
    deadline::{Deadline, TimeLimit},
    error::BrowserError,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use policy::{ElementFacts, ImageFormat, Screenshot};

/// Limit of width and height: one less than Chromium's limit for a texture, because WebP ends there.
const LONGEST_SIDE: u32 = 16_383;
/// Bytes per pixel in the worst case, a PNG of noise.
const PIXEL_BYTES: usize = 4;
/// What a message leaves for the image: 4 MiB are far more than the rest takes.
const PICTURE_BASE64: usize = LARGEST_MESSAGE - (4 << 20);
/// Base64 encodes three bytes as four characters. A message that is too large would end the connection, so no
/// screenshot is taken that could exceed it.
const MOST_PIXELS: u32 = (PICTURE_BASE64 / 4 * 3 / PIXEL_BYTES) as u32;
/// Enough to read small text, at about a tenth of a PNG's size.
const QUALITY: u32 = 80;

#[derive(Clone, Debug)]
pub struct Image {
    pub bytes: Bytes,
    pub format: ImageFormat,
    pub width: u32,
    pub height: u32,
    /// What of the page was cut off.
    pub omitted: Option<Omitted>,
}

/// How much of the page, or of the viewport, was cut off, in CSS pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Omitted {
    pub right: u32,
    pub bottom: u32,
}

/// The part of the page that a screenshot captures.
pub(crate) struct Framed {
    clip: p::Clip,
    omitted: Option<Omitted>,
    /// Whether it extends beyond the viewport.
    pub beyond: bool,
    /// Scroll position of the page.
    scrolled: (f64, f64),
}

impl Framed {
    /// Converts a box from viewport to image coordinates.
    pub fn on_picture(&self, [left, top, right, bottom]: [f64; 4]) -> [f64; 4] {
        let (x, y) = (self.scrolled.0 - self.clip.x, self.scrolled.1 - self.clip.y);
        [left + x, top + y, right + x, bottom + y]
    }
}

impl Browser {
    pub(super) async fn screenshot(
        &self,
        wanted: &Screenshot,
        target: Option<&ElementFacts>,
        deadline: Deadline,
    ) -> Result<Image, BrowserError> {
        if let Some(tab) = &mut self.shared.lock().tab {
            tab.pictured = Some(tab.commits);
        }
        let framed = self.frame_up(wanted, target, deadline).await?;
        self.capture(&framed, wanted.format, deadline).await
    }

    pub(crate) async fn frame_up(
        &self,
        wanted: &Screenshot,
        target: Option<&ElementFacts>,
        deadline: Deadline,
    ) -> Result<Framed, BrowserError> {
        let most = self.options.max_pixels.min(MOST_PIXELS);
        let area = match target {
            Some(target) => Some(self.box_of(target, deadline).await?),
            None => None,
        };
        let page = self.call_tab(&p::GetLayoutMetrics {}, deadline).await?;
        let (size, view) = (page.css_content_size, page.css_layout_viewport);
        let (x, y, width, height) = match area {
            Some(area) => area,
            None if wanted.full_page => (0.0, 0.0, whole(size.width), whole(size.height)),
            None => (view.page_x, view.page_y, whole(view.client_width), whole(view.client_height)),
        };
        let (width, height, omitted) = fit(width, height, most);
        Ok(Framed {
            clip: rectangle(x, y, width, height),
            omitted,
            beyond: wanted.full_page || target.is_some(),
            scrolled: (view.page_x, view.page_y),
        })
    }

    pub(crate) async fn capture(
        &self,
        framed: &Framed,
        format: ImageFormat,
        deadline: Deadline,
    ) -> Result<Image, BrowserError> {
        let capture = p::CaptureScreenshot {
            format: match format {
                ImageFormat::Png => "png",
                ImageFormat::Jpeg => "jpeg",
                ImageFormat::Webp => "webp",
            },
            quality: (format != ImageFormat::Png).then_some(QUALITY),
            clip: framed.clip.clone(),
            capture_beyond_viewport: framed.beyond,
        };
        let captured = self.call_tab(&capture, deadline).await?;
        let bytes = STANDARD.decode(captured.data).map_err(|source| BrowserError::BadImage { source })?;
        let (width, height) = (whole(framed.clip.width), whole(framed.clip.height));
        Ok(Image { bytes: bytes.into(), format, width, height, omitted: framed.omitted })
    }
}

/// A screenshot for the recording, with the box of the element that an action is about to hit.
#[derive(Clone, Debug)]
pub struct Picture {
    pub image: Image,
    /// Left, top, width and height, in pixels of the image.
    pub mark: Option<[i32; 4]>,
}

/// The form in which an agent's screenshot may be recorded.
#[derive(Clone, Debug)]
pub enum Kept {
    /// Nothing has to be masked.
    AsTaken,
    Covered(Image),
}

impl Browser {
    /// Captures the tab for the recording, with fields and the given texts masked. Like `resolve`, it only observes.
    pub async fn picture(
        &self,
        target: Option<&ElementFacts>,
        format: ImageFormat,
        cover: &Cover,
        limit: TimeLimit,
    ) -> Result<Picture, BrowserError> {
        let _turn = self.turn.lock().await;
        let deadline = Deadline::of(limit, "picture");
        self.not_asking()?;
        let mark = match target {
            // Keys may go to an element that is not visible; the screenshot is useful without its box.
            Some(target) => self.mark_of(target, deadline).await.ok(),
            None => None,
        };
        let wanted = Screenshot { format, ..Screenshot::default() };
        match self.covered(&wanted, None, cover, false, deadline).await? {
            Some(image) => Ok(Picture { image, mark }),
            None => Err(BrowserError::TabClosed),
        }
    }

    /// The screenshot that the agent has just taken, as it may be recorded: captured again with masks, if anything
    /// has to be masked. The agent knows what it typed and gets its own unmasked.
    pub async fn keepable(
        &self,
        taken: &Screenshot,
        target: Option<&ElementFacts>,
        cover: &Cover,
        limit: TimeLimit,
    ) -> Result<Kept, BrowserError> {
        let _turn = self.turn.lock().await;
        let deadline = Deadline::of(limit, "picture");
        self.not_asking()?;
        Ok(self.covered(taken, target, cover, true, deadline).await?.map_or(Kept::AsTaken, Kept::Covered))
    }

    /// A page with an open dialog cannot be captured.
    fn not_asking(&self) -> Result<(), BrowserError> {
        self.question().map_or(Ok(()), |question| Err(question.error()))
    }

    async fn mark_of(&self, target: &ElementFacts, deadline: Deadline) -> Result<[i32; 4], BrowserError> {
        let element = self.element(&target.element)?;
        let looking = Looking { how: How { purpose: Purpose::See, spot: None }, steady: false, arm: None };
        let aim = self.aim(&element, looking, deadline).await?;
        Ok(aim.around.of_tab(aim.x, aim.y))
    }

    /// The box of an element on the page, in the viewport or not: left, top, width, height.
    async fn box_of(
        &self,
        target: &ElementFacts,
        deadline: Deadline,
    ) -> Result<(f64, f64, u32, u32), BrowserError> {
        let element = self.element(&target.element)?;
        let looking = Looking { how: How { purpose: Purpose::See, spot: None }, steady: false, arm: None };
        let aim = self.aim(&element, looking, deadline).await?;
        let view = self.call_tab(&p::GetLayoutMetrics {}, deadline).await?.css_layout_viewport;
        let Around { left, top, width, height } = aim.around;
        Ok((view.page_x + aim.x + left, view.page_y + aim.y + top, whole(width), whole(height)))
    }
}

fn rectangle(x: f64, y: f64, width: u32, height: u32) -> p::Clip {
    p::Clip { x, y, width: f64::from(width), height: f64::from(height), scale: 1.0 }
}

/// Rounds a page's size up to pixels; at least one, also for NaN.
fn whole(size: f64) -> u32 {
    // A cast from float saturates, and turns NaN into zero.
    (size.ceil() as u32).max(1)
}

/// Cuts a size to the limits: the width first, then as much height as the pixels allow.
fn fit(width: u32, height: u32, most_pixels: u32) -> (u32, u32, Option<Omitted>) {
    let fit_width = width.min(LONGEST_SIDE);
    let fit_height = height.min(LONGEST_SIDE).min((most_pixels / fit_width).max(1));
    let omitted = Omitted { right: width - fit_width, bottom: height - fit_height };
    (fit_width, fit_height, (omitted != Omitted { right: 0, bottom: 0 }).then_some(omitted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_page_is_pictured_beyond_the_bounds() {
        for ((width, height), (fit_width, fit_height), cut) in [
            ((1280, 800), (1280, 800), false),
            ((1280, 20_000), (1280, 16_383), true),
            ((4000, 16_383), (4000, 10_000), true),
            ((100_000, 10), (16_383, 10), true),
            ((u32::MAX, u32::MAX), (16_383, 2441), true),
        ] {
            let (w, h, omitted) = fit(width, height, 40_000_000);
            assert_eq!((w, h, omitted.is_some()), (fit_width, fit_height, cut), "{width} x {height}");
            assert!(w * h <= 40_000_000);
        }
    }

    #[test]
    fn a_size_that_is_no_number_is_one_pixel() {
        for (size, expected) in [(f64::NAN, 1), (-5.0, 1), (0.0, 1), (1.2, 2), (f64::INFINITY, u32::MAX)] {
            assert_eq!(whole(size), expected, "{size}");
        }
    }
}
