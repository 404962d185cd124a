//! Reading: every frame's snapshot, taken at once and stitched into one.

use crate::{
    ask::AskError,
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    locate::FRAME_WAIT,
    snapshot::{FrameSnapshot, MOST_NODES, Snapshot, stitch},
};
use futures_util::future::join_all;
use policy::ReadFormat;
use serde::Serialize;
use std::collections::HashMap;

const ATTEMPTS: usize = 3;

/// What the main frame may send, in bytes of JSON; all other frames together may send as much again.
const SNAPSHOT_BYTES: usize = 4 << 20;

#[derive(Serialize)]
struct Wanted<'a> {
    prefix: &'a str,
    /// The script keeps to both, and counts what it leaves out.
    nodes: usize,
    bytes: usize,
}

impl Browser {
    pub(super) async fn read(
        &self,
        format: ReadFormat,
        deadline: Deadline,
    ) -> Result<Snapshot, BrowserError> {
        let mut attempts = 1;
        loop {
            let frames = self.frames_to_ask();
            let snapshot = self.read_frames(&frames, format, deadline).await?;
            // A page that was replaced meanwhile is read again, or its refs would be those of the old one.
            if attempts == ATTEMPTS || self.frames_to_ask().first() == frames.first() {
                return Ok(snapshot);
            }
            attempts += 1;
        }
    }

    async fn read_frames(
        &self,
        frames: &[(String, String)],
        format: ReadFormat,
        deadline: Deadline,
    ) -> Result<Snapshot, BrowserError> {
        // First who shows whom, so that each frame's content finds its place.
        let children =
            frames.iter().skip(1).map(|(frame, _)| self.introduce(frame, deadline.within(FRAME_WAIT)));
        for introduced in join_all(children).await {
            bearable(introduced)?;
        }
        let asked = frames.iter().enumerate().map(|(place, (frame, prefix))| {
            let (limit, sharing) =
                if place == 0 { (deadline, 1) } else { (deadline.within(FRAME_WAIT), frames.len() - 1) };
            let (nodes, bytes) = (MOST_NODES / sharing, SNAPSHOT_BYTES / sharing);
            async move {
                let wanted = Wanted { prefix, nodes, bytes };
                let told: FrameSnapshot = self.ask_up_to(bytes, frame, "snapshot", &wanted, limit).await?;
                Ok::<_, AskError>(told.of_frame(prefix))
            }
        });
        let mut answers = frames.iter().map(|(frame, _)| frame.clone()).zip(join_all(asked).await);
        let Some((_, main)) = answers.next() else { return Err(BrowserError::TabClosed) };
        let main = main?;
        let mut parts = HashMap::new();
        for (frame, answer) in answers {
            if let Some(part) = bearable(answer)? {
                parts.insert(frame, part);
            }
        }
        let url = self.state().url;
        Ok(Snapshot::of(url, stitch(main, parts), format))
    }
}

/// A frame that went, or hangs, is left out; the page around it is still worth reading.
fn bearable<T>(answer: Result<T, AskError>) -> Result<Option<T>, BrowserError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(
            AskError::Gone | AskError::Failed(BrowserError::Timeout { .. } | BrowserError::PageScript { .. }),
        ) => Ok(None),
        Err(AskError::Failed(error)) => Err(error),
    }
}
