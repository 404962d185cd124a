//! Pictures that are kept show nothing that was typed: fields, and words wherever a page draws them as text, are painted
//! over.
//!
//! The boxes are measured in every frame, the picture is taken, and it counts if nothing moved meanwhile: no layout was
//! made, and nothing that is covered was drawn elsewhere. The page sees nothing of it, because nothing in it changes.

mod place;
mod still;

use crate::{
    ask::AskError,
    browser::Browser,
    cdp::SessionId,
    deadline::Deadline,
    error::BrowserError,
    locate::MOST_FRAMES_ASKED,
    paint,
    verbs::{Framed, Image},
};
use futures_util::future::join_all;
use place::{Place, Placed};
use policy::{ElementFacts, ImageFormat, Screenshot};
use redact::PhraseSet;
use serde::{Deserialize, Serialize};
use std::{collections::HashMap, fmt, sync::Arc, time::Duration};
use still::{Counts, Held, Stirring};

/// A page that moves gets so many chances to hold still for as long as a picture takes.
const ATTEMPTS: usize = 5;

/// How long a frame may take to tell what is in it. One that does not is covered whole.
const FRAME_WAIT: Duration = Duration::from_secs(1);

/// What a frame may answer, in bytes: the script tells up to [`MOST_TEXT`], of which a unit takes up to six, and a
/// thousand boxes. A frame that tells more is covered whole, and so is one inside the page with more than a few hundred
/// thousand characters: all of them together stay near 100 MiB.
const LARGEST_TEXT: usize = 16 << 20;
const LARGEST_FRAME_TEXT: usize = 2 << 20;
const LARGEST_BOXES: usize = 256 << 10;
const LARGEST_PASSED: usize = 4 << 20;
/// As in the script, in characters.
const MOST_TEXT: usize = 2_000_000;
/// As in the script.
const MOST_BOXES: usize = 1000;

/// What a picture must not show, beside what is in fields.
#[derive(Clone, Default)]
pub struct Cover {
    words: PhraseSet,
    forgotten: bool,
    only_secrets: bool,
}

impl Cover {
    pub fn of<'a>(words: impl IntoIterator<Item = &'a str>) -> Cover {
        Cover { words: PhraseSet::new(words), ..Cover::default() }
    }

    /// Nothing but secret fields, and fields with secrets if there are any: for a person who has to see what is about to be sent.
    pub fn of_secrets() -> Cover {
        Cover { only_secrets: true, ..Cover::default() }
    }

    /// These are covered too, in whatever writing a page has of them: escaped, in hex, in base64, a part of 12 characters.
    /// It takes the place of secrets that were given before.
    pub fn with_secrets<'a>(self, secrets: impl IntoIterator<Item = &'a str>) -> Cover {
        Cover { words: self.words.with_secrets(secrets), ..self }
    }

    /// The same with the secrets of another cover, which costs nothing.
    pub fn with_secrets_of(self, other: &Cover) -> Cover {
        Cover { words: self.words.with_secrets_of(&other.words), ..self }
    }

    /// There were words that nobody knows any more: no picture can be covered.
    pub fn forgotten() -> Cover {
        Cover { forgotten: true, ..Cover::default() }
    }
}

/// What was found in a frame's text.
struct Searched {
    all: bool,
    found: bool,
    fields: bool,
    ranges: Vec<u32>,
    said: bool,
}

impl Cover {
    /// It may take seconds.
    fn search(&self, told: Text, again: bool) -> Searched {
        let all = told.all && told.text.chars().nth(MOST_TEXT).is_none();
        let found = if all { self.words.find(&told.text) } else { Vec::new() };
        let ranges: Vec<u32> = found.into_iter().flat_map(|range| [range.start, range.end]).collect();
        let said = || told.passed.is_none_or(|passed| self.words.is_in(&passed));
        Searched {
            all,
            found: told.found || !ranges.is_empty(),
            fields: told.fields,
            ranges,
            said: again && !self.words.is_empty() && said(),
        }
    }
}

/// Words may be secrets.
impl fmt::Debug for Cover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cover").field("forgotten", &self.forgotten).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Reading {
    words: bool,
    /// What is drawn by scripts and plug-ins could be text as well.
    drawings: bool,
    /// Whether only fields that are secret count.
    secrets: bool,
    /// Whether it is to keep in mind what came up since it was last asked.
    again: bool,
}

