//! Requests of sealed origins: TLS ends here, the gate decides on requests that may change something, placeholders and
//! secrets are swapped, and everything else passes as it came.

mod body;
mod coding;
mod connection;
mod decoded_body;
mod deferred;
mod effect;
mod executor;
mod held;
mod message_gate;
mod record;
mod reply;
mod request;
mod site;
mod tunnel;
mod websocket;

pub(crate) use body::{BodyError, ReplyBody, boxed_empty, keep_with};
pub(crate) use connection::SealedConnection;
pub(crate) use deferred::DeferredNavigations;
pub(crate) use effect::Holding;
pub(crate) use held::HoldingRoom;
pub(crate) use reply::SealedReply;
pub(crate) use request::{SealedRequest, TargetForm};
pub(crate) use site::{SiteAccess, Unanswered, send_http1};

use crate::tls::{JailAuthority, UpstreamTls};
use std::sync::Arc;

/// What it takes to end TLS at the proxy.
#[derive(Clone, Debug)]
pub struct Interception {
    pub authority: Arc<JailAuthority>,
    pub upstream: Arc<UpstreamTls>,
}
