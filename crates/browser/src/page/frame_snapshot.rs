//! Requests to the page script for the snapshot of one frame.

use crate::{
    browser::{Browser, SnapshotOptions},
    cdp::Id,
    snapshot::{FrameBaseline, FrameSnapshot, MAX_NODES},
};
use policy::TokenBudget;
use serde::Serialize;

/// Limit for the main frame's reply, in bytes of JSON.
const MAX_MAIN_FRAME_BYTES: usize = 24 << 20;

/// Arguments of the page script's snapshot function for one frame.
#[derive(Serialize)]
pub(crate) struct FrameSnapshotRequest<'a> {
    prefix: &'a str,
    /// The script keeps to both limits, and counts what it omits.
    nodes: usize,
    pub bytes: usize,
    options: &'a SnapshotOptions,
    pub links: bool,
    pub boxes: bool,
    /// How long the walk over the page may take; the script's own limit if absent.
    pub milliseconds: Option<u128>,
    /// Whether garbage was collected; the script reads a large page only then.
    pub swept: bool,
    /// The reply that this one may be a diff against.
    pub known: Option<u64>,
    /// Bytes of the reply that is made of it: what it cannot show may be deferred.
    pub shows: Option<usize>,
    /// The readings whose deferred parts are marked in the whole page.
    pub completes: Option<Vec<u64>>,
}

impl Browser {
    pub(crate) fn snapshot_request<'a>(
        &'a self,
        prefix: &'a str,
        nodes: usize,
        bytes: usize,
    ) -> FrameSnapshotRequest<'a> {
        let options = &self.options.snapshot;
        FrameSnapshotRequest {
            prefix,
            nodes,
            bytes,
            options,
            links: false,
            boxes: false,
            milliseconds: None,
            swept: false,
            known: None,
            shows: None,
            completes: None,
        }
    }

    /// The request for the main frame, and the baseline that its reply may be a diff against.
    pub(crate) fn main_frame_request<'a>(
        &'a self,
        frame: &str,
        prefix: &'a str,
    ) -> (FrameSnapshotRequest<'a>, Option<FrameBaseline>) {
        let known = self.known_world(frame).and_then(|world| self.snapshots().frame_baseline(&world));
        let serial = known.as_ref().filter(|baseline| !baseline.links).map(|baseline| baseline.serial);
        let request = self.snapshot_request(prefix, MAX_NODES, MAX_MAIN_FRAME_BYTES);
        (FrameSnapshotRequest { known: serial, ..request }, known)
    }

    /// Bytes of a reply with the default budget, if it may be made of a part of the page. In a session with secrets all of it
    /// is read: a secret may be in several neighbouring texts.
    pub(crate) fn first_reply_bytes(&self, is_first: bool) -> Option<usize> {
        (is_first && self.text_cutter().redactor().is_none()).then(|| TokenBudget::default().bytes())
    }

    pub(crate) fn set_frame_baseline(&self, frame: &str, snapshot: &FrameSnapshot, links: bool) {
        let world = self.known_world(frame);
        self.snapshots().set_frame_baseline(world.and_then(|world| snapshot.baseline(world, links)));
    }

    fn known_world(&self, frame: &str) -> Option<Id> {
        let state = self.shared.lock();
        let world = state.tab.as_ref()?.frames.get(frame)?.world.as_ref()?;
        Some(world.unique.clone())
    }
}
