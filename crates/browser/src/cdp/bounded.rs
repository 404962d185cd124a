//! Text from Chromium, bounded while it is decoded: a compromised renderer must not fill the driver's memory.

use crate::text::{MAX_DECODED_TEXT, cut_at, truncate_url};
use serde::{Deserialize, Deserializer, de::Error};
use std::{fmt, ops::Deref};
use zeroize::Zeroizing;

/// Chromium's own ids have at most 64 bytes; a message with a longer one is not decoded.
pub(super) const MAX_ID: usize = 128;
/// Titles, messages and URLs come from pages; longer ones are truncated. Less is shown of them, once they are masked.
const MAX_TEXT: usize = MAX_DECODED_TEXT;

/// Names a frame, a target, a document or a context.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Id(Box<str>);

/// Text that is only passed on, never looked up.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BoundedText(Box<str>);

/// A URL with its full length. Truncation keeps the origin, so that policy can still decide on it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BoundedUrl(Box<str>, usize);

/// A URL that is not truncated: what leaves is decided on by all of it. Chromium bounds its URLs to 2 MiB.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct WholeUrl(Box<str>);

/// Text that may be a secret: zeroized, and never printed. The size of a message bounds it.
#[derive(Clone, Default)]
pub struct SensitiveText(pub Zeroizing<String>);

impl fmt::Debug for SensitiveText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl<'de> Deserialize<'de> for SensitiveText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SensitiveText, D::Error> {
        String::deserialize(deserializer).map(|text| SensitiveText(Zeroizing::new(text)))
    }
}

impl BoundedUrl {
    /// In bytes, before truncation.
    pub fn full_length(&self) -> usize {
        self.1
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Id, D::Error> {
        let text = Box::<str>::deserialize(deserializer)?;
        if text.len() > MAX_ID {
            return Err(D::Error::custom("an id that is too long"));
        }
        Ok(Id(text))
    }
}

impl<'de> Deserialize<'de> for BoundedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BoundedText, D::Error> {
        let mut text = String::deserialize(deserializer)?;
        text.truncate(cut_at(&text, MAX_TEXT));
        Ok(BoundedText(text.into()))
    }
}

impl<'de> Deserialize<'de> for BoundedUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BoundedUrl, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(BoundedUrl(truncate_url(&text, MAX_TEXT).into(), text.len()))
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

as_text! { Id BoundedText BoundedUrl WholeUrl }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_id_is_rejected_and_text_is_truncated_between_characters() {
        for (length, taken) in [(1, true), (MAX_ID, true), (MAX_ID + 1, false)] {
            let json = serde_json::to_string(&"x".repeat(length)).unwrap();
            assert_eq!(serde_json::from_str::<Id>(&json).is_ok(), taken, "{length}");
        }
        let long = format!("x{}", "ä".repeat(MAX_TEXT));
        let words: BoundedText = serde_json::from_str(&serde_json::to_string(&long).unwrap()).unwrap();
        assert_eq!(words.len(), MAX_TEXT - 1);
        assert!(long.starts_with(&*words));
    }
}
