//! Describes which argument does not match the tool's input schema, and what would match.
//!
//! Serde's own errors lose the field's name in flattened structs, and repeat values. These messages never repeat a
//! value: text to type may be a secret.

use rmcp::model::JsonObject;
use serde_json::Value;

/// The first mismatch between the arguments and the schema.
pub fn describe_mismatch(schema: &Value, arguments: &JsonObject) -> Option<String> {
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.find(|name| !arguments.contains_key(*name)) {
        return Some(format!("{missing:?} is missing"));
    }
    // Some enum values have aliases that the schema does not list, so enums are checked last.
    [false, true].into_iter().find_map(|check_enums| {
        let wrong = arguments
            .iter()
            .find(|(name, value)| !fits(schema, property_schema(schema, name), value, check_enums));
        wrong.map(|(name, value)| describe_argument(schema, name, value))
    })
}

fn property_schema<'a>(schema: &'a Value, argument: &str) -> &'a Value {
    &schema["properties"][argument]
}

fn describe_argument(schema: &Value, argument: &str, value: &Value) -> String {
    let alternatives = alternatives(schema, property_schema(schema, argument));
    if !alternatives.iter().any(|alternative| has_json_type(alternative, value)) {
        return format!(
            "{argument:?} is {}, and has to be {}",
            json_type_name(value),
            join_with_or(schema, &alternatives)
        );
    }
    if value.as_f64().is_some_and(|number| number > f64::from(u32::MAX)) {
        return format!("{argument:?} is too large");
    }
    format!("{argument:?} has to be {}", join_with_or(schema, &alternatives))
}

/// The alternatives of a schema, with references and `anyOf` resolved.
fn alternatives<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    if let Some(place) = schema["$ref"].as_str() {
        let meant = place.strip_prefix('#').and_then(|place| root.pointer(place));
        return meant.map_or_else(Vec::new, |meant| alternatives(root, meant));
    }
    match schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        Some(choices) => choices.iter().flat_map(|choice| alternatives(root, choice)).collect(),
        None => vec![schema],
    }
}

fn fits(root: &Value, schema: &Value, value: &Value, check_enums: bool) -> bool {
    alternatives(root, schema).into_iter().any(|alternative| {
        has_json_type(alternative, value)
            && match value {
                Value::String(_) => {
                    !check_enums
                        || enum_values(alternative).is_empty()
                        || enum_values(alternative).contains(value)
                }
                Value::Number(_) if json_types(alternative).contains(&"integer") => {
                    is_integer_in_range(alternative, value)
                }
                Value::Array(items) => {
                    items.iter().all(|item| fits(root, &alternative["items"], item, check_enums))
                }
                _ => true,
            }
    })
}

fn json_types(alternative: &Value) -> Vec<&str> {
    match &alternative["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(json_types) => json_types.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn has_json_type(alternative: &Value, value: &Value) -> bool {
    let json_types = json_types(alternative);
    json_types.is_empty()
        || json_types.into_iter().any(|kind| match kind {
            "string" => value.is_string(),
            "integer" | "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "null" => value.is_null(),
            _ => true,
        })
}

/// The allowed values of a string; empty if any is allowed.
fn enum_values(alternative: &Value) -> &[Value] {
    match (alternative["enum"].as_array(), alternative.get("const")) {
        (Some(words), _) => words,
        (None, Some(word)) => std::slice::from_ref(word),
        (None, None) => &[],
    }
}

fn is_integer_in_range(alternative: &Value, value: &Value) -> bool {
    let whole = value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
    let most = if alternative["format"] == "uint32" {
        Some(u64::from(u32::MAX))
    } else {
        alternative["maximum"].as_u64()
    };
    whole.is_some_and(|whole| {
        alternative["minimum"].as_i64().is_none_or(|least| whole >= i128::from(least))
            && most.is_none_or(|most| whole <= i128::from(most))
    })
}

fn join_with_or(root: &Value, alternatives: &[&Value]) -> String {
    let expected: Vec<String> =
        alternatives.iter().flat_map(|alternative| expected(root, alternative)).collect();
    match expected.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => expected.concat(),
    }
}

fn expected(root: &Value, alternative: &Value) -> Vec<String> {
    if !enum_values(alternative).is_empty() {
        return enum_values(alternative)
            .iter()
            .filter(|word| !word.is_null())
            .map(Value::to_string)
            .collect();
    }
    let in_words = |kind: &str| match kind {
        "string" => "a string".to_owned(),
        "integer" => describe_integer(alternative),
        "number" => "a number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => format!(
            "a list in which each is {}",
            join_with_or(root, &alternatives(root, &alternative["items"]))
        ),
        "object" => "an object".to_owned(),
        other => other.to_owned(),
    };
    // Null means that an argument is left out, so it is not suggested.
    json_types(alternative).into_iter().filter(|kind| *kind != "null").map(in_words).collect()
}

