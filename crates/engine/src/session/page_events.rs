//! What a session's pages do by themselves goes on record too, at a bounded pace.

use super::Session;
use audit::{Event, EventKind, EventSubject, Log};
use browser::{PageEvent, PageEventKind, PageEvents};
use std::sync::Arc;
use std::time::Duration;

/// So long for each event that was told: a page in a loop makes some thirty a second, and the rest is counted.
const PACE: Duration = Duration::from_millis(30);

/// Records until the session ends.
pub async fn note_pages(session: Arc<Session>, log: Log, events: PageEvents) {
    let mut untold = 0;
    loop {
        let (happened, lost) = tokio::select! {
            happened = events.next() => happened,
            _ = session.until_ended() => events.now(),
        };
        untold += lost;
        for event in &happened {
            untold += u64::from(!log.note(&told(&session, event)));
        }
        if untold > 0 {
            let event = Event::new(EventKind::EventsLost, about(&session))
                .detail("the page did more than is recorded one by one")
                .count(untold);
            if log.note(&event) {
                untold = 0;
            }
        }
        if session.ended().is_some() {
            return;
        }
        let pause = PACE * u32::try_from(happened.len()).unwrap_or(u32::MAX);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = session.until_ended() => {}
        }
    }
}

fn about(session: &Session) -> EventSubject {
    EventSubject::session(&session.scope, &session.id, Some(session.browser_id.as_str()))
}

fn told(session: &Session, event: &PageEvent) -> Event {
    let kind = match event.kind {
        PageEventKind::Navigated => EventKind::PageNavigated,
        PageEventKind::Redirected => EventKind::PageRedirected,
        PageEventKind::OpenedTab => EventKind::PageOpenedTab,
        PageEventKind::Dialog => EventKind::PageDialog,
        PageEventKind::DownloadRefused => EventKind::DownloadRefused,
        PageEventKind::UploadRefused => EventKind::UploadRefused,
        PageEventKind::SchemeRefused => EventKind::SchemeRefused,
        PageEventKind::TabGone => EventKind::TabGone,
    };
    let told = Event::new(kind, about(session)).at(&session.veil.text(&event.url), "");
    if event.detail.is_empty() { told } else { told.detail(&session.veil.text(&event.detail)) }
}
