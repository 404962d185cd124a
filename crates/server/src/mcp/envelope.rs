//! The JSON-RPC envelope, checked before the protocol library sees a message. Pipes and HTTP use the same check.
//!
//! The library drops messages that it cannot parse, and treats a request with invalid parameters as an unknown method.
//! Its client would wait for ever, or get a wrong reason.

use engine::error::Fault;
use error_code::ErrorCode;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value, json};
use std::fmt;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const INVALID_PARAMS: i32 = -32602;

/// RFC 8259 allows a parser to ignore it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The methods that this server has. Others are unknown, whatever their parameters are.
const METHODS: [&str; 8] = [
    "initialize",
    "ping",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// Where each request of the 2026-07-28 revision and later ones has its version. They have no `initialize`.
const REQUEST_VERSION: &str = "/params/_meta/io.modelcontextprotocol~1protocolVersion";

/// A message that is refused, with the error that answers it.
#[derive(Debug)]
pub struct Rejection {
    /// The id of the request; null if it cannot be read.
    id: Value,
    code: i32,
    message: &'static str,
    /// Whether a client on a pipe gets the error. Notifications and responses are never answered: two programs that
    /// answer each other's errors would not stop.
    pub is_answered: bool,
}

impl Rejection {
    pub fn too_long() -> Rejection {
        Rejection::new(Value::Null, INVALID_REQUEST, "the message is too long")
    }

    fn new(id: Value, code: i32, message: &'static str) -> Rejection {
        Rejection { id, code, message, is_answered: true }
    }

    /// Whether the message is a request that the server understood and whose parameters do not fit.
    pub fn is_invalid_params(&self) -> bool {
        self.code == INVALID_PARAMS
    }

    /// The JSON-RPC error.
    pub fn to_json(&self) -> Value {
        let fault = Fault::new(ErrorCode::BadArguments, self.message)
            .hint("Send one JSON-RPC 2.0 message, as the Model Context Protocol describes it.");
        error_response(&self.id, self.code, &fault)
    }
}

/// A JSON-RPC error that carries a fault. Many clients show the message only, so it has the hint as well.
pub fn error_response(id: &Value, code: i32, fault: &Fault) -> Value {
    let message = format!("{fault}. Next: {}", fault.hint);
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message, "data": fault}})
}

/// Parses one message of a client.
pub fn parse(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Rejection> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = UniqueKeys.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    let value = match value {
        Ok(value) => value,
        Err(error) => {
            let id = request_id(bytes).unwrap_or_default();
            return Err(if error.is_data() {
                Rejection::new(id, INVALID_REQUEST, "an object has the same key twice")
            } else {
                Rejection::new(id, PARSE_ERROR, "the message is not JSON in UTF-8")
            });
        }
    };
    let fields = match &value {
        Value::Object(fields) => fields,
        Value::Array(_) => {
            return Err(Rejection::new(Value::Null, INVALID_REQUEST, "batches are not supported"));
        }
        _ => return Err(Rejection::new(Value::Null, INVALID_REQUEST, "a message is a JSON object")),
    };
    let id = fields.get("id").filter(|id| is_id(id)).cloned().unwrap_or_default();
    let is_response =
        !fields.contains_key("method") && (fields.contains_key("result") || fields.contains_key("error"));
    let is_notification = fields.contains_key("method") && !fields.contains_key("id");
    let reject = |code, message| {
        let mut rejection = Rejection::new(id.clone(), code, message);
        rejection.is_answered = !is_response;
        rejection
    };
    if let Some(message) = envelope_fault(fields, is_response) {
        return Err(reject(INVALID_REQUEST, message));
    }
    let method = fields.get("method").and_then(Value::as_str).map(str::to_owned);
    let has_version = value.pointer(REQUEST_VERSION).is_some();
    let exists = |method: &str| METHODS.contains(&method) && !(has_version && method == "initialize");
    let arguments_fit = arguments_fit(fields);
    let message: ClientJsonRpcMessage = serde_json::from_value(value).map_err(|_| {
        let mut rejection = reject(INVALID_REQUEST, "the message is not one of the Model Context Protocol");
        rejection.is_answered = !is_response && !is_notification;
        rejection
    })?;
    if let ClientJsonRpcMessage::Request(request) = &message
        && matches!(request.request, ClientRequest::CustomRequest(_))
        && method.as_deref().is_some_and(exists)
    {
        let message = if arguments_fit {
            "the parameters of this method do not fit"
        } else {
            "the arguments of a tool are an object"
        };
        return Err(reject(INVALID_PARAMS, message));
    }
    Ok(message)
}