fn describe_integer(alternative: &Value) -> String {
    match (alternative["minimum"].as_i64(), alternative["maximum"].as_u64()) {
        (Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
        (Some(least), None) => format!("a whole number of {least} or more"),
        (None, _) => "a whole number".to_owned(),
    }
}

fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use serde_json::json;

    /// The message for mismatched arguments, without the tool's name.
    fn why(tool: &str, arguments: Value) -> String {
        let arguments = arguments.as_object().unwrap().clone();
        let parsed = match tool {
            "navigate" => parse::<navigate::NavigateArguments>("t", arguments).err(),
            "click" => parse::<click::ClickArguments>("t", arguments).err(),
            "type" => parse::<type_text::TypeArguments>("t", arguments).err(),
            "select" => parse::<select::SelectArguments>("t", arguments).err(),
            "scroll" => parse::<scroll::ScrollArguments>("t", arguments).err(),
            "drag" => parse::<drag::DragArguments>("t", arguments).err(),
            "read" => parse::<read::ReadArguments>("t", arguments).err(),
            other => panic!("{other}"),
        };
        let fault = parsed.expect("they do not fit");
        assert_eq!(fault.code, ErrorCode::BadArguments);
        fault.message.strip_prefix("t: ").unwrap().to_owned()
    }

    #[test]
    fn a_mismatched_argument_is_named_with_what_is_expected() {
        let amounts = "\"amount\" has to be a whole number of 0 or more, \"page\" or \"end\"";
        for (tool, arguments, expected) in [
            ("navigate", json!({}), "\"url\" is missing"),
            ("navigate", json!({"url": 5}), "\"url\" is a number, and has to be a string"),
            ("navigate", json!({"url": null}), "\"url\" is null, and has to be a string"),
            // Arguments of flattened structs.
            ("click", json!({"role": "a", "index": -1}), "\"index\" has to be a whole number of 0 or more"),
            (
                "click",
                json!({"ref": "e1", "timeout_seconds": "5"}),
                "\"timeout_seconds\" is a string, and has to be a number",
            ),
            ("click", json!({"role": "a", "index": 1.5}), "\"index\" has to be a whole number of 0 or more"),
            (
                "click",
                json!({"ref": "e1", "full": "yes"}),
                "\"full\" is a string, and has to be true or false",
            ),
            // An alias is not the mismatch.
            (
                "click",
                json!({"ref": "e1", "modifiers": ["ctrl"], "x": "1"}),
                "\"x\" is a string, and has to be a number",
            ),
            (
                "click",
                json!({"ref": "e1", "modifiers": ["Hyper"]}),
                "\"modifiers\" has to be a list in which each is \"Alt\", \"Control\", \"Meta\" or \"Shift\"",
            ),
            (
                "select",
                json!({"options": ["a", 5]}),
                "\"options\" has to be a list in which each is a string",
            ),
            (
                "select",
                json!({"options": "a"}),
                "\"options\" is a string, and has to be a list in which each is a string",
            ),
            ("scroll", json!({"direction": "down", "amount": -5}), amounts),
            ("scroll", json!({"direction": "down", "amount": "half"}), amounts),
            ("scroll", json!({"direction": "down", "amount": 5_000_000_000_u64}), "\"amount\" is too large"),
            (
                "scroll",
                json!({"direction": "north"}),
                "\"direction\" has to be \"up\", \"down\", \"left\" or \"right\"",
            ),
            ("drag", json!({"ref": "e1", "to": "e2"}), "\"to\" is a string, and has to be an object"),
            ("read", json!({"max_tokens": 5_000_000_000_u64}), "\"max_tokens\" is too large"),
        ] {
            assert_eq!(why(tool, arguments.clone()), expected, "{tool} {arguments}");
        }
    }

    #[test]
    fn the_value_of_a_mismatched_argument_is_not_repeated() {
        for text in [json!(31_337), json!(["hunter2"]), json!({"hunter2": 31_337}), json!(true)] {
            let message = why("type", json!({"ref": "e1", "text": text}));
            assert!(
                message.starts_with("\"text\" is ") && message.ends_with(" has to be a string"),
                "{message}"
            );
            assert!(!message.contains("hunter2") && !message.contains("31337"), "{message}");
        }
    }
}
