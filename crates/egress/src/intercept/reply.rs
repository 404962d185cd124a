//! The reply of a sealed origin as the browser gets it.

use super::body::{ReplyBody, SealedBody, keep_with};
use super::coding::{content_codings, has_too_many_codings};
use super::connection::SealedConnection;
use super::request::SentRequest;
use super::site::SiteConnection;
use super::websocket::WebSocketRelay;
use crate::headers;
use crate::seal::seal_headers;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::ext::ReasonPhrase;
use hyper::header::{CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode, Version};
use std::sync::Arc;

/// A reply, and what follows it.
pub(crate) struct SealedReply {
    pub(crate) response: Response<ReplyBody>,
    pub(crate) relay: Option<WebSocketRelay>,
}

impl SealedReply {
    /// Keeps the connection that the reply comes over for as long as it comes.
    pub(crate) fn keep(self, connection: Option<SiteConnection>) -> SealedReply {
        let SealedReply { response, relay } = self;
        match (connection, relay) {
            (Some(connection), Some(relay)) => SealedReply { response, relay: Some(relay.keep(connection)) },
            (Some(connection), None) => {
                SealedReply { response: response.map(|body| keep_with(body, connection)), relay: None }
            }
            (None, relay) => SealedReply { response, relay },
        }
    }
}

impl SealedConnection {
    /// Seals a reply; `None` if the site changes the protocol unasked, or codes the reply more often than is undone, or in
    /// transfer.
    pub(crate) fn seal_reply(&self, response: Response<Incoming>, sent: SentRequest) -> Option<SealedReply> {
        let SentRequest { method, path, address, initiator, websocket, clearance, mut record } = sent;
        let (mut parts, body) = response.into_parts();
        record.set_status(parts.status);
        if let Some(clearance) = clearance {
            clearance.complete(parts.status.as_u16());
        }
        if headers::has_unread_transfer_coding(&parts.headers) {
            return None;
        }
        let closes = parts.version < Version::HTTP_2 && is_closing(parts.version, &parts.headers);
        let upgrade = headers::upgrade(&parts.headers);
        parts.headers = headers::end_to_end(&parts.headers);
        let sealing = seal_headers(&mut parts.headers, &self.seal, &self.origin, &address);
        let reason = parts.extensions.get::<ReasonPhrase>();
        if reason.is_some_and(|reason| sealing.finds_any(reason.as_bytes())) {
            parts.extensions.remove::<ReasonPhrase>();
        }

        if parts.status == StatusCode::SWITCHING_PROTOCOLS {
            let (Some(browser), Some(protocol)) = (websocket, upgrade) else { return None };
            // Extensions were not offered, so that messages can be read.
            if parts.headers.contains_key("sec-websocket-extensions") {
                return None;
            }
            headers::set_upgrade(&mut parts.headers, protocol);
            let mut response = Response::from_parts(parts, super::boxed_empty());
            let site = hyper::upgrade::on(&mut response);
            let relay = WebSocketRelay::new(browser, site, self, path, initiator, record);
            return Some(SealedReply { response, relay: Some(relay) });
        }

        // With nothing to look for, a reply stays coded.
        if !sealing.is_empty() && has_too_many_codings(&parts.headers) {
            self.seal.count_unswapped();
            return None;
        }
        let codings = if sealing.is_empty() { Vec::new() } else { self.undo_codings(&mut parts.headers) };
        let has_body = method != Method::HEAD
            && !matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        if closes {
            parts.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        let codings = if has_body { codings } else { Vec::new() };
        let seal = (!sealing.is_empty()).then(|| Arc::clone(&self.seal));
        let body = SealedBody::new(body, &codings, seal, record).boxed_unsync();
        Some(SealedReply { response: Response::from_parts(parts, body), relay: None })
    }

    /// The codings to undo, taken out of the headers. A reply whose codings cannot be undone is counted.
    fn undo_codings(&self, headers: &mut HeaderMap) -> Vec<super::coding::ContentCoding> {
        let Some(codings) = content_codings(headers) else {
            self.seal.count_unswapped();
            return Vec::new();
        };
        if !codings.is_empty() {
            headers.remove(CONTENT_ENCODING);
            headers.remove(CONTENT_LENGTH);
        }
        codings
    }
}

/// Whether the site closes the connection after this reply.
fn is_closing(version: Version, headers: &HeaderMap) -> bool {
    let mut options = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let mut named = |option: &str| {
        options.by_ref().any(|value| value.split(',').any(|one| one.trim().eq_ignore_ascii_case(option)))
    };
    if version == Version::HTTP_11 { named("close") } else { !named("keep-alive") }
}
