//! Text that must not get out.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

/// A shorter value is never swapped for its placeholder inside a page: it would stand there by chance, too.
pub const SHORTEST_SWAPPED: usize = 8;
/// Neither is one with fewer letters and digits.
pub(crate) const MIN_LETTERS_AND_DIGITS: usize = 6;

/// A secret text: a cookie's value, a password, a token, a key.
///
/// It derives nothing, so it cannot be printed, copied or serialized by accident. It is wiped when it is dropped, and a
/// search for `expose_secret` finds every line that opens one.
///
/// The crate `secrecy` is not used: its `SecretString` is `Clone` and `Debug`, and it shrinks the string it is made of,
/// which can leave an unwiped copy behind.
///
/// ```compile_fail
/// println!("{:?}", redact::Secret::new("hunter2".to_owned()));
/// ```
///
/// ```compile_fail
/// let secret = redact::Secret::new("hunter2".to_owned());
/// let copy = secret.clone();
/// ```
///
/// ```compile_fail
/// fn serialize(_: impl serde::Serialize) {}
/// serialize(redact::Secret::new("hunter2".to_owned()));
/// ```
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: impl Into<Zeroizing<String>>) -> Secret {
        Secret(text.into())
    }

    /// The parts one after the other, in memory that never moves: a string that grows leaves copies behind.
    pub fn concat(parts: &[&str]) -> Secret {
        let mut text = Zeroizing::new(String::with_capacity(parts.iter().map(|part| part.len()).sum()));
        parts.iter().for_each(|part| text.push_str(part));
        Secret(text)
    }

    /// The value of an `Authorization` header for HTTP basic authentication.
    pub fn basic_auth(username: &str, password: &Secret) -> Secret {
        let pair = Secret::concat(&[username, ":", password.expose_secret()]);
        let length = pair.expose_secret().len();
        let mut value = Zeroizing::new(String::with_capacity("Basic ".len() + length.div_ceil(3) * 4));
        value.push_str("Basic ");
        BASE64_STANDARD.encode_string(pair.expose_secret(), &mut value);
        Secret(value)
    }

    /// The text itself. Each caller of this sends it on to where it belongs, or compares it.
    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    /// A second holder, where one is needed: by an explicit call, not by a derive.
    pub fn duplicate(&self) -> Secret {
        Secret(self.0.clone())
    }
}

/// Reading a secret in is safe: a browser's or a backend's reply holds some.
impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_auth_is_user_and_password_in_base64() {
        let made = Secret::basic_auth("Aladdin", &Secret::new("open sesame".to_owned()));
        assert_eq!(made.expose_secret(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }

    #[test]
    fn parts_are_joined_in_order() {
        assert_eq!(Secret::concat(&["a", "", "bc"]).expose_secret(), "abc");
    }
}
