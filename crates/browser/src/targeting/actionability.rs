//! Waits until an element is actionable: visible, enabled, uncovered and still. Returns its point and its facts.

use super::{GuardArming, hit_test::ViewportPoint, locate::Element};
use crate::{
    browser::{Browser, SnapshotOptions},
    deadline::Deadline,
    error::BrowserError,
    page::{MAX_READABLE_FRAMES, POLL_INTERVAL, ScriptCallError},
    script::ScriptFunction,
    state::parse_ref,
    text::{AttributedText, Limit, PageText, TextCutter},
};
use policy::{Appearance, ElementFacts, FormButton, FormFacts, Origin};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long an element may take to become visible, enabled, uncovered and still.
const ACTIONABLE_WAIT: Duration = Duration::from_secs(5);

/// The limits of facts, as the page script has them.
const MAX_NAME: Limit = Limit::Units(300);
const MAX_TEXT: Limit = Limit::Units(200);
const MAX_JOINED: Limit = Limit::Units(2000);
const MAX_FACT_URL: usize = 2000;
const MAX_COVERING: Limit = Limit::Units(120);

/// The use of an element; the script knows what each requires.
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
    /// Turns the wheel over it, wherever it is in view.
    Wheel,
    See,
}

/// A requested point in the element's own frame, instead of the element's center.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FramePoint {
    pub x: f64,
    pub y: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct TargetUse {
    pub purpose: Purpose,
    pub point: Option<FramePoint>,
}

/// An element that can be acted on now.
#[derive(Clone, Debug)]
pub(crate) struct ActionableElement {
    /// In the viewport of the tab, whichever frame the element is in.
    pub x: f64,
    pub y: f64,
    pub element_box: ElementBox,
    pub facts: ElementFacts,
}

/// The box of an element, relative to the point where it is hit.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct ElementBox {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl ElementBox {
    /// Left, top, width and height in the tab, given the point in the tab.
    pub fn in_tab(&self, x: f64, y: f64) -> [i32; 4] {
        // A cast of a float saturates.
        [x + self.left, y + self.top, self.width, self.height].map(|number| number.round() as i32)
    }
}

/// What one check requires.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActionabilityCheck {
    pub target_use: TargetUse,
    /// The element is in the same place twice, even if the page reports no animation.
    pub steady: bool,
    /// Arms the guard of the element's frame in the same moment.
    pub arm: Option<GuardArming>,
}

#[derive(Serialize)]
struct CheckRequest<'a> {
    prefix: &'a str,
    number: u64,
    how: TargetUse,
    steady: bool,
    wait: u128,
    arming: Option<GuardArming>,
    options: &'a SnapshotOptions,
}

