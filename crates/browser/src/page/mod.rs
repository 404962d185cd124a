//! Calls of the page script: in each frame of the active tab, across closed shadow roots, until the page is idle.

mod delegated_handlers;
mod frame_snapshot;
mod handler_code;
mod pointer_listeners;
mod quiescence;
mod script_call;
mod shadow_roots;
mod unchanged;

pub(crate) use frame_snapshot::FrameSnapshotRequest;
pub(crate) use pointer_listeners::SinceList;
pub(crate) use quiescence::{InputReport, QUIESCENCE_WAIT};
pub(crate) use script_call::{MAX_SCRIPT_REPLY, ScriptCallError};
pub(crate) use shadow_roots::RendererFrames;
pub(crate) use unchanged::Probed;

use crate::browser::Browser;
use std::time::Duration;

/// Between two looks at a page from outside; the script itself looks once per animation frame.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Frames that are searched or read; further ones are left out.
pub(crate) const MAX_READABLE_FRAMES: usize = 50;
/// How long a frame other than the main one may take to answer: a hung frame must not hold up the rest.
pub(crate) const FRAME_WAIT: Duration = Duration::from_secs(3);

impl Browser {
    /// Frames of the active tab in page order, main frame first, each with the prefix of its refs.
    pub(crate) fn readable_frames(&self) -> Vec<(String, String)> {
        let mut state = self.shared.lock();
        let Some(tab) = state.tab.as_mut() else { return Vec::new() };
        let ids = tab.frames.inside(&tab.target);
        ids.into_iter()
            .take(MAX_READABLE_FRAMES)
            .filter_map(|id| tab.frames.prefix(&id).map(|prefix| (id, prefix)))
            .collect()
    }
}
