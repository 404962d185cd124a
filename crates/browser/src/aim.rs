//! An element that can be acted on right now: where it is hit, and the facts about it.

use crate::{
    ask::AskError,
    browser::{Browser, SnapshotOptions},
    deadline::Deadline,
    error::BrowserError,
    frames::parse_ref,
    guard::Arming,
    hit::Point,
    locate::{Element, LOOK_AGAIN, MOST_FRAMES_ASKED},
    page_text::{PageText, Words},
};
use policy::{Appearance, ElementFacts, FormButton, FormFacts, Origin};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long an element may take to become visible, enabled, uncovered and still.
const READY_WAIT: Duration = Duration::from_secs(5);

/// What an element is wanted for; the script knows what each asks of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Purpose {
    Click,
    Hover,
    Drag,
    /// Where a drag ends.
    Drop,
    Type,
    Select,
    Check,
    Press,
    Scroll,
    /// Turned over, wherever it is in view.
    Wheel,
    See,
}

/// A point of the element's own frame that was asked for, instead of the element's middle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Spot {
    pub x: f64,
    pub y: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct How {
    pub purpose: Purpose,
    #[serde(rename = "point")]
    pub spot: Option<Spot>,
}

/// An element that can be acted on right now.
#[derive(Clone, Debug)]
pub(crate) struct Aim {
    /// In the tab's viewport, whichever frame the element is in.
    pub x: f64,
    pub y: f64,
    pub around: Around,
    pub facts: ElementFacts,
}

/// An element's box, as seen from the point where it is hit.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Around {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Around {
    /// Left, top, width and height in the tab, for a point of the tab that it is seen from.
    pub fn of_tab(&self, x: f64, y: f64) -> [i32; 4] {
        // A cast of a float saturates.
        [x + self.left, y + self.top, self.width, self.height].map(|number| number.round() as i32)
    }
}

/// How one look is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looking {
    pub how: How,
    /// Seen twice in the same place, whatever the page's animations say.
    pub steady: bool,
    /// Arms the guard of the element's frame in the same moment.
    pub arm: Option<Arming>,
}

#[derive(Serialize)]
struct Aiming<'a> {
    prefix: &'a str,
    number: u64,
    how: How,
    steady: bool,
    wait: u128,
    arming: Option<Arming>,
    options: &'a SnapshotOptions,
}

/// What the script says of one look.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Looked {
    Problem {
        problem: Problem,
        by: Option<PageText>,
    },
    Ready {
        #[serde(flatten)]
        point: Point,
        /// Something may be hit there that the script cannot see.
        hides: bool,
        /// It gets keys because it has the focus, wherever it is.
        pointless: bool,
        around: Around,
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
    Moving,
    NotEditable,
    NotAList,
    NotCheckable,
    Focus,
    Secret,
    /// At a point, or with the focus.
    Nothing,
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
            Problem::Moving => BrowserError::ElementMoving { element },
            Problem::NotEditable => BrowserError::ElementNotEditable { element },
            Problem::NotAList => BrowserError::ElementNotAList { element },
            Problem::NotCheckable => BrowserError::ElementNotCheckable { element },
            Problem::Focus => BrowserError::FocusLost { element, taken_by: by },
            Problem::Secret => BrowserError::TargetChanged { element, what: "it is a secret field now" },
            Problem::Nothing => BrowserError::NothingThere,
        }
    }
}

/// What the script tells of an element; the frame's origin is added from outside.
#[derive(Debug, Deserialize)]
pub(crate) struct PageFacts {
    element: String,
    role: String,
    name: String,
    text: String,
    tag: String,
    input_type: Option<String>,
    editable: bool,
    secret: bool,
    href: Option<String>,
    form: Option<PageForm>,
    form_state: String,
}

#[derive(Debug, Deserialize)]
struct PageForm {
    method: String,
    action: String,
    payment: bool,
    button: Option<PageButton>,
}

