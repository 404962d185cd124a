//! The field of a request body that holds a placeholder, for the operator's list.

use serde_json::Value;

/// The field whose value `is_it` accepts, by content type: a form's name, a JSON pointer, a part's name.
pub(crate) fn field_of(content_type: &str, body: &[u8], is_it: impl Fn(&[u8]) -> bool) -> Option<String> {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if kind == "application/x-www-form-urlencoded" {
        let pair = body.split(|byte| *byte == b'&').find(|pair| is_it(pair))?;
        let name = pair.split(|byte| *byte == b'=').next()?;
        return Some(String::from_utf8_lossy(name).into_owned());
    }
    if kind == "multipart/form-data" {
        return part_name(body, is_it);
    }
    if kind.ends_with("json") {
        let value: Value = serde_json::from_slice(body).ok()?;
        return json_pointer(&value, &is_it);
    }
    None
}

fn json_pointer(value: &Value, is_it: &impl Fn(&[u8]) -> bool) -> Option<String> {
    match value {
        Value::String(text) => is_it(text.as_bytes()).then(String::new),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| json_pointer(item, is_it).map(|rest| format!("/{index}{rest}"))),
        Value::Object(fields) => fields
            .iter()
            .find_map(|(name, field)| json_pointer(field, is_it).map(|rest| format!("/{name}{rest}"))),
        _ => None,
    }
}

/// The name of the part that the first accepted line is in.
fn part_name(body: &[u8], is_it: impl Fn(&[u8]) -> bool) -> Option<String> {
    let mut name = None;
    for line in body.split(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        if text.to_ascii_lowercase().starts_with("content-disposition:") {
            let quoted = text.split("name=\"").nth(1).and_then(|rest| rest.split('"').next());
            name = quoted.map(str::to_owned);
        } else if is_it(line) {
            return name;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_with_the_placeholder_is_named() {
        let multipart = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x\r\n\
                         Content-Disposition: form-data; name=\"token\"; filename=\"f\"\r\n\r\nHERE\r\n--x--\r\n";
        for (kind, body, field) in [
            ("application/x-www-form-urlencoded", "a=b&token=HERE&c=d", Some("token")),
            ("application/json; charset=utf-8", r#"{"a":[1,{"token":"x HERE y"}]}"#, Some("/a/1/token")),
            ("application/vnd.api+json", r#""HERE""#, Some("")),
            ("application/json", "HERE", None),
            ("multipart/form-data; boundary=x", multipart, Some("token")),
            ("text/plain", "HERE", None),
        ] {
            let found = field_of(kind, body.as_bytes(), |bytes| bytes.windows(4).any(|part| part == b"HERE"));
            assert_eq!(found.as_deref(), field, "{kind}");
        }
    }
}
