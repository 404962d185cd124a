//! An address as the server behind it reads it: escapes undone, empty parts left out, its query taken apart.

use std::borrow::Cow;
use url::Url;

/// Servers, and what stands before them, undo escapes more than once.
const ROUNDS: usize = 3;

/// Its path without escapes; what was an escaped `/` parts it, too.
pub(super) fn path(url: &Url) -> Cow<'_, str> {
    decoded(url.path())
}

/// The first part of its path that is one: `//admin/` and `/./admin;v=1` begin with `admin`.
pub(super) fn first_part(url: &Url) -> String {
    let path = path(url);
    let part = path.split(['/', '\\']).find(|part| !matches!(*part, "" | "."));
    part.and_then(|part| part.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase()
}

/// Names and values of its query, as they are written; a name alone has no value.
pub(super) fn pairs(url: &Url) -> impl Iterator<Item = (&str, &str)> {
    let pairs = url.query().unwrap_or_default().split(['&', ';']).filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Without escapes, also where those are escaped themselves. What does not come out as text is no word of ours.
pub(super) fn decoded(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..ROUNDS {
        if !text.contains('%') {
            break;
        }
        text = Cow::Owned(once(&text));
    }
    text
}

fn once(text: &str) -> String {
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
    fn escapes_are_undone_as_often_as_servers_do() {
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
            assert_eq!(decoded(text), expected, "{text}");
        }
    }

    #[test]
    fn the_first_part_of_a_path_is_one_that_says_something() {
        for (address, expected) in [
            ("https://a.test/admin/x", "admin"),
            ("https://a.test//Admin/", "admin"),
            ("https://a.test/%61dmin", "admin"),
            ("https://a.test/%2fadmin", "admin"),
            ("https://a.test/%5cadmin", "admin"),
            ("https://a.test/%252e/admin;v=1", "admin"),
            ("https://a.test/", ""),
        ] {
            assert_eq!(first_part(&Url::parse(address).unwrap()), expected, "{address}");
        }
    }
}
