//! Whether a page held still while a picture of it was taken.

use super::{FRAME_WAIT, Frame};
use crate::{
    browser::Browser,
    cdp::{SessionId, protocol as p},
    deadline::Deadline,
    words::WordSet,
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
    /// What came and went of it; None if that was too much.
    passed: Option<String>,
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
    async fn count(&self, session: &SessionId, deadline: Deadline) -> Counts {
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

/// The sessions whose frames moved, where that matters: nothing has to be covered in a page that says nothing of it, said
/// nothing meanwhile, has no field, and shows no frame of another site where something is.
pub(super) fn restless(
    words: &WordSet,
    frames: &[Frame],
    held: &[Option<Held>],
    before: &[Counts],
    after: &[Counts],
    beyond: bool,
) -> Vec<SessionId> {
    let own = |session: &SessionId| {
        let session = session.clone();
        frames.iter().zip(held).filter(move |(frame, _)| !frame.opaque && frame.session == session)
    };
    let has_moved = |counts: &&Counts| {
        let was = before.iter().find(|before| before.session == counts.session);
        let same = |of: fn(&Counts) -> Option<f64>| of(counts).is_some() && was.map(of) == Some(of(counts));
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
        laid_out || own(&counts.session).any(|(frame, held)| moved(frame, held))
    };
    let moved: Vec<&SessionId> = after.iter().filter(has_moved).map(|counts| &counts.session).collect();
    let said = |held: &Option<Held>| match held.as_ref().and_then(|held| held.passed.as_ref()) {
        Some(passed) => words.is_in(passed),
        None => true,
    };
    let matters =
        |session: &SessionId| own(session).any(|(frame, held)| frame.found || frame.fields || said(held));
    let found = moved.iter().filter(|session| matters(session)).map(|session| (*session).clone()).collect();
    with_carriers(found, &moved, frames)
}

/// Also the sessions that carried something about: a frame below one of theirs that has to be covered. It held still in
/// itself, and is elsewhere all the same.
fn with_carriers(found: Vec<SessionId>, moved: &[&SessionId], frames: &[Frame]) -> Vec<SessionId> {
    let is_carried = |frame: &Frame, by: &SessionId| {
        frame.session != *by && (frame.found || found.contains(&frame.session)) && is_below(frames, frame, by)
    };
    let carries = |session: &SessionId| {
        !found.contains(session) && frames.iter().any(|frame| is_carried(frame, session))
    };
    let carriers = moved.iter().filter(|session| carries(session)).map(|session| (*session).clone());
    let carriers: Vec<SessionId> = carriers.collect();
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
