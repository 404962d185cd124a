//! Letting a page come to rest after an action, and reading it in the same moment, since that is what mostly follows.

use crate::{
    ask::AskError,
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    page_text::PageText,
    roots::Process,
    script::ScriptFunction,
    snapshot::{FrameAnswer, FrameSnapshot},
    verbs::Wanted,
};
use futures_util::future::join;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a page may take to come to rest; one that does not is told as it is.
pub(crate) const RESTING: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct Resting<'a> {
    /// Whether the page has been given something to react to, and whether only just now.
    expecting: bool,
    anew: bool,
    /// How it is to be read then, if it is small enough for that to take no time.
    wanted: Option<Wanted<'a>>,
    /// Whether its nodes are counted as well.
    count: bool,
}

/// What came of input in one frame, once that had come to rest.
#[derive(Default)]
pub(crate) struct Rested {
    /// Whether anything reached what was meant.
    pub began: bool,
    /// Whether the guard stopped something, and what would have got it.
    pub stopped: bool,
    pub by: Option<PageText>,
}

#[derive(Deserialize)]
struct Answer {
    began: bool,
    stopped: bool,
    by: Option<PageText>,
    told: Option<FrameAnswer>,
    same: bool,
    count: Option<usize>,
}

/// A page that was read when it had come to rest. Whatever is waited for after that makes it old.
pub(crate) struct Ready {
    pub frames: Vec<(String, String)>,
    pub snapshot: FrameSnapshot,
}

impl Rested {
    pub fn and(self, other: Rested) -> Rested {
        Rested {
            began: self.began || other.began,
            stopped: self.stopped || other.stopped,
            by: self.by.or(other.by),
        }
    }
}

impl Browser {
    /// Lets the tab's own document come to rest, when nothing was sent to it.
    pub(crate) async fn rest(&self, deadline: Deadline) -> Result<(), BrowserError> {
        self.rest_tab(false, deadline).await
    }

    /// The same when the network has just answered it: what it does with that may be a task or two away.
    pub(crate) async fn rest_after_answers(&self, deadline: Deadline) -> Result<(), BrowserError> {
        self.rest_tab(true, deadline).await
    }

    async fn rest_tab(&self, answered: bool, deadline: Deadline) -> Result<(), BrowserError> {
        let Some(main) = self.shared.lock().tab.as_ref().map(|tab| tab.target.clone()) else {
            return Ok(());
        };
        match self.rest_frame(&main, answered, answered, deadline.within(RESTING)).await {
            // A page that is busy or on its way out has come to no rest; what follows finds out which.
            Ok(_) | Err(AskError::Gone | AskError::Failed(BrowserError::Timeout { .. })) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Disarms one frame and lets it come to rest; tells what came of the input there.
    pub(crate) async fn rest_in(
        &self,
        frame: &str,
        expecting: bool,
        limit: Deadline,
    ) -> Result<Rested, AskError> {
        self.rest_frame(frame, expecting, false, limit).await
    }

    async fn rest_frame(
        &self,
        frame: &str,
        expecting: bool,
        anew: bool,
        limit: Deadline,
    ) -> Result<Rested, AskError> {
        self.snapshots().set_ready(None);
        let frames = self.frames_to_ask();
        let alone = frames.len() == 1 && frames[0].0 == frame;
        match self.processes(&frames).first() {
            Some(process) if alone => self.rest_and_read(process, &frames, (expecting, anew), limit).await,
            _ => {
                let resting = Resting { expecting, anew, wanted: None, count: false };
                self.ask::<_, Answer>(frame, ScriptFunction::WaitUntilSettled, &resting, limit)
                    .await
                    .map(Rested::from)
            }
        }
    }

    /// What is read is kept only if there are no closed roots that are not known yet.
    async fn rest_and_read(
        &self,
        process: &Process<'_>,
        frames: &[(String, String)],
        (expecting, anew): (bool, bool),
        limit: Deadline,
    ) -> Result<Rested, AskError> {
        let (frame, prefix) = &frames[0];
        // What a page does with input may hide what is there, without anything that comes or goes.
        if expecting {
            self.note_agreed(process, None);
        }
        let agreed = self.have_agreed(process);
        let (wanted, known) = self.wanted_of_tab(frame, prefix);
        let bytes = wanted.bytes;
        let resting = Resting { expecting, anew, wanted: Some(wanted), count: !agreed };
        let asked =
            self.ask_up_to::<_, Answer>(bytes, frame, ScriptFunction::WaitUntilSettled, &resting, limit);
        let (mut answer, there) = if agreed {
            (asked.await?, None)
        } else {
            let (answer, there) = join(asked, self.count_nodes(&process.session, limit)).await;
            (answer?, there)
        };
        let all = if agreed { answer.same } else { there.is_some() && there == answer.count };
        if let Some(told) = answer.told.take().and_then(|told| told.into_snapshot(prefix, known.as_ref())) {
            self.note_told(frame, &told, false);
            let ready = Ready { frames: frames.to_vec(), snapshot: told };
            self.snapshots().set_ready(all.then_some(ready));
        }
        if !all {
            self.note_agreed(process, None);
        } else if !agreed {
            self.note_agreed(process, Some(Duration::ZERO));
        }
        Ok(Rested::from(answer))
    }
}

impl From<Answer> for Rested {
    fn from(Answer { began, stopped, by, .. }: Answer) -> Rested {
        Rested { began, stopped, by }
    }
}
