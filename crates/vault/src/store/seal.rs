//! Encryption of rows: XChaCha20-Poly1305 with a key per row, bound to tenant, domain, id and grant scope.

use crate::credential::GrantScope;
use crate::error::VaultError;
use crate::secret_key::SecretKey;
use crate::store::master::MasterKeys;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

const NONCE: usize = 24;

/// The identity that an encrypted row is bound to. A row that was moved, or whose identity was changed, does not
/// decrypt.
#[derive(Clone, Copy)]
pub(super) struct RowIdentity<'a> {
    pub table: Table,
    pub tenant: &'a str,
    pub domain: &'a str,
    pub id: &'a str,
    pub scope: GrantScope,
}

/// Rows are also bound to their table.
#[derive(Clone, Copy)]
pub(super) enum Table {
    Credentials,
    Rotated,
}

impl Table {
    /// The identity as additional authenticated data, for documents and data keys.
    fn words(self) -> [&'static str; 2] {
        match self {
            Table::Credentials => ["stockade credential 1", "stockade data key 1"],
            Table::Rotated => ["stockade rotated 1", "stockade rotated data key 1"],
        }
    }
}

impl<'a> RowIdentity<'a> {
    pub(super) fn credential(
        tenant: &'a str,
        id: &'a str,
        domain: &'a str,
        scope: GrantScope,
    ) -> RowIdentity<'a> {
        RowIdentity { table: Table::Credentials, tenant, domain, id, scope }
    }

    /// The domain is inside the encrypted document.
    pub(super) fn rotated(tenant: &'a str, id: &'a str) -> RowIdentity<'a> {
        RowIdentity { table: Table::Rotated, tenant, domain: "", id, scope: GrantScope::default() }
    }

    /// Makes a data key, wraps it with that master key, and encrypts the document with it.
    pub(super) fn seal(
        &self,
        keys: &MasterKeys,
        master_key: &str,
        document: &[u8],
    ) -> Result<(String, String), VaultError> {
        let data_key = SecretKey::random().map_err(|source| VaultError::NoRandomness { source })?;
        let sealed = seal(&data_key, document, &self.bound(self.table.words()[0], ""))?;
        Ok((self.wrap(keys, master_key, &data_key)?, sealed))
    }

    pub(super) fn wrap(
        &self,
        keys: &MasterKeys,
        master_key: &str,
        data_key: &SecretKey,
    ) -> Result<String, VaultError> {
        let master = keys.get(master_key).ok_or_else(|| self.altered())?;
        seal(master, data_key.expose_secret(), &self.bound(self.table.words()[1], master_key))
    }

    pub(super) fn unwrap(
        &self,
        keys: &MasterKeys,
        master_key: &str,
        data_key: &str,
    ) -> Result<SecretKey, VaultError> {
        let master = keys.get(master_key).ok_or_else(|| self.altered())?;
        let bound = self.bound(self.table.words()[1], master_key);
        let clear = open(master, data_key, &bound).ok_or_else(|| self.altered())?;
        SecretKey::from_slice(&clear).ok_or_else(|| self.altered())
    }

    pub(super) fn open(
        &self,
        keys: &MasterKeys,
        master_key: &str,
        data_key: &str,
        sealed: &str,
    ) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let data_key = self.unwrap(keys, master_key, data_key)?;
        open(&data_key, sealed, &self.bound(self.table.words()[0], "")).ok_or_else(|| self.altered())
    }

    fn altered(&self) -> VaultError {
        VaultError::Altered { id: self.id.to_owned() }
    }

    /// Each part is preceded by its length, so that different identities never have the same bytes.
    fn bound(&self, what: &str, master_key: &str) -> Vec<u8> {
        let parts = [what, self.tenant, self.domain, self.id, self.scope.as_str(), master_key];
        parts
            .iter()
            .flat_map(|part| (part.len() as u64).to_be_bytes().into_iter().chain(part.bytes()))
            .collect()
    }
}

fn seal(key: &SecretKey, clear: &[u8], bound: &[u8]) -> Result<String, VaultError> {
    let mut nonce = [0; NONCE];
    getrandom::fill(&mut nonce).map_err(|source| VaultError::NoRandomness { source })?;
    let cipher = XChaCha20Poly1305::new(key.expose_secret().into());
    let sealed = cipher
        .encrypt(&XNonce::from(nonce), Payload { msg: clear, aad: bound })
        .map_err(|_| VaultError::StoreDamaged { what: "a document too large to seal" })?;
    Ok(BASE64_STANDARD.encode([nonce.as_slice(), &sealed].concat()))
}

fn open(key: &SecretKey, sealed: &str, bound: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let bytes = BASE64_STANDARD.decode(sealed).ok()?;
    let (nonce, message) = bytes.split_at_checked(NONCE)?;
    let nonce = XNonce::try_from(nonce).ok()?;
    let cipher = XChaCha20Poly1305::new(key.expose_secret().into());
    cipher.decrypt(&nonce, Payload { msg: message, aad: bound }).ok().map(Zeroizing::new)
}
