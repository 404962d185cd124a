//! The name of a jail or an instance, parsed once: it becomes a folder and a cgroup.

use crate::JailError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Lower-case letters, digits, `-`, `_` and `.`, up to 64 of them, starting with a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Id(String);

impl Id {
    pub fn parse(text: &str) -> Result<Id, JailError> {
        let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let fits = text.len() <= 64
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'));
        if starts_well && fits { Ok(Id(text.to_owned())) } else { Err(JailError::BadId) }
    }

    /// A new name that no other instance has.
    pub(crate) fn random() -> Result<Id, JailError> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|error| JailError::NoRandomness { source: error })?;
        Ok(Id(format!("i{:016x}", u64::from_ne_bytes(bytes))))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Id {
    type Error = JailError;
    fn try_from(text: String) -> Result<Id, JailError> {
        Id::parse(&text)
    }
}

impl From<Id> for String {
    fn from(id: Id) -> String {
        id.0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_its_folder() {
        for good in ["a", "0", "s-4f2a", "team.one_two"] {
            assert_eq!(Id::parse(good).expect(good).as_str(), good);
        }
        for bad in ["", ".", "..", "-a", "a/b", "A", "a b", "ä", "a\n", &"a".repeat(65)] {
            assert!(Id::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_id_from_the_wire_is_parsed_too() {
        assert!(serde_json::from_str::<Id>("\"../up\"").is_err());
    }
}
