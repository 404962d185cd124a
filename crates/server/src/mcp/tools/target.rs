//! Arguments that name an element, the same for every tool.

use super::{bad_arguments, check_argument_names, drop_empty_texts};
use engine::error::Fault;
use error_code::ErrorCode;
use policy::{Selector, Target};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Default, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TargetArguments {
    /// ARIA role of the element, such as button, link, textbox or checkbox
    #[serde(default)]
    role: Option<String>,
    /// Accessible name of the element, as the snapshot shows it; goes with role
    #[serde(default)]
    name: Option<String>,
    /// Which one, counting from 0, when several match
    #[serde(default)]
    index: Option<usize>,
    /// Ref of the element from a snapshot, such as e12: the surest way
    #[serde(default, rename = "ref")]
    reference: Option<String>,
    /// CSS selector: tags, ids, classes and structure; no attributes, no values
    #[serde(default)]
    selector: Option<String>,
    /// Text that is seen on the element
    #[serde(default)]
    visible_text: Option<String>,
    /// With y: whatever is at this point of the visible page, in CSS pixels from its left
    #[serde(default)]
    x: Option<f64>,
    /// With x: in CSS pixels from the top
    #[serde(default)]
    y: Option<f64>,
}

/// The longest role, name or text that names an element, in bytes.
const MAX_NAME_BYTES: usize = 1_000;
/// Larger coordinates are outside any viewport.
const MAX_COORDINATE: f64 = 100_000.0;

const WAYS: &str =
    "name the element one way: by ref, by role with name, by selector, by visible_text, or by x and y";

impl TargetArguments {
    /// The element, which is required.
    pub fn target(self, tool: &str) -> Result<Target, Fault> {
        self.optional(tool)?.ok_or_else(|| bad_arguments(tool, WAYS))
    }

    /// The element, or the focused one if none is named.
    pub fn or_focused(self, tool: &str) -> Result<Target, Fault> {
        Ok(self.optional(tool)?.unwrap_or(Target::Focused))
    }

    pub fn optional(self, tool: &str) -> Result<Option<Target>, Fault> {
        let TargetArguments { role, name, index, reference, selector, visible_text, x, y } = self;
        for (argument, given) in [("role", &role), ("name", &name), ("visible_text", &visible_text)] {
            if given.as_ref().is_some_and(|given| given.len() > MAX_NAME_BYTES) {
                return Err(bad_arguments(tool, &format!("{argument} has at most {MAX_NAME_BYTES} bytes")));
            }
        }
        let counted = index.unwrap_or(0);
        let target = match (reference, role, selector, visible_text, (x, y)) {
            (None, None, None, None, (None, None)) if name.is_none() && index.is_none() => return Ok(None),
            (Some(reference), None, None, None, (None, None)) if name.is_none() && index.is_none() => {
                Target::Ref(reference)
            }
            (None, Some(role), None, None, (None, None)) => {
                Target::Role { role: role.to_ascii_lowercase(), name, index: counted }
            }
            (None, None, Some(text), None, (None, None)) if name.is_none() => {
                Target::Selector { selector: selector_of(tool, &text)?, index: counted }
            }
            (None, None, None, Some(text), (None, None)) if name.is_none() => {
                Target::Text { text, index: counted }
            }
            (None, None, None, None, (Some(x), Some(y))) if name.is_none() && index.is_none() => {
                point(tool, x, y)?
            }
            _ => return Err(bad_arguments(tool, WAYS)),
        };
        Ok(Some(target))
    }
}

fn selector_of(tool: &str, text: &str) -> Result<Selector, Fault> {
    Selector::parse(text).map_err(|refusal| {
        Fault::outside_sessions(
            ErrorCode::BadSelector,
            format!("{tool}: {}", audit::sanitize(&refusal.to_string())),
        )
        .hint("Use tags, ids, classes and structure, or name the element by role and name.")
    })
}

fn point(tool: &str, x: f64, y: f64) -> Result<Target, Fault> {
    if (0.0..=MAX_COORDINATE).contains(&x) && (0.0..=MAX_COORDINATE).contains(&y) {
        return Ok(Target::Point { x, y });
    }
    Err(bad_arguments(tool, &format!("x and y are from 0 to {MAX_COORDINATE}")))
}

