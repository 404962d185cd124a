//! Validated ids of jails and instances: each becomes the name of a folder and a cgroup.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A string that is not a valid id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id has 1 to 64 of a-z, 0-9, '-', '_' and '.', and starts with a letter or digit")]
pub struct InvalidId;

/// Lower-case letters, digits, `-`, `_` and `.`, up to 64 of them, starting with a letter or digit.
fn is_safe_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text.len() <= 64
        && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'))
}

macro_rules! safe_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub fn parse(text: &str) -> Result<$name, InvalidId> {
                if is_safe_name(text) { Ok($name(text.to_owned())) } else { Err(InvalidId) }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<$name, InvalidId> {
                $name::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

safe_name! {
    /// One jail, within its instance.
    JailId
}

safe_name! {
    /// One run of one control plane's runtime.
    InstanceId
}

impl InstanceId {
    /// A new name that no other instance has.
    pub(crate) fn random() -> Result<InstanceId, getrandom::Error> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes)?;
        Ok(InstanceId(format!("i{}", hex::encode(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_its_folder() {
        for good in ["a", "0", "s-4f2a", "team.one_two"] {
            assert_eq!(JailId::parse(good).expect(good).as_str(), good);
        }
        for bad in ["", ".", "..", "-a", "a/b", "A", "a b", "ä", "a\n", &"a".repeat(65)] {
            assert!(JailId::parse(bad).is_err(), "{bad:?}");
            assert!(InstanceId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_id_from_the_wire_is_parsed_too() {
        assert!(serde_json::from_str::<JailId>("\"../up\"").is_err());
    }
}
