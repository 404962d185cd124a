//! Whether a page held still while a picture of it was taken.

use super::{FRAME_WAIT, Frame};
use crate::{
    browser::Browser,
    cdp::{SessionId, protocol as p},
    deadline::Deadline,
};
use futures_util::future::join_all;
use serde::Deserialize;

/// What the script saw of a frame between its measure and now.
#[derive(Deserialize)]
pub(super) struct Held {
    /// Everything that is covered is where it was, and no frame that was drawn had it elsewhere.
    held: bool,
    /// Chromium looked at each of them whenever it drew.
    sure: bool,
    /// The page's text changed.
    changed: bool,
}

/// How often one process has laid out its frames, and worked out their styles.
#[derive(PartialEq)]
pub(super) struct Counts {
    session: SessionId,
    layouts: Option<f64>,
    styles: Option<f64>,
}

impl Browser {
    pub(super) async fn counts(&self, frames: &[Frame], deadline: Deadline) -> Vec<Counts> {
        let mut sessions: Vec<&SessionId> = Vec::new();
        for frame in frames.iter().filter(|frame| !frame.opaque) {
            if !sessions.contains(&&frame.session) {
                sessions.push(&frame.session);
            }
        }
        let limit = deadline.within(FRAME_WAIT);
        join_all(sessions.into_iter().map(|session| self.count(session, limit))).await
    }

    /// A process that does not tell is taken for one that moves.
    pub(super) async fn count(&self, session: &SessionId, deadline: Deadline) -> Counts {
        let to = Some(session);
        // Nothing is counted before; enabling it again is no harm.
        let enabled = self.connection.call(to, &p::EnablePerformance {}, deadline.at).await;
        let told = self.connection.call(to, &p::GetMetrics {}, deadline.at).await;
        let metrics = enabled.and(told).map(|told| told.metrics).unwrap_or_default();
        let of = |name: &str| metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value);
        Counts { session: session.clone(), layouts: of("LayoutCount"), styles: of("RecalcStyleCount") }
    }

    pub(super) async fn count_no_more(&self, counts: &[Counts], deadline: Deadline) {
        let limit = deadline.within(FRAME_WAIT);
        let ended = counts.iter().map(|counts| async {
            let told = self.connection.call(Some(&counts.session), &p::DisablePerformance {}, limit.at).await;
            if let Err(error) = told {
                // It costs the page a little, and the next picture ends it.
                tracing::debug!(%error, "a process goes on counting layouts");
            }
        });
        join_all(ended).await;
    }
}

/// The sessions that did not rest while a picture was taken.
pub(super) struct Stirring {
    /// Something in them may have been elsewhere.
    moved: Vec<SessionId>,
    /// These, and those in which something may have come up that was not there when they were looked into.
    stirred: Vec<SessionId>,
}

impl Stirring {
    pub fn of(
        frames: &[Frame],
        held: &[Option<Held>],
        before: &[Counts],
        after: &[Counts],
        beyond: bool,
    ) -> Stirring {
        let mut stirring = Stirring { moved: Vec::new(), stirred: Vec::new() };
        for counts in after {
            let session = &counts.session;
            let was = before.iter().find(|before| before.session == *session);
            let same =
                |of: fn(&Counts) -> Option<f64>| of(counts).is_some() && was.map(of) == Some(of(counts));
            // A picture of more than is in view is laid out anew, in the same way.
            let laid_out = !beyond && !same(|counts| counts.layouts);
            let styled = !same(|counts| counts.styles);
            let moved = |frame: &Frame, held: &Option<Held>| match held {
                Some(held) => {
                    // Then text within its element may have been laid out elsewhere, which nobody counts.
                    let unseen = beyond && (held.changed || (styled && !frame.ranges.is_empty()));
                    !held.held || unseen || (styled && !held.sure)
                }
                None => true,
            };
            let mut own =
                frames.iter().zip(held).filter(|(frame, _)| !frame.opaque && frame.session == *session);
            let has_moved = laid_out || own.any(|(frame, held)| moved(frame, held));
            if has_moved {
                stirring.moved.push(session.clone());
            }
            // Nothing new is drawn without a layout, or without a style where layouts do not count.
            if has_moved || (beyond && styled) {
                stirring.stirred.push(session.clone());
            }
        }
        stirring
    }

    pub fn is_none(&self) -> bool {
        self.stirred.is_empty()
    }

    /// Those that moved, where there is something to cover. What is in a field can change without a trace, once something
    /// was typed that it could be.
    pub fn restless(&self, frames: &[Frame], typed: bool) -> Vec<SessionId> {
        let has = |frame: &Frame| frame.found || (typed && frame.fields);
        let matters =
            |session: &&SessionId| frames.iter().any(|frame| frame.session == **session && has(frame));
        with_carriers(self.moved.iter().filter(matters).cloned().collect(), &self.moved, frames)
    }

    /// Those in which another look finds more than there was, or that it came and went.
    pub fn came_up(&self, frames: &[Frame], again: &[Frame]) -> Vec<SessionId> {
        let is_same = |was: &Frame, now: &Frame| was.id == now.id && was.session == now.session;
        if frames.len() != again.len() || !frames.iter().zip(again).all(|(was, now)| is_same(was, now)) {
            return frames.first().map(|main| main.session.clone()).into_iter().collect();
        }
        let is_more = |was: &Frame, now: &Frame| {
            now.said
                || (now.found && !was.found)
                || (now.fields && !was.fields)
                || now.ranges.len() > was.ranges.len()
        };
        let mut found: Vec<SessionId> = Vec::new();
        for (was, now) in frames.iter().zip(again) {
            let session = &now.session;
            if self.stirred.contains(session) && !found.contains(session) && is_more(was, now) {
                found.push(session.clone());
            }
        }
        with_carriers(found, &self.moved, again)
    }
}

/// Also the sessions that carried something about: a frame below one of theirs that has to be covered. It held still in
/// itself, and is elsewhere all the same.
fn with_carriers(found: Vec<SessionId>, moved: &[SessionId], frames: &[Frame]) -> Vec<SessionId> {
    let is_carried = |frame: &Frame, by: &SessionId| {
        frame.session != *by && (frame.found || found.contains(&frame.session)) && is_below(frames, frame, by)
    };
    let carries = |session: &SessionId| {
        !found.contains(session) && frames.iter().any(|frame| is_carried(frame, session))
    };
    let carriers: Vec<SessionId> = moved.iter().filter(|session| carries(session)).cloned().collect();
    found.into_iter().chain(carriers).collect()
}

fn is_below(frames: &[Frame], frame: &Frame, session: &SessionId) -> bool {
    let mut at = frame;
    // Parents stand before their children.
    for _ in 0..frames.len() {
        let Some(parent) = &at.parent else { return false };
        match frames.iter().find(|above| above.id == *parent) {
            Some(above) if above.session == *session => return true,
            Some(above) => at = above,
            // Nobody knows what it is in.
            None => return true,
        }
    }
    true
}
