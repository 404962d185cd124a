//! Projects rectangles of frames to the viewport of the tab.

use super::{MaskedFrame, MeasureReply};
use crate::{cdp::SessionId, error::BrowserError, page::ScriptCallError};
use redact::picture::PixelRect;
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, SeqAccess, Visitor},
};
use std::{fmt, marker::PhantomData};

/// The whole plane.
const EVERYTHING: PixelRect = [f64::MIN, f64::MIN, f64::MAX, f64::MAX];

/// Position and scale of a frame in its parent.
#[derive(Clone, Deserialize)]
pub(super) struct FramePlacement {
    /// The origin of its viewport, and the size of its pixels, in the parent.
    x: f64,
    y: f64,
    across: f64,
    down: f64,
    r#box: PixelRect,
    /// False if it is rotated or skewed, or unknown: its rectangles are no rectangles in the parent.
    upright: bool,
}

/// What of a frame is masked, in the viewport of the tab.
pub(super) struct FrameMask {
    pub rects: Vec<PixelRect>,
    /// The visible part of the frame; `None` if it is not shown.
    area: Option<PixelRect>,
    /// From the viewport of the frame to that of the tab.
    from: FramePlacement,
    is_whole: bool,
}

/// A list that is rejected as soon as it exceeds the bound.
pub(super) fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Items<T, const MOST: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Items<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MOST}")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Vec<T>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = sequence.next_element()? {
                if items.len() == MOST {
                    return Err(A::Error::invalid_length(MOST + 1, &self));
                }
                items.push(item);
            }
            Ok(items)
        }
    }

    deserializer.deserialize_seq(Items::<T, MOST>(PhantomData))
}

/// Parents stand before their children.
pub(super) fn project_all(
    frames: &[MaskedFrame],
    measured: Vec<Result<MeasureReply, ScriptCallError>>,
) -> Result<Vec<FrameMask>, BrowserError> {
    let mut replies: Vec<Option<MeasureReply>> = Vec::new();
    for (at, measured) in measured.into_iter().enumerate() {
        match measured {
            Err(error) if at == 0 => return Err(error.into()),
            measured => replies.push(measured.ok()),
        }
    }
    let main = FramePlacement { x: 0.0, y: 0.0, across: 1.0, down: 1.0, r#box: EVERYTHING, upright: true };
    let mut masks: Vec<FrameMask> = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let above = frames[..at].iter().position(|above| frame.parent.as_ref() == Some(&above.id));
        let (from, area, is_masked) = match above {
            Some(above) => {
                let place = replies[above].as_ref().and_then(|reply| placement_in(frames, above, at, reply));
                let (from, area) = project_frame(&masks[above], place);
                (from, area, masks[above].is_whole)
            }
            None if at == 0 => (main.clone(), Some(EVERYTHING), false),
            None => (FramePlacement { upright: false, ..main.clone() }, Some(EVERYTHING), false),
        };
        masks.push(mask_frame(frame, replies[at].as_ref(), from, area, is_masked));
    }
    Ok(masks)
}

/// `is_masked`: the whole of its parent is masked already.
fn mask_frame(
    frame: &MaskedFrame,
    reply: Option<&MeasureReply>,
    from: FramePlacement,
    area: Option<PixelRect>,
    is_masked: bool,
) -> FrameMask {
    let Some(visible) = area else { return FrameMask { rects: Vec::new(), area, from, is_whole: false } };
    let is_whole = match reply {
        None => true,
        Some(reply) => frame.opaque || reply.whole || (!reply.boxes.is_empty() && !from.upright),
    };
    let rects = match reply {
        _ if is_masked => Vec::new(),
        Some(reply) if !is_whole => {
            reply.boxes.iter().filter_map(|inner| intersection(from.project(*inner), visible)).collect()
        }
        _ => vec![visible],
    };
    FrameMask { rects, area, from, is_whole: is_whole || is_masked }
}

/// Masks the frames of these sessions as a whole.
pub(super) fn mask_whole(
    masks: Vec<FrameMask>,
    frames: &[MaskedFrame],
    sessions: &[SessionId],
) -> Vec<FrameMask> {
    let masks = masks.into_iter().zip(frames).map(|(mask, frame)| {
        if sessions.contains(&frame.session) {
            FrameMask { rects: mask.area.into_iter().collect(), ..mask }
        } else {
            mask
        }
    });
    masks.collect()
}

/// Children were requested in the order in which they stand here.
fn placement_in(
    frames: &[MaskedFrame],
    above: usize,
    at: usize,
    reply: &MeasureReply,
) -> Option<FramePlacement> {
    let siblings =
        frames.iter().enumerate().filter(|(_, frame)| frame.parent.as_ref() == Some(&frames[above].id));
    let nth = siblings.map(|(place, _)| place).position(|place| place == at)?;
    reply.places.get(nth)?.clone()
}

/// A child frame in the viewport of the tab. One that its parent does not know may be anywhere in it.
fn project_frame(above: &FrameMask, place: Option<FramePlacement>) -> (FramePlacement, Option<PixelRect>) {
    let Some(place) = place else {
        return (FramePlacement { upright: false, ..above.from.clone() }, above.area);
    };
    let outer = &above.from;
    let [left, top, ..] = outer.project([place.x, place.y, place.x, place.y]);
    let area = above.area.and_then(|area| intersection(outer.project(place.r#box), area));
    let from = FramePlacement {
        x: left,
        y: top,
        across: outer.across * place.across,
        down: outer.down * place.down,
        r#box: place.r#box,
        upright: outer.upright && place.upright,
    };
    (from, area)
}

impl FramePlacement {
    fn project(&self, [left, top, right, bottom]: PixelRect) -> PixelRect {
        let (across, down) = (|x: f64| self.x + x * self.across, |y: f64| self.y + y * self.down);
        [across(left), down(top), across(right), down(bottom)]
    }
}

/// `None` if they do not overlap.
fn intersection(a: PixelRect, b: PixelRect) -> Option<PixelRect> {
    let both = [a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])];
    (both[0] < both[2] && both[1] < both[3]).then_some(both)
}
