//! Text from Chromium with a bound, set while it is decoded: one that a page took over must not fill ours.

use crate::text::{address, cut_at};
use serde::{Deserialize, Deserializer, de::Error};
use std::{fmt, ops::Deref};
use zeroize::Zeroizing;

/// Chromium's own ids have at most 64 bytes; what carries a longer one is not decoded.
pub(super) const LONGEST_ID: usize = 128;
/// Titles, messages and addresses come from pages; longer ones are cut.
const LONGEST_WORDS: usize = 8 * 1024;

/// Names a frame, a target, a document or a context.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Id(Box<str>);

/// What is only told on, never looked up.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Words(Box<str>);

/// Where something is, or comes from. However long it is, what is kept of it is of the same site, so that it can be
/// decided on.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Address(Box<str>, usize);

/// What may be a secret: it is wiped, and never printed. A message bounds it.
#[derive(Clone, Default)]
pub struct Unprinted(pub Zeroizing<String>);

impl fmt::Debug for Unprinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl<'de> Deserialize<'de> for Unprinted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Unprinted, D::Error> {
        String::deserialize(deserializer).map(|text| Unprinted(Zeroizing::new(text)))
    }
}

impl Address {
    /// How long it is, and not only what is kept of it.
    pub fn whole_length(&self) -> usize {
        self.1
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Id, D::Error> {
        let text = Box::<str>::deserialize(deserializer)?;
        if text.len() > LONGEST_ID {
            return Err(D::Error::custom("an id that is too long"));
        }
        Ok(Id(text))
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Words, D::Error> {
        let mut text = String::deserialize(deserializer)?;
        text.truncate(cut_at(&text, LONGEST_WORDS));
        Ok(Words(text.into()))
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Address(address(&text, LONGEST_WORDS).into(), text.len()))
    }
}

macro_rules! as_text {
    ($($name:ident)*) => {
        $(
            impl Deref for $name {
                type Target = str;
                fn deref(&self) -> &str {
                    &self.0
                }
            }

            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::Debug::fmt(&self.0, f)
                }
            }

            impl PartialEq<str> for $name {
                fn eq(&self, other: &str) -> bool {
                    *self.0 == *other
                }
            }

            impl PartialEq<&str> for $name {
                fn eq(&self, other: &&str) -> bool {
                    *self.0 == **other
                }
            }

            impl PartialEq<String> for $name {
                fn eq(&self, other: &String) -> bool {
                    *self.0 == **other
                }
            }

            impl From<$name> for String {
                fn from(text: $name) -> String {
                    text.0.into()
                }
            }
        )*
    };
}

as_text! { Id Words Address }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_short_or_none_and_words_are_cut_between_characters() {
        for (length, taken) in [(1, true), (LONGEST_ID, true), (LONGEST_ID + 1, false)] {
            let json = serde_json::to_string(&"x".repeat(length)).unwrap();
            assert_eq!(serde_json::from_str::<Id>(&json).is_ok(), taken, "{length}");
        }
        let long = format!("x{}", "ä".repeat(LONGEST_WORDS));
        let words: Words = serde_json::from_str(&serde_json::to_string(&long).unwrap()).unwrap();
        assert_eq!(words.len(), LONGEST_WORDS - 1);
        assert!(long.starts_with(&*words));
    }
}
