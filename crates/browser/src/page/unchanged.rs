//! Recognizes a page that has not changed since it was read, so that it is not read again.
//!
//! A script sees changes of the DOM, but none of style sheets, media queries, states or layout. Chromium counts how often it
//! computes styles and layouts. If neither count has changed since the page was read, and the script sees no other change,
//! the page is the same. Counts are taken before and after a reading: a page that changed in between is read again.

use super::ScriptCallError;
use crate::{
    browser::Browser,
    cdp::{CallError, SessionId, protocol as p},
    deadline::Deadline,
    script::ScriptFunction,
    snapshot::{FrameSnapshot, PageCounts, ReadingStamp, UnchangedPage},
};
use futures_util::future::join_all;
use serde::Deserialize;

/// What the script says about changes.
#[derive(Deserialize)]
struct ProbeReply {
    state: Option<String>,
}

pub(crate) enum Probed {
    /// The readings of all frames, and the stamp of one that is made nevertheless.
    Unchanged(Vec<FrameSnapshot>, ReadingStamp),
    /// None if the page cannot be recognized later.
    Changed(Option<ReadingStamp>),
}

impl Browser {
    /// Whether the page is as it was when it was last read. Pages with frames in other processes cannot be recognized: such
    /// a frame may hang while the page does not.
    pub(crate) async fn probe_unchanged(
        &self,
        frames: &[(String, String)],
        links: bool,
        deadline: Deadline,
    ) -> Result<Probed, ScriptCallError> {
        let [renderer] = &*self.renderer_frames(frames) else { return Ok(Probed::Changed(None)) };
        let session = renderer.session.clone();
        let mut worlds = Vec::new();
        for (frame, _) in frames {
            let Some((_, world)) = self.script_world(frame, deadline).await? else {
                return Ok(Probed::Changed(None));
            };
            worlds.push(world.unique);
        }
        let limits = serde_json::to_string(&self.text_cutter().script_limits()).unwrap_or_default();
        // The probe brings styles and layout up to date. The counts are requested after it, to include what was pending: Chromium
        // replies to a request for counts while a script runs.
        let probes = join_all(frames.iter().map(|(frame, _)| {
            self.call_script::<_, ProbeReply>(frame, ScriptFunction::ProbeChanges, &(), deadline)
        }));
        let states: Vec<ProbeReply> = probes.await.into_iter().collect::<Result<_, _>>()?;
        let Some(counts) = self.page_counts(&session, deadline).await? else {
            return Ok(Probed::Changed(None));
        };
        for ((frame, _), world) in frames.iter().zip(&worlds) {
            let present = self.script_world(frame, deadline).await?;
            if present.is_none_or(|(_, present)| present.unique != *world) {
                return Ok(Probed::Changed(None));
            }
        }
        let stamp = ReadingStamp { session, frames: frames.to_vec(), worlds, links, limits, counts };
        let is_same = |(reading, ProbeReply { state }): (&FrameSnapshot, &ProbeReply)| {
            state.is_some() && reading.state == *state
        };
        let last = self.snapshots().unchanged(&stamp).map(<[FrameSnapshot]>::to_vec);
        Ok(match last.filter(|last| last.iter().zip(&states).all(is_same)) {
            Some(last) => Probed::Unchanged(last, stamp),
            None => Probed::Changed(Some(stamp)),
        })
    }

    /// Remembers the readings of all frames, if nothing changed while they were made. `after` are the counts after them.
    pub(crate) fn remember_reading(
        &self,
        stamp: ReadingStamp,
        readings: &[FrameSnapshot],
        after: Option<PageCounts>,
    ) {
        if let Some(after) = after {
            self.note_rendering(&stamp.worlds, after);
        }
        let is_same = after.is_some_and(|after| after.is_same_rendering(&stamp.counts))
            && readings.len() == stamp.frames.len()
            && readings.iter().all(|reading| reading.state.is_some() && !reading.animating);
        let page = is_same.then(|| {
            let mut readings = readings.to_vec();
            for reading in &mut readings {
                reading.parts = None;
            }
            UnchangedPage { stamp, readings }
        });
        self.snapshots().set_unchanged(page);
    }

    /// The counts, requested just after a reading and without waiting for it. Chromium may count before the reading has
    /// ended: what changes afterwards differs from the counts of the next probe.
    pub(crate) async fn counts_after(
        &self,
        stamp: Option<&ReadingStamp>,
        deadline: Deadline,
    ) -> Option<PageCounts> {
        self.page_counts(&stamp?.session, deadline).await.ok().flatten()
    }

    /// None if Chromium does not count.
    pub(crate) async fn page_counts(
        &self,
        session: &SessionId,
        deadline: Deadline,
    ) -> Result<Option<PageCounts>, ScriptCallError> {
        let metrics = match self.connection.call(Some(session), &p::GetMetrics {}, deadline.at).await {
            Ok(reply) => reply.metrics,
            Err(CallError::Refused { .. } | CallError::Detached { .. }) => return Ok(None),
            Err(error) => return Err(ScriptCallError::Failed(deadline.error(error))),
        };
        let value = |name: &str| metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value);
        Ok((|| {
            Some(PageCounts {
                styles: value("RecalcStyleCount")?,
                layouts: value("LayoutCount")?,
                nodes: value("Nodes")?,
                listeners: value("JSEventListeners")?,
            })
        })())
    }
}
