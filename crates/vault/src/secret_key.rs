//! 256-bit keys.

use zeroize::Zeroizing;

/// A key that seals rows or wraps other keys. Like [`redact::Secret`] it derives nothing, is wiped when it is dropped and
/// is opened by `expose_secret` alone.
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
