//! Percent-decoding of addresses and of URL-encoded pairs.

use std::borrow::Cow;

/// Servers and the proxies in front of them may decode more than once.
const DECODING_ROUNDS: usize = 3;

/// Decodes repeatedly. Bytes that are not UTF-8 become replacement characters.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..DECODING_ROUNDS {
        if !text.contains('%') {
            break;
        }
        text = Cow::Owned(decode_once(&text, b'+'));
    }
    text
}

/// Decodes once, and `+` to a space, as forms encode it.
pub(crate) fn decode_form(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(decode_once(text, b' '))
}

fn decode_once(text: &str, plus: u8) -> String {
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
                plain.push(if byte == b'+' { plus } else { byte });
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
            ("a+b%2", "a+b%2"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }

    #[test]
    fn pairs_are_decoded_once() {
        for (text, expected) in [("a+b", "a b"), ("%2564", "%64"), ("a%2Bb", "a+b"), ("100%", "100%")] {
            assert_eq!(decode_form(text), expected, "{text}");
        }
    }
}
