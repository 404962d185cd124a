//! What Chromium counts of a page, to tell whether it has changed since it was read.

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
