//! Arming every frame of the tab, so that a click or a key reaches the element it is meant for or nothing.

use crate::{
    aim::{Aim, How, Looking, Problem},
    ask::AskError,
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    locate::{Element, FRAME_WAIT},
    page_text::Words,
    verbs::{Press, Stroke, unchanged},
};
use futures_util::future::join_all;
use policy::ElementFacts;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a page may take to come to rest; one that does not is told as it is.
const RESTING: Duration = Duration::from_secs(2);
/// What was stopped had no effect, so it may be sent again: the page moves, or hovering moved it.
const TRIES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Mouse,
    Keys,
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
}

#[derive(Serialize)]
struct Arming {
    /// The element that is meant; none in every frame but its own.
    number: Option<u64>,
    keys: bool,
    /// Whether the document itself is meant, with nothing on it that has the focus.
    page: bool,
}

#[derive(Serialize)]
struct Resting {
    /// Whether the page has been given something to react to.
    expecting: bool,
}

/// How a frame was after it had come to rest.
#[derive(Deserialize)]
struct Rested {
    /// Whether the guard stopped something.
    stopped: bool,
}

/// What a hand does once it is aimed.
#[derive(Clone, Copy)]
pub(crate) enum Hand<'a> {
    Press(Press),
    Move,
    /// Presses, moves to another element, and lets go there.
    Carry(&'a Aim),
    Key(&'a Stroke),
    Text(&'a str),
}

impl Browser {
    /// Sends input to an element while every frame is armed, and lets the page come to rest; fails if the input went
    /// astray, and was stopped.
    pub(crate) async fn guarded(
        &self,
        shot: Shot<'_>,
        hand: Hand<'_>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let tries = if shot.repeatable { TRIES } else { 1 };
        for attempt in 0..tries {
            let frames = self.every_frame()?;
            let sent = match self.take_aim(&frames, shot, attempt > 0, deadline).await {
                Ok(aim) => self.send(hand, &aim, deadline).await,
                Err(error) => Err(error),
            };
            let strayed = self.disarm(&frames, sent.is_ok(), deadline).await;
            sent?;
            if !strayed {
                return Ok(());
            }
        }
        let by = Words::Ours("what the page moved in its way");
        Err(match shot.input {
            Input::Mouse => Problem::Covered.of(&shot.element.reference, Some(by)),
            Input::Keys => Problem::Focus.of(&shot.element.reference, None),
        })
    }

    async fn send(&self, hand: Hand<'_>, aim: &Aim, deadline: Deadline) -> Result<(), BrowserError> {
        match hand {
            Hand::Press(press) => self.press_mouse(aim, press, deadline).await,
            Hand::Move => self.mouse("mouseMoved", aim.x, aim.y, false, deadline).await,
            Hand::Carry(end) => self.carry(aim, end, deadline).await,
            Hand::Key(stroke) => self.strike_key(stroke, deadline).await,
            Hand::Text(text) => self.strike_text(text, deadline).await,
        }
    }

    /// The last look before input is sent: it arms the element's own frame in the same moment.
    async fn take_aim(
        &self,
        frames: &[String],
        shot: Shot<'_>,
        steady: bool,
        deadline: Deadline,
    ) -> Result<Aim, BrowserError> {
        let others = frames.iter().filter(|frame| **frame != shot.element.frame);
        self.arm(others, shot.input, None, deadline).await?;
        let looking = Looking { how: shot.how, steady, arm: Some(shot.input) };
        let aim = self.aim(shot.element, looking, deadline).await?;
        if let Some(decided) = shot.decided {
            unchanged(decided, &aim.facts)?;
        }
        Ok(aim)
    }

    fn every_frame(&self) -> Result<Vec<String>, BrowserError> {
        let state = self.shared.lock();
        let tab = state.tab.as_ref().ok_or(BrowserError::TabClosed)?;
        if tab.frames.untracked() {
            let reason = Words::Ours("it has too many frames to act in it safely");
            return Err(BrowserError::PageScript { reason });
        }
        Ok(tab.frames.inside(&tab.target))
    }

    /// Sends keys to the page itself, where nothing has the focus; what gets it meanwhile gets no key.
    pub(crate) async fn guarded_page(&self, stroke: &Stroke, deadline: Deadline) -> Result<(), BrowserError> {
        let frames = self.every_frame()?;
        let sent = match self.arm(frames.iter(), Input::Keys, frames.first(), deadline).await {
            Ok(()) => self.strike_key(stroke, deadline).await,
            Err(error) => Err(error),
        };
        let strayed = self.disarm(&frames, sent.is_ok(), deadline).await;
        sent?;
        if strayed { Err(Problem::Focus.of("the page", None)) } else { Ok(()) }
    }

    /// Arms frames against all input, but for keys to the document of `page`.
    ///
    /// A frame that cannot be armed could take what is not meant for it, so then nothing is sent.
    async fn arm(
        &self,
        frames: impl Iterator<Item = &String>,
        input: Input,
        page: Option<&String>,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let limit = deadline.within(FRAME_WAIT);
        let arming = frames.map(|frame| async move {
            let arming = Arming { number: None, keys: input == Input::Keys, page: page == Some(frame) };
            self.ask::<_, bool>(frame, "arm", &arming, limit).await
        });
        for armed in join_all(arming).await {
            match armed {
                Ok(_) | Err(AskError::Gone) => {}
                Err(AskError::Failed(BrowserError::Timeout { .. })) if !deadline.left().is_zero() => {
                    let reason = Words::Ours("one of its frames does not answer");
                    return Err(BrowserError::PageScript { reason });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Disarms all frames and lets them come to rest; returns whether any of them had to stop something.
    async fn disarm(&self, frames: &[String], expecting: bool, deadline: Deadline) -> bool {
        let limit = deadline.within(RESTING);
        let resting = frames.iter().map(|frame| async move {
            self.ask::<_, Rested>(frame, "rest", &Resting { expecting }, limit).await
        });
        // A frame that went or hangs has nothing to tell; the action itself tells what became of the tab.
        join_all(resting).await.into_iter().any(|rested| rested.is_ok_and(|rested| rested.stopped))
    }

    /// Lets the tab's own document come to rest, when nothing was sent to it.
    pub(crate) async fn rest(&self, deadline: Deadline) -> Result<(), BrowserError> {
        let Some(main) = self.shared.lock().tab.as_ref().map(|tab| tab.target.clone()) else {
            return Ok(());
        };
        let resting = Resting { expecting: false };
        match self.ask::<_, Rested>(&main, "rest", &resting, deadline.within(RESTING)).await {
            // A page that is busy or on its way out has come to no rest; what follows finds out which.
            Ok(_) | Err(AskError::Gone | AskError::Failed(BrowserError::Timeout { .. })) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
