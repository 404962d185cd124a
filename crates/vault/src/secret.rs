//! Text and keys that must not get out. They derive nothing, so they cannot be printed, copied or serialised by
//! accident; they are wiped when dropped; and a search for `expose_secret` finds every line that opens one.

use zeroize::Zeroizing;

/// A secret text: a cookie's value, a password, a token.
pub struct Secret(Zeroizing<String>);

impl Secret {
    pub fn new(text: impl Into<Zeroizing<String>>) -> Secret {
        Secret(text.into())
    }

    /// The text itself, for the one who sends it on.
    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    /// A second holder, where one is needed: on purpose, and not by a derive.
    pub fn duplicate(&self) -> Secret {
        Secret(self.0.clone())
    }
}

/// A key of 256 bits.
pub(crate) struct SecretKey(Zeroizing<[u8; 32]>);

impl SecretKey {
    pub(crate) fn random() -> Result<SecretKey, getrandom::Error> {
        let mut bytes = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *bytes)?;
        Ok(SecretKey(bytes))
    }

    pub(crate) fn from_slice(bytes: &[u8]) -> Option<SecretKey> {
        Some(SecretKey(Zeroizing::new(bytes.try_into().ok()?)))
    }

    pub(crate) fn expose_secret(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Random letters and digits, each equally likely; 43 of them are 256 bits.
pub(crate) fn random_text(length: usize) -> Result<Zeroizing<String>, getrandom::Error> {
    const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // Bytes from here on would make the first letters likelier than the rest.
    const UNEVEN: u8 = 248;
    let mut text = Zeroizing::new(String::with_capacity(length));
    while text.len() < length {
        let mut bytes = Zeroizing::new([0; 64]);
        getrandom::fill(&mut *bytes)?;
        let missing = length - text.len();
        let letters = bytes.iter().filter(|byte| **byte < UNEVEN);
        text.extend(
            letters.take(missing).map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()])),
        );
    }
    Ok(text)
}
