//! Locates the element that a target names: by ref, role and name, selector, text, point or focus.

use super::actionability::{CheckReply, FramePoint, Purpose, TargetProblem, TargetUse, gone_as};
use crate::{
    browser::{Browser, SnapshotOptions},
    deadline::Deadline,
    error::BrowserError,
    page::{FRAME_WAIT, MAX_READABLE_FRAMES, POLL_INTERVAL, ScriptCallError},
    script::ScriptFunction,
    state::parse_ref,
    text::{Limit, PageText, TextCutter, cut},
};
use futures_util::future::join_all;
use policy::Target;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long an element may take to appear: agents often name elements that do not exist.
const APPEAR_WAIT: Duration = Duration::from_secs(1);
const MAX_CANDIDATES: usize = 5;
/// As the page script has it.
const MAX_NAME: Limit = Limit::Units(300);

/// An element of the page, as the driver holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub frame: String,
    pub number: u64,
    /// Its ref, which is its name outside the driver.
    pub reference: String,
}

impl Element {
    pub fn stale(&self) -> BrowserError {
        BrowserError::stale(&self.reference)
    }

    /// The ref prefix of its document.
    pub fn prefix(&self) -> &str {
        self.reference.rsplit_once('e').map_or("", |(prefix, _)| prefix)
    }
}

/// A located element.
#[derive(Debug)]
pub(crate) struct Located {
    pub element: Element,
    /// How many elements match the target.
    pub matches: usize,
    /// The requested point.
    pub point: Option<FramePoint>,
    /// The reply of a first actionability check, if the search made one.
    pub check: Option<CheckReply>,
}

#[derive(Serialize)]
struct FindRequest<'a> {
    prefix: &'a str,
    by: SearchBy<'a>,
    index: usize,
    look: Option<TargetUse>,
    /// Also return the name and text of each match.
    words: bool,
    options: &'a SnapshotOptions,
}

/// Targets that need a search.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum SearchBy<'a> {
    Role { role: &'a str, name: Option<&'a str> },
    Selector { selector: &'a str },
    Text { text: &'a str },
}

#[derive(Debug, Deserialize)]
struct FindReply {
    exact: Vec<String>,
    close: Vec<String>,
    part: Vec<String>,
    near: Vec<NearMatch>,
    total: [usize; 3],
    looked: Option<FirstCheck>,
    /// Name and text of each exact, close and partial match, if requested.
    #[serde(default)]
    words: [Vec<String>; 3],
    /// The DOM has not changed since nodes were last counted.
    still: bool,
}

#[derive(Debug, Deserialize)]
struct FirstCheck {
    r#ref: String,
    #[serde(flatten)]
    reply: CheckReply,
}

#[derive(Debug, Deserialize)]
struct NearMatch {
    role: String,
    name: String,
}

#[derive(Serialize)]
struct DescendRequest<'a> {
    prefix: &'a str,
    #[serde(flatten)]
    point: Option<FramePoint>,
}

