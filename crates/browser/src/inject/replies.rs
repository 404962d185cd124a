//! Replies of sites to somebody who is signed in: what is in them is asked of Chromium once they are there.

use super::handed::DOCUMENT_WAIT;
use crate::{
    browser::Browser,
    cdp::{EventKind, Id, SessionId, protocol as p},
    deadline::Deadline,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::{StreamExt, stream};
use policy::Origin;
use redact::Secret;
use std::collections::VecDeque;
use zeroize::Zeroizing;

/// Replies that have not been looked at; beyond it the oldest are forgotten, and that is told.
const MOST_REPLIES: usize = 256;
/// Bytes of all that are told at once; the others are told the next time.
const MOST_BYTES: usize = 4 << 20;
/// Words of sockets and streams between two looks.
const MOST_SAID_BYTES: usize = 256 * 1024;
const AT_ONCE: usize = 4;

pub struct HandedReply {
    pub kind: ReplyKind,
    pub body: Secret,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyKind {
    /// A page, a frame or a script: mostly for everybody.
    Document,
    /// What a script asked for, or was told.
    Data,
}

/// What came, and has not been looked at.
#[derive(Default)]
pub(crate) struct Replies {
    waiting: VecDeque<Waiting>,
    said: Vec<Secret>,
    said_bytes: usize,
    lost: bool,
}

#[derive(Clone)]
struct Waiting {
    session: SessionId,
    request: Id,
    origin: Origin,
    kind: ReplyKind,
    is_whole: bool,
}

/// What of the replies could be told.
#[derive(Default)]
pub(super) struct Told {
    pub replies: Vec<HandedReply>,
    pub lost: bool,
    pub cut: bool,
}

impl Replies {
    pub fn note(&mut self, kind: &EventKind, session: &SessionId) {
        match kind {
            EventKind::ResponseReceived(received) => self.begun(received, session),
            EventKind::RequestFinished(done) | EventKind::RequestFailed(done) => {
                let mut newest = self.waiting.iter_mut().rev();
                if let Some(one) =
                    newest.find(|one| one.request == done.request_id && one.session == *session)
                {
                    one.is_whole = true;
                }
            }
            EventKind::SocketSaid(said) => self.add_said(&said.response.payload_data.0),
            EventKind::StreamSaid(said) => self.add_said(&said.data.0),
            _ => {}
        }
    }

    fn begun(&mut self, received: &p::ResponseReceived, session: &SessionId) {
        let kind = match &*received.r#type {
            "Document" | "Script" => ReplyKind::Document,
            "XHR" | "Fetch" => ReplyKind::Data,
            _ => return,
        };
        if !is_text(&received.response.mime_type) {
            return;
        }
        if self.waiting.len() == MOST_REPLIES {
            self.waiting.pop_front();
            self.lost = true;
        }
        let (session, request) = (session.clone(), received.request_id.clone());
        let origin = Origin::of(&received.response.url);
        self.waiting.push_back(Waiting { session, request, origin, kind, is_whole: false });
    }

    fn add_said(&mut self, said: &Zeroizing<String>) {
        if said.len() > MOST_SAID_BYTES - self.said_bytes {
            self.lost = true;
            return;
        }
        self.said_bytes += said.len();
        self.said.push(Secret::new(said.to_string()));
    }

    /// What a target kept is gone with it.
    pub fn forget(&mut self, session: &SessionId) {
        let before = self.waiting.len();
        self.waiting.retain(|one| one.session != *session);
        self.lost |= self.waiting.len() < before;
    }

    /// So is what all of them kept, with the connection.
    pub fn lose(&mut self) {
        self.waiting.clear();
        self.lost = true;
    }

    /// Whole ones are taken out; the others stay until they are.
    fn take(&mut self, origins: &[Origin]) -> (Vec<Waiting>, Vec<Secret>, bool) {
        self.waiting.retain(|one| origins.contains(&one.origin));
        let all = self.waiting.iter().cloned().collect();
        self.waiting.retain(|one| !one.is_whole);
        self.said_bytes = 0;
        (all, std::mem::take(&mut self.said), std::mem::take(&mut self.lost))
    }

    fn put_back(&mut self, waiting: Waiting) {
        if self.waiting.len() < MOST_REPLIES {
            self.waiting.push_front(waiting);
        } else {
            self.lost = true;
        }
    }
}

impl Browser {
    /// What these origins have replied since it was last asked. What other origins replied is forgotten.
    pub(super) async fn replies_of(&self, origins: &[Origin], deadline: Deadline) -> Told {
        let (waiting, said, lost) = self.shared.lock().injected.replies.take(origins);
        let mut told = Told { lost, ..Told::default() };
        told.replies.extend(said.into_iter().map(|body| HandedReply { kind: ReplyKind::Data, body }));
        let asked = waiting.into_iter().map(|one| async {
            let body = self.body_of(&one, deadline).await;
            (one, body)
        });
        let mut answers = stream::iter(asked).buffered(AT_ONCE);
        let mut room = MOST_BYTES;
        while let Some((one, body)) = answers.next().await {
            let Some(body) = body else {
                // An unfinished one may have nothing to tell yet.
                told.cut |= one.is_whole;
                continue;
            };
            let length = body.expose_secret().len();
            if length > room {
                told.cut = true;
                // One that is too large by itself would be so the next time.
                if one.is_whole && length <= MOST_BYTES {
                    self.shared.lock().injected.replies.put_back(one);
                }
                continue;
            }
            room -= length;
            if length > 0 {
                told.replies.push(HandedReply { kind: one.kind, body });
            }
        }
        told
    }

    async fn body_of(&self, one: &Waiting, deadline: Deadline) -> Option<Secret> {
        let command = p::GetResponseBody { request_id: &one.request };
        let limit = deadline.within(DOCUMENT_WAIT);
        match self.connection.call(Some(&one.session), &command, limit.at).await {
            Ok(p::ResponseBody { body, base64_encoded: false }) => Some(Secret::new(body.0)),
            Ok(p::ResponseBody { body, base64_encoded: true }) => {
                let bytes = Zeroizing::new(BASE64_STANDARD.decode(body.0.as_bytes()).ok()?);
                Some(Secret::new(String::from_utf8_lossy(&bytes).into_owned()))
            }
            Err(error) => {
                tracing::debug!(%error, "a reply is not told");
                None
            }
        }
    }
}

/// Pictures, sounds, fonts and styles hold nothing that a page could write out.
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

    fn begun(replies: &mut Replies, request: &str, url: &str, kind: &str, mime: &str) {
        let event = json!({"requestId": request, "type": kind, "response": {"url": url, "mimeType": mime}});
        let event = EventKind::ResponseReceived(serde_json::from_value(event).unwrap());
        replies.note(&event, &SessionId::from("s"));
    }

    fn taken(replies: &mut Replies) -> (Vec<String>, bool) {
        let (all, _, lost) = replies.take(&[Origin::of("http://own.test")]);
        (all.iter().map(|one| String::from(one.request.clone())).collect(), lost)
    }

    #[test]
    fn replies_of_the_origin_that_could_be_written_out_are_waiting_until_they_are_whole() {
        let mut replies = Replies::default();
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
            begun(&mut replies, request, url, kind, mime);
        }
        let done: p::RequestDone = serde_json::from_value(json!({"requestId": "json"})).unwrap();
        replies.note(&EventKind::RequestFinished(done), &SessionId::from("s"));
        assert_eq!(taken(&mut replies).0, ["json", "problem", "page", "script", "unnamed"]);
        assert_eq!(taken(&mut replies).0, ["problem", "page", "script", "unnamed"]);
    }

    #[test]
    fn what_goes_beyond_the_bounds_is_said_to_be_lost() {
        let mut replies = Replies::default();
        for n in 0..=MOST_REPLIES {
            begun(&mut replies, &n.to_string(), "http://own.test/", "Fetch", "application/json");
        }
        let (all, lost) = taken(&mut replies);
        assert_eq!((all.len(), all[0].as_str(), lost), (MOST_REPLIES, "1", true));
        let say = |replies: &mut Replies, length| {
            let said = json!({"requestId": "r", "data": "x".repeat(length)});
            let said = EventKind::StreamSaid(serde_json::from_value(said).unwrap());
            replies.note(&said, &SessionId::from("s"));
        };
        say(&mut replies, MOST_SAID_BYTES);
        assert!(!replies.lost);
        say(&mut replies, 1);
        assert!(replies.lost && replies.said.len() == 1);
    }
}