/// A frame's text, and whether there is something to cover whatever it says.
#[derive(Deserialize)]
struct Text {
    text: String,
    /// Whether that is all of it.
    all: bool,
    found: bool,
    /// Whether there are fields at all; what is in them can change without a trace.
    fields: bool,
    still: bool,
    /// What came up since the look before; None if that cannot be told.
    #[serde(skip)]
    passed: Option<String>,
}

/// What came up until closed roots were looked for, if that can be told.
#[derive(Deserialize)]
struct Passed {
    passed: Option<String>,
}

#[derive(Serialize)]
struct Measuring<'a> {
    /// Beginnings and ends in turn.
    ranges: Vec<u32>,
    frames: Vec<&'a str>,
    /// Whether it is asked afterwards if all of that held still.
    watched: bool,
}

#[derive(Deserialize)]
struct Measured {
    #[serde(deserialize_with = "place::at_most::<__D, _, MOST_BOXES>")]
    boxes: Vec<paint::Box>,
    whole: bool,
    #[serde(deserialize_with = "place::at_most::<__D, _, MOST_FRAMES_ASKED>")]
    places: Vec<Option<Place>>,
}

/// What one look at a frame found.
struct Frame {
    id: String,
    parent: Option<String>,
    session: SessionId,
    /// Words are in it, or something else that is to be covered.
    found: bool,
    fields: bool,
    ranges: Vec<u32>,
    /// Words were in it for a while, or nobody knows. Only another look tells.
    said: bool,
    /// It cannot be looked into.
    opaque: bool,
}

impl Browser {
    /// A picture with everything covered. None if there is nothing to cover on the page that the agent took one of, so that
    /// its own will do.
    pub(crate) async fn covered(
        &self,
        wanted: &Screenshot,
        target: Option<&ElementFacts>,
        cover: &Cover,
        any_will_do: bool,
        deadline: Deadline,
    ) -> Result<Option<Image>, BrowserError> {
        if cover.forgotten {
            return Err(BrowserError::CannotCover { why: "more was typed than is remembered" });
        }
        if cover.words.is_too_large() {
            return Err(BrowserError::CannotCover { why: "there is more to cover than can be looked for" });
        }
        let typed = !cover.words.is_empty();
        let cover = &Arc::new(cover.clone());
        for attempt in 1..=ATTEMPTS {
            let framed = self.frame_up(wanted, target, deadline).await?;
            let (frames, counts) = self.look_into_frames(cover, false, deadline).await?;
            let nothing = !typed && !frames.iter().any(|frame| frame.found);
            if any_will_do && nothing && self.is_on_pictured_page() {
                return Ok(None);
            }
            let is_watched = typed || frames.iter().any(|frame| frame.found || frame.fields);
            let before = if is_watched && !typed { self.counts(&frames, deadline).await } else { counts };
            let mut placed = self.measure(&frames, is_watched, deadline).await?;
            let covers_nothing = placed.iter().all(|placed| placed.boxes.is_empty());
            let format = if covers_nothing { wanted.format } else { ImageFormat::Png };
            let image = self.capture(&framed, format, deadline).await?;
            if is_watched {
                let beyond = framed.beyond;
                let restless = self.restless(cover, &frames, &before, beyond, deadline).await?;
                let main = frames.first().map(|frame| &frame.session);
                if restless.iter().any(|session| Some(session) == main) {
                    continue;
                }
                if !restless.is_empty() {
                    if attempt < ATTEMPTS {
                        continue;
                    }
                    placed = place::whole_of(placed, &frames, &restless);
                }
            }
            return self.painted(image, wanted.format, &framed, placed).await.map(Some);
        }
        Err(BrowserError::CannotCover { why: "the page does not hold still for it" })
    }

