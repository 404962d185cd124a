//! Arming every frame of the tab, so that a click or a key reaches the element it is meant for or nothing.

use crate::{
    ask::AskError,
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    locate::{Element, FRAME_WAIT, Problem},
    page_text::Words,
};
use futures_util::future::join_all;
use serde::Serialize;
use std::time::Duration;

/// How long frames may take to be disarmed; one that hangs stays armed until the next action disarms it.
const DISARM_WAIT: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Mouse,
    Keys,
}

#[derive(Serialize)]
struct Arming {
    /// The element that is meant; none in every frame but its own.
    number: Option<u64>,
    keys: bool,
}

impl Browser {
    /// Sends input while every frame is armed; fails if some of it went astray, and was stopped.
    pub(crate) async fn guarded(
        &self,
        element: &Element,
        input: Input,
        deadline: Deadline,
        send: impl Future<Output = Result<(), BrowserError>>,
    ) -> Result<(), BrowserError> {
        let frames = self.every_frame()?;
        let sent = match self.arm(&frames, element, input, deadline).await {
            Ok(()) => send.await,
            Err(error) => Err(error),
        };
        let strayed = self.disarm(&frames).await;
        sent?;
        match (strayed, input) {
            (false, _) => Ok(()),
            (true, Input::Mouse) => {
                let by = Words::Ours("what the page moved in its way");
                Err(Problem::Covered.of(&element.reference, Some(by)))
            }
            (true, Input::Keys) => Err(Problem::Focus.of(&element.reference, None)),
        }
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

    /// A frame that cannot be armed could take what is not meant for it, so then nothing is sent.
    async fn arm(
        &self,
        frames: &[String],
        element: &Element,
        input: Input,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let limit = deadline.within(FRAME_WAIT);
        let arming = frames.iter().map(|frame| async move {
            let number = (*frame == element.frame).then_some(element.number);
            let arming = Arming { number, keys: input == Input::Keys };
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

    async fn disarm(&self, frames: &[String]) -> bool {
        let limit = Deadline::after(DISARM_WAIT, "disarm");
        let disarming = frames.iter().map(|frame| self.ask::<_, bool>(frame, "disarm", &(), limit));
        // A frame that went or hangs has nothing to tell; the action itself tells what became of the tab.
        join_all(disarming).await.into_iter().any(|stopped| stopped.unwrap_or(false))
    }
}
