//! Screenshot masks: form fields, typed text and secrets are painted over in recorded screenshots.
//!
//! The rectangles are measured in every frame, the screenshot is taken, and it counts if nothing moved meanwhile: no layout
//! happened, and nothing masked was drawn elsewhere. The page cannot observe it, because nothing in it changes.

mod geometry;
mod stability;
mod terms;

use super::capture::{CaptureArea, ScreenshotImage};
use crate::{
    browser::Browser,
    cdp::SessionId,
    deadline::Deadline,
    error::BrowserError,
    page::{MAX_READABLE_FRAMES, ScriptCallError},
    script::ScriptFunction,
};
use futures_util::future::join_all;
use geometry::{FrameMask, FramePlacement};
use policy::{ElementFacts, ImageFormat, Screenshot};
use redact::picture::{self, PictureFormat, PixelRect};
use serde::{Deserialize, Serialize};
use stability::{LayoutCounts, Movement, StabilityReply};
use std::{collections::HashMap, sync::Arc, time::Duration};
pub use terms::ScreenshotMask;

/// Screenshots of a moving page that are tried.
const MAX_ATTEMPTS: usize = 5;

/// How long a frame may take to answer. One that does not is masked as a whole.
const FRAME_WAIT: Duration = Duration::from_secs(1);

/// Bytes of replies: the script sends up to [`MAX_TEXT`], of which a unit takes up to six bytes, and a thousand
/// rectangles. A frame that sends more is masked as a whole, and so is a child frame with more than a few hundred thousand
/// characters: all of them together stay near 100 MiB.
const MAX_TEXT_REPLY: usize = 16 << 20;
const MAX_CHILD_TEXT_REPLY: usize = 2 << 20;
const MAX_MEASURE_REPLY: usize = 256 << 10;
const MAX_TRANSIENT_REPLY: usize = 4 << 20;
/// In characters, as in the script.
const MAX_TEXT: usize = 2_000_000;
/// As in the script.
const MAX_RECTS: usize = 1000;

/// The result of searching a frame's text.
struct FrameSearch {
    is_complete: bool,
    found: bool,
    has_fields: bool,
    ranges: Vec<u32>,
    had_transient: bool,
}

impl ScreenshotMask {
    /// May take seconds.
    fn search(&self, reply: TextReply, again: bool) -> FrameSearch {
        let is_complete = reply.all && reply.text.chars().nth(MAX_TEXT).is_none();
        let found = if is_complete { self.find(&reply.text) } else { Vec::new() };
        let ranges: Vec<u32> = found.into_iter().flat_map(|range| [range.start, range.end]).collect();
        let is_in_transient = || reply.transient.is_none_or(|text| !self.find(&text).is_empty());
        FrameSearch {
            is_complete,
            found: reply.found || !ranges.is_empty(),
            has_fields: reply.fields,
            ranges,
            had_transient: again && self.has_terms() && is_in_transient(),
        }
    }
}

#[derive(Serialize)]
struct TextRequest {
    words: bool,
    /// Canvases and plug-ins may draw text as well.
    drawings: bool,
    /// Only secret fields count.
    secrets: bool,
    /// The script also remembers text that appeared since the last request.
    again: bool,
}

/// A frame's text, and whether something in it is masked in any case.
#[derive(Deserialize)]
struct TextReply {
    text: String,
    /// The text is complete.
    all: bool,
    found: bool,
    /// There are fields; their content can change without a trace.
    fields: bool,
    still: bool,
    /// Text that appeared since the last request; `None` if that is unknown.
    #[serde(skip)]
    transient: Option<String>,
}

/// Text that appeared until closed roots were searched for, if that is known.
#[derive(Deserialize)]
struct TransientReply {
    passed: Option<String>,
}

#[derive(Serialize)]
struct MeasureRequest<'a> {
    /// Alternating starts and ends.
    ranges: Vec<u32>,
    frames: Vec<&'a str>,
    /// Watch whether all of it holds still.
    watched: bool,
}

#[derive(Deserialize)]
struct MeasureReply {
    #[serde(deserialize_with = "geometry::at_most::<__D, _, MAX_RECTS>")]
    boxes: Vec<PixelRect>,
    whole: bool,
    #[serde(deserialize_with = "geometry::at_most::<__D, _, MAX_READABLE_FRAMES>")]
    places: Vec<Option<FramePlacement>>,
}

/// A frame, and what the search found in it.
struct MaskedFrame {
    id: String,
    parent: Option<String>,
    session: SessionId,
    /// It has a term, or something else to mask.
    found: bool,
    has_fields: bool,
    ranges: Vec<u32>,
    /// A term may have appeared and vanished between two searches.
    had_transient: bool,
    /// It cannot be searched.
    opaque: bool,
}

