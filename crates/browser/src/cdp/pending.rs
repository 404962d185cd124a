//! Calls that wait for an answer, and the sessions that can still give one.

use super::{CallError, Event, EventKind, SessionId, wire};
use bytes::Bytes;
use std::collections::HashMap;
use tokio::sync::oneshot;

/// Calls that wait for an answer; at the bound the next one fails with [`CallError::Busy`].
const UNANSWERED_CALLS: usize = 4096;
/// Attached targets that are remembered. A crash of one beyond the bound is not: calls to it time out.
const MOST_SESSIONS: usize = 2048;

const SESSION_NOT_FOUND: i64 = -32001;

pub(super) type Answer = Result<Bytes, CallError>;

pub(super) struct Call {
    pub id: u64,
    pub method: &'static str,
    pub session: Option<SessionId>,
    pub text: String,
    /// In bytes; a larger answer is dropped before anything is made of it.
    pub largest_reply: usize,
    pub answer: oneshot::Sender<Answer>,
}

#[derive(Default)]
pub(super) struct Pending {
    calls: HashMap<u64, Waiting>,
    sessions: HashMap<SessionId, Renderer>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Renderer {
    Alive,
    /// It will not answer until it is told to be back.
    Crashed,
}

struct Waiting {
    method: &'static str,
    session: Option<SessionId>,
    largest_reply: usize,
    answer: oneshot::Sender<Answer>,
}

impl Pending {
    /// The text to send, unless the call has failed already.
    pub fn expect(&mut self, call: Call) -> Option<String> {
        let Call { id, method, session, text, largest_reply, answer } = call;
        if self.calls.len() >= UNANSWERED_CALLS {
            self.calls.retain(|_, waiting| !waiting.answer.is_closed());
        }
        let renderer = session.as_ref().and_then(|session| self.sessions.get(session));
        let refused = if renderer == Some(&Renderer::Crashed) {
            CallError::Crashed { method }
        } else if self.calls.len() >= UNANSWERED_CALLS {
            CallError::Busy { method }
        } else {
            self.calls.insert(id, Waiting { method, session, largest_reply, answer });
            return Some(text);
        };
        // A caller that has given up is not there to hear it; the same goes for the others below.
        answer.send(Err(refused)).ok();
        None
    }

    pub fn answer(&mut self, id: u64, result: Result<Bytes, wire::Refusal>) {
        let Some(Waiting { method, largest_reply, answer, .. }) = self.calls.remove(&id) else { return };
        let result = match result {
            Ok(bytes) if bytes.len() > largest_reply => {
                Err(CallError::TooLarge { method, bytes: bytes.len(), limit: largest_reply })
            }
            Ok(bytes) => Ok(bytes),
            // The target went before the call came.
            Err(wire::Refusal { code: SESSION_NOT_FOUND, .. }) => Err(CallError::Detached { method }),
            Err(wire::Refusal { code, message }) => {
                Err(CallError::Refused { method, code, message: message.into() })
            }
        };
        answer.send(result).ok();
    }

    pub fn has_input_under_way(&self, session: &SessionId) -> bool {
        let mut calls = self.calls.values();
        calls.any(|call| call.method.starts_with("Input.") && call.session.as_ref() == Some(session))
    }

    /// Calls to a renderer that crashed, or to a target that went, get no answer from Chromium.
    pub fn hear(&mut self, event: &Event) {
        let (session, error): (_, fn(&'static str) -> CallError) = match (&event.kind, &event.session) {
            (EventKind::Attached(attached), _) => {
                if self.sessions.len() < MOST_SESSIONS {
                    self.sessions.insert(attached.session_id.clone(), Renderer::Alive);
                }
                return;
            }
            (EventKind::RendererBack(_), Some(session)) => {
                if let Some(renderer) = self.sessions.get_mut(session) {
                    *renderer = Renderer::Alive;
                }
                return;
            }
            (EventKind::RendererCrashed(_), Some(session)) => {
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

    /// Answers that will not come: dropping the senders wakes the callers.
    pub fn give_up(&mut self) {
        self.calls.clear();
    }
}
