//! Decodes bodies into fields and operations.
//!
//! Linear in the size of the body, bounded in what is kept, and total: what cannot be decoded is text or binary.

mod charset;
mod form;
mod framing;
mod graphql;
mod json;
mod multipart;
mod sink;
mod xml;

pub(super) use form::pairs;

use super::{BodyKind, Effect, EffectRequest, EffectTransport};
use sink::FieldSink;

impl Effect {
    pub fn decode(request: EffectRequest) -> Effect {
        let mut sink = FieldSink::default();
        let body = match request.transport {
            EffectTransport::Http => decode_http(&request, &mut sink),
            EffectTransport::WebSocket => decode_message(&request.body, &mut sink),
        };
        let (fields, omitted_fields, mut operations) = sink.finish();
        if operations.is_empty() {
            operations.extend(graphql::operations_of_query(&request.url));
        }
        let is_graphql = body == BodyKind::None && !operations.is_empty();
        let body = if is_graphql { BodyKind::GraphQl } else { body };
        Effect { request, body, fields, omitted_fields, operations }
    }
}

fn decode_http(request: &EffectRequest, sink: &mut FieldSink) -> BodyKind {
    if request.body.is_empty() {
        return BodyKind::None;
    }
    let kind = request.content_type.to_ascii_lowercase();
    let media = kind.split(';').next().unwrap_or_default().trim();
    if media.starts_with("multipart/") || request.body.starts_with(b"--") && has_part(&request.body) {
        return multipart::decode(&request.content_type, &request.body, sink);
    }
    if media.starts_with("application/grpc")
        || media == "application/x-protobuf"
        || media == "application/proto"
    {
        return BodyKind::Binary;
    }
    let Some(text) = charset::decode(&kind, &request.body) else { return BodyKind::Binary };
    // Where no WebSocket can be opened, Socket.IO posts the same packets.
    let is_polled = request.url.contains("/socket.io/") || request.url.contains("EIO=");
    if is_polled && text.starts_with(|c: char| c.is_ascii_digit()) {
        return framing::decode(&text, sink);
    }
    decode_text(media, &text, sink)
}

/// The content type is a hint: beacons and cross-origin forms send JSON and pairs as `text/plain`.
fn decode_text(media: &str, text: &str, sink: &mut FieldSink) -> BodyKind {
    let trimmed = text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
    if media == "application/graphql" {
        graphql::read_document(trimmed, sink);
        return BodyKind::GraphQl;
    }
    if trimmed.starts_with(['{', '['])
        && let Some(kind) = json::decode(trimmed, sink)
    {
        return kind;
    }
    if trimmed.starts_with('<') {
        xml::read_operation(trimmed, sink);
        return BodyKind::Text;
    }
    if media == "application/x-www-form-urlencoded" || form::looks_like_pairs(trimmed) {
        form::decode(trimmed, sink);
        return BodyKind::Form;
    }
    BodyKind::Text
}

fn decode_message(body: &[u8], sink: &mut FieldSink) -> BodyKind {
    if body.is_empty() {
        return BodyKind::None;
    }
    let Some(text) = charset::decode("", body) else { return BodyKind::Binary };
    framing::decode(&text, sink)
}

fn has_part(body: &[u8]) -> bool {
    let head = &body[..body.len().min(512)];
    head.windows(12).any(|window| window.eq_ignore_ascii_case(b"content-disp"))
}

#[cfg(test)]
mod tests;
