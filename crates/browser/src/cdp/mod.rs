//! The Chrome DevTools Protocol: typed commands, one connection, flattened sessions.
//!
//! Only what is used is typed. Unknown fields, events and replies are ignored, so a newer Chromium does not break an
//! older driver.

mod bounded;
mod closed_roots;
mod connection;
mod error;
mod event;
mod headers;
mod pending;
pub mod protocol;
pub(crate) mod remote_objects;
mod wire;

pub use bounded::{BoundedText, BoundedUrl, Id};
pub(crate) use closed_roots::TREE_DEPTH;
pub(crate) use connection::MAX_MESSAGE_BYTES;
pub use connection::{Closed, Connection, ConnectionOptions, PendingReply, Reactions, websocket_config};

pub use error::CallError;
pub use event::{Event, EventKind};
pub use headers::{IssuedHeaders, RequestHeaders, ResponseHeaders};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{fmt, sync::Arc};

/// One CDP method: its parameters are the value itself, its result is the `Response`.
pub trait Command: Serialize {
    const METHOD: &'static str;
    type Response: DeserializeOwned;

    /// Bytes of JSON in the reply; the call fails on a larger one.
    fn max_reply(&self) -> usize {
        MAX_REPLY
    }
}

/// Far more than any reply needs, except screenshots and snapshots.
const MAX_REPLY: usize = 1 << 20;

/// A flattened session: one attached target on the shared connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(Arc<str>);

impl SessionId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SessionId {
    fn from(text: &str) -> SessionId {
        SessionId(text.into())
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<SessionId, D::Error> {
        bounded::Id::deserialize(deserializer).map(|id| SessionId((*id).into()))
    }
}