impl Browser {
    /// A masked screenshot. `None` if the page of the agent's own screenshot has nothing to mask and `reuse_unmasked` is
    /// set: its own will do.
    pub(crate) async fn masked_screenshot(
        &self,
        wanted: &Screenshot,
        target: Option<&ElementFacts>,
        mask: &ScreenshotMask,
        reuse_unmasked: bool,
        deadline: Deadline,
    ) -> Result<Option<ScreenshotImage>, BrowserError> {
        if mask.is_incomplete {
            return Err(BrowserError::MaskFailed { why: "the session typed more text than Stockade keeps" });
        }
        if mask.terms.is_too_large() {
            return Err(BrowserError::MaskFailed { why: "too many texts to mask" });
        }
        let has_terms = mask.has_terms();
        let mask = &Arc::new(mask.clone());
        for attempt in 1..=MAX_ATTEMPTS {
            let area = self.capture_area(wanted, target, deadline).await?;
            let (frames, counts) = self.search_frames(mask, false, deadline).await?;
            let has_nothing = !has_terms && !frames.iter().any(|frame| frame.found);
            if reuse_unmasked && has_nothing && self.is_on_screenshot_page() {
                return Ok(None);
            }
            let is_watched = has_terms || frames.iter().any(|frame| frame.found || frame.has_fields);
            let before =
                if is_watched && !has_terms { self.layout_counts(&frames, deadline).await } else { counts };
            let mut masks = self.measure(&frames, is_watched, deadline).await?;
            let masks_nothing = masks.iter().all(|mask| mask.rects.is_empty());
            let format = if masks_nothing { wanted.format } else { ImageFormat::Png };
            let image = self.capture(&area, format, deadline).await?;
            if is_watched {
                let beyond = area.beyond_viewport;
                let moved = self.moved_sessions(mask, &frames, &before, beyond, deadline).await?;
                let main = frames.first().map(|frame| &frame.session);
                if moved.iter().any(|session| Some(session) == main) {
                    continue;
                }
                if !moved.is_empty() {
                    if attempt < MAX_ATTEMPTS {
                        continue;
                    }
                    masks = geometry::mask_whole(masks, &frames, &moved);
                }
            }
            return self.paint_masks(image, wanted.format, &area, masks).await.map(Some);
        }
        Err(BrowserError::MaskFailed { why: "the page kept moving" })
    }

    /// Gets the text of every frame, and searches it.
    async fn search_frames(
        &self,
        mask: &Arc<ScreenshotMask>,
        again: bool,
        deadline: Deadline,
    ) -> Result<(Vec<MaskedFrame>, Vec<LayoutCounts>), BrowserError> {
        let readable = self.readable_frames();
        let too_many = self.has_more_frames(readable.len());
        let refused = || Err(BrowserError::MaskFailed { why: "the page has too many frames" });
        if too_many && !mask.only_secrets {
            return refused();
        }
        let limit = deadline.within(FRAME_WAIT);
        join_all(readable.iter().skip(1).map(|(frame, _)| self.register_frame_owner(frame, limit))).await;
        let mut processes: Vec<(SessionId, Vec<(String, String)>)> = Vec::new();
        for readable in &readable {
            let Some((_, session)) = self.parent_and_session(&readable.0) else { continue };
            match processes.iter_mut().find(|(known, _)| *known == session) {
                Some((_, frames)) => frames.push(readable.clone()),
                None => processes.push((session, vec![readable.clone()])),
            }
        }
        // Each process by itself: one that hangs must not affect the others.
        let main = readable.first().map(|(frame, _)| frame);
        let texts = processes.iter().map(|(session, frames)| async move {
            let is_main = frames.first().map(|(frame, _)| frame) == main;
            let limit = if is_main { deadline } else { limit };
            // Before the search: what appears after it causes a layout after it.
            let is_counted = !again && mask.has_terms();
            let counts = if is_counted { Some(self.layout_count(session, limit).await) } else { None };
            (counts, self.read_process(frames, main, mask, again, limit).await)
        });
        let (counts, texts): (Vec<_>, Vec<_>) = join_all(texts).await.into_iter().unzip();
        let texts: HashMap<String, Result<TextReply, ScriptCallError>> =
            texts.into_iter().flatten().collect();
        let mask = Arc::clone(mask);
        let search = move |(id, text): (String, Result<TextReply, ScriptCallError>)| {
            (id, text.map(|text| mask.search(text, again)))
        };
        let searched = tokio::task::spawn_blocking(move || texts.into_iter().map(search).collect());
        let searched = searched.await.map_err(|e| BrowserError::BadScreenshot { why: e.to_string() })?;
        let frames = self.masked_frames(readable, searched)?;
        if too_many && frames.iter().any(|frame| frame.found || frame.has_fields) {
            return refused();
        }
        Ok((frames, counts.into_iter().flatten().collect()))
    }

