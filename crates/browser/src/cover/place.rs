//! From boxes in frames to boxes on the tab.

use super::{Frame, Measured};
use crate::{ask::AskError, cdp::SessionId, error::BrowserError, paint::Box};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, SeqAccess, Visitor},
};
use std::{fmt, marker::PhantomData};

/// All there is.
const EVERYTHING: Box = [f64::MIN, f64::MIN, f64::MAX, f64::MAX];

/// How a frame's parent shows it.
#[derive(Clone, Deserialize)]
pub(super) struct Place {
    /// Where its own view begins, and how large its units are there.
    x: f64,
    y: f64,
    across: f64,
    down: f64,
    r#box: Box,
    /// Or it is turned, or nobody knows: boxes in it are none on the page.
    upright: bool,
}

/// What of a frame is to be covered, in the tab's view.
pub(super) struct Placed {
    pub boxes: Vec<Box>,
    /// All that is seen of the frame; None if it is not shown.
    area: Option<Box>,
    /// From the frame's own view to the tab's.
    from: Place,
    whole: bool,
}

/// A list that is refused as soon as it is longer than it can be.
pub(super) fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Items<T, const MOST: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Items<T, MOST> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MOST}")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut told: A) -> Result<Vec<T>, A::Error> {
            let mut items = Vec::new();
            while let Some(item) = told.next_element()? {
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
pub(super) fn all(
    frames: &[Frame],
    measured: Vec<Result<Measured, AskError>>,
) -> Result<Vec<Placed>, BrowserError> {
    let mut told: Vec<Option<Measured>> = Vec::new();
    for (at, measured) in measured.into_iter().enumerate() {
        match measured {
            Err(error) if at == 0 => return Err(error.into()),
            measured => told.push(measured.ok()),
        }
    }
    let main = Place { x: 0.0, y: 0.0, across: 1.0, down: 1.0, r#box: EVERYTHING, upright: true };
    let mut placed: Vec<Placed> = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let above = frames[..at].iter().position(|above| frame.parent.as_ref() == Some(&above.id));
        let (from, area, is_covered) = match above {
            Some(above) => {
                let place = told[above].as_ref().and_then(|told| place_in(frames, above, at, told));
                let (from, area) = through(&placed[above], place);
                (from, area, placed[above].whole)
            }
            None if at == 0 => (main.clone(), Some(EVERYTHING), false),
            None => (Place { upright: false, ..main.clone() }, Some(EVERYTHING), false),
        };
        placed.push(cover(frame, told[at].as_ref(), from, area, is_covered));
    }
    Ok(placed)
}

fn cover(frame: &Frame, told: Option<&Measured>, from: Place, area: Option<Box>, is_covered: bool) -> Placed {
    let Some(seen) = area else { return Placed { boxes: Vec::new(), area, from, whole: false } };
    let whole = match told {
        None => true,
        Some(told) => frame.opaque || told.whole || (!told.boxes.is_empty() && !from.upright),
    };
    let boxes = match told {
        _ if is_covered => Vec::new(),
        Some(told) if !whole => {
            told.boxes.iter().filter_map(|inner| within(from.outwards(*inner), seen)).collect()
        }
        _ => vec![seen],
    };
    Placed { boxes, area, from, whole: whole || is_covered }
}

/// Covers every frame of these sessions that has something to cover as a whole.
pub(super) fn whole_of(placed: Vec<Placed>, frames: &[Frame], restless: &[SessionId]) -> Vec<Placed> {
    let is_restless = |frame: &Frame| restless.contains(&frame.session);
    let covered = placed.into_iter().zip(frames).map(|(placed, frame)| {
        if is_restless(frame) {
            Placed { boxes: placed.area.into_iter().collect(), ..placed }
        } else {
            placed
        }
    });
    covered.collect()
}

/// Children were asked for in the order in which they stand here.
fn place_in(frames: &[Frame], above: usize, at: usize, told: &Measured) -> Option<Place> {
    let siblings =
        frames.iter().enumerate().filter(|(_, frame)| frame.parent.as_ref() == Some(&frames[above].id));
    let nth = siblings.map(|(place, _)| place).position(|place| place == at)?;
    told.places.get(nth)?.clone()
}

/// A frame inside another one, as the tab sees it. One that its parent does not know may be anywhere in it.
fn through(above: &Placed, place: Option<Place>) -> (Place, Option<Box>) {
    let Some(place) = place else { return (Place { upright: false, ..above.from.clone() }, above.area) };
    let outer = &above.from;
    let [left, top, ..] = outer.outwards([place.x, place.y, place.x, place.y]);
    let area = above.area.and_then(|area| within(outer.outwards(place.r#box), area));
    let from = Place {
        x: left,
        y: top,
        across: outer.across * place.across,
        down: outer.down * place.down,
        r#box: place.r#box,
        upright: outer.upright && place.upright,
    };
    (from, area)
}

impl Place {
    fn outwards(&self, [left, top, right, bottom]: Box) -> Box {
        let (across, down) = (|x: f64| self.x + x * self.across, |y: f64| self.y + y * self.down);
        [across(left), down(top), across(right), down(bottom)]
    }
}

/// What two boxes share; None if that is nothing.
fn within(a: Box, b: Box) -> Option<Box> {
    let both = [a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])];
    (both[0] < both[2] && both[1] < both[3]).then_some(both)
}