    /// Has every frame tell its text, and looks for words in it.
    async fn look_into_frames(
        &self,
        cover: &Arc<Cover>,
        again: bool,
        deadline: Deadline,
    ) -> Result<(Vec<Frame>, Vec<Counts>), BrowserError> {
        let asked = self.frames_to_ask();
        let too_many = self.has_more_frames(asked.len());
        let refused = || Err(BrowserError::CannotCover { why: "the page has too many frames" });
        if too_many && !cover.only_secrets {
            return refused();
        }
        let limit = deadline.within(FRAME_WAIT);
        join_all(asked.iter().skip(1).map(|(frame, _)| self.introduce(frame, limit))).await;
        let mut processes: Vec<(SessionId, Vec<(String, String)>)> = Vec::new();
        for asked in &asked {
            let Some((_, session)) = self.whereabouts(&asked.0) else { continue };
            match processes.iter_mut().find(|(known, _)| *known == session) {
                Some((_, frames)) => frames.push(asked.clone()),
                None => processes.push((session, vec![asked.clone()])),
            }
        }
        // Each by itself: one that hangs must not stand for the others.
        let main = asked.first().map(|(frame, _)| frame);
        let told = processes.iter().map(|(session, frames)| async move {
            let is_main = frames.first().map(|(frame, _)| frame) == main;
            let limit = if is_main { deadline } else { limit };
            // Before it is looked into: what comes up after that is laid out after that.
            let is_counted = !again && !cover.words.is_empty();
            let counts = if is_counted { Some(self.count(session, limit).await) } else { None };
            (counts, self.read_process(frames, main, cover, again, limit).await)
        });
        let (counts, told): (Vec<_>, Vec<_>) = join_all(told).await.into_iter().unzip();
        let told: HashMap<String, Result<Text, AskError>> = told.into_iter().flatten().collect();
        let words = Arc::clone(cover);
        let search = move |(id, told): (String, Result<Text, AskError>)| {
            (id, told.map(|told| words.search(told, again)))
        };
        let searched = tokio::task::spawn_blocking(move || told.into_iter().map(search).collect());
        let searched = searched.await.map_err(|e| BrowserError::BadPicture { why: e.to_string() })?;
        let frames = self.frames_of(asked, searched)?;
        if too_many && frames.iter().any(|frame| frame.found || frame.fields) {
            return refused();
        }
        Ok((frames, counts.into_iter().flatten().collect()))
    }

    /// The text of a process's frames. If they may have closed shadow roots that are not known, it is not all of it.
    async fn read_process(
        &self,
        frames: &[(String, String)],
        main: Option<&String>,
        cover: &Cover,
        again: bool,
        limit: Deadline,
    ) -> Vec<(String, Result<Text, AskError>)> {
        let words = !cover.words.is_empty();
        let reading = Reading { words, drawings: words, secrets: cover.only_secrets, again };
        for process in self.processes(frames) {
            // A closed root comes without a trace, so that it was counted a moment ago is not enough.
            self.note_agreed(&process, None);
        }
        let read = || {
            join_all(frames.iter().map(|(frame, _)| {
                let most = if Some(frame) == main { LARGEST_TEXT } else { LARGEST_FRAME_TEXT };
                self.ask_up_to::<_, Text>(most, frame, "coverText", &reading, limit)
            }))
        };
        let is_still = |told: &Result<Text, _>| told.as_ref().is_ok_and(|told| told.still);
        if again && words && !self.meet_empty_roots(frames, limit).await {
            // As on the first look, roots that hold something are found by counting.
            tracing::debug!("empty shadow roots not looked for");
        }
        let (mut texts, met) = self.ask_knowing_roots(frames, limit, read, is_still).await;
        if again && words {
            join_all(frames.iter().zip(&mut texts).map(|((frame, _), text)| async {
                let Ok(text) = text else { return };
                let told =
                    self.ask_up_to::<_, Passed>(LARGEST_PASSED, frame, "coverPassed", &(), limit).await;
                text.passed = told.ok().and_then(|told| told.passed);
            }))
            .await;
        }
        let whole = |text: Text| Text { all: text.all && met.whole, ..text };
        frames
            .iter()
            .map(|(frame, _)| frame.clone())
            .zip(texts.into_iter().map(|text| text.map(whole)))
            .collect()
    }

    fn frames_of(
        &self,
        asked: Vec<(String, String)>,
        mut searched: HashMap<String, Result<Searched, AskError>>,
    ) -> Result<Vec<Frame>, BrowserError> {
        let mut frames = Vec::new();
        for (id, _) in asked {
            let Some((parent, session)) = self.whereabouts(&id) else { continue };
            let is_main = frames.is_empty();
            let searched = match searched.remove(&id).unwrap_or(Err(AskError::Gone)) {
                Ok(searched) if searched.all => Some(searched),
                Ok(_) if is_main => {
                    return Err(BrowserError::CannotCover {
                        why: "the page is too large to be looked through",
                    });
                }
                Err(error) if is_main => return Err(error.into()),
                Ok(_) | Err(_) => None,
            };
            let opaque = searched.is_none();
            let unknown = Searched { all: false, found: true, fields: true, ranges: Vec::new(), said: false };
            let Searched { found, fields, ranges, said, .. } = searched.unwrap_or(unknown);
            frames.push(Frame { id, parent, session, found, fields, ranges, said, opaque });
        }
        if frames.is_empty() { Err(BrowserError::TabClosed) } else { Ok(frames) }
    }

