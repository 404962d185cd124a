//! Values encrypted by sops: one value in `ENC[…]`, AES-256-GCM with a nonce of 32 bytes, bound to its location in the
//! file.

use super::SopsFileError;
use crate::error::Malformed;
use crate::secret_key::SecretKey;
use crate::secret_tree::SecretNode;
use aes_gcm::AesGcm;
use aes_gcm::aead::consts::U32;
use aes_gcm::aead::{Aead, KeyInit, Nonce, Payload};
use aes_gcm::aes::Aes256;
use age::x25519::Identity;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::io::Read;
use zeroize::Zeroizing;

type Cipher = AesGcm<Aes256, U32>;

/// A decrypted value, with the type that sops wrote for it.
pub(super) struct Opened {
    pub text: Zeroizing<String>,
    kind: String,
}

/// Decrypts `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`. `place` is its location in the file: a value that was moved
/// does not decrypt.
pub(super) fn open(sealed: &str, key: &SecretKey, place: &str, field: &str) -> Result<Opened, SopsFileError> {
    let bad = || Malformed::new(field, "this is not a value that sops encrypted");
    let inside =
        sealed.strip_prefix("ENC[AES256_GCM,").and_then(|rest| rest.strip_suffix(']')).ok_or_else(bad)?;
    let (mut data, mut iv, mut tag, mut kind) = (None, None, None, None);
    for part in inside.split(',') {
        match part.split_once(':') {
            Some(("data", text)) => data = Some(text),
            Some(("iv", text)) => iv = Some(text),
            Some(("tag", text)) => tag = Some(text),
            Some(("type", text)) => kind = Some(text),
            _ => return Err(bad().into()),
        }
    }
    let decode = |text: Option<&str>| {
        text.and_then(|text| BASE64_STANDARD.decode(text).ok()).ok_or_else(bad).map_err(SopsFileError::from)
    };
    let (mut message, tag) = (decode(data)?, decode(tag)?);
    let nonce = Nonce::<Cipher>::try_from(decode(iv)?.as_slice()).map_err(|_| bad())?;
    message.extend_from_slice(&tag);
    let cipher = Cipher::new(key.expose_secret().into());
    let payload = Payload { msg: &message, aad: place.as_bytes() };
    let clear = cipher
        .decrypt(&nonce, payload)
        .map_err(|_| SopsFileError::Altered(Malformed::new(field, "this value cannot be decrypted")))?;
    let clear = Zeroizing::new(clear);
    let text = std::str::from_utf8(&clear).map_err(|_| Malformed::new(field, "this value is not text"))?;
    Ok(Opened { text: Zeroizing::new(text.to_owned()), kind: kind.ok_or_else(bad)?.to_owned() })
}

impl Opened {
    /// sops writes a comment at the head of a list as an item of the list.
    pub(super) fn is_comment(&self) -> bool {
        self.kind == "comment"
    }

    pub(super) fn into_node(self, field: &str) -> Result<SecretNode, Malformed> {
        let bad = || Malformed::new(field, "this value does not have the type that sops wrote");
        match self.kind.as_str() {
            "str" | "time" | "bytes" => Ok(SecretNode::Text(self.text)),
            "int" => self.text.parse().map(SecretNode::Integer).map_err(|_| bad()),
            "float" => self.text.parse().map(SecretNode::Float).map_err(|_| bad()),
            "bool" => match self.text.to_ascii_lowercase().as_str() {
                "true" => Ok(SecretNode::Bool(true)),
                "false" => Ok(SecretNode::Bool(false)),
                _ => Err(bad()),
            },
            _ => Err(bad()),
        }
    }
}

/// Decrypts the data key for one of the file's age recipients.
pub(super) fn data_key(sealed: &[String], identities: &[Identity]) -> Result<SecretKey, SopsFileError> {
    for armored in sealed {
        let reader = age::armor::ArmoredReader::new(armored.as_bytes());
        let Ok(decryptor) = age::Decryptor::new(reader) else { continue };
        let ours = identities.iter().map(|identity| identity as &dyn age::Identity);
        let Ok(reader) = decryptor.decrypt(ours) else { continue };
        let mut key = Zeroizing::new(Vec::with_capacity(64));
        // A data key has 32 bytes; anything longer is invalid.
        if reader.take(64).read_to_end(&mut key).is_err() {
            continue;
        }
        if let Some(key) = SecretKey::from_slice(&key) {
            return Ok(key);
        }
    }
    Err(SopsFileError::NoKey)
}