    /// The text of the frames of a process. It is incomplete if they may have unknown closed shadow roots.
    async fn read_process(
        &self,
        frames: &[(String, String)],
        main: Option<&String>,
        mask: &ScreenshotMask,
        again: bool,
        limit: Deadline,
    ) -> Vec<(String, Result<TextReply, ScriptCallError>)> {
        let words = mask.has_terms();
        let request = TextRequest { words, drawings: words, secrets: mask.only_secrets, again };
        for renderer in self.renderer_frames(frames) {
            // A closed root is added without a trace, so a recent count is not enough.
            self.set_counted(&renderer, None);
        }
        let read = || {
            join_all(frames.iter().map(|(frame, _)| {
                let most = if Some(frame) == main { MAX_TEXT_REPLY } else { MAX_CHILD_TEXT_REPLY };
                self.call_script_bounded::<_, TextReply>(
                    most,
                    frame,
                    ScriptFunction::CollectMaskText,
                    &request,
                    limit,
                )
            }))
        };
        let is_unchanged = |reply: &Result<TextReply, _>| reply.as_ref().is_ok_and(|reply| reply.still);
        if again && words && !self.discover_empty_roots(frames, limit).await {
            // As in the first search, non-empty roots are found by counting.
            tracing::debug!("search for empty shadow roots failed");
        }
        let (mut texts, roots) = self.call_with_known_roots(frames, limit, read, is_unchanged).await;
        if again && words {
            join_all(frames.iter().zip(&mut texts).map(|((frame, _), text)| async {
                let Ok(text) = text else { return };
                let reply = self
                    .call_script_bounded::<_, TransientReply>(
                        MAX_TRANSIENT_REPLY,
                        frame,
                        ScriptFunction::ReadTransientText,
                        &(),
                        limit,
                    )
                    .await;
                text.transient = reply.ok().and_then(|reply| reply.passed);
            }))
            .await;
        }
        let whole = |text: TextReply| TextReply { all: text.all && roots.is_complete, ..text };
        frames
            .iter()
            .map(|(frame, _)| frame.clone())
            .zip(texts.into_iter().map(|text| text.map(whole)))
            .collect()
    }

    fn masked_frames(
        &self,
        readable: Vec<(String, String)>,
        mut searched: HashMap<String, Result<FrameSearch, ScriptCallError>>,
    ) -> Result<Vec<MaskedFrame>, BrowserError> {
        let mut frames = Vec::new();
        for (id, _) in readable {
            let Some((parent, session)) = self.parent_and_session(&id) else { continue };
            let is_main = frames.is_empty();
            let searched = match searched.remove(&id).unwrap_or(Err(ScriptCallError::Gone)) {
                Ok(searched) if searched.is_complete => Some(searched),
                Ok(_) if is_main => {
                    return Err(BrowserError::MaskFailed { why: "the page is too large to search" });
                }
                Err(error) if is_main => return Err(error.into()),
                Ok(_) | Err(_) => None,
            };
            let opaque = searched.is_none();
            let unknown = FrameSearch {
                is_complete: false,
                found: true,
                has_fields: true,
                ranges: Vec::new(),
                had_transient: false,
            };
            let FrameSearch { found, has_fields, ranges, had_transient, .. } = searched.unwrap_or(unknown);
            frames.push(MaskedFrame {
                id,
                parent,
                session,
                found,
                has_fields,
                ranges,
                had_transient,
                opaque,
            });
        }
        if frames.is_empty() { Err(BrowserError::TabClosed) } else { Ok(frames) }
    }

