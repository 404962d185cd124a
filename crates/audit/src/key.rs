//! The signing key of the log. It is kept apart from the log, so that write access to the log is not enough to sign it.

use crate::digest;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const SEED: usize = 32;

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("cannot read or create the audit key {path}")]
    File { path: PathBuf, source: io::Error },
    #[error("{path} does not hold an audit key: 64 hexadecimal digits")]
    NotAKey { path: PathBuf },
    #[error("not an ed25519 public key: 64 hexadecimal digits")]
    NotPublic,
    #[error("the system gave no random bytes")]
    Random { source: getrandom::Error },
}

/// The private half. It has no `Debug`, `Clone` or `Serialize`, and its bytes are wiped when it is dropped.
pub struct Key(SigningKey);

/// The public half: enough to check a log, and safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl Key {
    /// Reads the key, or creates one. The file is created readable by its owner only.
    pub fn load_or_create(path: &Path) -> Result<Key, KeyError> {
        let failed = |source| KeyError::File { path: path.to_owned(), source };
        loop {
            match Key::load(path) {
                Err(KeyError::File { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                other => return other,
            }
            if let Some(folder) = path.parent() {
                DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
            }
            match create(path) {
                // Another process created it first.
                Err(KeyError::File { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => {}
            }
        }
    }

    pub fn load(path: &Path) -> Result<Key, KeyError> {
        let mut text = Vec::new();
        let file = OpenOptions::new().read(true).open(path);
        file.and_then(|file| file.take(256).read_to_end(&mut text))
            .map_err(|source| KeyError::File { path: path.to_owned(), source })?;
        let seed = digest::decode::<SEED>(text.trim_ascii_end());
        seed.map(|seed| Key(SigningKey::from_bytes(&seed)))
            .ok_or_else(|| KeyError::NotAKey { path: path.to_owned() })
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// `context` separates the uses of the key: a signature for one is not valid for another.
    pub fn sign(&self, context: &str, message: &[u8]) -> String {
        hex::encode(self.0.sign(&framed(context, message)).to_bytes())
    }
}

impl PublicKey {
    pub fn parse(text: &str) -> Result<PublicKey, KeyError> {
        let bytes = digest::decode::<32>(text.trim().as_bytes()).ok_or(KeyError::NotPublic)?;
        let key = VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::NotPublic)?;
        // A weak key would let one signature fit many messages.
        if key.is_weak() { Err(KeyError::NotPublic) } else { Ok(PublicKey(key)) }
    }

    pub fn verifies(&self, context: &str, message: &[u8], signature: &str) -> bool {
        let Some(bytes) = digest::decode::<64>(signature.as_bytes()) else { return false };
        self.0.verify_strict(&framed(context, message), &Signature::from_bytes(&bytes)).is_ok()
    }
}

impl std::fmt::Display for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0.as_bytes()))
    }
}

fn framed(context: &str, message: &[u8]) -> Vec<u8> {
    [context.as_bytes(), b"\0", message].concat()
}

/// Written to a temporary file and linked into place, so that a crash leaves no partial key.
fn create(path: &Path) -> Result<(), KeyError> {
    let failed = |source| KeyError::File { path: path.to_owned(), source };
    let mut seed = [0; SEED];
    getrandom::fill(&mut seed).map_err(|source| KeyError::Random { source })?;
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    let write = || {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
        file.write_all(hex::encode(seed).as_bytes())?;
        file.sync_all()?;
        std::fs::hard_link(&partial, path)
    };
    let made = write();
    let removed = std::fs::remove_file(&partial);
    made.and(removed).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_created_once_and_readable_by_its_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/audit.key");
        let made = Key::load_or_create(&path).unwrap();
        let again = Key::load_or_create(&path).unwrap();
        assert_eq!(made.public(), again.public());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path().join("keys")).unwrap().count(), 1);
    }

    #[test]
    fn a_signature_is_valid_for_one_context_and_message() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::load_or_create(&folder.path().join("k")).unwrap();
        let signature = key.sign("head", b"x");
        assert!(key.public().verifies("head", b"x", &signature));
        assert!(!key.public().verifies("line", b"x", &signature));
        assert!(!key.public().verifies("head", b"y", &signature));
        assert_eq!(PublicKey::parse(&key.public().to_string()).unwrap(), key.public());
    }

    #[test]
    fn a_malformed_key_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k");
        std::fs::write(&path, "abc").unwrap();
        assert!(matches!(Key::load_or_create(&path), Err(KeyError::NotAKey { .. })));
        assert!(PublicKey::parse("00").is_err());
    }
}
