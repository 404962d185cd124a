//! The operation of SOAP and XML-RPC messages.

use super::sink::FieldSink;

/// Headers of a message are not longer.
const SEARCHED: usize = 16 * 1024;

pub(super) fn read_operation(text: &str, sink: &mut FieldSink) {
    let end = (0..=text.len().min(SEARCHED)).rev().find(|at| text.is_char_boundary(*at));
    let text = &text[..end.unwrap_or_default()];
    if let Some((_, rest)) = text.split_once("<methodName>") {
        let name = rest.split('<').next().unwrap_or_default().trim();
        return sink.operation(name.to_owned());
    }
    let Some((_, body)) = text.split_once("Body") else { return };
    let element =
        body.split('<').skip(1).map(|tag| tag.split([' ', '>', '/', '\n']).next().unwrap_or_default());
    if let Some(name) = element.into_iter().find(|name| !name.is_empty() && !name.starts_with('!')) {
        sink.operation(name.rsplit(':').next().unwrap_or_default().to_owned());
    }
}
