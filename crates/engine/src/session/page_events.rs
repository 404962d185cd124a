//! Records what pages do on their own, at a bounded rate.

use super::Session;
use audit::{Event, EventKind, EventSubject, Log};
use browser::{PageEvent, PageEventKind, PageEvents};
use std::sync::Arc;
use std::time::Duration;

/// Pause per recorded event. A page in a loop gets about thirty a second; the rest is counted.
const PAUSE_PER_EVENT: Duration = Duration::from_millis(30);

/// Records until the session ends.
pub async fn record_page_events(session: Arc<Session>, log: Log, events: PageEvents) {
    let mut unrecorded = 0;
    loop {
        let (happened, lost) = tokio::select! {
            happened = events.next() => happened,
            _ = session.until_ended() => events.now(),
        };
        unrecorded += lost;
        for event in &happened {
            if event.kind == PageEventKind::Dialog
                && let Some(effects) = session.effects()
            {
                effects.note_dialog();
            }
            unrecorded += u64::from(!log.note(&audit_event(&session, event)));
        }
        if unrecorded > 0 {
            let event = Event::new(EventKind::EventsLost, subject(&session))
                .detail("the page caused more events than are recorded individually")
                .count(unrecorded);
            if log.note(&event) {
                unrecorded = 0;
            }
        }
        if session.ended().is_some() {
            return;
        }
        let pause = PAUSE_PER_EVENT * u32::try_from(happened.len()).unwrap_or(u32::MAX);
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            _ = session.until_ended() => {}
        }
    }
}

fn subject(session: &Session) -> EventSubject {
    session.event_subject()
}

fn audit_event(session: &Session, event: &PageEvent) -> Event {
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
    let recorded = Event::new(kind, subject(session)).at(&session.typed_text.redact(&event.url), &"".into());
    if event.detail.is_empty() { recorded } else { recorded.detail(session.typed_text.redact(&event.detail)) }
}