#[derive(Debug, Deserialize)]
struct PageButton {
    name: String,
    text: String,
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
    /// Waits until an element can be acted on, and tells where and what it is.
    pub(crate) async fn aim(
        &self,
        element: &Element,
        looking: Looking,
        deadline: Deadline,
    ) -> Result<Aim, BrowserError> {
        // Some time stays for telling what was wrong with it.
        let patience = deadline.within(READY_WAIT.min(deadline.left() * 3 / 4));
        loop {
            match self.look(element, looking, patience.left(), deadline).await {
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

    async fn look(
        &self,
        element: &Element,
        looking: Looking,
        wait: Duration,
        deadline: Deadline,
    ) -> Result<Aim, BrowserError> {
        let prefix = self.prefix_of(element)?;
        let aiming = Aiming {
            prefix: &prefix,
            number: element.number,
            how: looking.how,
            steady: looking.steady,
            wait: wait.as_millis(),
            arming: looking.arm,
            options: &self.options.snapshot,
        };
        let looked = self.ask(&element.frame, "aim", &aiming, deadline).await;
        self.aimed(element, looked.map_err(|error| gone_is(error, element.stale()))?, deadline).await
    }

    /// From what the script saw to what the driver acts on.
    pub(crate) async fn aimed(
        &self,
        element: &Element,
        looked: Looked,
        deadline: Deadline,
    ) -> Result<Aim, BrowserError> {
        match looked {
            Looked::Problem { problem, by } => Err(problem.of(&element.reference, by.map(Words::Page))),
            Looked::Ready { point, hides, pointless, around, facts } => {
                let lifted = if pointless {
                    Lifted { in_process: point, in_tab: point }
                } else {
                    self.lift(element, point, deadline).await?
                };
                if hides {
                    self.strikes(element, &facts.element, lifted.in_process, deadline).await?;
                }
                let origin = self.origin_of(element)?;
                let Point { x, y, .. } = lifted.in_tab;
                Ok(Aim { x, y, around, facts: facts.of_origin(origin, around.of_tab(x, y)) })
            }
        }
    }

    /// The prefix of refs in the element's document; fails when that document is gone.
    fn prefix_of(&self, element: &Element) -> Result<String, BrowserError> {
        let mut state = self.shared.lock();
        let tab = state.tab.as_mut().ok_or_else(|| element.stale())?;
        let prefix = tab.frames.prefix(&element.frame).ok_or_else(|| element.stale())?;
        let now = parse_ref(&element.reference).map(|(_, number)| format!("{prefix}e{number}"));
        if now.as_deref() == Some(&element.reference) { Ok(prefix) } else { Err(element.stale()) }
    }

    fn origin_of(&self, element: &Element) -> Result<Origin, BrowserError> {
        let state = self.shared.lock();
        let tab = state.tab.as_ref().ok_or_else(|| element.stale())?;
        Ok(tab.frames.origin(&element.frame))
    }

    /// From a point in a frame to the same point in the tab, through every frame on the way.
    async fn lift(
        &self,
        element: &Element,
        point: Point,
        deadline: Deadline,
    ) -> Result<Lifted, BrowserError> {
        let stale = || element.stale();
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

pub(crate) fn gone_is(error: AskError, gone: BrowserError) -> BrowserError {
    match error {
        AskError::Gone => gone,
        AskError::Failed(error) => error,
    }
}

impl PageFacts {
    fn of_origin(self, origin: Origin, place: [i32; 4]) -> ElementFacts {
        let PageFacts {
            element,
            role,
            name,
            text,
            tag,
            input_type,
            editable,
            secret,
            href,
            form,
            form_state,
        } = self;
        let form = form.map(|PageForm { method, action, payment, button }| {
            let button = button.map(|PageButton { name, text }| FormButton { name, text });
            FormFacts { method, action, payment, button }
        });
        let appearance = Appearance { rect: place, form_digest: form_state, pinned: false };
        let matches = 1;
        ElementFacts {
            element,
            role,
            name,
            text,
            tag,
            origin,
            input_type,
            editable,
            secret,
            href,
            form,
            matches,
            appearance,
        }
    }
}
