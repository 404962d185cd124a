//! Which argument does not fit, and what would, in words of the schema that the agent was shown.
//!
//! The schema, as serde loses the name of a field where structs are flattened, and tells values again. Here no value
//! is told: what was meant to be typed may be a secret.

use rmcp::model::JsonObject;
use serde_json::Value;

/// What is wrong with these arguments, if the schema tells.
pub fn misfit(schema: &Value, arguments: &JsonObject) -> Option<String> {
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.find(|name| !arguments.contains_key(*name)) {
        return Some(format!("{missing:?} is missing"));
    }
    // Some words have a second spelling that no schema shows, so words are suspected last.
    [false, true].into_iter().find_map(|words_too| {
        let wrong = arguments.iter().find(|(name, value)| !fits(schema, of(schema, name), value, words_too));
        wrong.map(|(name, value)| told(schema, name, value))
    })
}

fn of<'a>(schema: &'a Value, argument: &str) -> &'a Value {
    &schema["properties"][argument]
}

fn told(schema: &Value, argument: &str, value: &Value) -> String {
    let forms = forms(schema, of(schema, argument));
    if !forms.iter().any(|form| is_of_kind(form, value)) {
        return format!("{argument:?} is {}, and has to be {}", called(value), either(schema, &forms));
    }
    if value.as_f64().is_some_and(|number| number > f64::from(u32::MAX)) {
        return format!("{argument:?} is too large");
    }
    format!("{argument:?} has to be {}", either(schema, &forms))
}

/// The forms that a value may have, each of them one without references and choices.
fn forms<'a>(root: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    if let Some(place) = schema["$ref"].as_str() {
        let meant = place.strip_prefix('#').and_then(|place| root.pointer(place));
        return meant.map_or_else(Vec::new, |meant| forms(root, meant));
    }
    match schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        Some(choices) => choices.iter().flat_map(|choice| forms(root, choice)).collect(),
        None => vec![schema],
    }
}

fn fits(root: &Value, schema: &Value, value: &Value, words_too: bool) -> bool {
    forms(root, schema).into_iter().any(|form| {
        is_of_kind(form, value)
            && match value {
                Value::String(_) => !words_too || words(form).is_empty() || words(form).contains(value),
                Value::Number(_) if kinds(form).contains(&"integer") => is_whole(form, value),
                Value::Array(items) => items.iter().all(|item| fits(root, &form["items"], item, words_too)),
                _ => true,
            }
    })
}

fn kinds(form: &Value) -> Vec<&str> {
    match &form["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is_of_kind(form: &Value, value: &Value) -> bool {
    let kinds = kinds(form);
    kinds.is_empty()
        || kinds.into_iter().any(|kind| match kind {
            "string" => value.is_string(),
            "integer" | "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            "null" => value.is_null(),
            _ => true,
        })
}

/// The words that a string has to be one of, if it may not be any.
fn words(form: &Value) -> &[Value] {
    match (form["enum"].as_array(), form.get("const")) {
        (Some(words), _) => words,
        (None, Some(word)) => std::slice::from_ref(word),
        (None, None) => &[],
    }
}

fn is_whole(form: &Value, value: &Value) -> bool {
    let whole = value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
    let most = if form["format"] == "uint32" { Some(u64::from(u32::MAX)) } else { form["maximum"].as_u64() };
    whole.is_some_and(|whole| {
        form["minimum"].as_i64().is_none_or(|least| whole >= i128::from(least))
            && most.is_none_or(|most| whole <= i128::from(most))
    })
}

fn either(root: &Value, forms: &[&Value]) -> String {
    let wanted: Vec<String> = forms.iter().flat_map(|form| wanted(root, form)).collect();
    match wanted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => wanted.concat(),
    }
}

fn wanted(root: &Value, form: &Value) -> Vec<String> {
    if !words(form).is_empty() {
        return words(form).iter().filter(|word| !word.is_null()).map(Value::to_string).collect();
    }
    let in_words = |kind: &str| match kind {
        "string" => "a string".to_owned(),
        "integer" => whole_number(form),
        "number" => "a number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => format!("a list in which each is {}", either(root, &forms(root, &form["items"]))),
        "object" => "an object".to_owned(),
        other => other.to_owned(),
    };
    // Leaving an argument out says the same as null, and is what is meant.
    kinds(form).into_iter().filter(|kind| *kind != "null").map(in_words).collect()
}

fn whole_number(form: &Value) -> String {
    match (form["minimum"].as_i64(), form["maximum"].as_u64()) {
        (Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
        (Some(least), None) => format!("a whole number of {least} or more"),
        (None, _) => "a whole number".to_owned(),
    }
}

fn called(value: &Value) -> &'static str {
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

    /// The message of a call that does not fit, without the tool's name.
    fn why(tool: &str, arguments: Value) -> String {
        let arguments = arguments.as_object().unwrap().clone();
        let parsed = match tool {
            "navigate" => parse::<navigate::Arguments>("t", arguments).err(),
            "click" => parse::<click::Arguments>("t", arguments).err(),
            "type" => parse::<type_text::Arguments>("t", arguments).err(),
            "select" => parse::<select::Arguments>("t", arguments).err(),
            "scroll" => parse::<scroll::Arguments>("t", arguments).err(),
            "drag" => parse::<drag::Arguments>("t", arguments).err(),
            "read" => parse::<read::Arguments>("t", arguments).err(),
            other => panic!("{other}"),
        };
        let fault = parsed.expect("they do not fit");
        assert_eq!(fault.code, "bad_arguments");
        fault.message.strip_prefix("t: ").unwrap().to_owned()
    }

    #[test]
    fn an_argument_that_does_not_fit_is_named_with_what_would() {
        let amounts = "\"amount\" has to be a whole number of 0 or more, \"page\" or \"end\"";
        for (tool, arguments, expected) in [
            ("navigate", json!({}), "\"url\" is missing"),
            ("navigate", json!({"url": 5}), "\"url\" is a number, and has to be a string"),
            ("navigate", json!({"url": null}), "\"url\" is null, and has to be a string"),
            // These two come from structs that are flattened.
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
            // A second spelling of a word is not what is wrong here.
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
    fn what_was_to_be_typed_is_not_told_again() {
        for text in [json!(31_337), json!(["hunter2"]), json!({"hunter2": 31_337}), json!(true)] {
            let told = why("type", json!({"ref": "e1", "text": text}));
            assert!(told.starts_with("\"text\" is ") && told.ends_with(" has to be a string"), "{told}");
            assert!(!told.contains("hunter2") && !told.contains("31337"), "{told}");
        }
    }
}
