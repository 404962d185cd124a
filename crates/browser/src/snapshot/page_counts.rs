//! What tells whether a page has changed since it was read: what Chromium counts of it, and what was read how.

use crate::cdp::{Id, SessionId};

/// What Chromium counts of a tab. It computes styles or layout for every visible change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PageCounts {
    pub styles: f64,
    pub layouts: f64,
    pub nodes: f64,
    pub listeners: f64,
}

impl PageCounts {
    /// Whether styles and layout have not been computed in between.
    pub fn is_same_rendering(&self, other: &PageCounts) -> bool {
        (self.styles, self.layouts) == (other.styles, other.layouts)
    }

    pub fn has_same_nodes(&self, other: &PageCounts) -> bool {
        (self.nodes, self.listeners) == (other.nodes, other.listeners)
    }
}

/// All that has to be as it was for a page to be the same, besides what its scripts say.
#[derive(Clone, Debug)]
pub(crate) struct ReadingStamp {
    pub session: SessionId,
    /// The frames with the prefixes of their refs, and the worlds of the script in them; the main frame is first.
    pub frames: Vec<(String, String)>,
    pub worlds: Vec<Id>,
    pub links: bool,
    /// The limits that the script cut its texts to.
    pub limits: String,
    pub counts: PageCounts,
}

impl ReadingStamp {
    /// Whether it is of the same documents, read in the same way, and nothing was rendered in between.
    pub fn is_same(&self, other: &ReadingStamp) -> bool {
        (&self.session, &self.frames, &self.worlds, self.links, &self.limits)
            == (&other.session, &other.frames, &other.worlds, other.links, &other.limits)
            && self.counts.is_same_rendering(&other.counts)
    }
}
