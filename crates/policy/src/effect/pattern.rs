//! Patterns: what an approval for the session, or a refusal, covers.

use super::classify::is_id;
use super::{Effect, EffectTransport};
use std::collections::BTreeSet;
use url::Url;

/// Method, path with ids replaced, operations and names of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectPattern {
    facts: Vec<(&'static str, String)>,
}

impl EffectPattern {
    pub(super) fn of(effect: &Effect) -> EffectPattern {
        let request = &effect.request;
        let url = Url::parse(&request.url).ok();
        let origin = url.as_ref().map_or_else(|| "null".to_owned(), |url| url.origin().ascii_serialization());
        let path = url.as_ref().map_or(request.url.as_str(), Url::path);
        let mut query: BTreeSet<String> = BTreeSet::new();
        if let Some(pairs) = url.as_ref().and_then(Url::query) {
            query.extend(super::decode::pairs(pairs).map(|(name, _)| name.into_owned()));
        }
        let operations: BTreeSet<&str> = effect.operations.iter().map(String::as_str).collect();
        let mut fields: BTreeSet<String> =
            effect.fields.iter().map(|field| fold_indices(&field.name)).collect();
        if effect.omitted_fields > 0 {
            fields.insert("…".to_owned());
        }
        let mut facts =
            vec![("method", request.method.clone()), ("site", origin), ("path", generalize(path))];
        for (name, list) in [
            ("query", query.into_iter().collect::<Vec<_>>()),
            ("operations", operations.into_iter().map(str::to_owned).collect()),
            ("fields", fields.into_iter().collect()),
        ] {
            if !list.is_empty() {
                facts.push((name, list.join(", ")));
            }
        }
        // Operations that fields name are values: `action=archive` does not cover `action=delete`.
        let named = super::classify::operation_values(effect);
        if !named.is_empty() {
            facts.push(("named", named.join(", ")));
        }
        if request.transport == EffectTransport::WebSocket && effect.fields.is_empty() {
            facts.push(("bytes", request.body.len().to_string()));
        }
        EffectPattern { facts }
    }

    /// Names that this crate gives, with values from the request.
    pub fn facts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.facts.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// In words for a person: "POST to /items/* with title, done".
    pub fn describe(&self) -> String {
        let fact = |wanted: &str| self.facts().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        let method = match fact("method") {
            Some("MESSAGE") => "messages",
            Some(method) => method,
            None => "requests",
        };
        let mut text = format!("{method} to {}", fact("path").unwrap_or("/"));
        for (name, before) in [("operations", " that run "), ("named", " that say "), ("fields", " with ")] {
            if let Some(value) = fact(name) {
                text.push_str(before);
                text.push_str(value);
            }
        }
        text
    }
}

/// The path with `*` for each id.
fn generalize(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').map(|part| if is_id(part) { "*" } else { part }).collect();
    parts.join("/")
}

/// `items[3].name` is `items[].name`; `form-0-title` is `form-*-title`.
fn fold_indices(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(open) = rest.find('[') {
        let (front, tail) = rest.split_at(open + 1);
        folded.push_str(front);
        rest = tail.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    folded.push_str(rest);
    let parts: Vec<&str> = folded
        .split('-')
        .map(
            |part| {
                if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) { "*" } else { part }
            },
        )
        .collect();
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EffectRequest;

    fn pattern(method: &str, url: &str, content_type: &str, body: &str) -> EffectPattern {
        let request = EffectRequest {
            transport: EffectTransport::Http,
            method: method.into(),
            url: format!("https://app.test{url}"),
            content_type: content_type.into(),
            destination: "empty".into(),
            body: body.to_owned().into_bytes().into(),
        };
        EffectPattern::of(&Effect::decode(request))
    }

    #[test]
    fn ids_and_values_do_not_matter_and_the_rest_does() {
        let json = "application/json";
        let one = pattern("POST", "/items/3", json, r#"{"title":"a","tags":["x"]}"#);
        assert_eq!(one, pattern("POST", "/items/4711", json, r#"{"title":"b","tags":["y","z"]}"#));
        for other in [
            pattern("PUT", "/items/3", json, r#"{"title":"a","tags":["x"]}"#),
            pattern("POST", "/items/3/share", json, r#"{"title":"a","tags":["x"]}"#),
            pattern("POST", "/items/3", json, r#"{"title":"a","tags":["x"],"public":true}"#),
            pattern("POST", "/items/3?force=1", json, r#"{"title":"a","tags":["x"]}"#),
        ] {
            assert_ne!(one, other);
        }
        let form = "application/x-www-form-urlencoded";
        assert_ne!(
            pattern("POST", "/x", form, "action=archive&id=1"),
            pattern("POST", "/x", form, "action=delete&id=1")
        );
        let mutation = |name: &str| {
            pattern(
                "POST",
                "/graphql",
                json,
                &format!(r#"{{"query":"mutation {{ {name}(id: 1) {{ ok }} }}"}}"#),
            )
        };
        assert_ne!(mutation("deleteItem"), mutation("deleteUser"));
    }

    #[test]
    fn a_pattern_is_said_in_words() {
        let said = pattern("POST", "/items/3", "application/json", r#"{"title":"a","done":true}"#).describe();
        assert_eq!(said, "POST to /items/* with done, title");
        let said = pattern("DELETE", "/api/v1/files/9f8b2c1d4e5f60718293a4b5", "", "").describe();
        assert_eq!(said, "DELETE to /api/v1/files/*");
    }
}
