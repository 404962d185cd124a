//! Waits until a page is idle after an action, and reads it in the same call, since a reading mostly follows.

use super::{FrameSnapshotRequest, RendererFrames, ScriptCallError, SinceList};
use crate::{
    browser::Browser,
    deadline::Deadline,
    error::BrowserError,
    script::ScriptFunction,
    snapshot::{FrameReply, SettledPage},
};
use futures_util::future::join;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long a page may take to become idle; after that it is read as it is.
pub(crate) const QUIESCENCE_WAIT: Duration = Duration::from_secs(2);

#[derive(Serialize)]
struct QuiescenceRequest<'a> {
    /// The page has got something to react to, and only just now.
    expecting: bool,
    anew: bool,
    /// How to read it then, if it is small enough to be read quickly.
    wanted: Option<FrameSnapshotRequest<'a>>,
    /// Also count its nodes.
    count: bool,
}

/// What happened to input in one frame.
#[derive(Default)]
pub(crate) struct InputReport {
    /// Some of it reached the intended element.
    pub began: bool,
    /// The guard blocked some of it; `by` is what would have received it.
    pub stopped: bool,
    pub by: Option<String>,
}

#[derive(Deserialize)]
struct QuiescenceReply {
    began: bool,
    stopped: bool,
    by: Option<String>,
    snapshot: Option<FrameReply>,
    same: bool,
    count: Option<usize>,
}

impl InputReport {
    pub fn merge(self, other: InputReport) -> InputReport {
        InputReport {
            began: self.began || other.began,
            stopped: self.stopped || other.stopped,
            by: self.by.or(other.by),
        }
    }
}

impl Browser {
    /// Waits until the main frame is idle, when nothing was sent to it.
    pub(crate) async fn wait_idle(&self, deadline: Deadline) -> Result<(), BrowserError> {
        self.wait_main_frame_idle(false, deadline).await
    }

    /// The same when responses have just arrived: the page may handle them a task or two later.
    pub(crate) async fn wait_idle_after_responses(&self, deadline: Deadline) -> Result<(), BrowserError> {
        self.wait_main_frame_idle(true, deadline).await
    }

    async fn wait_main_frame_idle(
        &self,
        after_responses: bool,
        deadline: Deadline,
    ) -> Result<(), BrowserError> {
        let Some(main) = self.shared.lock().tab.as_ref().map(|tab| tab.target.clone()) else {
            return Ok(());
        };
        match self
            .wait_frame_idle(&main, after_responses, after_responses, deadline.within(QUIESCENCE_WAIT))
            .await
        {
            // A busy or navigating page does not become idle; the next call finds out which.
            Ok(_) | Err(ScriptCallError::Gone | ScriptCallError::Failed(BrowserError::Timeout { .. })) => {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Disarms the guard of one frame and waits until it is idle.
    pub(crate) async fn disarm_and_wait_idle(
        &self,
        frame: &str,
        expecting: bool,
        limit: Deadline,
    ) -> Result<InputReport, ScriptCallError> {
        self.wait_frame_idle(frame, expecting, false, limit).await
    }

    async fn wait_frame_idle(
        &self,
        frame: &str,
        expecting: bool,
        anew: bool,
        limit: Deadline,
    ) -> Result<InputReport, ScriptCallError> {
        self.snapshots().set_settled(None);
        let frames = self.readable_frames();
        let is_only_frame = frames.len() == 1 && frames[0].0 == frame;
        match self.renderer_frames(&frames).first() {
            Some(renderer) if is_only_frame => {
                self.wait_idle_and_read(renderer, &frames, (expecting, anew), limit).await
            }
            _ => {
                let request = QuiescenceRequest { expecting, anew, wanted: None, count: false };
                self.call_script::<_, QuiescenceReply>(
                    frame,
                    ScriptFunction::WaitUntilSettled,
                    &request,
                    limit,
                )
                .await
                .map(InputReport::from)
            }
        }
    }

    /// The reading is kept only if all closed roots are known.
    async fn wait_idle_and_read(
        &self,
        renderer: &RendererFrames<'_>,
        frames: &[(String, String)],
        (expecting, anew): (bool, bool),
        limit: Deadline,
    ) -> Result<InputReport, ScriptCallError> {
        let (frame, prefix) = &frames[0];
        // A page may react to input by hiding content, without a DOM change.
        if expecting {
            self.set_counted(renderer, None);
        }
        let is_counted = self.is_counted(renderer);
        let (mut wanted, known) = self.main_frame_request(frame, prefix);
        // Mostly the first reply of a document shows what of it fits; later ones need the whole of it.
        wanted.shows = self.first_reply_bytes(known.is_none());
        let (bytes, shows) = (wanted.bytes, wanted.shows);
        // The first reading of a document would otherwise be made again with the refs of these.
        let has_listeners = known.is_none();
        if has_listeners {
            self.register_listeners(frames, SinceList::Anything, limit).await;
        }
        let request = QuiescenceRequest { expecting, anew, wanted: Some(wanted), count: !is_counted };
        let call = self.call_script_bounded::<_, QuiescenceReply>(
            bytes,
            frame,
            ScriptFunction::WaitUntilSettled,
            &request,
            limit,
        );
        let (mut reply, in_chromium) = if is_counted {
            (call.await?, None)
        } else {
            let (reply, in_chromium) = join(call, self.count_nodes(&renderer.session, limit)).await;
            (reply?, in_chromium)
        };
        let text = self.text_cutter();
        let all_roots_known =
            if is_counted { reply.same } else { in_chromium.is_some() && in_chromium == reply.count };
        if let Some(mut snapshot) =
            reply.snapshot.take().and_then(|read| read.into_snapshot(prefix, known.as_ref(), &text))
        {
            snapshot.shows = shows;
            self.set_frame_baseline(frame, &snapshot, false);
            let settled = SettledPage { frames: frames.to_vec(), snapshot, has_listeners };
            self.snapshots().set_settled(all_roots_known.then_some(settled));
        }
        if !all_roots_known {
            self.set_counted(renderer, None);
        } else if !is_counted {
            self.set_counted(renderer, Some(Duration::ZERO));
        }
        Ok(InputReport::from(reply))
    }
}

impl From<QuiescenceReply> for InputReport {
    fn from(QuiescenceReply { began, stopped, by, .. }: QuiescenceReply) -> InputReport {
        InputReport { began, stopped, by }
    }
}