/// The id of a request, also of one that is not valid JSON because of a number or a text elsewhere in it.
pub fn request_id(bytes: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct WithId {
        id: Value,
    }
    serde_json::from_slice::<WithId>(bytes).ok().map(|with| with.id).filter(is_id)
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

fn envelope_fault(fields: &Map<String, Value>, is_response: bool) -> Option<&'static str> {
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Some("jsonrpc has to be \"2.0\"");
    }
    if fields.get("id").is_some_and(|id| !is_id(id)) {
        return Some("id is a text or a whole number");
    }
    if !is_response && !fields.get("method").is_some_and(Value::is_string) {
        return Some("method has to be a text");
    }
    if fields.get("params").is_some_and(|params| !params.is_object() && !params.is_null()) {
        return Some("params has to be an object");
    }
    None
}

fn arguments_fit(fields: &Map<String, Value>) -> bool {
    let arguments = fields.get("params").and_then(|params| params.get("arguments"));
    arguments.is_none_or(|arguments| arguments.is_object() || arguments.is_null())
}

/// Builds a value and fails on an object with the same key twice: which of the two counts would be a guess.
struct UniqueKeys;

impl<'de> DeserializeSeed<'de> for UniqueKeys {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(UniqueKeys)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(UniqueKeys)?;
            if fields.insert(key, value).is_some() {
                return Err(A::Error::custom("the same key twice"));
            }
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code and id of the error, and whether a pipe sends it; `None` for a message that passes.
    fn check(text: &str) -> Option<(i64, Value, bool)> {
        let rejection = parse(text.as_bytes()).err()?;
        let json = rejection.to_json();
        assert_eq!(json["error"]["data"]["code"], "bad_arguments", "{json}");
        Some((json["error"]["code"].as_i64().unwrap(), json["id"].clone(), rejection.is_answered))
    }

    #[test]
    fn a_message_that_cannot_be_read_is_answered_with_its_id_where_it_has_one() {
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"x","arguments":{arguments}}}}}"#
            )
        };
        for (text, code, id) in [
            ("{", -32700, json!(null)),
            ("nonsense", -32700, json!(null)),
            ("{} {}", -32700, json!(null)),
            (&call(r#"{"a":"\ud800"}"#), -32700, json!(7)),
            (&call(r#"{"a":1e400}"#), -32700, json!(7)),
            (&call(r#"{"a":1,"a":2}"#), -32600, json!(7)),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32600, json!(null)),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, json!(null)),
            ("5", -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":"a","method":"ping","params":"x"}"#, -32600, json!("a")),
            (r#"{"jsonrpc":"2.0","id":3,"method":5}"#, -32600, json!(3)),
            (r#"{"jsonrpc":"2.0","id":3}"#, -32600, json!(3)),
            (r#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#, -32600, json!(3)),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, json!(null)),
            (&call("5"), -32602, json!(7)),
            (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call"}"#, -32602, json!(3)),
            (r#"{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}"#, -32602, json!(3)),
            (r#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":5}}"#, -32602, json!(3)),
        ] {
            assert_eq!(check(text), Some((code, id, true)), "{text}");
        }
    }

    #[test]
    fn a_response_is_never_answered() {
        let broken = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
        assert!(check(broken).is_none_or(|(_, _, is_answered)| !is_answered));
        assert_eq!(check(r#"{"jsonrpc":"2.0","id":{},"result":{}}"#), Some((-32600, json!(null), false)));
    }

    #[test]
    fn what_is_valid_passes() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/list\",\"params\":{}}",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,-2,1.5,null,true,"é\ud83d\ude00"]}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"no/such","params":{}}"#,
            // There, the library knows that it is no method.
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/no_such","params":{"a":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            assert_eq!(check(text), None, "{text}");
        }
    }
}
