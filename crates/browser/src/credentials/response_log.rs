//! A bounded log of responses to a signed-in browser; their bodies are read from Chromium later, on collection.

use super::ResponseKind;
use crate::cdp::{EventKind, Id, SessionId, protocol as p};
use policy::Origin;
use redact::Secret;
use std::collections::VecDeque;
use zeroize::Zeroizing;

/// Responses that have not been collected. Beyond it the oldest are dropped and reported as missed.
const MAX_RESPONSES: usize = 256;
/// Bytes of socket and event stream messages between two collections.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

#[derive(Default)]
pub(crate) struct ResponseLog {
    waiting: VecDeque<LoggedResponse>,
    messages: Vec<Secret>,
    message_bytes: usize,
    missed: bool,
}

/// A response whose body Chromium holds.
#[derive(Clone)]
pub(crate) struct LoggedResponse {
    pub session: SessionId,
    pub request: Id,
    origin: Origin,
    pub kind: ResponseKind,
    pub is_complete: bool,
}

impl ResponseLog {
    pub fn record(&mut self, kind: &EventKind, session: &SessionId) {
        match kind {
            EventKind::ResponseReceived(received) => self.add_response(received, session),
            EventKind::RequestFinished(done) | EventKind::RequestFailed(done) => {
                let mut newest = self.waiting.iter_mut().rev();
                if let Some(one) =
                    newest.find(|one| one.request == done.request_id && one.session == *session)
                {
                    one.is_complete = true;
                }
            }
            EventKind::WebSocketFrame(frame) => self.add_message(&frame.response.payload_data.0),
            EventKind::EventSourceMessage(message) => self.add_message(&message.data.0),
            _ => {}
        }
    }

    fn add_response(&mut self, received: &p::ResponseReceived, session: &SessionId) {
        let kind = match &*received.r#type {
            "Document" | "Script" => ResponseKind::Document,
            "XHR" | "Fetch" => ResponseKind::Data,
            _ => return,
        };
        if !is_text(&received.response.mime_type) {
            return;
        }
        if self.waiting.len() == MAX_RESPONSES {
            self.waiting.pop_front();
            self.missed = true;
        }
        let (session, request) = (session.clone(), received.request_id.clone());
        let origin = Origin::of(&received.response.url);
        self.waiting.push_back(LoggedResponse { session, request, origin, kind, is_complete: false });
    }

    fn add_message(&mut self, message: &Zeroizing<String>) {
        if message.len() > MAX_MESSAGE_BYTES - self.message_bytes {
            self.missed = true;
            return;
        }
        self.message_bytes += message.len();
        self.messages.push(Secret::new(message.to_string()));
    }

    /// The target is gone, and the bodies it held with it.
    pub fn forget_session(&mut self, session: &SessionId) {
        let before = self.waiting.len();
        self.waiting.retain(|one| one.session != *session);
        self.missed |= self.waiting.len() < before;
    }

    /// The connection is gone, and all bodies with it.
    pub fn mark_missed(&mut self) {
        self.waiting.clear();
        self.missed = true;
    }

    /// Removes completed responses; incomplete ones are returned and stay. Responses of other origins are dropped.
    pub fn take(&mut self, origins: &[Origin]) -> (Vec<LoggedResponse>, Vec<Secret>, bool) {
        self.waiting.retain(|one| origins.contains(&one.origin));
        let all = self.waiting.iter().cloned().collect();
        self.waiting.retain(|one| !one.is_complete);
        self.message_bytes = 0;
        (all, std::mem::take(&mut self.messages), std::mem::take(&mut self.missed))
    }

    pub fn put_back(&mut self, response: LoggedResponse) {
        if self.waiting.len() < MAX_RESPONSES {
            self.waiting.push_front(response);
        } else {
            self.missed = true;
        }
    }
}

/// Images, audio, fonts and styles hold nothing that a page could show as text.
fn is_text(mime: &str) -> bool {
    let mime = mime.to_ascii_lowercase();
    mime.is_empty()
        || mime.starts_with("text/") && mime != "text/css"
        || ["json", "xml", "javascript", "x-www-form-urlencoded", "octet-stream"]
            .iter()
            .any(|kind| mime.contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn receive(log: &mut ResponseLog, request: &str, url: &str, kind: &str, mime: &str) {
        let event = json!({"requestId": request, "type": kind, "response": {"url": url, "mimeType": mime}});
        let event = EventKind::ResponseReceived(serde_json::from_value(event).unwrap());
        log.record(&event, &SessionId::from("s"));
    }

    fn taken(log: &mut ResponseLog) -> (Vec<String>, bool) {
        let (all, _, missed) = log.take(&[Origin::of("http://own.test")]);
        (all.iter().map(|one| String::from(one.request.clone())).collect(), missed)
    }

    #[test]
    fn text_responses_of_the_origin_are_kept_until_they_are_complete() {
        let mut log = ResponseLog::default();
        for (request, url, kind, mime) in [
            ("json", "http://own.test/a", "Fetch", "application/json"),
            ("problem", "http://own.test/a", "XHR", "application/problem+json"),
            ("page", "http://own.test/a", "Document", "text/html"),
            ("script", "http://own.test/a", "Script", "text/javascript"),
            ("unnamed", "http://own.test/a", "Fetch", ""),
            ("picture", "http://own.test/a", "Fetch", "image/png"),
            ("style", "http://own.test/a", "Stylesheet", "text/css"),
            ("theirs", "http://other.test/a", "Fetch", "application/json"),
        ] {
            receive(&mut log, request, url, kind, mime);
        }
        let done: p::RequestDone = serde_json::from_value(json!({"requestId": "json"})).unwrap();
        log.record(&EventKind::RequestFinished(done), &SessionId::from("s"));
        assert_eq!(taken(&mut log).0, ["json", "problem", "page", "script", "unnamed"]);
        assert_eq!(taken(&mut log).0, ["problem", "page", "script", "unnamed"]);
    }

    #[test]
    fn responses_beyond_the_bounds_are_reported_as_missed() {
        let mut log = ResponseLog::default();
        for n in 0..=MAX_RESPONSES {
            receive(&mut log, &n.to_string(), "http://own.test/", "Fetch", "application/json");
        }
        let (all, missed) = taken(&mut log);
        assert_eq!((all.len(), all[0].as_str(), missed), (MAX_RESPONSES, "1", true));
        let send = |log: &mut ResponseLog, length| {
            let message = json!({"requestId": "r", "data": "x".repeat(length)});
            let message = EventKind::EventSourceMessage(serde_json::from_value(message).unwrap());
            log.record(&message, &SessionId::from("s"));
        };
        send(&mut log, MAX_MESSAGE_BYTES);
        assert!(!log.missed);
        send(&mut log, 1);
        assert!(log.missed && log.messages.len() == 1);
    }
}
