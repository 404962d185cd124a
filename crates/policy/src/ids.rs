//! Names and identifiers, parsed once at the boundary.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A short name a person chose: a tenant, an actor, a session.
///
/// Up to 64 lower-case letters, digits, `-`, `_` and `.`, starting with a letter or digit. Safe in a path, a log line
/// or a cgroup name without quoting.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("a name has 1 to 64 of a-z, 0-9, '-', '_' and '.', and starts with a letter or digit")]
pub struct InvalidName;

impl Name {
    pub fn parse(text: &str) -> Result<Name, InvalidName> {
        let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        let fits = text.len() <= 64
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.'));
        if starts_well && fits { Ok(Name(text.to_owned())) } else { Err(InvalidName) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = InvalidName;
    fn try_from(text: String) -> Result<Name, InvalidName> {
        Name::parse(&text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> String {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A newtype over [`Name`], so that a tenant cannot be passed for a session.
macro_rules! name_newtype {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $type(Name);

        impl $type {
            pub fn parse(text: &str) -> Result<$type, InvalidName> {
                Name::parse(text).map($type)
            }

            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

name_newtype!(
    /// The owner of data.
    Tenant
);
name_newtype!(
    /// One agent of a tenant.
    Actor
);
name_newtype!(
    /// One agent's use of one browser.
    SessionId
);

redact::declare_safe_text!(Name, Tenant, Actor, SessionId, Scope);

/// A tenant and an actor. Sessions and runtimes of different scopes are isolated from each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scope {
    pub tenant: Tenant,
    pub actor: Actor,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.tenant, self.actor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_safe_to_put_in_a_path() {
        for good in ["a", "0", "default", "s-4f2a", "team.one_two"] {
            assert_eq!(Name::parse(good).map(String::from), Ok(good.to_owned()), "{good}");
        }
        for bad in ["", ".", "..", "-a", "a/b", "A", "a b", "ä", "a\n", &"a".repeat(65)] {
            assert_eq!(Name::parse(bad), Err(InvalidName), "{bad:?}");
        }
    }
}
