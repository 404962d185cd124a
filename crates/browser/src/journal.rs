//! What pages do by themselves, for the record: bounded, and what goes beyond the bound is counted.

use crate::{browser::Browser, incident::Incident, state::Shared, text::cut};
use std::{collections::VecDeque, sync::Arc};

/// Events that wait to be recorded; a page can cause thousands.
const KEPT: usize = 32;
/// Of any one text.
const LONGEST: usize = 2048;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageEventKind {
    /// A tab shows another address: of another document, or as the document chose.
    Navigated,
    Redirected,
    OpenedTab,
    Dialog,
    DownloadRefused,
    UploadRefused,
    SchemeRefused,
    TabGone,
}

/// One of them. Its texts are the page's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageEvent {
    pub kind: PageEventKind,
    pub url: String,
    pub detail: String,
}

#[derive(Default)]
pub(crate) struct Journal {
    waiting: VecDeque<PageEvent>,
    lost: u64,
}

impl Journal {
    pub fn add(&mut self, kind: PageEventKind, url: &str, detail: &str) {
        if self.waiting.len() == KEPT {
            self.lost += 1;
            return;
        }
        self.waiting.push_back(PageEvent { kind, url: cut(url, LONGEST), detail: cut(detail, LONGEST) });
    }

    pub fn incident(&mut self, incident: &Incident) {
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
            Incident::TabChanged { .. } | Incident::StillLoading => {}
        }
    }

    /// A tab that the driver opened itself is no doing of a page.
    pub fn forget_opened(&mut self, tab: &str) {
        self.waiting.retain(|event| event.kind != PageEventKind::OpenedTab || event.detail != tab);
    }

    /// Nor is a page that stood in for another while the driver filled its stores.
    pub fn forget_navigated(&mut self, tab: &str) {
        self.waiting.retain(|event| event.kind != PageEventKind::Navigated || event.detail != tab);
    }

    fn take(&mut self) -> (Vec<PageEvent>, u64) {
        (self.waiting.drain(..).collect(), std::mem::take(&mut self.lost))
    }
}

/// Tells what the pages of one browser do, across connections.
#[derive(Clone)]
pub struct PageEvents(Arc<Shared>);

impl PageEvents {
    /// Waits for something to have happened; also returns how much more did than was kept.
    pub async fn next(&self) -> (Vec<PageEvent>, u64) {
        let is_settled = |state: &mut crate::state::State| {
            let journal = &mut state.incidents.journal;
            // While the driver opens a tab of its own, it is not known yet whose a new one is.
            (!journal.waiting.is_empty() && !state.opening).then(|| journal.take())
        };
        self.0.until(is_settled).await
    }

    /// What has happened and is not told yet.
    pub fn now(&self) -> (Vec<PageEvent>, u64) {
        self.0.lock().incidents.journal.take()
    }
}

impl Browser {
    pub fn page_events(&self) -> PageEvents {
        PageEvents(Arc::clone(&self.shared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_beyond_the_bound_is_counted() {
        let mut journal = Journal::default();
        for n in 0..KEPT + 5 {
            journal.add(PageEventKind::Navigated, &format!("http://a.test/{n}"), &"x".repeat(1 << 20));
        }
        let (kept, lost) = journal.take();
        assert_eq!((kept.len(), lost), (KEPT, 5));
        assert!(kept.iter().all(|event| event.detail.len() <= LONGEST + 8));
        assert_eq!(journal.take(), (Vec::new(), 0));
    }
}
