//! Backends: where credentials are stored, behind one interface. A backend is read each time a credential is opened, so
//! an outage needs no restart, and changes apply from the next session.

mod env;
mod kv;
mod sops;

pub use env::EnvBackend;
pub use kv::{KvAuth, KvBackend, KvSecret, KvSettings};
pub use sops::{SopsBackend, SopsKeys};

use crate::credential::{BasicAuth, Credential, CredentialId, CredentialOutline, GrantScope, Summary};
use crate::error::VaultError;
use crate::grant::{ConsumedGrant, Issuer};
use crate::store::{Store, with_timeout};
use jiff::Timestamp;
use policy::Tenant;
use redact::{Secret, SendIn};
use std::time::Duration;

/// All backends. The list is closed, because each has an error code of its own for an outage.
pub enum Vault {
    /// KV version 2 of HashiCorp Vault or OpenBao.
    Kv(KvBackend),
    Sops(SopsBackend),
    Env(EnvBackend),
    /// Our own table.
    Store(Store),
}

impl Vault {
    pub fn name(&self) -> &'static str {
        match self {
            Vault::Kv(_) => "vault",
            Vault::Sops(_) => "sops",
            Vault::Env(_) => "env",
            Vault::Store(_) => "store",
        }
    }

    /// The credentials of a tenant, by id.
    pub async fn list(&self, tenant: &Tenant) -> Result<Vec<Summary>, VaultError> {
        let mut ids = match self {
            Vault::Store(store) => return store.list(tenant).await,
            Vault::Kv(kv) => kv.list(tenant).await?,
            Vault::Sops(sops) => sops.list(tenant).await?,
            Vault::Env(env) => env.list(tenant),
        };
        ids.sort();
        ids.dedup();
        Ok(ids.into_iter().map(Summary::of).collect())
    }

    /// Opens a credential for a session. The grant must name its host and be of a kind that the credential accepts.
    pub async fn open_for_grant(
        &self,
        consumed: &ConsumedGrant,
        id: &CredentialId,
    ) -> Result<Credential, VaultError> {
        let credential = self.open(consumed.tenant(), id).await?;
        consumed.check(&credential.domain)?;
        if consumed.issuer() == Issuer::Policy && credential.grant_scope != GrantScope::Standing {
            return Err(VaultError::GrantScope { id: id.to_string() });
        }
        Ok(credential)
    }

    /// What an operator may see of a credential: names, origins and expiry, never a value.
    pub async fn outline(&self, tenant: &Tenant, id: &CredentialId) -> Result<CredentialOutline, VaultError> {
        Ok(self.open(tenant, id).await?.outline())
    }

    /// The current one-time code and how many seconds it remains valid, for an operator who logs in. The seed stays
    /// here.
    pub async fn code(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        now: Timestamp,
    ) -> Result<(Secret, u32), VaultError> {
        let credential = self.open(tenant, id).await?;
        let totp = credential.totp.as_ref().ok_or_else(|| VaultError::NoTotp { id: id.to_string() })?;
        Ok((totp.code_at(now), totp.seconds_left(now)))
    }

    /// The user name and password of a credential with basic auth, for an upstream proxy.
    pub async fn basic_login(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
    ) -> Result<Option<BasicAuth>, VaultError> {
        Ok(self.open(tenant, id).await?.basic)
    }

    /// Notes that a credential was injected. Backends that Stockade does not write to keep no such note.
    pub async fn note_injected(
        &self,
        consumed: &ConsumedGrant,
        id: &CredentialId,
        now: Timestamp,
    ) -> Result<(), VaultError> {
        match self {
            Vault::Store(store) => store.note_injected(consumed.tenant(), id, now).await,
            Vault::Kv(_) | Vault::Sops(_) | Vault::Env(_) => Ok(()),
        }
    }

    pub async fn put(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        credential: &Credential,
        now: Timestamp,
    ) -> Result<(), VaultError> {
        self.writable()?.put(tenant, id, credential, now).await
    }

    pub async fn remove(&self, tenant: &Tenant, id: &CredentialId) -> Result<(), VaultError> {
        self.writable()?.remove(tenant, id).await
    }

    /// Merges a pending rotation into its credential, on an operator's decision. Returns the cookies' names.
    pub async fn accept(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        now: Timestamp,
    ) -> Result<Vec<String>, VaultError> {
        self.writable()?.accept(tenant, id, now).await
    }

    /// Lets the egress proxy put the credential's secrets into a place, on an operator's decision.
    pub async fn allow_place(
        &self,
        tenant: &Tenant,
        id: &CredentialId,
        place: SendIn,
        now: Timestamp,
    ) -> Result<(), VaultError> {
        self.writable()?.allow_place(tenant, id, place, now).await
    }

    /// Checks that the backend stores credentials, before a person is asked for one.
    pub fn check_writable(&self) -> Result<(), VaultError> {
        self.writable().map(|_| ())
    }

    fn writable(&self) -> Result<&Store, VaultError> {
        match self {
            Vault::Store(store) => Ok(store),
            Vault::Kv(_) | Vault::Sops(_) | Vault::Env(_) => {
                Err(VaultError::ReadOnly { backend: self.name() })
            }
        }
    }

    async fn open(&self, tenant: &Tenant, id: &CredentialId) -> Result<Credential, VaultError> {
        match self {
            Vault::Kv(kv) => kv.open(tenant, id).await,
            Vault::Sops(sops) => sops.open(tenant, id).await,
            Vault::Env(env) => env.open(tenant, id).await,
            Vault::Store(store) => with_timeout(store.open_credential(tenant, id), OPENING).await,
        }
    }
}

/// Long enough for a keyring that asks its owner to unlock it.
const OPENING: Duration = Duration::from_secs(45);

/// The same error for a credential that does not exist and for another tenant's.
fn unknown(id: &CredentialId) -> VaultError {
    VaultError::UnknownCredential { id: id.to_string() }
}
