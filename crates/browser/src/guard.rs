//! Arming the frame of an element, so that a click or a key reaches that element or nothing.

use crate::{
    aim::{Aim, How, Looking, Problem},
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    locate::{Element, FRAME_WAIT, LOOK_AGAIN},
    page_text::Words,
    resting::{RESTING, Rested},
    script::ScriptFunction,
    verbs::{Press, Stroke, unchanged, unchanged_in_itself, unchanged_to_the_eye},
};
use futures_util::future::join_all;
use policy::ElementFacts;
use serde::Serialize;
use std::time::Duration;

/// What was stopped had no effect, so it may be sent again: the page moves, or hovering moved it.
const TRIES: usize = 4;
/// How long frames that were not meant may take to tell what they stopped. One that hangs tells nothing, and gets
/// nothing either.
const TELLING: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Mouse,
    /// Text, or a part of it, which changes what the form holds.
    Keys,
    /// One key, pressed on what is there.
    Key,
}

/// What is sent, and to what.
#[derive(Clone, Copy)]
pub(crate) struct Shot<'a> {
    pub element: &'a Element,
    pub how: How,
    pub input: Input,
    /// The facts that were decided on; if they have changed, nothing is sent. None for a part of what was decided on.
    pub decided: Option<&'a ElementFacts>,
    /// Whether it is one gesture, which can be sent again when it was stopped.
    pub repeatable: bool,
    /// What a drag ends on.
    pub drop: Option<&'a Element>,
}

/// What one frame lets through.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Arming {
    /// The element that is meant; none in every frame but its own.
    number: Option<u64>,
    keys: bool,
    /// Whether the document itself is meant, with nothing on it that has the focus.
    page: bool,
    /// What may be dropped on.
    drop: Option<u64>,
}