    /// The masks of all frames, in the viewport of the tab.
    async fn measure(
        &self,
        frames: &[MaskedFrame],
        watched: bool,
        deadline: Deadline,
    ) -> Result<Vec<FrameMask>, BrowserError> {
        let measured = frames.iter().enumerate().map(|(at, frame)| async move {
            if frame.opaque {
                return Err(ScriptCallError::Gone);
            }
            let limit = if at == 0 { deadline } else { deadline.within(FRAME_WAIT) };
            let children = frames.iter().filter(|child| child.parent.as_ref() == Some(&frame.id));
            let children = children.map(|child| child.id.as_str()).collect();
            let request = MeasureRequest { ranges: frame.ranges.clone(), frames: children, watched };
            self.call_script_bounded::<_, MeasureReply>(
                MAX_MEASURE_REPLY,
                &frame.id,
                ScriptFunction::MeasureMask,
                &request,
                limit,
            )
            .await
        });
        let measured: Vec<Result<MeasureReply, ScriptCallError>> = join_all(measured).await;
        geometry::project_all(frames, measured)
    }

    /// The sessions of frames with something to mask that did not hold still.
    async fn moved_sessions(
        &self,
        mask: &Arc<ScreenshotMask>,
        frames: &[MaskedFrame],
        before: &[LayoutCounts],
        beyond_viewport: bool,
        deadline: Deadline,
    ) -> Result<Vec<SessionId>, BrowserError> {
        let limit = deadline.within(FRAME_WAIT);
        let held = frames.iter().map(|frame| async move {
            if frame.opaque {
                return None;
            }
            self.call_script::<_, StabilityReply>(&frame.id, ScriptFunction::VerifyMask, &(), limit)
                .await
                .ok()
        });
        let held: Vec<Option<StabilityReply>> = join_all(held).await;
        let after = self.layout_counts(frames, deadline).await;
        self.stop_counting(&after, deadline).await;
        let movement = Movement::of(frames, &held, before, &after, beyond_viewport);
        let moved = movement.moved_masked(frames, !mask.terms.is_empty());
        if !moved.is_empty() || movement.is_none() {
            return Ok(moved);
        }
        let (now, _) = self.search_frames(mask, true, deadline).await?;
        Ok(movement.newly_masked(frames, &now))
    }

    async fn paint_masks(
        &self,
        image: ScreenshotImage,
        format: ImageFormat,
        area: &CaptureArea,
        masks: Vec<FrameMask>,
    ) -> Result<ScreenshotImage, BrowserError> {
        let rects: Vec<PixelRect> =
            masks.into_iter().flat_map(|mask| mask.rects).map(|rect| area.to_image_rect(rect)).collect();
        if rects.is_empty() {
            return Ok(image);
        }
        let bytes = image.bytes.clone();
        let (format, encoding) = match format {
            ImageFormat::Png => (ImageFormat::Png, PictureFormat::Png),
            ImageFormat::Jpeg | ImageFormat::Webp => (ImageFormat::Webp, PictureFormat::WebP),
        };
        let painted = tokio::task::spawn_blocking(move || picture::paint(&bytes, &rects, encoding)).await;
        let painted = painted.map_err(|e| BrowserError::BadScreenshot { why: e.to_string() })?;
        let bytes = painted.map_err(|e| BrowserError::BadScreenshot { why: e.to_string() })?.into();
        Ok(ScreenshotImage { bytes, format, ..image })
    }

    fn is_on_screenshot_page(&self) -> bool {
        let state = self.shared.lock();
        state.tab.as_ref().is_some_and(|tab| tab.commits_at_screenshot == Some(tab.commits))
    }

    fn parent_and_session(&self, frame: &str) -> Option<(Option<String>, SessionId)> {
        let state = self.shared.lock();
        let known = state.tab.as_ref()?.frames.get(frame)?;
        Some((known.parent.clone(), known.session.clone()))
    }

    fn has_more_frames(&self, readable: usize) -> bool {
        let state = self.shared.lock();
        state
            .tab
            .as_ref()
            .is_some_and(|tab| tab.frames.has_untracked() || tab.frames.inside(&tab.target).len() > readable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_beyond_the_bounds_are_neither_searched_nor_measured() {
        for (length, is_complete) in [(10, true), (MAX_TEXT, true), (MAX_TEXT + 1, false)] {
            let text = "x".repeat(length);
            let reply =
                TextReply { text, all: true, found: false, fields: false, still: true, transient: None };
            let searched = ScreenshotMask::typed_text(["xxx x"]).search(reply, false);
            let result = (searched.is_complete, searched.found, searched.had_transient);
            assert_eq!(result, (is_complete, is_complete, false), "{length}");
        }
        for (boxes, places, taken) in [(1000, 50, true), (1001, 50, false), (1000, 51, false)] {
            let (boxes, places) = (vec![[0; 4]; boxes], vec![(); places]);
            let reply = serde_json::json!({"boxes": boxes, "whole": false, "places": places});
            assert_eq!(serde_json::from_value::<MeasureReply>(reply).is_ok(), taken);
        }
    }
}
