//! A request that Chromium has paused, as the gate sees it.

use crate::cdp::{Id, RequestHeaders, protocol as p};
use audit::KeptNavigation;
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::{Bytes, BytesMut};
use error_code::ErrorCode;
use policy::{EffectRequest, EffectTransport, effective_method};
use tokio::sync::OwnedSemaphorePermit;

const CONTENT_TYPE: &str = "content-type";
const CONTENT_ENCODING: &str = "content-encoding";

/// A paused request that has to be decided on.
pub(super) struct PausedEffect {
    /// Its id in `Fetch`.
    pub id: Id,
    pub request: EffectRequest,
    /// As it would be sent; `request.method` may be one that a header names.
    pub method: String,
    pub headers: RequestHeaders,
    /// A navigation of a tab or a frame.
    pub is_navigation: bool,
    /// Counts the body as held.
    pub _room: OwnedSemaphorePermit,
}

impl KeptNavigation for PausedEffect {
    fn request(&self) -> &EffectRequest {
        &self.request
    }
}

/// The request without its body.
pub(super) fn describe(paused: &p::RequestPaused, is_tab: bool) -> EffectRequest {
    let lines = paused.request.headers.lines().unwrap_or_default();
    let lines = lines.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    EffectRequest {
        transport: EffectTransport::Http,
        method: effective_method(&paused.request.method, lines),
        url: without_user_name(&paused.request.url),
        content_type: joined(&paused.request.headers, CONTENT_TYPE),
        destination: destination(&paused.resource_type, is_tab).to_owned(),
        body: Bytes::new(),
    }
}

/// The bytes of the body, or the code with which the request is refused. Chromium reports them all, except for those that
/// it does not have itself: streams and files.
pub(super) fn read_body(paused: &p::RequestPaused, most: usize) -> Result<Bytes, ErrorCode> {
    let p::PausedRequest { headers, has_post_data, post_data_entries, .. } = &paused.request;
    if headers.lines().is_none() {
        return Err(ErrorCode::EffectTooLarge);
    }
    if !has_post_data && post_data_entries.is_empty() {
        return Ok(Bytes::new());
    }
    let entries: Option<Vec<&str>> =
        post_data_entries.iter().map(|entry| Some(entry.bytes.as_ref()?.0.as_str())).collect();
    let entries = entries.filter(|entries| !entries.is_empty()).ok_or(ErrorCode::EffectUnreadable)?;
    if entries.iter().map(|entry| entry.len() / 4 * 3).sum::<usize>() > most + 2 * entries.len() {
        return Err(ErrorCode::EffectTooLarge);
    }
    let mut body = BytesMut::new();
    for entry in entries {
        body.extend(BASE64_STANDARD.decode(entry).map_err(|_| ErrorCode::EffectUnreadable)?);
    }
    if body.len() > most {
        return Err(ErrorCode::EffectTooLarge);
    }
    // A page has compressed it: the gate could not read it.
    if !body.is_empty() && !joined(headers, CONTENT_ENCODING).is_empty() {
        return Err(ErrorCode::EffectUnreadable);
    }
    Ok(body.freeze())
}

/// `Sec-Fetch-Dest` of a resource type.
fn destination(resource_type: &str, is_tab: bool) -> &'static str {
    match resource_type {
        "Document" if is_tab => "document",
        "Document" => "iframe",
        "Stylesheet" => "style",
        "Script" => "script",
        "Image" => "image",
        "Font" => "font",
        "Media" => "video",
        "TextTrack" => "track",
        "Manifest" => "manifest",
        _ => "empty",
    }
}

/// All values of a header.
fn joined(headers: &RequestHeaders, name: &str) -> String {
    let lines = headers.lines().unwrap_or_default().iter();
    let values: Vec<&str> = lines
        .filter(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
        .collect();
    values.join(", ")
}

/// A user name and password in the URL leave as a header.
fn without_user_name(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn paused(request: Value, resource_type: &str) -> p::RequestPaused {
        let event = json!({"requestId": "R", "request": request, "resourceType": resource_type});
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn a_paused_request_is_described_as_the_proxy_would() {
        for (request, kind, is_tab, expected) in [
            (
                json!({"url": "https://own.test/a?b", "method": "POST",
                       "headers": {"Content-Type": "application/json"}}),
                "XHR",
                false,
                ("POST", "https://own.test/a?b", "application/json", "empty"),
            ),
            (
                json!({"url": "https://u:p@own.test/", "method": "get"}),
                "Document",
                true,
                ("GET", "https://own.test/", "", "document"),
            ),
            (
                json!({"url": "https://own.test/@a", "method": "POST",
                       "headers": {"X-HTTP-Method-Override": "delete"}}),
                "Document",
                false,
                ("DELETE", "https://own.test/@a", "", "iframe"),
            ),
            (
                json!({"url": "https://own.test/i", "method": "GET"}),
                "Image",
                false,
                ("GET", "https://own.test/i", "", "image"),
            ),
            (
                json!({"url": "https://own.test/i", "method": "POST"}),
                "Ping",
                false,
                ("POST", "https://own.test/i", "", "empty"),
            ),
        ] {
            let found = describe(&paused(request, kind), is_tab);
            let EffectRequest { method, url, content_type, destination, .. } = &found;
            assert_eq!((&**method, &**url, &**content_type, &**destination), expected);
        }
    }

    #[test]
    fn a_body_is_whole_or_the_request_is_refused() {
        let url = "https://own.test/";
        let entry = |bytes: &[u8]| json!({"bytes": BASE64_STANDARD.encode(bytes)});
        let gzip = json!({"Content-Encoding": "gzip"});
        let long = json!({"X": "x".repeat(100_000)});
        for (request, expected) in [
            (json!({"url": url}), Ok(&b""[..])),
            (json!({"url": url, "hasPostData": true, "postDataEntries": [entry(b"\0\xff")]}), Ok(b"\0\xff")),
            (
                json!({"url": url, "hasPostData": true, "postDataEntries": [entry(b"one"), entry(b"two")]}),
                Ok(b"onetwo"),
            ),
            (json!({"url": url, "hasPostData": true, "postDataEntries": [entry(&[7; 16])]}), Ok(&[7; 16])),
            (json!({"url": url, "hasPostData": true}), Err(ErrorCode::EffectUnreadable)),
            (
                json!({"url": url, "hasPostData": true, "postDataEntries": [{}]}),
                Err(ErrorCode::EffectUnreadable),
            ),
            (
                json!({"url": url, "hasPostData": true, "postDataEntries": [entry(b"a"), {}]}),
                Err(ErrorCode::EffectUnreadable),
            ),
            (
                json!({"url": url, "hasPostData": true, "postDataEntries": [{"bytes": "%"}]}),
                Err(ErrorCode::EffectUnreadable),
            ),
            (
                json!({"url": url, "headers": gzip, "hasPostData": true, "postDataEntries": [entry(b"a")]}),
                Err(ErrorCode::EffectUnreadable),
            ),
            (
                json!({"url": url, "hasPostData": true, "postDataEntries": [entry(&[7; 17])]}),
                Err(ErrorCode::EffectTooLarge),
            ),
            (
                json!({"url": url, "hasPostData": true, "postDataEntries": [entry(&[7; 900])]}),
                Err(ErrorCode::EffectTooLarge),
            ),
            (json!({"url": url, "headers": long}), Err(ErrorCode::EffectTooLarge)),
        ] {
            let read = read_body(&paused(request.clone(), "XHR"), 16);
            assert_eq!(
                read.as_deref().map_err(ErrorCode::name),
                expected.map_err(|code| code.name()),
                "{request}"
            );
        }
    }
}
