//! The interface of the gate for effects. Two places hold requests before they leave and ask it: the egress proxy, for
//! the origins that it intercepts, and the driver, for granted origins that it does not.

use crate::effect::PermittedEffect;
use error_code::ErrorCode;
use policy::{EffectRequest, RequestHead};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

/// Decides on requests of granted origins before they leave. The engine implements it, for one session.
pub trait EffectGate: fmt::Debug + Send + Sync {
    /// Whether a request has to be decided on. Cheap; asked for every request of a granted origin, and for every message
    /// that a page sends over a WebSocket where those are held.
    fn concerns(&self, head: &RequestHead<'_>) -> bool;

    /// Decides, and records the decision. It may take as long as a person needs to answer. Dropping the future withdraws
    /// the question: the page, or the connection, has gone away.
    fn decide(&self, request: EffectRequest) -> EffectDecided;

    /// A concerned request was refused before it could be decided on: a bound was reached, or its body did not arrive
    /// or cannot be read. The gate tells the agent.
    fn refused_undecided(&self, head: &RequestHead<'_>, code: &'static str) {
        let _ = (head, code);
    }

    /// A page opened a channel to a granted origin whose messages leave without being decided on.
    fn note_undecided_channel(&self, url: &str) {
        let _ = url;
    }

    /// Whether WebSockets to a host leave without being decided on, message by message.
    fn has_undecided_channels(&self, host: &str, port: u16) -> bool {
        let _ = (host, port);
        false
    }

    /// Whether a page may open a WebSocket to such a host now.
    fn permits_undecided_channel(&self, host: &str, port: u16) -> bool {
        let _ = (host, port);
        true
    }
}

pub type EffectDecided = Pin<Box<dyn Future<Output = Result<Cleared, EffectRefused>> + Send>>;

/// What the gate says of a request.
#[expect(clippy::large_enum_variant, reason = "made once for a request, and taken apart at once")]
pub enum Cleared {
    /// It changes nothing.
    Read,
    /// Exactly these bytes may leave; the outcome is recorded with it.
    Effect(PermittedEffect),
    /// A navigation of a tab that waits for an answer. Whoever holds the request keeps it and answers 204, so that the tab
    /// keeps its page: Chromium lets nobody read a page that is being left. Once it is released, the tab is navigated to
    /// the same address, and the kept request leaves in place of that navigation.
    Deferred(NavigationTicket),
}

/// Names a navigation that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NavigationTicket(u64);

impl NavigationTicket {
    /// A ticket that no other navigation has. Later ones are larger.
    pub fn next() -> NavigationTicket {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NavigationTicket(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A request that must not leave, and why. The page sees a failed request; the agent gets the reason from the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EffectRefused {
    /// The name of an error code, for the ledger.
    pub code: &'static str,
}

impl From<&ErrorCode> for EffectRefused {
    fn from(code: &ErrorCode) -> EffectRefused {
        EffectRefused { code: code.name() }
    }
}
