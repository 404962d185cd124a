//! URL-encoded pairs, of bodies and of query strings.

use super::json;
use super::sink::FieldSink;
use std::borrow::Cow;

pub(super) fn decode(text: &str, sink: &mut FieldSink) {
    for (name, value) in pairs(text.trim_end()) {
        let is_json = value.starts_with(['{', '[']) && json::is_envelope(&name);
        if !is_json || !json::flatten(&name, &value, sink) {
            sink.field(&name, &value);
        }
    }
    json::name_operations(sink);
}

/// Names and values, decoded once. A name alone has an empty value.
pub(in crate::effect) fn pairs(text: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (unescape(name), unescape(value))
    })
}

/// Whether a text without a telling content type is pairs: `name=value&name=value` without spaces or markup.
pub(super) fn looks_like_pairs(text: &str) -> bool {
    let head = text.trim_end();
    let mut parts = head.split('&').take(50);
    let is_pair = |pair: &str| {
        let Some((name, _)) = pair.split_once('=') else { return false };
        !name.is_empty()
            && name.len() <= 100
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.[]%$:+".contains(&byte))
    };
    head.contains('=') && !head.contains([' ', '\n', '<', '{']) && parts.all(is_pair)
}

fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
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
                plain.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}
