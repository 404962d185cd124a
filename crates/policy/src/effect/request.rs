//! A request before it leaves, as whoever holds it sees it: the egress proxy or the driver. And the agent's action before it.

use crate::{Action, Facts};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// Headers by which servers take a request for one of another method.
const METHOD_OVERRIDES: [&str; 3] = ["x-http-method-override", "x-method-override", "x-http-method"];

/// What tells whether a request has to be decided on, before its body is read.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    pub transport: EffectTransport,
    pub method: &'a str,
    /// Scheme, host, port, path and query, as the browser wrote them.
    pub url: &'a str,
    pub content_type: &'a str,
    /// `Sec-Fetch-Dest`: `document`, `empty`, `image`…; empty if the browser did not say.
    pub destination: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectTransport {
    Http,
    /// One message on an open WebSocket; `url` is that of its handshake.
    WebSocket,
}

/// A whole request as the browser sent it: with placeholders in place of secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct EffectRequest {
    pub transport: EffectTransport,
    /// In capitals; `MESSAGE` for a WebSocket message.
    pub method: String,
    pub url: String,
    pub content_type: String,
    pub destination: String,
    /// Complete.
    pub body: Bytes,
}

impl EffectRequest {
    pub fn head(&self) -> RequestHead<'_> {
        RequestHead {
            transport: self.transport,
            method: &self.method,
            url: &self.url,
            content_type: &self.content_type,
            destination: &self.destination,
        }
    }

    /// Identifies exactly these bytes. Lengths are part of it, so no two requests have the same parts in other places.
    pub fn digest(&self) -> EffectDigest {
        let mut hash = Sha256::new();
        for part in [self.method.as_bytes(), self.url.as_bytes(), self.content_type.as_bytes(), &self.body] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        EffectDigest(hash.finalize().into())
    }
}

/// The method that a site may act on: the most consequential of those that the request names, in its line and in headers.
pub fn effective_method<N: AsRef<str>, V: AsRef<str>>(
    method: &str,
    headers: impl IntoIterator<Item = (N, V)>,
) -> String {
    let overrides = headers
        .into_iter()
        .filter(|(name, _)| METHOD_OVERRIDES.iter().any(|known| known.eq_ignore_ascii_case(name.as_ref())));
    overrides.fold(method.to_ascii_uppercase(), |highest, (_, value)| {
        let named = value.as_ref().split(',').map(|one| one.trim().to_ascii_uppercase());
        let named = named.filter(|one| !one.is_empty());
        named.fold(
            highest,
            |highest, one| if consequence(&one) > consequence(&highest) { one } else { highest },
        )
    })
}

fn consequence(method: &str) -> u8 {
    match method {
        "GET" | "HEAD" | "OPTIONS" | "TRACE" => 0,
        "POST" => 1,
        "DELETE" => 3,
        _ => 2,
    }
}

/// Bodies are content that people typed.
impl fmt::Debug for EffectRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EffectRequest { transport, method, url, content_type, destination, body } = self;
        f.debug_struct("EffectRequest")
            .field("transport", transport)
            .field("method", method)
            .field("url", url)
            .field("content_type", content_type)
            .field("destination", destination)
            .field("body_bytes", &body.len())
            .finish()
    }
}

/// SHA-256 over method, address, content type and body.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct EffectDigest([u8; 32]);

impl fmt::Display for EffectDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for EffectDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

redact::declare_safe_text!(EffectDigest);

/// The agent's latest acting call when a request began: what was acted on is a signal of what the request is for.
#[derive(Clone, Debug)]
pub struct CausingAction {
    /// The number of the action in its session.
    pub number: u32,
    pub action: Action,
    pub facts: Facts,
    /// The action was under way, or had ended only moments before. Later requests are the page's own.
    pub is_recent: bool,
    /// The action that opened the dialog which this one answers. Both are one act: the page waited in between.
    pub opened_by: Option<Arc<CausingAction>>,
}

impl CausingAction {
    /// The action that says what was acted on: of the answer to a dialog, the one that opened it.
    pub fn on_element(&self) -> &CausingAction {
        match &self.opened_by {
            Some(opener) if matches!(self.action, Action::Dialog(_)) => opener,
            _ => self,
        }
    }

    /// The action that opened the dialog, unless the answer was no.
    pub(super) fn confirmed(&self) -> Option<&CausingAction> {
        let Action::Dialog(answer) = &self.action else { return None };
        let asks = self.facts.dialog.as_ref().is_some_and(|dialog| dialog.kind == "confirm");
        self.opened_by.as_deref().filter(|_| answer.accept || !asks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_can_raise_a_method_and_not_lower_it() {
        for (method, overrides, expected) in [
            ("GET", &[][..], "GET"),
            ("get", &[], "GET"),
            ("POST", &[("x-http-method-override", "DELETE")], "DELETE"),
            ("POST", &[("X-Method-Override", "delete")], "DELETE"),
            ("POST", &[("x-http-method", " Patch ")], "PATCH"),
            ("POST", &[("x-http-method-override", "GET")], "POST"),
            ("GET", &[("x-http-method-override", "POST")], "POST"),
            ("GET", &[("x-http-method-override", "GET"), ("x-http-method", "DELETE")], "DELETE"),
            ("GET", &[("x-http-method-override", "GET, DELETE")], "DELETE"),
            ("GET", &[("x-http-method-override", "")], "GET"),
            ("GET", &[("x-http-method-override", "purge")], "PURGE"),
            ("GET", &[("x-other", "DELETE")], "GET"),
            ("DELETE", &[("x-http-method-override", "PUT")], "DELETE"),
        ] {
            assert_eq!(
                effective_method(method, overrides.iter().copied()),
                expected,
                "{method} {overrides:?}"
            );
        }
    }
}
