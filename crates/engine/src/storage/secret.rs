//! Agent keys and operator tokens: generated here, shown once, stored as hashes.

use crate::storage::StorageError;
use redact::{ALPHANUMERIC, Secret, random_text};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// An agent key in plain text.
pub struct AgentKey(Secret);

/// Prefix by which secret scanners recognize a leaked key.
const PREFIX: &str = "sk_stockade_";

/// 43 of 62 characters are 256 bits.
const LENGTH: usize = 43;

impl AgentKey {
    pub(super) fn random() -> Result<AgentKey, StorageError> {
        Ok(AgentKey(Secret::concat(&[PREFIX, &random()?])))
    }

    /// The key in plain text.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub(super) fn hash(&self) -> String {
        hash(self.0.expose_secret())
    }
}

/// The token of an operator's session or one-time link, stored as a hash.
pub struct OperatorToken(Secret);

impl OperatorToken {
    pub(super) fn random() -> Result<OperatorToken, StorageError> {
        Ok(OperatorToken(Secret::new(random()?)))
    }

    /// The token in plain text.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub(super) fn hash(&self) -> String {
        hash(self.0.expose_secret())
    }
}

fn random() -> Result<Zeroizing<String>, StorageError> {
    random_text(ALPHANUMERIC, LENGTH).map_err(|source| StorageError::NoRandomness { source })
}

/// The stored hash. A key has 256 random bits, so a fast hash is as good as a slow one.
pub(super) fn hash(key: &str) -> String {
    hex::encode(Sha256::digest(key.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn keys_have_their_form_and_never_repeat() {
        let keys: BTreeSet<String> =
            (0..100).map(|_| AgentKey::random().unwrap().expose().to_owned()).collect();
        assert_eq!(keys.len(), 100);
        for key in &keys {
            let random = key.strip_prefix("sk_stockade_").unwrap();
            assert!(random.len() == 43 && random.bytes().all(|b| b.is_ascii_alphanumeric()), "{key}");
        }
        let used: BTreeSet<char> = keys.iter().flat_map(|key| key[PREFIX.len()..].chars()).collect();
        assert_eq!(used.len(), 62, "every letter and digit occurs");
    }

    #[test]
    fn the_hash_is_sha256() {
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