/// What one frame has at a point, or focused.
#[derive(Deserialize)]
#[serde(untagged)]
enum DescendReply {
    Element {
        r#ref: String,
    },
    Frame {
        frame: String,
        #[serde(flatten)]
        point: Option<FramePoint>,
    },
    Nothing {
        problem: TargetProblem,
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
        // Leaves time for a last search, so that a short time limit still says what is missing.
        let patience = deadline.within(APPEAR_WAIT.min(deadline.left() * 3 / 4));
        let mut missing = None;
        loop {
            match (self.locate_once(target, purpose, deadline).await, missing.take()) {
                (Err(error @ BrowserError::ElementNotFound { .. }), _) if !patience.left().is_zero() => {
                    missing = Some(error);
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                (Err(BrowserError::Timeout { .. }), Some(missing)) => return Err(missing),
                (found, _) => return found,
            }
        }
    }

    /// The element a target names, without waiting for it to appear.
    pub(crate) async fn locate_once(
        &self,
        target: &Target,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Located, BrowserError> {
        let plain = |element| Located { element, matches: 1, point: None, check: None };
        let lowered;
        let (by, index) = match target {
            Target::Ref(reference) => return Ok(plain(self.element(reference)?)),
            Target::Point { x, y } => {
                let (element, point) = self
                    .descend(ScriptFunction::DescribePoint, Some(FramePoint { x: *x, y: *y }), deadline)
                    .await?;
                return Ok(Located { point, ..plain(element) });
            }
            Target::Focused => {
                return Ok(plain(self.descend(ScriptFunction::DescribeFocus, None, deadline).await?.0));
            }
            // As snapshots list text.
            Target::Role { role, name: Some(text), index } if role.trim().eq_ignore_ascii_case("text") => {
                (SearchBy::Text { text }, *index)
            }
            Target::Role { role, name, index } => {
                lowered = role.trim().to_ascii_lowercase();
                (SearchBy::Role { role: &lowered, name: name.as_deref() }, *index)
            }
            Target::Selector { selector, index } => {
                (SearchBy::Selector { selector: selector.as_str() }, *index)
            }
            Target::Text { text, index } => (SearchBy::Text { text }, *index),
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

    /// Follows a point, or the focus, from the tab's own document into the frame that has it.
    async fn descend(
        &self,
        function: ScriptFunction,
        point: Option<FramePoint>,
        deadline: Deadline,
    ) -> Result<(Element, Option<FramePoint>), BrowserError> {
        let frames = self.readable_frames();
        for (frame, _) in frames.iter().skip(1) {
            match self.register_frame_owner(frame, deadline.within(FRAME_WAIT)).await {
                Ok(())
                | Err(ScriptCallError::Gone | ScriptCallError::Failed(BrowserError::Timeout { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut at = frames.first().cloned();
        let mut point = point;
        for _ in 0..MAX_READABLE_FRAMES {
            let Some((frame, prefix)) = at else { break };
            let request = DescendRequest { prefix: &prefix, point };
            let reply = self.call_script(&frame, function, &request, deadline).await;
            match reply.map_err(|error| gone_as(error, BrowserError::NothingThere))? {
                DescendReply::Element { r#ref } => return Ok((self.element(&r#ref)?, point)),
                DescendReply::Nothing { problem } => return Err(problem.into_error("", None)),
                DescendReply::Frame { frame: inner, point: inside } => {
                    at = frames.iter().find(|(known, _)| *known == inner).cloned();
                    point = inside;
                }
            }
        }
        Err(BrowserError::NothingThere)
    }

    async fn search(
        &self,
        by: SearchBy<'_>,
        index: usize,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Located, BrowserError> {
        let frames = self.readable_frames();
        // A page with one frame is searched and checked in one call.
        let look = (frames.len() == 1).then_some(TargetUse { purpose, point: None });
        // A match by redacted text would confirm a guess.
        let cutter = self.text_cutter();
        let redactor = cutter
            .redactor()
            .filter(|_| !matches!(by, SearchBy::Role { name: None, .. } | SearchBy::Selector { .. }));
        let words = redactor.is_some();
        let look = look.filter(|_| !words);
        let call = || {
            join_all(frames.iter().enumerate().map(|(place, (frame, prefix))| async move {
                let request = FindRequest { prefix, by, index, look, words, options: &self.options.snapshot };
                let limit = if place == 0 { deadline } else { deadline.within(FRAME_WAIT) };
                self.call_script::<_, FindReply>(frame, ScriptFunction::FindElements, &request, limit).await
            }))
        };
        let is_unchanged = |reply: &Result<FindReply, _>| reply.as_ref().is_ok_and(|found| found.still);
        let (replies, _) = self.call_with_known_roots(&frames, deadline, call, is_unchanged).await;
        let mut found = Vec::new();
        for (place, reply) in replies.into_iter().enumerate() {
            match reply {
                Ok(reply) => found.push(reply),
                // A frame that is gone or hangs is left out; the main frame must answer.
                Err(ScriptCallError::Gone | ScriptCallError::Failed(BrowserError::Timeout { .. }))
                    if place > 0 => {}
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(redactor) = redactor {
            found.iter_mut().for_each(|frame| frame.remove_redacted(|words| redactor.mask(words).is_some()));
        }
        let chosen = choose(&found, index)
            .and_then(|(reference, matches)| Some((self.element(&reference).ok()?, matches)));
        let Some((element, matches)) = chosen else { return Err(not_found(by, index, &found, &cutter)) };
        let check = found
            .iter_mut()
            .find_map(|frame| frame.looked.take_if(|look| look.r#ref == element.reference))
            .map(|first| first.reply);
        Ok(Located { element, matches, point: None, check })
    }
}

impl FindReply {
    /// Removes matches by redacted text, also from the counts and from what is near: nothing of a reply may depend on
    /// whether a guess is in a text that is masked.
    fn remove_redacted(&mut self, is_redacted: impl Fn(&str) -> bool) {
        self.near.retain(|near| !is_redacted(&near.name));
        let lists = [&mut self.exact, &mut self.close, &mut self.part];
        for ((list, words), total) in lists.into_iter().zip(&self.words).zip(&mut self.total) {
            let mut words = words.iter();
            list.retain(|_| words.next().is_some_and(|words| !is_redacted(words)));
            *total = list.len();
        }
    }
}

/// The best kind of match over all frames: exact, then ignoring case, then partial.
fn choose(found: &[FindReply], index: usize) -> Option<(String, usize)> {
    let tiers: [fn(&FindReply) -> &Vec<String>; 3] = [|f| &f.exact, |f| &f.close, |f| &f.part];
    tiers.iter().enumerate().find_map(|(tier, list)| {
        let matches: usize = found.iter().map(|frame| frame.total[tier]).sum();
        if matches == 0 {
            return None;
        }
        let chosen = found.iter().flat_map(|frame| list(frame).iter()).nth(index);
        Some(chosen.map(|reference| (reference.clone(), matches)))
    })?
}

fn not_found(by: SearchBy<'_>, index: usize, found: &[FindReply], cutter: &TextCutter) -> BrowserError {
    // The caller's own words.
    let wanted = match by {
        SearchBy::Role { role, name: Some(name) } => format!("{} {:?}", cut(role, 32), cut(name, 100)),
        SearchBy::Role { role, name: None } => cut(role, 32),
        SearchBy::Selector { selector } => format!("the selector {:?}", cut(selector, 100)),
        SearchBy::Text { text } => format!("the text {:?}", cut(text, 100)),
    };
    // The count of the kind that was chosen from.
    let total = |tier: usize| found.iter().map(|frame| frame.total[tier]).sum::<usize>();
    let place = match (0..3).map(total).find(|total| *total > 0) {
        Some(total) if index > 0 => format!(" at index {index} ({total} in all, counted from 0)"),
        _ => String::new(),
    };
    let candidates = found
        .iter()
        .flat_map(|frame| &frame.near)
        .take(MAX_CANDIDATES)
        .map(|near| {
            let name = cutter.redact_and_cut(&near.name, MAX_NAME);
            PageText::new(&format!("{} {name:?}", near.role))
        })
        .collect();
    BrowserError::ElementNotFound { wanted: format!("{wanted}{place}"), candidates }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(exact: &[&str], close: &[&str], part: &[&str]) -> FindReply {
        let list = |refs: &[&str]| refs.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let total = [exact.len(), close.len(), part.len()];
        FindReply {
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
    fn an_index_beyond_the_last_is_reported_with_the_number_of_matches() {
        let by = SearchBy::Role { role: "button", name: Some("Mute") };
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
            let message = not_found(by, index, &frames, &TextCutter::default()).to_string();
            assert_eq!(
                message,
                format!("no element matches button \"Mute\"{expected}"),
                "{frames:?} {index}"
            );
        }
    }
}
