//! Places of a request, besides its own, into which a credential's secrets may be put.
//!
//! The type lives here because `vault` stores it and `egress` acts on it, and they share no other crate that knows of
//! credentials.

use std::fmt;

/// A place where the egress proxy replaces placeholders by secrets, because the operator said so. Everywhere else a
/// placeholder leaves as it is: an agent could otherwise have the secret published.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SendIn {
    /// Request bodies under a path.
    Body { path: String },
    /// The query and the path of requests under a path.
    Url { path: String },
    /// Messages of a WebSocket that was opened under a path.
    WebSocket { path: String },
    /// A request header, by its lower-case name.
    Header { name: String },
}

/// Longest path or header name.
const LONGEST: usize = 512;

impl SendIn {
    /// The kinds, as credentials and commands write them.
    pub const KINDS: [&str; 4] = ["body", "url", "websocket", "header"];

    /// Parses a kind and its path or header name. `None` if either is not one.
    pub fn parse(kind: &str, place: &str) -> Option<SendIn> {
        let path = || {
            let is_path = place.starts_with('/')
                && place.len() <= LONGEST
                && place.bytes().all(|b| b.is_ascii_graphic() && !b"?#\\".contains(&b));
            is_path.then(|| place.to_owned())
        };
        let name = || {
            let is_name = !place.is_empty()
                && place.len() <= LONGEST
                && place.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            is_name.then(|| place.to_ascii_lowercase())
        };
        Some(match kind {
            "body" => SendIn::Body { path: path()? },
            "url" => SendIn::Url { path: path()? },
            "websocket" => SendIn::WebSocket { path: path()? },
            "header" => SendIn::Header { name: name()? },
            _ => return None,
        })
    }

    pub fn kind(&self) -> &'static str {
        match self {
            SendIn::Body { .. } => "body",
            SendIn::Url { .. } => "url",
            SendIn::WebSocket { .. } => "websocket",
            SendIn::Header { .. } => "header",
        }
    }

    /// The path or the header's name.
    pub fn place(&self) -> &str {
        match self {
            SendIn::Body { path } | SendIn::Url { path } | SendIn::WebSocket { path } => path,
            SendIn::Header { name } => name,
        }
    }
}

/// `body /oauth/token`.
impl fmt::Display for SendIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_kind_with_a_path_or_a_header_name() {
        for (kind, place, expected) in [
            ("body", "/oauth/token", Some("body /oauth/token")),
            ("url", "/", Some("url /")),
            ("websocket", "/live", Some("websocket /live")),
            ("header", "X-Api-Key", Some("header x-api-key")),
            ("header", "X Api", None),
            ("header", "", None),
            ("body", "oauth", None),
            ("body", "/a?b", None),
            ("body", "/a b", None),
            ("cookie", "/", None),
        ] {
            assert_eq!(SendIn::parse(kind, place).map(|place| place.to_string()).as_deref(), expected);
        }
    }
}
