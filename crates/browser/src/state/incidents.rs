//! Incidents: what a page did besides what was requested, kept until the next reply reports it.

use super::page_events::PageEventQueue;
use crate::text::{Limit, MAX_URL, PageText};
use policy::TabId;
use redact::RedactedFields;
use serde::Serialize;
use std::collections::VecDeque;

/// Beyond it the oldest are dropped: a page can cause thousands.
const MAX_INCIDENTS: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, RedactedFields)]
#[serde(tag = "incident", rename_all = "snake_case")]
pub enum Incident<P = PageText> {
    /// A dialog opened and was answered at once, so that the page continues.
    Dialog {
        kind: &'static str,
        message: P,
        accepted: bool,
    },
    /// The page opened a tab, which now belongs to the session.
    TabOpened {
        tab: TabId,
        url: P,
    },
    /// A tab is gone: the page closed it, or it crashed.
    TabGone {
        tab: TabId,
    },
    /// The active tab is gone, and another has taken its place.
    TabChanged {
        tab: TabId,
    },
    /// The page opened a file chooser, which was cancelled.
    UploadRefused,
    /// A popup was closed before it loaded anything: there are too many tabs.
    PopupClosed {
        url: P,
    },
    DownloadRefused {
        url: P,
    },
    /// The tab was navigated back to about:blank.
    SchemeRefused {
        scheme: P,
    },
    /// The page was still loading, or never became idle, when the driver stopped waiting.
    StillLoading,
    /// The connection ended before the whole document had come, or the page stopped loading by itself.
    LoadingStopped,
}

#[derive(Default)]
pub(crate) struct Incidents {
    waiting: VecDeque<Incident>,
    /// The same and more, for the audit log.
    pub page_events: PageEventQueue,
}

impl Incidents {
    /// Text of a page, masked and cut, before an incident has it.
    pub fn page_text(&self, text: &str, bytes: usize) -> PageText {
        PageText::new(&self.page_events.text.redact_and_cut(text, Limit::Bytes(bytes)))
    }

    pub fn page_url(&self, url: &str) -> PageText {
        PageText::new(&self.page_events.text.redact_and_cut_url(url, MAX_URL))
    }

    pub fn add(&mut self, incident: Incident) {
        self.page_events.add_incident(&incident);
        // Reported once, so that a storm of popups does not push out the tabs that did open.
        let is_once = matches!(incident, Incident::PopupClosed { .. } | Incident::LoadingStopped);
        if is_once && self.waiting.contains(&incident) {
            return;
        }
        if self.waiting.len() == MAX_INCIDENTS {
            self.waiting.pop_front();
        }
        self.waiting.push_back(incident);
    }

    pub fn take(&mut self) -> Vec<Incident> {
        self.waiting.drain(..).collect()
    }

    /// Removes the newest refused download, for an error that reports it instead.
    pub fn take_download(&mut self) -> Option<PageText> {
        let at =
            self.waiting.iter().rposition(|incident| matches!(incident, Incident::DownloadRefused { .. }))?;
        match self.waiting.remove(at) {
            Some(Incident::DownloadRefused { url }) => Some(url),
            _ => None,
        }
    }

    /// The driver opened this tab itself.
    pub fn forget_opened(&mut self, id: TabId) {
        self.page_events.forget_opened(&id.to_string());
        self.waiting.retain(|incident| !matches!(incident, Incident::TabOpened { tab, .. } if *tab == id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_incidents_are_dropped() {
        let mut incidents = Incidents::default();
        for n in 0..MAX_INCIDENTS + 2 {
            incidents.add(Incident::DownloadRefused { url: PageText::new(&n.to_string()) });
        }
        assert_eq!(incidents.take_download().as_ref().map(PageText::as_str), Some("9"));
        let taken = incidents.take();
        assert_eq!(taken.len(), MAX_INCIDENTS - 1);
        assert_eq!(taken[0], Incident::DownloadRefused { url: PageText::new("2") });
        assert!(incidents.take().is_empty());
    }
}
