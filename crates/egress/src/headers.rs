//! Hop-by-hop headers, which a proxy must not forward.

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// Longest head, either way, and what may wait in memory for a slow reader; a longer head ends the exchange.
/// Servers take 8 to 32 KiB by default, and a jail can begin a head on every connection it may have.
pub(crate) const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Header lines in one head; more end the exchange.
pub(crate) const MAX_HEADERS: usize = 512;

/// Headers of one hop, whatever `Connection` says.
const HOP: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers of both ends, whatever `Connection` says: without them the two sides could differ about where a message ends or
/// how it is read, or about who sent it.
const END_TO_END: &[&str] = &[
    "content-encoding",
    "content-length",
    "host",
    "origin",
    "referer",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
];

/// What may be passed on, in its old order. Nothing is added: a site does not learn of the proxy. Of a message with a
/// transfer coding the length is that of nothing.
pub(crate) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named = named_by_connection(headers);
    let is_coded = headers.contains_key(header::TRANSFER_ENCODING);
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let hop = HOP.contains(&name.as_str()) || named.iter().any(|one| one == name.as_str());
        let is_length = is_coded && name == header::CONTENT_LENGTH;
        if !hop && !is_length {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}

/// Whether a message has a transfer coding that nobody undoes. None is ever asked for.
pub(crate) fn has_unread_transfer_coding(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(header::TRANSFER_ENCODING).iter();
    let is_read =
        |coding: &str| matches!(coding.trim().to_ascii_lowercase().as_str(), "" | "chunked" | "identity");
    values.any(|value| !value.to_str().is_ok_and(|codings| codings.split(',').all(is_read)))
}

/// Headers that `Connection` declares to be of this hop.
fn named_by_connection(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let names = values.flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase());
    names.filter(|name| !END_TO_END.contains(&name.as_str())).collect()
}

/// The protocol that a message asks to change to, if it does.
pub(crate) fn upgrade(headers: &HeaderMap) -> Option<HeaderValue> {
    let asked = named_by_connection(headers).iter().any(|name| name == "upgrade");
    headers.get(header::UPGRADE).filter(|_| asked).cloned()
}

/// Puts a change of protocol back, for the next hop.
pub(crate) fn set_upgrade(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(HeaderName::from_static("upgrade"), protocol);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v))).collect()
    }

    fn check(before: &[(&'static str, &'static str)], after: &[&str]) {
        let kept = end_to_end(&map(before));
        let names: Vec<&str> = kept.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, after, "{before:?}");
    }

    #[test]
    fn headers_of_one_hop_stay_behind_and_the_others_keep_their_order() {
        check(
            &[
                ("host", "a"),
                ("proxy-connection", "keep-alive"),
                ("connection", "keep-alive, X-Private"),
                ("x-private", "1"),
                ("keep-alive", "timeout=5"),
                ("proxy-authorization", "Basic x"),
                ("te", "trailers"),
                ("user-agent", "u"),
                ("upgrade", "h2c"),
                ("transfer-encoding", "chunked"),
                ("accept", "*/*"),
            ],
            &["host", "user-agent", "accept"],
        );
    }

    #[test]
    fn connection_cannot_name_away_what_a_message_is_read_by() {
        check(
            &[("host", "a"), ("content-length", "3"), ("connection", "content-length, host")],
            &["host", "content-length"],
        );
        check(
            &[
                ("connection", "sec-fetch-site, Referer, origin, content-encoding, cookie"),
                ("sec-fetch-site", "cross-site"),
                ("referer", "https://evil.test/"),
                ("origin", "https://evil.test"),
                ("content-encoding", "gzip"),
                ("cookie", "a=b"),
            ],
            &["sec-fetch-site", "referer", "origin", "content-encoding"],
        );
    }

    #[test]
    fn a_message_has_a_length_or_a_transfer_coding_and_no_coding_but_chunked() {
        check(&[("content-length", "3"), ("transfer-encoding", "chunked"), ("accept", "*/*")], &["accept"]);
        for (coding, expected) in [
            ("chunked", false),
            ("Chunked", false),
            ("identity", false),
            ("gzip, chunked", true),
            ("gzip", true),
        ] {
            assert_eq!(
                has_unread_transfer_coding(&map(&[("transfer-encoding", coding)])),
                expected,
                "{coding}"
            );
        }
        assert!(!has_unread_transfer_coding(&map(&[])));
    }

    #[test]
    fn a_change_of_protocol_counts_only_if_connection_names_it() {
        assert_eq!(upgrade(&map(&[("upgrade", "websocket")])), None);
        let asked = map(&[("connection", "keep-alive, Upgrade"), ("upgrade", "websocket")]);
        assert_eq!(upgrade(&asked), Some(HeaderValue::from_static("websocket")));
    }
}
