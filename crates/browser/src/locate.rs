//! From the words an agent uses for an element to the element, its facts and the point where it is hit.

use crate::{
    ask::AskError,
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    frames::parse_ref,
    hit::Point,
    page_text::{PageText, Words},
    text::cut,
};
use policy::{ElementFacts, FormFacts, Origin, Target};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long an element may take to become visible, enabled, uncovered and still.
const READY_WAIT: Duration = Duration::from_secs(5);
/// How long an element may take to appear at all: agents often name things that are not there.
const APPEAR_WAIT: Duration = Duration::from_secs(1);
/// Between two looks at a page from outside; inside it the script looks once a frame.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Click,
    Type,
}

/// An element that can be acted on right now.
#[derive(Debug)]
pub(crate) struct Aim {
    /// In the tab's viewport, whichever frame the element is in.
    pub x: f64,
    pub y: f64,
    pub facts: ElementFacts,
}

#[derive(Serialize)]
struct Wanted<'a> {
    prefix: &'a str,
    role: &'a str,
    name: Option<&'a str>,
}

#[derive(Debug, Deserialize)]
struct Found {
    exact: Vec<String>,
    close: Vec<String>,
    part: Vec<String>,
    near: Vec<Near>,
    total: [usize; 3],
}

#[derive(Debug, Deserialize)]
struct Near {
    role: String,
    name: String,
}

