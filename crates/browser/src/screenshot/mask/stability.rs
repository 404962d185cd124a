//! Whether a page held still while a screenshot was taken.

use super::{FRAME_WAIT, MaskedFrame};
use crate::{
    browser::Browser,
    cdp::{SessionId, protocol as p},
    deadline::Deadline,
};
use futures_util::future::join_all;
use serde::Deserialize;

/// What the script observed in a frame since the measurement.
#[derive(Deserialize)]
pub(super) struct StabilityReply {
    /// Everything that is masked is where it was, in every animation frame.
    held: bool,
    /// Chromium checked each of them in every animation frame.
    sure: bool,
    /// The text of the page changed.
    changed: bool,
}

/// How often one renderer has done layout and style recalculation.
#[derive(PartialEq)]
pub(super) struct LayoutCounts {
    session: SessionId,
    layouts: Option<f64>,
    styles: Option<f64>,
}

impl Browser {
    pub(super) async fn layout_counts(
        &self,
        frames: &[MaskedFrame],
        deadline: Deadline,
    ) -> Vec<LayoutCounts> {
        let mut sessions: Vec<&SessionId> = Vec::new();
        for frame in frames.iter().filter(|frame| !frame.opaque) {
            if !sessions.contains(&&frame.session) {
                sessions.push(&frame.session);
            }
        }
        let limit = deadline.within(FRAME_WAIT);
        join_all(sessions.into_iter().map(|session| self.layout_count(session, limit))).await
    }

    /// A process that does not answer counts as moving.
    pub(super) async fn layout_count(&self, session: &SessionId, deadline: Deadline) -> LayoutCounts {
        let to = Some(session);
        // In frames of other processes counting starts here; enabling it again does no harm.
        let enabled = self.connection.call(to, &p::EnablePerformance {}, deadline.at).await;
        let reply = self.connection.call(to, &p::GetMetrics {}, deadline.at).await;
        let metrics = enabled.and(reply).map(|reply| reply.metrics).unwrap_or_default();
        let of = |name: &str| metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value);
        LayoutCounts { session: session.clone(), layouts: of("LayoutCount"), styles: of("RecalcStyleCount") }
    }

    pub(super) async fn stop_counting(&self, counts: &[LayoutCounts], deadline: Deadline) {
        let limit = deadline.within(FRAME_WAIT);
        // The tab itself always counts: see `page/unchanged.rs`.
        let frames = counts.iter().filter(|counts| !self.is_tab_session(&counts.session));
        let ended = frames.map(|counts| async {
            let reply =
                self.connection.call(Some(&counts.session), &p::DisablePerformance {}, limit.at).await;
            if let Err(error) = reply {
                // It costs the page a little, until the next screenshot ends it.
                tracing::debug!(%error, "layout counting could not be stopped");
            }
        });
        join_all(ended).await;
    }
}

/// The sessions that changed while a screenshot was taken.
pub(super) struct Movement {
    /// Something in them may have been elsewhere.
    moved: Vec<SessionId>,
    /// These, and those in which something may have appeared since they were searched.
    changed: Vec<SessionId>,
}

impl Movement {
    pub fn of(
        frames: &[MaskedFrame],
        held: &[Option<StabilityReply>],
        before: &[LayoutCounts],
        after: &[LayoutCounts],
        beyond_viewport: bool,
    ) -> Movement {
        let mut movement = Movement { moved: Vec::new(), changed: Vec::new() };
        for counts in after {
            let session = &counts.session;
            let was = before.iter().find(|before| before.session == *session);
            let same = |of: fn(&LayoutCounts) -> Option<f64>| {
                of(counts).is_some() && was.map(of) == Some(of(counts))
            };
            // A screenshot beyond the viewport causes a layout itself, with the same result.
            let laid_out = !beyond_viewport && !same(|counts| counts.layouts);
            let styled = !same(|counts| counts.styles);
            let moved = |frame: &MaskedFrame, held: &Option<StabilityReply>| match held {
                Some(held) => {
                    // Then text within its element may have moved, which is not counted.
                    let unseen = beyond_viewport && (held.changed || (styled && !frame.ranges.is_empty()));
                    !held.held || unseen || (styled && !held.sure)
                }
                None => true,
            };
            let mut own =
                frames.iter().zip(held).filter(|(frame, _)| !frame.opaque && frame.session == *session);
            let has_moved = laid_out || own.any(|(frame, held)| moved(frame, held));
            if has_moved {
                movement.moved.push(session.clone());
            }
            // Nothing new is drawn without a layout, or a style recalculation where layouts are not counted.
            if has_moved || (beyond_viewport && styled) {
                movement.changed.push(session.clone());
            }
        }
        movement
    }

    pub fn is_none(&self) -> bool {
        self.changed.is_empty()
    }

    /// Sessions that moved and have something to mask. The content of a field can change without a trace, so fields count
    /// once anything was typed.
    pub fn moved_masked(&self, frames: &[MaskedFrame], typed: bool) -> Vec<SessionId> {
        let has = |frame: &MaskedFrame| frame.found || (typed && frame.has_fields);
        let matters =
            |session: &&SessionId| frames.iter().any(|frame| frame.session == **session && has(frame));
        with_ancestors(self.moved.iter().filter(matters).cloned().collect(), &self.moved, frames)
    }

    /// Sessions in which a second search finds more than the first, or text that came and went.
    pub fn newly_masked(&self, frames: &[MaskedFrame], again: &[MaskedFrame]) -> Vec<SessionId> {
        let is_same = |was: &MaskedFrame, now: &MaskedFrame| was.id == now.id && was.session == now.session;
        if frames.len() != again.len() || !frames.iter().zip(again).all(|(was, now)| is_same(was, now)) {
            return frames.first().map(|main| main.session.clone()).into_iter().collect();
        }
        let is_more = |was: &MaskedFrame, now: &MaskedFrame| {
            now.had_transient
                || (now.found && !was.found)
                || (now.has_fields && !was.has_fields)
                || now.ranges.len() > was.ranges.len()
        };
        let mut found: Vec<SessionId> = Vec::new();
        for (was, now) in frames.iter().zip(again) {
            let session = &now.session;
            if self.changed.contains(session) && !found.contains(session) && is_more(was, now) {
                found.push(session.clone());
            }
        }
        with_ancestors(found, &self.moved, again)
    }
}

/// Adds the sessions of frames that moved with a masked frame inside them: it held still in itself, and still moved.
fn with_ancestors(found: Vec<SessionId>, moved: &[SessionId], frames: &[MaskedFrame]) -> Vec<SessionId> {
    let is_moved_with = |frame: &MaskedFrame, by: &SessionId| {
        frame.session != *by && (frame.found || found.contains(&frame.session)) && is_below(frames, frame, by)
    };
    let moves_masked = |session: &SessionId| {
        !found.contains(session) && frames.iter().any(|frame| is_moved_with(frame, session))
    };
    let ancestors: Vec<SessionId> = moved.iter().filter(|session| moves_masked(session)).cloned().collect();
    found.into_iter().chain(ancestors).collect()
}

fn is_below(frames: &[MaskedFrame], frame: &MaskedFrame, session: &SessionId) -> bool {
    let mut at = frame;
    // Parents stand before their children.
    for _ in 0..frames.len() {
        let Some(parent) = &at.parent else { return false };
        match frames.iter().find(|above| above.id == *parent) {
            Some(above) if above.session == *session => return true,
            Some(above) => at = above,
            // Its parent is unknown.
            None => return true,
        }
    }
    true
}
