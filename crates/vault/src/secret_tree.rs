//! Documents as a tree whose strings are wiped when it is dropped, and readers for its fields.
//!
//! JSON and sops YAML both become this tree. It is read field by field, so that each error names its field and none
//! contains a value.

use crate::error::Malformed;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;
use zeroize::Zeroizing;

/// The largest document, in bytes.
pub(crate) const LARGEST_DOCUMENT: usize = 1024 * 1024;

pub(crate) enum SecretNode {
    Null,
    Bool(bool),
    Integer(i64),
    Float(f64),
    Text(Zeroizing<String>),
    List(Vec<SecretNode>),
    Map(Vec<(String, SecretNode)>),
}

impl SecretNode {
    pub(crate) fn from_json(text: &[u8]) -> Result<SecretNode, Malformed> {
        if text.len() > LARGEST_DOCUMENT {
            return Err(Malformed::new("", format!("it has more than {LARGEST_DOCUMENT} bytes")));
        }
        // The parser's own words quote nothing: every kind of value is accepted, so only the grammar can be wrong.
        serde_json::from_slice(text).map_err(|error| Malformed::new("", format!("it is not JSON: {error}")))
    }

    fn kind(&self) -> &'static str {
        match self {
            SecretNode::Null => "nothing",
            SecretNode::Bool(_) => "a truth value",
            SecretNode::Integer(_) | SecretNode::Float(_) => "a number",
            SecretNode::Text(_) => "a text",
            SecretNode::List(_) => "a list",
            SecretNode::Map(_) => "a map",
        }
    }

    fn not(&self, field: &str, wanted: &str) -> Malformed {
        Malformed::new(field, format!("this must be {wanted}, but is {}", self.kind()))
    }

    pub(crate) fn text(self, field: &str) -> Result<Zeroizing<String>, Malformed> {
        match self {
            SecretNode::Text(text) => Ok(text),
            other => Err(other.not(field, "a text")),
        }
    }

    /// A string that is not secret.
    pub(crate) fn plain(self, field: &str) -> Result<String, Malformed> {
        self.text(field).map(|text| text.as_str().to_owned())
    }

    pub(crate) fn truth(self, field: &str) -> Result<bool, Malformed> {
        match self {
            SecretNode::Bool(value) => Ok(value),
            other => Err(other.not(field, "true or false")),
        }
    }

    /// A number; fractions (browser exports have them in times) are cut off.
    pub(crate) fn number(self, field: &str) -> Result<i64, Malformed> {
        // Beyond this a float does not name one integer.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match self {
            SecretNode::Integer(value) => Ok(value),
            SecretNode::Float(value) if value.abs() < EXACT => Ok(value.trunc() as i64),
            other => Err(other.not(field, "a number of reasonable size")),
        }
    }

    pub(crate) fn list(self, field: &str, most: usize) -> Result<Vec<SecretNode>, Malformed> {
        match self {
            SecretNode::List(items) if items.len() <= most => Ok(items),
            SecretNode::List(_) => Err(Malformed::new(field, format!("more than {most} entries"))),
            other => Err(other.not(field, "a list")),
        }
    }

    pub(crate) fn fields(self, path: &str) -> Result<SecretFields, Malformed> {
        match self {
            SecretNode::Map(map) => Ok(SecretFields { path: path.to_owned(), map }),
            other => Err(other.not(path, "a map")),
        }
    }
}

/// A map whose fields are taken one by one. Fields that are left at the end are unknown.
pub(crate) struct SecretFields {
    path: String,
    map: Vec<(String, SecretNode)>,
}

impl SecretFields {
    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The field, unless it is missing or null.
    pub(crate) fn take(&mut self, name: &str) -> Option<SecretNode> {
        let place = self.map.iter().position(|(key, _)| key == name)?;
        match self.map.swap_remove(place).1 {
            SecretNode::Null => None,
            node => Some(node),
        }
    }

    pub(crate) fn need(&mut self, name: &str) -> Result<SecretNode, Malformed> {
        self.take(name).ok_or_else(|| Malformed::new(self.path(name), "this is missing"))
    }

    pub(crate) fn optional<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(SecretNode, &str) -> Result<T, Malformed>,
    ) -> Result<Option<T>, Malformed> {
        let path = self.path(name);
        self.take(name).map(|node| read(node, &path)).transpose()
    }

    /// Every field with its name, in document order.
    pub(crate) fn all(self) -> Vec<(String, SecretNode)> {
        self.map
    }

    /// Fails if a field was not taken: a misspelt `secret: false` must not be ignored.
    pub(crate) fn finish(self, known: &[&str]) -> Result<(), Malformed> {
        match self.map.first() {
            None => Ok(()),
            Some((name, _)) => {
                let known = known.join(", ");
                Err(Malformed::new(
                    self.path(&printable_excerpt(name)),
                    format!("there is no such field; there are {known}"),
                ))
            }
        }
    }
}

/// A name out of a document, short and without control characters.
pub(crate) fn printable_excerpt(name: &str) -> String {
    const LONGEST: usize = 60;
    let short: String = name.chars().take(LONGEST).collect();
    let more = if short.len() < name.len() { "…" } else { "" };
    format!("{}{more}", short.escape_debug())
}

impl<'de> Deserialize<'de> for SecretNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SecretNode, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = SecretNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<SecretNode, E> {
        Ok(SecretNode::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<SecretNode, E> {
        Ok(SecretNode::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<SecretNode, E> {
        Ok(SecretNode::Integer(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<SecretNode, E> {
        Ok(i64::try_from(value).map_or(SecretNode::Float(value as f64), SecretNode::Integer))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<SecretNode, E> {
        Ok(SecretNode::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<SecretNode, E> {
        Ok(SecretNode::Text(Zeroizing::new(value.to_owned())))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<SecretNode, E> {
        Ok(SecretNode::Text(Zeroizing::new(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SecretNode, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(SecretNode::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SecretNode, A::Error> {
        let mut fields = Vec::new();
        let mut names = std::collections::HashSet::new();
        while let Some((name, value)) = map.next_entry::<String, SecretNode>()? {
            if !names.insert(name.clone()) {
                return Err(A::Error::custom("a field occurs twice"));
            }
            fields.push((name, value));
        }
        Ok(SecretNode::Map(fields))
    }
}
