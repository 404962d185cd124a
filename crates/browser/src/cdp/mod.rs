//! CDP, the protocol that Chromium is driven by: typed commands, one connection, flattened sessions.
//!
//! Only what is used is typed. A field, an event or a reply that is not known is ignored, so a newer
//! Chromium does not break an older driver.

mod bounded;
mod connection;
mod error;
mod event;
mod headers;
mod pending;
pub mod protocol;
mod wire;

pub use bounded::{Address, Id, Words};
pub(crate) use connection::LARGEST_MESSAGE;
pub use connection::{Answering, Closed, Connection, ConnectionOptions, Reactions, websocket_config};
pub use error::CallError;
pub use event::{Event, EventKind};
pub use headers::{HandedHeaders, RequestHeaders, ResponseHeaders};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{fmt, sync::Arc};

/// One CDP method: its parameters are the value itself, its result is the `Response`.
pub trait Command: Serialize {
    const METHOD: &'static str;
    type Response: DeserializeOwned;

    /// How large an answer may be, in bytes of JSON; the call fails on a larger one.
    fn largest_reply(&self) -> usize {
        LARGEST_REPLY
    }
}

/// Far more than any answer but a picture or a snapshot needs.
const LARGEST_REPLY: usize = 1 << 20;

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
