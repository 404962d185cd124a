//! A text that must not get out: it derives nothing, is wiped when it is dropped, and a search for `expose_secret`
//! finds every line that opens one.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: impl Into<Zeroizing<String>>) -> Secret {
        Secret(text.into())
    }

    pub(super) fn basic_auth(username: &str, password: &Secret) -> Secret {
        let pair = Zeroizing::new(format!("{username}:{}", password.expose_secret()));
        // Room for all of it at once: a string that grows leaves what it outgrew behind.
        let mut value = Zeroizing::new(String::with_capacity(8 + pair.len() * 4 / 3 + 4));
        value.push_str("Basic ");
        BASE64_STANDARD.encode_string(pair.as_bytes(), &mut value);
        Secret(value)
    }

    pub fn expose_secret(&self) -> &str {
        &self.0
    }
}

/// Of a value that Chromium is asked for, to see whether it is the one that was set.
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
}
