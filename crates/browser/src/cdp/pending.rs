//! Calls that wait for a reply, and the sessions that can still send one.

use super::{CallError, Event, EventKind, SessionId, wire};
use bytes::Bytes;
use std::collections::HashMap;
use tokio::sync::oneshot;

/// Calls that wait for a reply; at the bound the next one fails with [`CallError::Busy`].
const UNANSWERED_CALLS: usize = 4096;
/// Attached targets that are tracked. Calls to others time out if they crash.
const MAX_SESSIONS: usize = 2048;

const SESSION_NOT_FOUND: i64 = -32001;

pub(super) type Answer = Result<Bytes, CallError>;

pub(super) struct Call {
    pub id: u64,
    pub method: &'static str,
    pub session: Option<SessionId>,
    pub text: String,
    /// In bytes; a larger reply is dropped undecoded.
    pub max_reply: usize,
    pub answer: oneshot::Sender<Answer>,
}

#[derive(Default)]
pub(super) struct Pending {
    calls: HashMap<u64, PendingCall>,
    sessions: HashMap<SessionId, Renderer>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Renderer {
    Alive,
    /// It does not answer until it is reloaded.
    Crashed,
}

struct PendingCall {
    method: &'static str,
    session: Option<SessionId>,
    max_reply: usize,
    answer: oneshot::Sender<Answer>,
}

impl Pending {
    /// The text to send, unless the call has failed already.
    pub fn expect(&mut self, call: Call) -> Option<String> {
        let Call { id, method, session, text, max_reply, answer } = call;
        if self.calls.len() >= UNANSWERED_CALLS {
            self.calls.retain(|_, waiting| !waiting.answer.is_closed());
        }
        let renderer = session.as_ref().and_then(|session| self.sessions.get(session));
        let refused = if renderer == Some(&Renderer::Crashed) {
            CallError::Crashed { method }
        } else if self.calls.len() >= UNANSWERED_CALLS {
            CallError::Busy { method }
        } else {
            self.calls.insert(id, PendingCall { method, session, max_reply, answer });
            return Some(text);
        };
        // A caller that has given up is not there to hear it; the same goes for the others below.
        answer.send(Err(refused)).ok();
        None
    }

    pub fn answer(&mut self, id: u64, result: Result<Bytes, wire::Refusal>) {
        let Some(PendingCall { method, max_reply, answer, .. }) = self.calls.remove(&id) else { return };
        let result = match result {
            Ok(bytes) if bytes.len() > max_reply => {
                Err(CallError::TooLarge { method, bytes: bytes.len(), limit: max_reply })
            }
            Ok(bytes) => Ok(bytes),
            // The target was detached before the call.
            Err(wire::Refusal { code: SESSION_NOT_FOUND, .. }) => Err(CallError::Detached { method }),
            Err(wire::Refusal { code, message }) => {
                Err(CallError::Refused { method, code, message: message.into() })
            }
        };
        answer.send(result).ok();
    }

    pub fn has_pending_input(&self, session: &SessionId) -> bool {
        let mut calls = self.calls.values();
        calls.any(|call| call.method.starts_with("Input.") && call.session.as_ref() == Some(session))
    }

    /// Fails calls to a crashed renderer or a detached target: Chromium does not answer them.
    pub fn apply_event(&mut self, event: &Event) {
        let (session, error): (_, fn(&'static str) -> CallError) = match (&event.kind, &event.session) {
            (EventKind::Attached(attached), _) => {
                if self.sessions.len() < MAX_SESSIONS {
                    self.sessions.insert(attached.session_id.clone(), Renderer::Alive);
                }
                return;
            }
            (EventKind::RendererReloaded(_), Some(session)) => {
                if let Some(renderer) = self.sessions.get_mut(session) {
                    *renderer = Renderer::Alive;
                }
                return;
            }
            (kind, Some(session)) if kind.is_renderer_crash() => {
                if let Some(renderer) = self.sessions.get_mut(session) {
                    *renderer = Renderer::Crashed;
                }
                (session, |method| CallError::Crashed { method })
            }
            (EventKind::Detached(gone), _) => {
                self.sessions.remove(&gone.session_id);
                (&gone.session_id, |method| CallError::Detached { method })
            }
            _ => return,
        };
        for (_, call) in self.calls.extract_if(|_, call| call.session.as_ref() == Some(session)) {
            call.answer.send(Err(error(call.method))).ok();
        }
    }

    /// Drops the senders, which wakes the callers.
    pub fn drop_all(&mut self) {
        self.calls.clear();
    }
}
