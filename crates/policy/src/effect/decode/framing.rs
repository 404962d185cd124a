//! Framing of WebSocket messages: Socket.IO, Phoenix, SockJS, STOMP, and JSON as it is.

use super::sink::FieldSink;
use super::{decode_text, form, json};
use crate::effect::BodyKind;

pub(super) fn decode(text: &str, sink: &mut FieldSink) -> BodyKind {
    let text = text.trim_matches(['\0', '\u{1e}', '\r', '\n', ' ']);
    if let Some(kind) = stomp(text, sink).or_else(|| socket_io(text, sink)) {
        return kind;
    }
    let kind = decode_text("", text, sink);
    if let Some(event) = phoenix_event(sink) {
        sink.operation(event);
        // The fields of a form in a LiveView are pairs.
        let form =
            sink.fields().iter().find(|field| field.name == "[4].value").map(|field| field.value.clone());
        if let Some(form) = form.filter(|form| form::looks_like_pairs(form)) {
            form::decode(&form, sink);
        }
    }
    kind
}

/// `42["event",{…}]`: type of the packet, perhaps a namespace and a number, then an array that begins with the event.
/// Packets without an array keep the connection alive.
fn socket_io(text: &str, sink: &mut FieldSink) -> Option<BodyKind> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &text[digits..];
    let rest = match rest.strip_prefix('/') {
        Some(namespace) => namespace.split_once(',').map_or("", |(_, rest)| rest),
        None => rest,
    };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    match (digits, rest.chars().next()) {
        (1..=3, None) | (1, Some('p' | '{')) => {
            sink.operation("heartbeat".to_owned());
            Some(BodyKind::Text)
        }
        (1.., Some('[')) => {
            let kind = json::decode(rest, sink)?;
            if let Some(event) = sink.fields().first().filter(|field| field.name == "[0]") {
                sink.operation(event.value.clone());
            }
            Some(kind)
        }
        _ => None,
    }
}

/// `[join, number, topic, event, payload]`. The event of a LiveView is inside of the payload.
fn phoenix_event(sink: &FieldSink) -> Option<String> {
    let value = |name: &str| sink.fields().iter().find(|field| field.name == name).map(|field| &field.value);
    let (topic, event) = (value("[2]")?, value("[3]")?);
    if !topic.contains(':') && topic != "phoenix" {
        return None;
    }
    let inner = value("[4].event").filter(|_| event == "event");
    Some(inner.unwrap_or(event).clone())
}

fn stomp(text: &str, sink: &mut FieldSink) -> Option<BodyKind> {
    let (command, rest) = text.split_once('\n')?;
    let command = command.trim_end();
    match command {
        "SEND" => {
            let (head, body) = rest.split_once("\n\n").or_else(|| rest.split_once("\r\n\r\n"))?;
            let destination = head.lines().find_map(|line| line.strip_prefix("destination:"));
            let kind = decode_text("", body.trim_matches(['\0', '\n']), sink);
            sink.operation(format!("SEND {}", destination.unwrap_or_default().trim()));
            Some(kind)
        }
        "CONNECT" | "STOMP" | "SUBSCRIBE" | "UNSUBSCRIBE" | "ACK" | "NACK" | "DISCONNECT" => {
            sink.operation("heartbeat".to_owned());
            Some(BodyKind::Text)
        }
        _ => None,
    }
}
