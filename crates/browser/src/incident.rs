//! What a page did besides what was asked, kept until a reply can tell it.

use crate::page_text::PageText;
use serde::Serialize;
use std::collections::VecDeque;

/// How many are kept; beyond it the oldest are dropped, a page can cause thousands.
const KEPT: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "incident", rename_all = "snake_case")]
pub enum Incident {
    /// A dialog opened, and was answered at once so that the page goes on.
    Dialog {
        kind: String,
        message: PageText,
        accepted: bool,
    },
    /// A new window was asked for, and closed before it loaded anything.
    PopupClosed {
        url: PageText,
    },
    DownloadRefused {
        url: PageText,
    },
    /// The tab was taken back to about:blank.
    SchemeRefused {
        scheme: PageText,
    },
    /// The page was still loading, or never went quiet, when the wait for it was given up.
    StillLoading,
}

#[derive(Default)]
pub(crate) struct Incidents(VecDeque<Incident>);

impl Incidents {
    pub fn add(&mut self, incident: Incident) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(incident);
    }

    pub fn take(&mut self) -> Vec<Incident> {
        self.0.drain(..).collect()
    }

    pub fn download(&self) -> Option<&PageText> {
        self.0.iter().rev().find_map(|incident| match incident {
            Incident::DownloadRefused { url } => Some(url),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_incidents_give_way() {
        let mut incidents = Incidents::default();
        for n in 0..KEPT + 2 {
            incidents.add(Incident::DownloadRefused { url: PageText::new(&n.to_string()) });
        }
        assert_eq!(incidents.download().map(PageText::as_str), Some("9"));
        let told = incidents.take();
        assert_eq!(told.len(), KEPT);
        assert_eq!(told[0], Incident::DownloadRefused { url: PageText::new("2") });
        assert!(incidents.take().is_empty());
    }
}