/// What a hand does once it is aimed.
#[derive(Clone, Copy)]
pub(crate) enum Hand<'a> {
    Press(Press),
    Move,
    /// Presses, moves to another element, and lets go there.
    Carry(&'a Aim),
    Key(&'a Stroke),
    Keys(&'a [Stroke]),
    /// By a key for each character.
    Text(&'a str),
    /// At once, as it is.
    Insert(&'a str),
    /// A line at once.
    Lines(&'a str),
}

impl Shot<'_> {
    fn arming(&self, frame: &str) -> Arming {
        let number = (self.element.frame == *frame).then_some(self.element.number);
        let drop = self.drop.filter(|drop| drop.frame == *frame).map(|drop| drop.number);
        Arming { number, keys: self.input != Input::Mouse, page: false, drop }
    }

    /// Whether it may begin in one frame and end in another: text does when the focus hops, and a drag.
    fn all(&self) -> bool {
        self.input != Input::Mouse || self.drop.is_some()
    }
}

impl Browser {
    /// Sends input to an element while its frame is armed for it, and lets the page come to rest; fails if the input
    /// went astray, and was stopped.
    pub(crate) async fn guarded(
        &self,
        shot: Shot<'_>,
        hand: Hand<'_>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let tries = if shot.repeatable { TRIES } else { 1 };
        let mut by = None;
        for attempt in 0..tries {
            let sent = match self.take_aim(shot, attempt > 0, deadline).await {
                Ok(aim) => self.send(hand, &aim, deadline).await,
                Err(error) => Err(error),
            };
            let came = self.disarm(&shot.element.frame, sent.is_ok(), shot.all(), deadline).await;
            sent?;
            if !came.stopped {
                return Ok(());
            }
            by = came.by.map(Words::Page).or(by);
            if came.began {
                // Half of it had its effect; to send it again would have that twice.
                break;
            }
        }
        Err(match shot.input {
            Input::Mouse => {
                let by = by.unwrap_or(Words::Ours("what the page moved in its way"));
                Problem::Covered.of(&shot.element.reference, Some(by))
            }
            Input::Keys | Input::Key => Problem::Focus.of(&shot.element.reference, by),
        })
    }

    async fn send(&self, hand: Hand<'_>, aim: &Aim, deadline: Deadline) -> Result<(), BrowserError> {
        match hand {
            Hand::Press(press) => self.press_mouse(aim, press, deadline).await,
            Hand::Move => self.mouse("mouseMoved", aim.x, aim.y, false, deadline).await,
            Hand::Carry(end) => self.carry(aim, end, deadline).await,
            Hand::Key(stroke) => self.strike_key(stroke, deadline).await,
            Hand::Keys(strokes) => self.strike_keys(strokes, deadline).await,
            Hand::Text(text) => self.strike_text(text, deadline).await,
            Hand::Insert(text) => self.insert(text, deadline).await,
            Hand::Lines(text) => self.insert_lines(text, deadline).await,
        }
    }

    /// The last look before input is sent: it arms the element's own frame in the same moment.
    async fn take_aim(&self, shot: Shot<'_>, steady: bool, deadline: Deadline) -> Result<Aim, BrowserError> {
        if self.every_frame()?.1 {
            let reason = Words::Ours("it has too many frames to act in it safely");
            return Err(BrowserError::PageScript { reason });
        }
        if let Some(drop) = shot.drop.filter(|drop| drop.frame != shot.element.frame) {
            self.arm(&drop.frame, shot.arming(&drop.frame), deadline).await?;
        }
        let looking = Looking { how: shot.how, steady, arm: Some(shot.arming(&shot.element.frame)) };
        let aim = self.aim(shot.element, looking, deadline).await?;
        match (shot.decided, shot.input) {
            (Some(decided), Input::Mouse) => unchanged_to_the_eye(decided, &aim.facts)?,
            // It may have been scrolled to and got the focus since.
            (Some(decided), Input::Keys) => unchanged(decided, &aim.facts)?,
            (Some(decided), Input::Key) => unchanged_in_itself(decided, &aim.facts)?,
            // It is pressed itself, and nothing that lies in it.
            (None, _) if aim.facts.element != shot.element.reference => {
                let by = Words::Ours("something in it that can be pressed by itself");
                return Err(Problem::Covered.of(&shot.element.reference, Some(by)));
            }
            (None, _) => {}
        }
        Ok(aim)
    }

    /// All frames of the tab, the main one first, and whether it has had more than are known.
    fn every_frame(&self) -> Result<(Vec<String>, bool), BrowserError> {
        let state = self.shared.lock();
        let tab = state.tab.as_ref().ok_or(BrowserError::TabClosed)?;
        Ok((tab.frames.inside(&tab.target), tab.frames.untracked()))
    }

    /// Sends keys to the page itself, where nothing has the focus; what gets it meanwhile gets no key.
    pub(crate) async fn guarded_page(&self, stroke: &Stroke, deadline: Deadline) -> Result<(), BrowserError> {
        let main = self.every_frame()?.0.into_iter().next().ok_or(BrowserError::TabClosed)?;
        let arming = Arming { keys: true, page: true, ..Arming::default() };
        let sent = match self.arm(&main, arming, deadline).await {
            Ok(()) => self.strike_key(stroke, deadline).await,
            Err(error) => Err(error),
        };
        let came = self.disarm(&main, sent.is_ok(), true, deadline).await;
        sent?;
        if came.stopped { Err(Problem::Focus.of("the page", came.by.map(Words::Page))) } else { Ok(()) }
    }

    async fn arm(&self, frame: &str, arming: Arming, deadline: Deadline) -> Result<(), BrowserError> {
        self.ask::<_, bool>(frame, ScriptFunction::ArmInputGuard, &arming, deadline.within(FRAME_WAIT))
            .await?;
        Ok(())
    }

    /// Disarms a frame and lets it come to rest; tells what came of the input there. With `all`, or when nothing of it
    /// came there, the other frames are asked too.
    async fn disarm(&self, frame: &String, sent: bool, all: bool, deadline: Deadline) -> Rested {
        let limit = deadline.within(RESTING);
        if !self.input_handled(limit).await {
            // What is still on its way must not find another guard than it was sent with.
            return Rested::default();
        }
        // A frame that went or hangs has nothing to tell; the action itself tells what became of the tab.
        let rest = async |frame: &str, expecting, limit| {
            self.rest_in(frame, expecting, limit).await.unwrap_or_default()
        };
        let came = rest(frame, sent, limit).await;
        if !sent || (came.began && !all) {
            return came;
        }
        let frames = self.every_frame().unwrap_or_default().0;
        let telling = limit.within(TELLING);
        let others = frames.iter().filter(|other| *other != frame).map(|other| rest(other, false, telling));
        join_all(others).await.into_iter().fold(came, Rested::and)
    }

    /// Waits for input whose sender gave up, because a question of the page's came between.
    async fn input_handled(&self, limit: Deadline) -> bool {
        let Ok(session) = self.tab_session() else { return true };
        while self.connection.has_input_under_way(&session) {
            if limit.left().is_zero() {
                return false;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        true
    }

    /// Disarms what an action that was broken off has left armed, and lets the page come to rest.
    pub(crate) async fn disarm_all(&self, deadline: Deadline) -> Result<(), BrowserError> {
        if let Some(main) = self.every_frame()?.0.first() {
            self.disarm(main, true, true, deadline).await;
        }
        Ok(())
    }
}
