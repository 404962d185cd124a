//! Recognizes a page that has not changed since it was read, so that it is not read again.
//!
//! A script sees changes of the DOM, but none of style sheets, media queries, states or layout. Chromium counts how often it
//! computes styles and layouts. If neither count has changed since the page was read, and the script sees no other change,
//! the page is the same. Counts are taken before and after a reading: a page that changed in between is read again.

use super::ScriptCallError;
use crate::{
    browser::Browser,
    cdp::{CallError, Id, SessionId, protocol as p},
    deadline::Deadline,
    script::ScriptFunction,
    snapshot::{FrameSnapshot, PageCounts, UnchangedPage},
};
use futures_util::future::join;
use serde::Deserialize;

/// What the script says about changes.
#[derive(Deserialize)]
struct ProbeReply {
    state: Option<String>,
}

/// A reading that is about to be made.
pub(crate) struct ReadingStamp {
    session: SessionId,
    world: Id,
    links: bool,
    limits: String,
    counts: PageCounts,
}

pub(crate) enum Probed {
    /// With the stamp of a reading that is made nevertheless.
    Unchanged(Box<FrameSnapshot>, ReadingStamp),
    /// None if the page cannot be recognized later.
    Changed(Option<ReadingStamp>),
}

impl Browser {
    /// Whether the page of this only frame is as it was when it was last read.
    pub(crate) async fn probe_unchanged(
        &self,
        frame: &str,
        links: bool,
        shows: Option<usize>,
        deadline: Deadline,
    ) -> Result<Probed, ScriptCallError> {
        let Some((session, world)) = self.script_world(frame, deadline).await? else {
            return Ok(Probed::Changed(None));
        };
        let limits = serde_json::to_string(&self.text_cutter().script_limits()).unwrap_or_default();
        // The probe brings styles and layout up to date, and Chromium handles what a session sends in order: the counts include
        // what was pending. They do not if the document was replaced and the probe repeated; then nothing is known of it.
        let probe = self.call_script::<_, ProbeReply>(frame, ScriptFunction::ProbeChanges, &(), deadline);
        let (probed, counts) = join(probe, self.page_counts(&session, deadline)).await;
        let (ProbeReply { state }, counts) = (probed?, counts?);
        let present = self.script_world(frame, deadline).await?;
        if present.is_none_or(|(_, present)| present.unique != world.unique) {
            return Ok(Probed::Changed(None));
        }
        let last = self.snapshots().unchanged(&session, &world.unique, links, &limits);
        let stamp = |counts| ReadingStamp { session, world: world.unique, links, limits, counts };
        if let Some(last) = last
            && counts.is_some_and(|counts| counts.is_same_rendering(&last.counts))
            && state.is_some()
            && last.snapshot.state == state
            && last.snapshot.is_enough_for(shows)
        {
            let stamp = stamp(last.counts);
            return Ok(Probed::Unchanged(Box::new(last.snapshot), stamp));
        }
        Ok(Probed::Changed(counts.map(stamp)))
    }

    /// Remembers a reading, if nothing changed while it was made. `after` are the counts after it.
    pub(crate) fn remember_reading(
        &self,
        stamp: ReadingStamp,
        snapshot: &FrameSnapshot,
        after: Option<PageCounts>,
    ) {
        if let Some(after) = after {
            self.note_rendering(&stamp.world, after);
        }
        let is_same = after.is_some_and(|after| after.is_same_rendering(&stamp.counts))
            && snapshot.state.is_some()
            && !snapshot.animating;
        let ReadingStamp { session, world, links, limits, counts } = stamp;
        let mut snapshot = snapshot.clone();
        snapshot.parts = None;
        let page = is_same.then_some(UnchangedPage { session, world, links, limits, counts, snapshot });
        self.snapshots().set_unchanged(page);
    }

    /// The counts after a reading that was requested a moment ago: Chromium handles what a session sends in order.
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