/// The reply of the script to one check.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum CheckReply {
    Problem {
        problem: TargetProblem,
        by: Option<String>,
    },
    Ready {
        #[serde(flatten)]
        point: ViewportPoint,
        /// Something that the script cannot see may be hit there.
        hides: bool,
        /// It receives keys because it is focused, wherever it is.
        pointless: bool,
        around: ElementBox,
        facts: Box<ScriptFacts>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TargetProblem {
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
    /// Nothing is at the point, or nothing is focused.
    Nothing,
}

impl TargetProblem {
    pub fn into_error(self, reference: &str, by: Option<AttributedText>) -> BrowserError {
        let element = reference.to_owned();
        match self {
            TargetProblem::Gone => BrowserError::stale(reference),
            TargetProblem::Invisible => BrowserError::ElementNotVisible { element },
            TargetProblem::Disabled => BrowserError::ElementDisabled { element },
            TargetProblem::Covered => BrowserError::ElementCovered {
                element,
                by: by.unwrap_or(AttributedText::Driver("another element")),
            },
            TargetProblem::Moving => BrowserError::ElementMoving { element },
            TargetProblem::NotEditable => BrowserError::ElementNotEditable { element },
            TargetProblem::NotAList => BrowserError::ElementNotAList { element },
            TargetProblem::NotCheckable => BrowserError::ElementNotCheckable { element },
            TargetProblem::Focus => BrowserError::FocusLost { element, taken_by: by },
            TargetProblem::Secret => {
                BrowserError::TargetChanged { element, what: "it is a secret field now" }
            }
            TargetProblem::Nothing => BrowserError::NothingThere,
        }
    }
}

/// The facts that the script reports; the driver adds the origin of the frame.
#[derive(Debug, Deserialize)]
pub(crate) struct ScriptFacts {
    element: String,
    role: String,
    name: String,
    text: JoinedText,
    tag: String,
    input_type: Option<String>,
    editable: bool,
    secret: bool,
    href: Option<String>,
    form: Option<ScriptForm>,
    form_state: String,
}

/// Texts with the limit of each: it is masked and cut before they are joined.
#[derive(Debug, Deserialize)]
struct JoinedText {
    parts: Vec<(usize, String)>,
    separator: String,
}

#[derive(Debug, Deserialize)]
struct ScriptForm {
    method: String,
    action: String,
    payment: bool,
    button: Option<ScriptButton>,
}

#[derive(Debug, Deserialize)]
struct ScriptButton {
    name: String,
    text: String,
}

/// A point of an element, in the coordinates of two outer frames.
struct ProjectedPoint {
    /// In the outermost frame of the element's CDP session.
    in_process: ViewportPoint,
    in_tab: ViewportPoint,
}

#[derive(Serialize)]
struct ProjectionRequest<'a> {
    frame: &'a str,
    x: f64,
    y: f64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ProjectionReply {
    Problem { problem: TargetProblem, by: Option<String> },
    At(ViewportPoint),
}

impl Browser {
    /// Waits until an element is actionable.
    pub(crate) async fn wait_actionable(
        &self,
        element: &Element,
        check: ActionabilityCheck,
        deadline: Deadline,
    ) -> Result<ActionableElement, BrowserError> {
        // Leaves time to find out what was wrong with it.
        let patience = deadline.within(ACTIONABLE_WAIT.min(deadline.left() * 3 / 4));
        loop {
            match self.check_once(element, check, patience.left(), deadline).await {
                // The script does not wait for the outer frames; what covers them may go away.
                Err(BrowserError::ElementCovered { .. } | BrowserError::ElementNotVisible { .. })
                    if !patience.left().is_zero() =>
                {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                checked => return checked,
            }
        }
    }

    async fn check_once(
        &self,
        element: &Element,
        check: ActionabilityCheck,
        wait: Duration,
        deadline: Deadline,
    ) -> Result<ActionableElement, BrowserError> {
        let prefix = self.prefix_of(element)?;
        let request = CheckRequest {
            prefix: &prefix,
            number: element.number,
            how: check.target_use,
            steady: check.steady,
            wait: wait.as_millis(),
            arming: check.arm,
            options: &self.options.snapshot,
        };
        let reply =
            self.call_script(&element.frame, ScriptFunction::WaitUntilActionable, &request, deadline).await;
        self.accept_check(element, reply.map_err(|error| gone_as(error, element.stale()))?, deadline).await
    }

    /// Turns the reply of a check into an actionable element, after a hit test where the script cannot see everything.
    pub(crate) async fn accept_check(
        &self,
        element: &Element,
        reply: CheckReply,
        deadline: Deadline,
    ) -> Result<ActionableElement, BrowserError> {
        match reply {
            CheckReply::Problem { problem, by } => {
                Err(problem.into_error(&element.reference, self.covering_text(by)))
            }
            CheckReply::Ready { point, hides, pointless, around, facts } => {
                let projected = if pointless {
                    ProjectedPoint { in_process: point, in_tab: point }
                } else {
                    self.project_to_tab(element, point, deadline).await?
                };
                if hides {
                    self.verify_hit(element, &facts.element, projected.in_process, deadline).await?;
                }
                let origin = self.origin_of(element)?;
                let ViewportPoint { x, y, .. } = projected.in_tab;
                let facts = facts.into_element_facts(origin, around.in_tab(x, y), &self.text_cutter());
                Ok(ActionableElement { x, y, element_box: around, facts })
            }
        }
    }

    /// The element that is in the way, in the words of the page.
    pub(crate) fn covering_text(&self, by: Option<String>) -> Option<AttributedText> {
        let text = self.text_cutter();
        by.map(|by| AttributedText::Page(PageText::new(&text.redact_and_cut(&by, MAX_COVERING))))
    }

    /// The ref prefix of the element's document; fails if that document is gone.
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

    /// Projects a point of a frame to the tab, through every frame between.
    async fn project_to_tab(
        &self,
        element: &Element,
        point: ViewportPoint,
        deadline: Deadline,
    ) -> Result<ProjectedPoint, BrowserError> {
        let stale = || element.stale();
        let mut projected = ProjectedPoint { in_process: point, in_tab: point };
        let mut same_process = true;
        let mut frame = element.frame.clone();
        for _ in 0..MAX_READABLE_FRAMES {
            let parent = {
                let state = self.shared.lock();
                let tab = state.tab.as_ref().ok_or_else(stale)?;
                if tab.target == frame {
                    return Ok(projected);
                }
                let known = tab.frames.get(&frame).ok_or_else(stale)?;
                let parent = known.parent.as_ref().ok_or_else(stale)?;
                let above = tab.frames.get(parent).ok_or_else(stale)?;
                same_process &= above.session == known.session;
                parent.clone()
            };
            self.register_frame_owner(&frame, deadline).await.map_err(|error| gone_as(error, stale()))?;
            let request = ProjectionRequest { frame: &frame, x: projected.in_tab.x, y: projected.in_tab.y };
            let reply = self.call_script(&parent, ScriptFunction::MapFramePoint, &request, deadline).await;
            match reply.map_err(|error| gone_as(error, stale()))? {
                ProjectionReply::Problem { problem, by } => {
                    return Err(problem.into_error(&element.reference, self.covering_text(by)));
                }
                ProjectionReply::At(point) => projected.in_tab = point,
            }
            if same_process {
                projected.in_process = projected.in_tab;
            }
            frame = parent;
        }
        Err(BrowserError::ElementNotVisible { element: element.reference.clone() })
    }
}

/// Replaces `Gone` by a specific error.
pub(crate) fn gone_as(error: ScriptCallError, gone: BrowserError) -> BrowserError {
    match error {
        ScriptCallError::Gone => gone,
        ScriptCallError::Failed(error) => error,
    }
}

impl JoinedText {
    fn redact_and_cut(&self, cutter: &TextCutter) -> String {
        let shown = |(limit, text): &(usize, String)| cutter.redact_and_cut(text, Limit::Units(*limit));
        let parts: Vec<String> = self.parts.iter().map(shown).collect();
        // Of texts that are masked already.
        TextCutter::default().redact_and_cut(&parts.join(&self.separator), MAX_JOINED)
    }
}

impl ScriptFacts {
    fn into_element_facts(self, origin: Origin, place: [i32; 4], cutter: &TextCutter) -> ElementFacts {
        let ScriptFacts {
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
        let form = form.map(|ScriptForm { method, action, payment, button }| {
            let button = button.map(|ScriptButton { name, text }| FormButton {
                name: cutter.redact_and_cut(&name, MAX_NAME),
                text: cutter.redact_and_cut(&text, MAX_TEXT),
            });
            let action = cutter.redact_and_cut_url(&action, MAX_FACT_URL);
            FormFacts { method, action, payment, button }
        });
        let appearance = Appearance { rect: place, form_digest: form_state, pinned: false };
        let matches = 1;
        ElementFacts {
            element,
            role,
            name: cutter.redact_and_cut(&name, MAX_NAME),
            text: text.redact_and_cut(cutter),
            tag,
            origin,
            input_type,
            editable,
            secret,
            href: href.map(|href| cutter.redact_and_cut_url(&href, MAX_FACT_URL)),
            form,
            matches,
            appearance,
        }
    }
}
