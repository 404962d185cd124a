//! From the words an agent uses for an element to the element.

use crate::{
    aim::{How, Looked, Problem, Purpose, Spot, gone_is},
    ask::AskError,
    browser::{Browser, SnapshotOptions},
    deadline::Deadline,
    error::BrowserError,
    frames::parse_ref,
    page_text::PageText,
    script::ScriptFunction,
    text::cut,
};
use futures_util::future::join_all;
use policy::Target;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long an element may take to appear at all: agents often name things that are not there.
const APPEAR_WAIT: Duration = Duration::from_secs(1);
/// Between two looks at a page from outside; inside it the script looks once a frame.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Frames that are searched or read; a page with more of them is told about the first ones only.
pub(crate) const MOST_FRAMES_ASKED: usize = 50;
/// How long one frame other than the main one may take to answer: a hung one must not hold up the rest.
pub(crate) const FRAME_WAIT: Duration = Duration::from_secs(3);
const MOST_CANDIDATES: usize = 5;

/// An element of the page, as the driver holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub frame: String,
    pub number: u64,
    /// Its ref, which is how everybody else names it.
    pub reference: String,
}

impl Element {
    pub fn stale(&self) -> BrowserError {
        BrowserError::stale(&self.reference)
    }

    /// What all refs of its document begin with.
    pub fn prefix(&self) -> &str {
        self.reference.rsplit_once('e').map_or("", |(prefix, _)| prefix)
    }
}

/// An element, and what was learnt on the way to it.
#[derive(Debug)]
pub(crate) struct Located {
    pub element: Element,
    /// How many answered to the name.
    pub matches: usize,
    /// The point that was asked for.
    pub spot: Option<Spot>,
    /// The script's first look at it, when it took one.
    pub looked: Option<Looked>,
}

#[derive(Serialize)]
struct Wanted<'a> {
    prefix: &'a str,
    by: By<'a>,
    index: usize,
    look: Option<How>,
    /// Whether the words of each are wanted.
    words: bool,
    options: &'a SnapshotOptions,
}

/// The ways of naming that are a search.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum By<'a> {
    Role { role: &'a str, name: Option<&'a str> },
    Selector { selector: &'a str },
    Text { text: &'a str },
}

#[derive(Debug, Deserialize)]
struct Found {
    exact: Vec<String>,
    close: Vec<String>,
    part: Vec<String>,
    near: Vec<Near>,
    total: [usize; 3],
    looked: Option<FirstLook>,
    /// What each of the exact, close and part ones is called and shows, if that was asked.
    #[serde(default)]
    words: [Vec<String>; 3],
    /// Whether no element came or went since nodes were last counted.
    still: bool,
}

#[derive(Debug, Deserialize)]
struct FirstLook {
    r#ref: String,
    #[serde(flatten)]
    looked: Looked,
}

#[derive(Debug, Deserialize)]
struct Near {
    role: String,
    name: String,
}

#[derive(Serialize)]
struct Within<'a> {
    prefix: &'a str,
    #[serde(flatten)]
    spot: Option<Spot>,
}

/// What one frame says is at a point, or has the focus.
#[derive(Deserialize)]
#[serde(untagged)]
enum There {
    Element {
        r#ref: String,
    },
    Frame {
        frame: String,
        #[serde(flatten)]
        spot: Option<Spot>,
    },
    Nothing {
        problem: Problem,
    },
}

