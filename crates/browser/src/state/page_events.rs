//! Page events for the audit log: a bounded queue that counts what it drops.

use super::{Incident, SharedState};
use crate::text::{Limit, TextCutter};
use std::{collections::VecDeque, sync::Arc};

/// Events that wait to be recorded; a page can cause thousands.
const MAX_EVENTS: usize = 32;
/// Bytes of one text.
const MAX_TEXT: usize = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageEventKind {
    /// A tab shows another URL, by loading a document or within the same one.
    Navigated,
    Redirected,
    OpenedTab,
    Dialog,
    DownloadRefused,
    UploadRefused,
    SchemeRefused,
    TabGone,
}

/// The texts come from the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEvent {
    pub kind: PageEventKind,
    pub url: String,
    pub detail: String,
}

#[derive(Default)]
pub(crate) struct PageEventQueue {
    waiting: VecDeque<PageEvent>,
    dropped: u64,
    /// For the texts of events and incidents, as they come.
    pub text: TextCutter,
}

impl PageEventQueue {
    pub fn add(&mut self, kind: PageEventKind, url: &str, detail: &str) {
        if self.waiting.len() == MAX_EVENTS {
            self.dropped += 1;
            return;
        }
        let url = self.text.redact_and_cut_url(url, MAX_TEXT);
        let detail = self.text.redact_and_cut(detail, Limit::Bytes(MAX_TEXT));
        self.waiting.push_back(PageEvent { kind, url, detail });
    }

    pub fn add_incident(&mut self, incident: &Incident) {
        use PageEventKind as Kind;
        match incident {
            Incident::Dialog { kind, message, accepted } => {
                let answer = if *accepted { "accepted" } else { "dismissed" };
                self.add(Kind::Dialog, "", &format!("{kind} {:?}, {answer}", message.as_str()));
            }
            Incident::TabOpened { tab, url } => self.add(Kind::OpenedTab, url.as_str(), &tab.to_string()),
            Incident::PopupClosed { url } => {
                self.add(Kind::OpenedTab, url.as_str(), "closed: there are too many tabs");
            }
            Incident::TabGone { tab } => self.add(Kind::TabGone, "", &tab.to_string()),
            Incident::UploadRefused => self.add(Kind::UploadRefused, "", ""),
            Incident::DownloadRefused { url } => self.add(Kind::DownloadRefused, url.as_str(), ""),
            Incident::SchemeRefused { scheme } => self.add(Kind::SchemeRefused, "", scheme.as_str()),
            Incident::TabChanged { .. } | Incident::StillLoading | Incident::LoadingStopped => {}
        }
    }

    /// The driver opened this tab itself.
    pub fn forget_opened(&mut self, tab: &str) {
        self.waiting.retain(|event| event.kind != PageEventKind::OpenedTab || event.detail != tab);
    }

    /// The driver navigated this tab itself while it filled the storage.
    pub fn forget_navigated(&mut self, tab: &str) {
        self.waiting.retain(|event| event.kind != PageEventKind::Navigated || event.detail != tab);
    }

    fn take(&mut self) -> (Vec<PageEvent>, u64) {
        (self.waiting.drain(..).collect(), std::mem::take(&mut self.dropped))
    }
}

/// The page events of one browser, across connections.
#[derive(Clone)]
pub struct PageEvents(Arc<SharedState>);

impl PageEvents {
    pub(crate) fn new(state: &Arc<SharedState>) -> PageEvents {
        PageEvents(Arc::clone(state))
    }

    /// Waits for events; also returns how many were dropped.
    pub async fn next(&self) -> (Vec<PageEvent>, u64) {
        let is_settled = |state: &mut super::State| {
            let queue = &mut state.incidents.page_events;
            // While the driver opens a tab, it is not known yet who opened a new one.
            (!queue.waiting.is_empty() && !state.opening).then(|| queue.take())
        };
        self.0.until(is_settled).await
    }

    /// The events so far, without waiting.
    pub fn now(&self) -> (Vec<PageEvent>, u64) {
        self.0.lock().incidents.page_events.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_beyond_the_bound_are_counted() {
        let mut queue = PageEventQueue::default();
        for n in 0..MAX_EVENTS + 5 {
            queue.add(PageEventKind::Navigated, &format!("http://a.test/{n}"), &"x".repeat(1 << 20));
        }
        let (kept, dropped) = queue.take();
        assert_eq!((kept.len(), dropped), (MAX_EVENTS, 5));
        assert!(kept.iter().all(|event| event.detail.len() <= MAX_TEXT + 8));
        assert_eq!(queue.take(), (Vec::new(), 0));
    }
}
