//! URLs as servers read them: percent-decoded, without empty path segments, and with the query split.

use std::borrow::Cow;
use url::Url;

/// Servers and the proxies in front of them may decode more than once.
const DECODING_ROUNDS: usize = 3;

/// The decoded path; an escaped `/` separates segments, too.
pub(super) fn path(url: &Url) -> Cow<'_, str> {
    decode(url.path())
}

/// The first segment that is not empty: `admin` for `//admin/` and `/./admin;v=1`.
pub(super) fn first_segment(url: &Url) -> String {
    let path = path(url);
    let part = path.split(['/', '\\']).find(|part| !matches!(*part, "" | "."));
    part.and_then(|part| part.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase()
}

/// Names and values of the query, not decoded; a name alone has an empty value.
pub(super) fn query_pairs(url: &Url) -> impl Iterator<Item = (&str, &str)> {
    let pairs = url.query().unwrap_or_default().split(['&', ';']).filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Percent-decodes repeatedly. Bytes that are not UTF-8 become replacement characters.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..DECODING_ROUNDS {
        if !text.contains('%') {
            break;
        }
        text = Cow::Owned(decode_once(&text));
    }
    text
}

fn decode_once(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |after: usize| bytes.get(at + after).and_then(|digit| char::from(*digit).to_digit(16));
        match (byte, digit(1), digit(2)) {
            #[expect(clippy::cast_possible_truncation, reason = "two hexadecimal digits are a byte")]
            (b'%', Some(high), Some(low)) => {
                plain.push((high * 16 + low) as u8);
                at += 3;
            }
            _ => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_as_often_as_servers_do() {
        for (text, expected) in [
            ("plain", "plain"),
            ("%64elete", "delete"),
            ("%44ELETE%2f", "DELETE/"),
            ("%2564elete", "delete"),
            ("%252564elete", "delete"),
            ("%25252564elete", "%64elete"),
            ("100%", "100%"),
            ("%zz%6", "%zz%6"),
            ("%c3%a9", "é"),
            ("%ff", "\u{fffd}"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }

    #[test]
    fn the_first_segment_of_a_path_is_not_empty() {
        for (address, expected) in [
            ("https://a.test/admin/x", "admin"),
            ("https://a.test//Admin/", "admin"),
            ("https://a.test/%61dmin", "admin"),
            ("https://a.test/%2fadmin", "admin"),
            ("https://a.test/%5cadmin", "admin"),
            ("https://a.test/%252e/admin;v=1", "admin"),
            ("https://a.test/", ""),
        ] {
            assert_eq!(first_segment(&Url::parse(address).unwrap()), expected, "{address}");
        }
    }
}