/// The position among several matches, where the target has one.
pub fn index(target: &Target) -> Option<usize> {
    match target {
        Target::Role { index, .. } | Target::Selector { index, .. } | Target::Text { index, .. } => {
            Some(*index)
        }
        Target::Ref(_) | Target::Point { .. } | Target::Focused => None,
    }
}

/// Parses a second element from a nested object.
pub fn nested(tool: &str, argument: &str, mut fields: JsonObject) -> Result<Target, Fault> {
    let place = format!("{tool}: {argument}");
    let schema = schemars::schema_for!(TargetArguments);
    if let Some(Value::Object(known)) = schema.get("properties") {
        check_argument_names(&place, known, &fields)?;
    }
    drop_empty_texts(&mut fields, |_| false);
    super::parse::<TargetArguments>(&place, fields)?.target(&place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(fields: Value) -> Result<Option<Target>, String> {
        let Value::Object(fields) = fields else { panic!("{fields}") };
        let arguments: TargetArguments = super::super::parse("t", fields).map_err(|f| f.code.to_string())?;
        arguments.optional("t").map_err(|fault| fault.code.to_string())
    }

    #[test]
    fn an_element_is_named_in_exactly_one_way() {
        let selector =
            |text: &str, index| Target::Selector { selector: Selector::parse(text).unwrap(), index };
        for (fields, expected) in [
            (json!({}), Ok(None)),
            (json!({"ref": "e1"}), Ok(Some(Target::Ref("e1".into())))),
            (
                json!({"role": "Button", "name": "Save", "index": 2}),
                Ok(Some(Target::Role { role: "button".into(), name: Some("Save".into()), index: 2 })),
            ),
            (json!({"role": "link"}), Ok(Some(Target::Role { role: "link".into(), name: None, index: 0 }))),
            (json!({"selector": "#a > b", "index": 1}), Ok(Some(selector("#a > b", 1)))),
            (json!({"visible_text": "Buy"}), Ok(Some(Target::Text { text: "Buy".into(), index: 0 }))),
            (json!({"x": 0, "y": 10.5}), Ok(Some(Target::Point { x: 0.0, y: 10.5 }))),
            (json!({"name": "Save"}), Err("bad_arguments")),
            (json!({"index": 1}), Err("bad_arguments")),
            (json!({"x": 1}), Err("bad_arguments")),
            (json!({"x": -1, "y": 1}), Err("bad_arguments")),
            (json!({"x": 1, "y": 1e9}), Err("bad_arguments")),
            (json!({"x": 1, "y": 1, "index": 1}), Err("bad_arguments")),
            (json!({"ref": "e1", "role": "button"}), Err("bad_arguments")),
            (json!({"ref": "e1", "index": 1}), Err("bad_arguments")),
            (json!({"selector": "a", "visible_text": "b"}), Err("bad_arguments")),
            (json!({"selector": "a", "name": "b"}), Err("bad_arguments")),
            (json!({"role": "a".repeat(1_001)}), Err("bad_arguments")),
            (json!({"selector": "[value^=a]"}), Err("bad_selector")),
            (json!({"selector": ""}), Err("bad_selector")),
        ] {
            let expected = expected.map_err(str::to_owned);
            assert_eq!(read(fields.clone()), expected, "{fields}");
        }
    }

    #[test]
    fn a_nested_element_is_validated_like_the_first() {
        let fields = |value: Value| value.as_object().unwrap().clone();
        let there = nested("t", "to", fields(json!({"ref": "e2"})));
        assert_eq!(there.unwrap(), Target::Ref("e2".into()));
        let unused = nested("t", "to", fields(json!({"ref": "e2", "role": "", "name": "", "selector": ""})));
        assert_eq!(unused.unwrap(), Target::Ref("e2".into()));
        for wrong in [json!({}), json!({"reff": "e2"}), json!({"ref": 2})] {
            let fault = nested("t", "to", fields(wrong)).unwrap_err();
            assert_eq!(fault.code, ErrorCode::BadArguments);
            assert!(fault.message.starts_with("t: to: "), "{fault}");
        }
    }
}
