//! Guarded input: the guard in each frame blocks a click or key that would reach another element than the permitted one.

use super::{KeyStroke, MousePress};
use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    page::{FRAME_WAIT, InputReport, POLL_INTERVAL, QUIESCENCE_WAIT},
    script::ScriptFunction,
    targeting::{
        ActionabilityCheck, ActionableElement, Element, GuardArming, TargetProblem, TargetUse,
        check_unchanged, check_unchanged_apart_from_position, check_unchanged_visibly,
    },
    text::AttributedText,
};
use futures_util::future::join_all;
use policy::ElementFacts;
use std::time::Duration;

/// Blocked input had no effect, so it may be sent again: the page moves, or hovering moved it.
const MAX_TRIES: usize = 4;
/// How long other frames may take to report what they blocked. A frame that hangs receives no input either.
const REPORT_WAIT: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InputKind {
    Mouse,
    /// Text, or a part of it, which changes the content of the form.
    Keys,
    /// One key, pressed on the present content.
    Key,
}

/// Input, and the element it is meant for.
#[derive(Clone, Copy)]
pub(crate) struct GuardedInput<'a> {
    pub element: &'a Element,
    pub target_use: TargetUse,
    pub kind: InputKind,
    /// The facts that were decided on; if they have changed, nothing is sent. `None` for a part of a permitted action.
    pub decided: Option<&'a ElementFacts>,
    /// It is one gesture, which can be sent again when it was blocked.
    pub repeatable: bool,
    /// The drop target of a drag.
    pub drop: Option<&'a Element>,
}

