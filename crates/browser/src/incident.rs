//! What a page did besides what was asked, kept until a reply can tell it.

use crate::{journal::Journal, page_text::PageText};
use policy::TabId;
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
    /// The page opened a tab, which is one of the session's now.
    TabOpened {
        tab: TabId,
        url: PageText,
    },
    /// A tab is gone: the page closed it, or it crashed.
    TabGone {
        tab: TabId,
    },
    /// The tab in front is gone, and another has taken its place.
    TabChanged {
        tab: TabId,
    },
    /// The page asked for a file, and got none.
    UploadRefused,
    /// A new window was asked for, and closed before it loaded anything: there are too many tabs.
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
pub(crate) struct Incidents {
    told: VecDeque<Incident>,
    /// The same and more, for the record.
    pub journal: Journal,
}

impl Incidents {
    pub fn add(&mut self, incident: Incident) {
        self.journal.incident(&incident);
        // A storm of popups is told once, so that it does not push out which of them were opened.
        if matches!(incident, Incident::PopupClosed { .. }) && self.told.contains(&incident) {
            return;
        }
        if self.told.len() == KEPT {
            self.told.pop_front();
        }
        self.told.push_back(incident);
    }

    pub fn take(&mut self) -> Vec<Incident> {
        self.told.drain(..).collect()
    }

    /// Takes out the newest refusal of a download, for an error that tells of it.
    pub fn take_download(&mut self) -> Option<PageText> {
        let at =
            self.told.iter().rposition(|incident| matches!(incident, Incident::DownloadRefused { .. }))?;
        match self.told.remove(at) {
            Some(Incident::DownloadRefused { url }) => Some(url),
            _ => None,
        }
    }

    /// A tab that the driver opened itself is no news.
    pub fn forget_opened(&mut self, id: TabId) {
        self.journal.forget_opened(&id.to_string());
        self.told.retain(|incident| !matches!(incident, Incident::TabOpened { tab, .. } if *tab == id));
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
        assert_eq!(incidents.take_download().as_ref().map(PageText::as_str), Some("9"));
        let told = incidents.take();
        assert_eq!(told.len(), KEPT - 1);
        assert_eq!(told[0], Incident::DownloadRefused { url: PageText::new("2") });
        assert!(incidents.take().is_empty());
    }
}
