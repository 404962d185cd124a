//! Requests of sealed origins: TLS ends here, placeholders and secrets are swapped, and everything else passes as it
//! came.

mod body;
mod coding;
mod connection;
mod executor;
mod record;
mod reply;
mod request;
mod tunnel;
mod websocket;

pub(crate) use body::{BodyError, ReplyBody, boxed_empty, keep_with};
pub(crate) use connection::{SealedConnection, failure_reason};
pub(crate) use reply::SealedReply;
pub(crate) use request::{Refused, SealedRequest, TargetForm};

use crate::tls::{JailAuthority, UpstreamTls};
use std::sync::Arc;

/// What it takes to end TLS at the proxy.
#[derive(Clone, Debug)]
pub struct Interception {
    pub authority: Arc<JailAuthority>,
    pub upstream: Arc<UpstreamTls>,
}