#[derive(Serialize)]
struct Aiming<'a> {
    prefix: &'a str,
    number: u64,
    editable: bool,
    steady: bool,
    wait: u128,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Looked {
    Problem {
        problem: Problem,
        by: Option<PageText>,
    },
    Ready {
        #[serde(flatten)]
        point: Point,
        facts: Box<PageFacts>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Problem {
    Gone,
    Invisible,
    Disabled,
    Covered,
    NotEditable,
    Focus,
    Secret,
}

impl Problem {
    pub fn of(self, reference: &str, by: Option<Words>) -> BrowserError {
        let element = reference.to_owned();
        match self {
            Problem::Gone => BrowserError::stale(reference),
            Problem::Invisible => BrowserError::ElementNotVisible { element },
            Problem::Disabled => BrowserError::ElementDisabled { element },
            Problem::Covered => {
                BrowserError::ElementCovered { element, by: by.unwrap_or(Words::Ours("another element")) }
            }
            Problem::NotEditable => BrowserError::ElementNotEditable { element },
            Problem::Focus => BrowserError::FocusLost { element, taken_by: by },
            Problem::Secret => BrowserError::TargetChanged { element, what: "it is a secret field now" },
        }
    }
}

/// What the script tells of an element; the frame's origin is added from outside.
#[derive(Deserialize)]
struct PageFacts {
    element: String,
    role: String,
    name: String,
    text: String,
    tag: String,
    input_type: Option<String>,
    secret: bool,
    href: Option<String>,
    form: Option<PageForm>,
}

#[derive(Deserialize)]
struct PageForm {
    method: String,
    action: String,
}

/// One point, as two frames see it.
struct Lifted {
    /// In the outermost frame that the element's session speaks for.
    in_process: Point,
    in_tab: Point,
}

#[derive(Serialize)]
struct Through<'a> {
    frame: &'a str,
    x: f64,
    y: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Passed {
    Problem { problem: Problem, by: Option<PageText> },
    At(Point),
}

impl Browser {
    /// The element a target names, and how many answered to it.
    pub(crate) async fn locate(
        &self,
        target: &Target,
        deadline: Deadline,
    ) -> Result<(Element, usize), BrowserError> {
        match target {
            Target::Ref(reference) => Ok((self.element(reference)?, 1)),
            Target::Role { role, name, index } => {
                let patience = deadline.within(APPEAR_WAIT);
                loop {
                    match self.search(role, name.as_deref(), *index, deadline).await {
                        Err(BrowserError::ElementNotFound { .. }) if !patience.left().is_zero() => {
                            tokio::time::sleep(LOOK_AGAIN).await;
                        }
                        found => return found,
                    }
                }
            }
        }
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

    async fn search(
        &self,
        role: &str,
        name: Option<&str>,
        index: usize,
        deadline: Deadline,
    ) -> Result<(Element, usize), BrowserError> {
        let frames = self.frames_to_ask();
        let role = role.trim().to_ascii_lowercase();
        let asked = frames.iter().enumerate().map(|(place, (frame, prefix))| {
            let wanted = Wanted { prefix, role: &role, name };
            let limit = if place == 0 { deadline } else { deadline.within(FRAME_WAIT) };
            async move { self.ask::<_, Found>(frame, "find", &wanted, limit).await }
        });
        let mut found = Vec::new();
        for (place, answer) in futures_util::future::join_all(asked).await.into_iter().enumerate() {
            match answer {
                Ok(answer) => found.push(answer),
                // A frame that went or hangs has nothing to click; the main frame must answer.
                Err(AskError::Gone | AskError::Failed(BrowserError::Timeout { .. })) if place > 0 => {}
                Err(error) => return Err(error.into()),
            }
        }
        choose(&found, index)
            .and_then(|(reference, matches)| Some((self.element(&reference).ok()?, matches)))
            .ok_or_else(|| not_found(&role, name, index, &found))
    }

    /// Waits until an element can be acted on, and tells where and what it is.
    pub(crate) async fn aim(
        &self,
        element: &Element,
        purpose: Purpose,
        deadline: Deadline,
    ) -> Result<Aim, BrowserError> {
        // Some time stays for telling what was wrong with it.
        let patience = deadline.within(READY_WAIT.min(deadline.left() * 3 / 4));
        loop {
            match self.look(element, purpose, patience.left(), deadline).await {
                // The frames around it are looked at from here; what covers them may go away.
                Err(BrowserError::ElementCovered { .. } | BrowserError::ElementNotVisible { .. })
                    if !patience.left().is_zero() =>
                {
                    tokio::time::sleep(LOOK_AGAIN).await;
                }
                looked => return looked,
            }
        }
    }

    /// One look at an element; with `wait` it may take that long to come to rest.
    pub(crate) async fn look(
        &self,
        element: &Element,
        purpose: Purpose,
        wait: Duration,
        deadline: Deadline,
    ) -> Result<Aim, BrowserError> {
        let stale = || BrowserError::stale(&element.reference);
        let (prefix, origin) = {
            let mut state = self.shared.lock();
            let tab = state.tab.as_mut().ok_or_else(stale)?;
            let prefix = tab.frames.prefix(&element.frame).ok_or_else(stale)?;
            (prefix, tab.frames.origin(&element.frame))
        };
        if parse_ref(&element.reference).map(|(_, number)| format!("{prefix}e{number}")).as_deref()
            != Some(&element.reference)
        {
            return Err(stale());
        }
        let aiming = Aiming {
            prefix: &prefix,
            number: element.number,
            editable: purpose == Purpose::Type,
            steady: !wait.is_zero(),
            wait: wait.as_millis(),
        };
        let looked = match self.ask(&element.frame, "aim", &aiming, deadline).await {
            Ok(looked) => looked,
            Err(AskError::Gone) => return Err(stale()),
            Err(AskError::Failed(error)) => return Err(error),
        };
        match looked {
            Looked::Problem { problem, by } => Err(problem.of(&element.reference, by.map(Words::Page))),
            Looked::Ready { point, facts } => {
                let lifted = self.lift(element, point, deadline).await?;
                if purpose == Purpose::Click {
                    self.strikes(element, &facts.element, lifted.in_process, deadline).await?;
                }
                Ok(Aim { x: lifted.in_tab.x, y: lifted.in_tab.y, facts: facts.of_origin(origin) })
            }
        }
    }

    /// From a point in a frame to the same point in the tab, through every frame on the way.
    async fn lift(
        &self,
        element: &Element,
        point: Point,
        deadline: Deadline,
    ) -> Result<Lifted, BrowserError> {
        let stale = || BrowserError::stale(&element.reference);
        let mut lifted = Lifted { in_process: point, in_tab: point };
        let mut same_process = true;
        let mut frame = element.frame.clone();
        for _ in 0..MOST_FRAMES_ASKED {
            let parent = {
                let state = self.shared.lock();
                let tab = state.tab.as_ref().ok_or_else(stale)?;
                if tab.target == frame {
                    return Ok(lifted);
                }
                let known = tab.frames.get(&frame).ok_or_else(stale)?;
                let parent = known.parent.as_ref().ok_or_else(stale)?;
                let above = tab.frames.get(parent).ok_or_else(stale)?;
                same_process &= above.session == known.session;
                parent.clone()
            };
            self.introduce(&frame, deadline).await.map_err(|error| gone_is(error, stale()))?;
            let through = Through { frame: &frame, x: lifted.in_tab.x, y: lifted.in_tab.y };
            let passed = self.ask(&parent, "through", &through, deadline).await;
            match passed.map_err(|error| gone_is(error, stale()))? {
                Passed::Problem { problem, by } => {
                    return Err(problem.of(&element.reference, by.map(Words::Page)));
                }
                Passed::At(point) => lifted.in_tab = point,
            }
            if same_process {
                lifted.in_process = lifted.in_tab;
            }
            frame = parent;
        }
        Err(BrowserError::ElementNotVisible { element: element.reference.clone() })
    }
}

fn gone_is(error: AskError, gone: BrowserError) -> BrowserError {
    match error {
        AskError::Gone => gone,
        AskError::Failed(error) => error,
    }
}

impl PageFacts {
    fn of_origin(self, origin: Origin) -> ElementFacts {
        let PageFacts { element, role, name, text, tag, input_type, secret, href, form } = self;
        let form = form.map(|PageForm { method, action }| FormFacts { method, action });
        ElementFacts { element, role, name, text, tag, origin, input_type, secret, href, form, matches: 1 }
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

fn not_found(role: &str, name: Option<&str>, index: usize, found: &[Found]) -> BrowserError {
    let name = name.map(|name| format!(" {:?}", cut(name, 100))).unwrap_or_default();
    let place = if index > 0 { format!(" number {index}") } else { String::new() };
    let candidates = found
        .iter()
        .flat_map(|frame| &frame.near)
        .take(MOST_CANDIDATES)
        .map(|near| PageText::new(&format!("{} {:?}", near.role, near.name)))
        .collect();
    BrowserError::ElementNotFound { wanted: format!("{}{name}{place}", cut(role, 32)), candidates }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(exact: &[&str], close: &[&str], part: &[&str]) -> Found {
        let list = |refs: &[&str]| refs.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let total = [exact.len(), close.len(), part.len()];
        Found { exact: list(exact), close: list(close), part: list(part), near: Vec::new(), total }
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
}