impl Browser {
    /// The element a target names.
    pub(crate) async fn locate(
        &self,
        target: &Target,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Located, BrowserError> {
        let patience = deadline.within(APPEAR_WAIT);
        loop {
            match self.find_once(target, purpose, deadline).await {
                Err(BrowserError::ElementNotFound { .. }) if !patience.left().is_zero() => {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                found => return found,
            }
        }
    }

    /// The element a target names, if it is there now.
    pub(crate) async fn find_once(
        &self,
        target: &Target,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Located, BrowserError> {
        let plain = |element| Located { element, matches: 1, spot: None, looked: None };
        let lowered;
        let (by, index) = match target {
            Target::Ref(reference) => return Ok(plain(self.element(reference)?)),
            Target::Point { x, y } => {
                let (element, spot) = self
                    .descend(ScriptFunction::DescribePoint, Some(Spot { x: *x, y: *y }), deadline)
                    .await?;
                return Ok(Located { spot, ..plain(element) });
            }
            Target::Focused => {
                return Ok(plain(self.descend(ScriptFunction::DescribeFocus, None, deadline).await?.0));
            }
            Target::Role { role, name, index } => {
                lowered = role.trim().to_ascii_lowercase();
                (By::Role { role: &lowered, name: name.as_deref() }, *index)
            }
            Target::Selector { selector, index } => (By::Selector { selector: selector.as_str() }, *index),
            Target::Text { text, index } => (By::Text { text }, *index),
        };
        self.search(by, index, purpose, deadline).await
    }

    pub(crate) fn element(&self, reference: &str) -> Result<Element, BrowserError> {
        let stale = || BrowserError::stale(reference);
        let (serial, number) = parse_ref(reference).ok_or_else(stale)?;
        let state = self.shared.lock();
        let frame = state.tab.as_ref().and_then(|tab| tab.frames.by_serial(serial)).ok_or_else(stale)?;
        Ok(Element { frame: frame.clone(), number, reference: reference.to_owned() })
    }

    /// Frames of the tab in page order, main frame first, each with the prefix of its refs.
    pub(crate) fn frames_to_ask(&self) -> Vec<(String, String)> {
        let mut state = self.shared.lock();
        let Some(tab) = state.tab.as_mut() else { return Vec::new() };
        let ids = tab.frames.inside(&tab.target);
        ids.into_iter()
            .take(MOST_FRAMES_ASKED)
            .filter_map(|id| tab.frames.prefix(&id).map(|prefix| (id, prefix)))
            .collect()
    }

    /// Follows a point, or the focus, from the tab's own document into the frame that has it.
    async fn descend(
        &self,
        question: ScriptFunction,
        spot: Option<Spot>,
        deadline: Deadline,
    ) -> Result<(Element, Option<Spot>), BrowserError> {
        let frames = self.frames_to_ask();
        for (frame, _) in frames.iter().skip(1) {
            match self.introduce(frame, deadline.within(FRAME_WAIT)).await {
                Ok(()) | Err(AskError::Gone | AskError::Failed(BrowserError::Timeout { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut at = frames.first().cloned();
        let mut spot = spot;
        for _ in 0..MOST_FRAMES_ASKED {
            let Some((frame, prefix)) = at else { break };
            let within = Within { prefix: &prefix, spot };
            let there = self.ask(&frame, question, &within, deadline).await;
            match there.map_err(|error| gone_is(error, BrowserError::NothingThere))? {
                There::Element { r#ref } => return Ok((self.element(&r#ref)?, spot)),
                There::Nothing { problem } => return Err(problem.of("", None)),
                There::Frame { frame: inner, spot: inside } => {
                    at = frames.iter().find(|(known, _)| *known == inner).cloned();
                    spot = inside;
                }
            }
        }
        Err(BrowserError::NothingThere)
    }

    async fn search(
        &self,
        by: By<'_>,
        index: usize,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Located, BrowserError> {
        let frames = self.frames_to_ask();
        // A page of one frame is searched and looked at in one go.
        let look = (frames.len() == 1).then_some(How { purpose, spot: None });
        // Who names one by a word that is hidden would learn that it is there.
        let mask = self.mask().filter(|_| !matches!(by, By::Role { name: None, .. } | By::Selector { .. }));
        let words = mask.is_some();
        let look = look.filter(|_| !words);
        let ask = || {
            join_all(frames.iter().enumerate().map(|(place, (frame, prefix))| async move {
                let wanted = Wanted { prefix, by, index, look, words, options: &self.options.snapshot };
                let limit = if place == 0 { deadline } else { deadline.within(FRAME_WAIT) };
                self.ask::<_, Found>(frame, ScriptFunction::FindElements, &wanted, limit).await
            }))
        };
        let is_still = |answer: &Result<Found, _>| answer.as_ref().is_ok_and(|found| found.still);
        let (asked, _) = self.ask_knowing_roots(&frames, deadline, ask, is_still).await;
        let mut found = Vec::new();
        for (place, answer) in asked.into_iter().enumerate() {
            match answer {
                Ok(answer) => found.push(answer),
                // A frame that went or hangs has nothing to click; the main frame must answer.
                Err(AskError::Gone | AskError::Failed(BrowserError::Timeout { .. })) if place > 0 => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(mask) = &mask {
            found.iter_mut().for_each(|frame| frame.leave_out(|words| mask(words).is_some()));
        }
        let chosen = choose(&found, index)
            .and_then(|(reference, matches)| Some((self.element(&reference).ok()?, matches)));
        let Some((element, matches)) = chosen else { return Err(not_found(by, index, &found)) };
        let looked = found
            .iter_mut()
            .find_map(|frame| frame.looked.take_if(|look| look.r#ref == element.reference))
            .map(|first| first.looked);
        Ok(Located { element, matches, spot: None, looked })
    }
}

impl Found {
    /// Forgets those whose words are hidden. What is not listed is not counted either.
    fn leave_out(&mut self, is_hidden: impl Fn(&str) -> bool) {
        let lists = [&mut self.exact, &mut self.close, &mut self.part];
        for ((list, words), total) in lists.into_iter().zip(&self.words).zip(&mut self.total) {
            let mut words = words.iter();
            list.retain(|_| words.next().is_some_and(|words| !is_hidden(words)));
            *total = list.len();
        }
    }
}

/// The best kind of match that any frame has, over all frames: exact, then but for case, then in part.
fn choose(found: &[Found], index: usize) -> Option<(String, usize)> {
    let tiers: [fn(&Found) -> &Vec<String>; 3] = [|f| &f.exact, |f| &f.close, |f| &f.part];
    tiers.iter().enumerate().find_map(|(tier, list)| {
        let matches: usize = found.iter().map(|frame| frame.total[tier]).sum();
        if matches == 0 {
            return None;
        }
        let chosen = found.iter().flat_map(|frame| list(frame).iter()).nth(index);
        Some(chosen.map(|reference| (reference.clone(), matches)))
    })?
}

fn not_found(by: By<'_>, index: usize, found: &[Found]) -> BrowserError {
    let wanted = match by {
        By::Role { role, name: Some(name) } => format!("{} {:?}", cut(role, 32), cut(name, 100)),
        By::Role { role, name: None } => cut(role, 32),
        By::Selector { selector } => format!("the selector {:?}", cut(selector, 100)),
        By::Text { text } => format!("the text {:?}", cut(text, 100)),
    };
    // Of the kind of match that was chosen from.
    let total = |tier: usize| found.iter().map(|frame| frame.total[tier]).sum::<usize>();
    let place = match (0..3).map(total).find(|total| *total > 0) {
        Some(total) if index > 0 => format!(" at index {index} ({total} in all, counted from 0)"),
        _ => String::new(),
    };
    let candidates = found
        .iter()
        .flat_map(|frame| &frame.near)
        .take(MOST_CANDIDATES)
        .map(|near| PageText::new(&format!("{} {:?}", near.role, near.name)))
        .collect();
    BrowserError::ElementNotFound { wanted: format!("{wanted}{place}"), candidates }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(exact: &[&str], close: &[&str], part: &[&str]) -> Found {
        let list = |refs: &[&str]| refs.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let total = [exact.len(), close.len(), part.len()];
        Found {
            exact: list(exact),
            close: list(close),
            part: list(part),
            near: Vec::new(),
            total,
            looked: None,
            words: Default::default(),
            still: true,
        }
    }

    #[test]
    fn the_best_kind_of_match_in_any_frame_wins() {
        for (frames, index, expected) in [
            (vec![frame(&["e1"], &["e2"], &[])], 0, Some(("e1", 1))),
            (vec![frame(&[], &[], &["e1"]), frame(&["f2e1"], &[], &[])], 0, Some(("f2e1", 1))),
            (vec![frame(&["e1"], &[], &[]), frame(&["f2e1"], &[], &[])], 1, Some(("f2e1", 2))),
            (vec![frame(&[], &["e1", "e2"], &["e3"])], 1, Some(("e2", 2))),
            (vec![frame(&["e1"], &["e2"], &[])], 1, None),
            (vec![frame(&[], &[], &[])], 0, None),
        ] {
            let chosen = choose(&frames, index);
            assert_eq!(chosen.as_ref().map(|(text, n)| (text.as_str(), *n)), expected, "{frames:?} {index}");
        }
    }

    #[test]
    fn an_index_beyond_the_last_is_told_with_how_many_there_are() {
        let by = By::Role { role: "button", name: Some("Mute") };
        for (frames, index, expected) in [
            (vec![frame(&["e1"], &["e2", "e3"], &[])], 3, " at index 3 (1 in all, counted from 0)"),
            (
                vec![frame(&[], &[], &["e1"]), frame(&[], &[], &["f2e1"])],
                2,
                " at index 2 (2 in all, counted from 0)",
            ),
            (vec![frame(&[], &[], &[])], 3, ""),
            (vec![frame(&[], &[], &[])], 0, ""),
        ] {
            let told = not_found(by, index, &frames).to_string();
            assert_eq!(
                told,
                format!("no element answers to button \"Mute\"{expected}"),
                "{frames:?} {index}"
            );
        }
    }
}