/// The events to send.
#[derive(Clone, Copy)]
pub(crate) enum InputGesture<'a> {
    Click(MousePress),
    Move,
    /// Press, move to another element, release.
    Drag(&'a ActionableElement),
    Key(&'a KeyStroke),
    Keys(&'a [KeyStroke]),
    /// One key per character.
    Text(&'a str),
    /// All at once.
    Insert(&'a str),
    /// One line at a time.
    Lines(&'a str),
}

impl GuardedInput<'_> {
    fn arming(&self, frame: &str) -> GuardArming {
        let number = (self.element.frame == *frame).then_some(self.element.number);
        let drop = self.drop.filter(|drop| drop.frame == *frame).map(|drop| drop.number);
        GuardArming { number, keys: self.kind != InputKind::Mouse, page: false, drop }
    }

    /// Whether it may begin in one frame and end in another: text when the focus moves, or a drag.
    fn spans_frames(&self) -> bool {
        self.kind != InputKind::Mouse || self.drop.is_some()
    }
}

impl Browser {
    /// Arms the guard, sends input to an element, and waits until the page is idle; fails if the guard blocked the input.
    pub(crate) async fn send_guarded(
        &self,
        input: GuardedInput<'_>,
        gesture: InputGesture<'_>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let tries = if input.repeatable { MAX_TRIES } else { 1 };
        let mut by = None;
        for attempt in 0..tries {
            let sent = match self.arm_and_check(input, attempt > 0, deadline).await {
                Ok(target) => self.send(gesture, &target, deadline).await,
                Err(error) => Err(error),
            };
            let report =
                self.disarm(&input.element.frame, sent.is_ok(), input.spans_frames(), deadline).await;
            sent?;
            if !report.stopped {
                return Ok(());
            }
            by = self.covering_text(report.by).or(by);
            if report.began {
                // A part of it had its effect, and would have it twice.
                break;
            }
        }
        Err(match input.kind {
            InputKind::Mouse => {
                let by = by.unwrap_or(AttributedText::Driver("an element that the page moved over it"));
                TargetProblem::Covered.into_error(&input.element.reference, Some(by))
            }
            InputKind::Keys | InputKind::Key => TargetProblem::Focus.into_error(&input.element.reference, by),
        })
    }

    async fn send(
        &self,
        gesture: InputGesture<'_>,
        target: &ActionableElement,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        match gesture {
            InputGesture::Click(press) => self.press_mouse(target, press, deadline).await,
            InputGesture::Move => {
                self.dispatch_mouse("mouseMoved", target.x, target.y, false, deadline).await
            }
            InputGesture::Drag(end) => self.drag_mouse(target, end, deadline).await,
            InputGesture::Key(stroke) => self.strike_key(stroke, deadline).await,
            InputGesture::Keys(strokes) => self.strike_keys(strokes, deadline).await,
            InputGesture::Text(text) => self.strike_text(text, deadline).await,
            InputGesture::Insert(text) => self.insert(text, deadline).await,
            InputGesture::Lines(text) => self.insert_lines(text, deadline).await,
        }
    }

    /// The last check before input is sent; it arms the guard of the element's own frame in the same moment.
    async fn arm_and_check(
        &self,
        input: GuardedInput<'_>,
        steady: bool,
        deadline: Deadline,
    ) -> Result<ActionableElement, BrowserError> {
        if self.all_frames()?.1 {
            let reason = AttributedText::Driver("it has too many frames to act in it safely");
            return Err(BrowserError::PageScript { reason });
        }
        if let Some(drop) = input.drop.filter(|drop| drop.frame != input.element.frame) {
            self.arm(&drop.frame, input.arming(&drop.frame), deadline).await?;
        }
        let check = ActionabilityCheck {
            target_use: input.target_use,
            steady,
            arm: Some(input.arming(&input.element.frame)),
        };
        let target = self.wait_actionable(input.element, check, deadline).await?;
        match (input.decided, input.kind) {
            (Some(decided), InputKind::Mouse) => check_unchanged_visibly(decided, &target.facts)?,
            // It may have been scrolled into view and focused since.
            (Some(decided), InputKind::Keys) => check_unchanged(decided, &target.facts)?,
            (Some(decided), InputKind::Key) => check_unchanged_apart_from_position(decided, &target.facts)?,
            // The element itself must be hit, not a control inside it.
            (None, _) if target.facts.element != input.element.reference => {
                let by = AttributedText::Driver("something in it that can be pressed by itself");
                return Err(TargetProblem::Covered.into_error(&input.element.reference, Some(by)));
            }
            (None, _) => {}
        }
        Ok(target)
    }

    /// All frames of the tab, main frame first, and whether there are untracked ones.
    fn all_frames(&self) -> Result<(Vec<String>, bool), BrowserError> {
        let state = self.shared.lock();
        let tab = state.tab.as_ref().ok_or(BrowserError::TabClosed)?;
        Ok((tab.frames.inside(&tab.target), tab.frames.has_untracked()))
    }

    /// Sends a key to the page itself while nothing is focused. An element that takes the focus meanwhile gets no key.
    pub(crate) async fn send_guarded_to_page(
        &self,
        stroke: &KeyStroke,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let main = self.all_frames()?.0.into_iter().next().ok_or(BrowserError::TabClosed)?;
        let arming = GuardArming { keys: true, page: true, ..GuardArming::default() };
        let sent = match self.arm(&main, arming, deadline).await {
            Ok(()) => self.strike_key(stroke, deadline).await,
            Err(error) => Err(error),
        };
        let report = self.disarm(&main, sent.is_ok(), true, deadline).await;
        sent?;
        if report.stopped {
            Err(TargetProblem::Focus.into_error("the page", self.covering_text(report.by)))
        } else {
            Ok(())
        }
    }

    async fn arm(&self, frame: &str, arming: GuardArming, deadline: Deadline) -> Result<(), BrowserError> {
        self.call_script::<_, bool>(
            frame,
            ScriptFunction::ArmInputGuard,
            &arming,
            deadline.within(FRAME_WAIT),
        )
        .await?;
        Ok(())
    }

    /// Disarms a frame and waits until it is idle. With `all`, or when nothing of the input reached it, the other frames
    /// report too.
    async fn disarm(&self, frame: &String, sent: bool, all: bool, deadline: Deadline) -> InputReport {
        let limit = deadline.within(QUIESCENCE_WAIT);
        if !self.wait_input_handled(limit).await {
            // Pending input must not meet another guard than it was sent with.
            return InputReport::default();
        }
        // A frame that is gone or hangs has no report; the action itself fails if the tab is gone.
        let disarm = async |frame: &str, expecting, limit| {
            self.disarm_and_wait_idle(frame, expecting, limit).await.unwrap_or_default()
        };
        let report = disarm(frame, sent, limit).await;
        if !sent || (report.began && !all) {
            return report;
        }
        let frames = self.all_frames().unwrap_or_default().0;
        let reporting = limit.within(REPORT_WAIT);
        let others =
            frames.iter().filter(|other| *other != frame).map(|other| disarm(other, false, reporting));
        join_all(others).await.into_iter().fold(report, InputReport::merge)
    }

    /// Waits for input whose sender gave up because a dialog opened.
    async fn wait_input_handled(&self, limit: Deadline) -> bool {
        let Ok(session) = self.tab_session() else { return true };
        while self.connection.has_pending_input(&session) {
            if limit.left().is_zero() {
                return false;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        true
    }

    /// Disarms the guards that an interrupted action has left armed, and waits until the page is idle.
    pub(crate) async fn disarm_all(&self, deadline: Deadline) -> Result<(), BrowserError> {
        if let Some(main) = self.all_frames()?.0.first() {
            self.disarm(main, true, true, deadline).await;
        }
        Ok(())
    }
}