    /// Where on the tab the boxes of each frame are.
    async fn measure(
        &self,
        frames: &[Frame],
        watched: bool,
        deadline: Deadline,
    ) -> Result<Vec<Placed>, BrowserError> {
        let measured = frames.iter().enumerate().map(|(at, frame)| async move {
            if frame.opaque {
                return Err(AskError::Gone);
            }
            let limit = if at == 0 { deadline } else { deadline.within(FRAME_WAIT) };
            let children = frames.iter().filter(|child| child.parent.as_ref() == Some(&frame.id));
            let children = children.map(|child| child.id.as_str()).collect();
            let measuring = Measuring { ranges: frame.ranges.clone(), frames: children, watched };
            self.ask_up_to::<_, Measured>(LARGEST_BOXES, &frame.id, "coverBoxes", &measuring, limit).await
        });
        let measured: Vec<Result<Measured, AskError>> = join_all(measured).await;
        place::all(frames, measured)
    }

    /// The sessions of frames that have something to cover and did not hold still.
    async fn restless(
        &self,
        cover: &Arc<Cover>,
        frames: &[Frame],
        before: &[Counts],
        beyond: bool,
        deadline: Deadline,
    ) -> Result<Vec<SessionId>, BrowserError> {
        let limit = deadline.within(FRAME_WAIT);
        let held = frames.iter().map(|frame| async move {
            if frame.opaque {
                return None;
            }
            self.ask::<_, Held>(&frame.id, "coverHeld", &(), limit).await.ok()
        });
        let held: Vec<Option<Held>> = join_all(held).await;
        let after = self.counts(frames, deadline).await;
        self.count_no_more(&after, deadline).await;
        let stirring = Stirring::of(frames, &held, before, &after, beyond);
        let restless = stirring.restless(frames, !cover.words.is_empty());
        if !restless.is_empty() || stirring.is_none() {
            return Ok(restless);
        }
        let (now, _) = self.look_into_frames(cover, true, deadline).await?;
        Ok(stirring.came_up(frames, &now))
    }

    async fn painted(
        &self,
        image: Image,
        format: ImageFormat,
        framed: &Framed,
        placed: Vec<Placed>,
    ) -> Result<Image, BrowserError> {
        let boxes: Vec<paint::Box> =
            placed.into_iter().flat_map(|placed| placed.boxes).map(|area| framed.on_picture(area)).collect();
        if boxes.is_empty() {
            return Ok(image);
        }
        let bytes = image.bytes.clone();
        let work = tokio::task::spawn_blocking(move || paint::paint(&bytes, &boxes, format));
        let (bytes, format) = work.await.map_err(|e| BrowserError::BadPicture { why: e.to_string() })??;
        Ok(Image { bytes, format, ..image })
    }

    fn is_on_pictured_page(&self) -> bool {
        let state = self.shared.lock();
        state.tab.as_ref().is_some_and(|tab| tab.pictured == Some(tab.commits))
    }

    fn whereabouts(&self, frame: &str) -> Option<(Option<String>, SessionId)> {
        let state = self.shared.lock();
        let known = state.tab.as_ref()?.frames.get(frame)?;
        Some((known.parent.clone(), known.session.clone()))
    }

    fn has_more_frames(&self, asked: usize) -> bool {
        let state = self.shared.lock();
        state
            .tab
            .as_ref()
            .is_some_and(|tab| tab.frames.untracked() || tab.frames.inside(&tab.target).len() > asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_frame_tells_beyond_the_bounds_is_not_searched_or_measured() {
        for (length, all) in [(10, true), (MOST_TEXT, true), (MOST_TEXT + 1, false)] {
            let text = "x".repeat(length);
            let told = Text { text, all: true, found: false, fields: false, still: true, passed: None };
            let searched = Cover::of(["xxx x"]).search(told, false);
            assert_eq!((searched.all, searched.found, searched.said), (all, all, false), "{length}");
        }
        for (boxes, places, taken) in [(1000, 50, true), (1001, 50, false), (1000, 51, false)] {
            let (boxes, places) = (vec![[0; 4]; boxes], vec![(); places]);
            let told = serde_json::json!({"boxes": boxes, "whole": false, "places": places});
            assert_eq!(serde_json::from_value::<Measured>(told).is_ok(), taken);
        }
    }
}
