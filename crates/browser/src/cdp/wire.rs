//! The JSON envelope of messages; results stay undecoded until their type is known.

use super::{BoundedText, Command, SessionId};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Serialize)]
struct Outgoing<'a, C> {
    id: u64,
    method: &'static str,
    params: &'a C,
    #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
}

pub(super) fn encode<C: Command>(
    id: u64,
    session: Option<&SessionId>,
    command: &C,
) -> Result<String, serde_json::Error> {
    serde_json::to_string(&Outgoing {
        id,
        method: C::METHOD,
        params: command,
        session: session.map(SessionId::as_str),
    })
}

#[derive(Deserialize)]
struct Envelope<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "sessionId")]
    session: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<Refusal>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    #[serde(default)]
    pub code: i64,
    #[serde(default)]
    pub message: BoundedText,
}

pub(super) enum Incoming<'a> {
    /// The result is a slice of the message, not a copy: a screenshot has tens of megabytes.
    Reply {
        id: u64,
        result: Result<Bytes, Refusal>,
    },
    Event {
        session: Option<Cow<'a, str>>,
        method: Cow<'a, str>,
        params: &'a str,
    },
}

/// `None` if it is not a CDP message.
pub(super) fn decode(message: &Bytes) -> Option<Incoming<'_>> {
    let envelope: Envelope<'_> = serde_json::from_slice(message).ok()?;
    if let Some(id) = envelope.id {
        let result = match (envelope.error, envelope.result) {
            (Some(refusal), _) => Err(refusal),
            (None, Some(raw)) => Ok(message.slice_ref(raw.get().as_bytes())),
            (None, None) => Ok(Bytes::from_static(b"{}")),
        };
        return Some(Incoming::Reply { id, result });
    }
    let params = envelope.params.map_or("{}", RawValue::get);
    Some(Incoming::Event { session: envelope.session, method: envelope.method?, params })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(message: &'static str) -> String {
        match decode(&Bytes::from_static(message.as_bytes())) {
            Some(Incoming::Reply { id, result: Ok(bytes) }) => {
                format!("reply {id} {}", String::from_utf8_lossy(&bytes))
            }
            Some(Incoming::Reply { id, result: Err(refusal) }) => {
                format!("refusal {id} {} {}", refusal.code, &*refusal.message)
            }
            Some(Incoming::Event { session, method, params }) => {
                format!("event {} {method} {params}", session.as_deref().unwrap_or("-"))
            }
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_message_is_a_reply_or_an_event_or_is_ignored() {
        for (message, expected) in [
            (r#"{"id":7,"result":{"a":1}}"#, r#"reply 7 {"a":1}"#),
            (r#"{"id":7}"#, "reply 7 {}"),
            (r#"{"id":7,"error":{"code":-32000,"message":"no"}}"#, "refusal 7 -32000 no"),
            (r#"{"id":7,"error":{}}"#, "refusal 7 0 "),
            (r#"{"method":"A.b","params":{"c":[]},"sessionId":"S"}"#, r#"event S A.b {"c":[]}"#),
            (r#"{"method":"A.b","unheardOf":{"deep":[1]}}"#, "event - A.b {}"),
            (r#"{"id":"seven","result":{}}"#, "nothing"),
            (r#"[]"#, "nothing"),
            ("", "nothing"),
            ("{", "nothing"),
        ] {
            assert_eq!(summary(message), expected, "{message}");
        }
    }
}
