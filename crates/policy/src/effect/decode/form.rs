//! URL-encoded pairs, of bodies and of query strings.

use super::json;
use super::sink::FieldSink;
use crate::percent::decode_form;
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
        (decode_form(name), decode_form(value))
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
